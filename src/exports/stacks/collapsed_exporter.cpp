// Folded stacks for flame graphs: `device 0;aten::linear;gemm 1234`, in nanoseconds, or in the weight of
// stack samples. The stacks are those of exports/run_stacks.h.

#include "exports/exporter.h"
#include "exports/stacks/folded_text.h"
#include "exports/stacks/run_stacks.h"

namespace nl::exports::collapsed_exporter {
namespace {

Result<ExportReport> write_collapsed(const ExportCall& call) {
  ExportReport report;
  StackTree tree;
  NL_CHECK(add_stacks(tree, call, {}, report));
  count_merged(tree, report);
  NL_CHECK(write_folded(tree, 1, call.write));
  return report;
}

}  // namespace

const Exporter& exporter() {
  static constexpr Exporter kCollapsed{"collapsed", "flamegraph.pl, inferno-flamegraph, speedscope.app",
                                       write_collapsed};
  return kCollapsed;
}

}  // namespace nl::exports::collapsed_exporter
