#include "analyze/loaded_run.h"

#include "base/files.h"

namespace nl::analyze {
namespace {

constexpr int64_t kMaxPeaksBytes = 1024 * 1024;

Result<PeakTable> peak_table(const AnalysisOptions& options) {
  if (options.peaks_file.empty()) return PeakTable::built_in();
  NL_TRY(const std::string text, read_small_file(options.peaks_file, kMaxPeaksBytes));
  return PeakTable::with_file(text, options.peaks_file);
}

}  // namespace

Result<LoadedRun> load_run(std::shared_ptr<store::OpenRun> open, const Taxonomy& taxonomy,
                           const AnalysisOptions& options) {
  NL_TRY(PeakTable peaks, peak_table(options));
  NL_TRY(PreparedRun run, prepare_run(*open, taxonomy, options.phases));
  Sources sources{open->document(), {}, {}, {}, std::move(peaks)};
  NL_TRY(sources.memory, memory_timelines(*open));
  NL_TRY(sources.arguments, load_op_arguments(*open, run));
  const bool host_only = !run.devices.empty() && run.devices.front().device.is_host;
  if (host_only) {
    NL_TRY(sources.pool, pool_samples(*open));
  }
  return LoadedRun{std::move(open), std::move(run), std::move(sources)};
}

}  // namespace nl::analyze
