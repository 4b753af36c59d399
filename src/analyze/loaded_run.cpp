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

Result<LoadedRun> load_run(store::EngineStart& start, const std::string& bundle, nlohmann::json document,
                           const Taxonomy& taxonomy, const AnalysisOptions& options) {
  NL_TRY(auto files, store::run_files(bundle));
  NL_TRY(auto engine, start.get());
  NL_TRY(auto connection, engine->connect());
  NL_CHECK(store::create_views(connection, files, false,
                               {"tracks", "spans", "kernels", "copies", "syncs", "allocations", "ops",
                                "span_tree", "kernel_links", "copy_links", "profiled_launches",
                                "kernel_metrics", "kernel_advice", "clock_fits", "launch_matches"}));
  NL_TRY(PreparedRun run, prepare_run(connection, files, taxonomy, options.phases));
  NL_TRY(PeakTable peaks, peak_table(options));
  Sources sources{std::move(document), {}, {}, {}, std::move(peaks)};
  NL_TRY(sources.memory, memory_timelines(connection, files));
  NL_TRY(sources.arguments, load_op_arguments(connection, run));
  const bool host_only = !run.devices.empty() && run.devices.front().device.is_host;
  if (host_only) {
    NL_TRY(sources.pool, pool_samples(connection));
  }
  return LoadedRun{std::move(engine), std::move(connection), std::move(files), std::move(run),
                   std::move(sources)};
}

}  // namespace nl::analyze
