#include "analyze/run_analysis.h"

#include <algorithm>

#include "analyze/engine_layers.h"
#include "analyze/finding.h"
#include "analyze/rule_set.h"
#include "base/files.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

/// Layers stand in for ops and limiter where nothing else has times.
void use_layers(json& out) {
  if (out["layers"].is_null() || !out["top_ops"].empty()) return;
  out["top_ops"] = out["layers"]["top"];
}

Result<PeakTable> peak_table(const AnalysisOptions& options) {
  if (options.peaks_file.empty()) return PeakTable::built_in();
  NL_TRY(const std::string text, read_file(options.peaks_file));
  return PeakTable::with_file(text, options.peaks_file);
}

/// Of all devices, the most time at stake first.
void add_findings(json& out, const Measured& measured, const RuleSet& rules) {
  json findings = json::array(), abstentions = json::array();
  for (size_t i = 0; i < measured.devices.size(); i++) {
    const Evaluation evaluation = evaluate_rules(rules.rules, measured.devices[i].metrics);
    const json& device = out["devices"][i];
    for (const Finding& finding : evaluation.findings) {
      json row = to_json(finding);
      row["device"] = device["device"];
      row["rank"] = device["rank"];
      findings.push_back(std::move(row));
    }
    for (const Abstention& abstention : evaluation.abstentions) {
      json row = to_json(abstention);
      row["device"] = device["device"];
      row["rank"] = device["rank"];
      abstentions.push_back(std::move(row));
    }
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const json& a, const json& b) { return a["at_stake_ns"] > b["at_stake_ns"]; });
  out["findings"] = findings;
  out["abstentions"] = abstentions;
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
  NL_TRY(PeakTable peaks, peak_table(options));
  Sources sources{document, {}, {}, std::move(peaks)};
  NL_TRY(sources.memory, memory_timelines(connection, files));
  NL_TRY(sources.arguments, load_op_arguments(connection, run));
  NL_TRY(const Measured measured, measure(run, sources, options.window));
  json out = analysis_json(run, measured, taxonomy, options);
  NL_TRY(out["layers"], engine_layers(connection, files, taxonomy, options.top));
  use_layers(out);
  NL_TRY(const RuleSet rules, load_rules(connection, options.rule_folders));
  add_findings(out, measured, rules);
  return out;
}

}  // namespace nl::analyze
