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

/// What an analysis asks for. Making a view takes time, so there are none of counters where nothing was
/// counted.
std::set<std::string> tables_of(const store::OpenRun& run) {
  std::set<std::string> tables = {"tracks", "spans",     "kernels",      "copies",     "syncs",
                                  "ops",    "span_tree", "kernel_links", "copy_links", "clock_fits"};
  for (const char* table : {"allocations", "layers", "layer_times", "iterations"}) {
    if (run.has(table)) tables.insert(table);
  }
  if (run.has("profiled_launches"))
    tables.insert({"profiled_launches", "kernel_metrics", "kernel_advice", "launch_matches"});
  return tables;
}

}  // namespace

Result<LoadedRun> load_run(std::shared_ptr<store::OpenRun> open, const Taxonomy& taxonomy,
                           const AnalysisOptions& options) {
  NL_TRY(PeakTable peaks, peak_table(options));  // while the engine starts
  NL_TRY(store::Connection * asked, open->ask(tables_of(*open)));
  store::Connection& connection = *asked;
  const store::RunFiles& files = open->files();
  NL_TRY(PreparedRun run, prepare_run(connection, files, taxonomy, options.phases));
  Sources sources{open->document(), {}, {}, {}, std::move(peaks)};
  NL_TRY(sources.memory, memory_timelines(connection, files));
  NL_TRY(sources.arguments, load_op_arguments(connection, run));
  const bool host_only = !run.devices.empty() && run.devices.front().device.is_host;
  if (host_only) {
    NL_TRY(sources.pool, pool_samples(connection));
  }
  return LoadedRun{std::move(open), connection, files, std::move(run), std::move(sources)};
}

}  // namespace nl::analyze
