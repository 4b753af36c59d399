#include "analyze/run_analysis.h"

#include "analyze/engine_layers.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

/// Layers stand in for ops and limiter where nothing else has times.
void use_layers(json& out) {
  if (out["layers"].is_null() || !out["top_ops"].empty()) return;
  out["top_ops"] = out["layers"]["top"];
}

}  // namespace

Result<json> analyze_run(store::EngineStart& start, const std::string& bundle, const json& document,
                         const AnalysisOptions& options) {
  NL_TRY(const Taxonomy taxonomy, Taxonomy::built_in());
  NL_TRY(const auto files, store::run_files(bundle));
  NL_TRY(const auto engine, start.get());
  NL_TRY(auto connection, engine->connect());
  NL_CHECK(store::create_views(connection, files, false,
                               {"tracks", "spans", "kernels", "copies", "syncs", "allocations", "ops",
                                "span_tree", "kernel_links", "copy_links"}));
  NL_TRY(const PreparedRun run, prepare_run(connection, files, taxonomy, options.phases));
  NL_TRY(const auto memory, memory_timelines(connection, files));
  NL_TRY(const Measured measured, measure(run, memory, document, options.window));
  json out = analysis_json(run, measured, taxonomy, options);
  NL_TRY(out["layers"], engine_layers(connection, files, taxonomy, options.top));
  use_layers(out);
  out["findings"] = json::array();
  return out;
}

}  // namespace nl::analyze
