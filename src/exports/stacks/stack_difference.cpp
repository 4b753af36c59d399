#include "exports/stacks/stack_difference.h"

#include "exports/stacks/folded_text.h"
#include "exports/stacks/run_stacks.h"

namespace nl::exports {
namespace {

Result<void> add_side(StackTree& tree, const ExportCall& side, size_t sum, ExportReport& report) {
  ExportReport of_side;
  NL_CHECK(add_stacks(tree, side, {.sums = {sum, sum, sum}, .across_runs = true}, of_side));
  for (const auto& [table, rows] : of_side.written) report.written[table] += rows;
  for (const auto& [what, rows] : of_side.lost) report.lost[what] += rows;
  return {};
}

}  // namespace

Result<ExportReport> write_stack_difference(const ExportCall& before, const ExportCall& after) {
  ExportReport report;
  StackTree tree(2);
  NL_CHECK(add_side(tree, before, 0, report));
  NL_CHECK(add_side(tree, after, 1, report));
  count_merged(tree, report);
  NL_CHECK(write_folded(tree, 2, before.write));
  return report;
}

}  // namespace nl::exports
