#include "ops/runs/run_measures.h"

#include <algorithm>

#include "analyze/metrics/definitions.h"
#include "base/call_control.h"
#include "base/files.h"
#include "base/permissions.h"
#include "base/sha256.h"
#include "ops/runs/named_analysis.h"
#include "redact/run_redactor.h"
#include "store/run_views.h"

namespace nl::ops {
namespace {

using nlohmann::json;

// Raised when the form of the measures or what they are computed from changes.
constexpr int kVersion = 3;
constexpr char kSchema[] = "neurolens.measures/1";
constexpr char kFolderStart[] = "measures-";
constexpr int64_t kMostRows = 10'000;
constexpr size_t kMostSteps = 100'000;
constexpr int64_t kMostBytes = 256 * 1024 * 1024;

// ---- From the analysis

constexpr const char* kTimes[] = {"window_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns",
                                  "busy_ns",   "comm_ns",    "copy_ns",         "overlap_ns"};

json picked(const json& from, std::initializer_list<const char*> keys) {
  json out = json::object();
  for (const char* key : keys) out[key] = from[key];
  return out;
}

/// Values by id, and ids by the reason of their absence: a reason is shared by many.
void add_metrics(json& out, const json& metrics) {
  out["metrics"] = json::object();
  out["absent"] = json::object();
  for (const auto& [id, metric] : metrics.items()) {
    if (metric.contains("value")) {
      out["metrics"][id] = metric["value"];
    } else {
      out["absent"][metric["absent"].get<std::string>()].push_back(id);
    }
  }
}

json device_measures(const json& device) {
  json out = picked(device, {"device", "rank", "name", "kind", "idle_causes", "classes"});
  for (const char* key : kTimes) out["decomposition"][key] = device[key];
  add_metrics(out, device["metrics"]);
  return out;
}

int64_t ranked(const std::vector<int64_t>& sorted, size_t percent) {
  return sorted[std::max<size_t>((sorted.size() * percent + 99) / 100, 1) - 1];
}

json steps_measures(const json& steps, std::vector<int64_t> durations) {
  json out = picked(steps, {"source", "count", "confidence"});
  std::sort(durations.begin(), durations.end());
  const auto value = [&](size_t percent, size_t least) {
    return durations.size() < least ? json(nullptr) : json(ranked(durations, percent));
  };
  out["median_ns"] = value(50, 1);
  out["p90_ns"] = value(90, 10);
  out["p99_ns"] = value(99, 100);
  return out;
}

json kernel_rows(const json& rows) {
  json out = json::array();
  for (const json& row : rows) {
    out.push_back(picked(
        row, {"device", "rank", "name", "class", "family", "is_copy", "calls", "total_ns", "exposed_ns"}));
  }
  return out;
}

/// Time on the device that the op launched work on, or its own on the host.
json op_rows(const json& rows) {
  json out = json::array();
  for (const json& row : rows) {
    if (row["owner"] == "layer") continue;  // they have a table of their own
    json one = picked(row, {"device", "rank", "name", "op_type", "class", "owner", "calls"});
    one["total_ns"] = row.contains("own_ns") ? row["own_ns"] : row["device_ns"];
    out.push_back(std::move(one));
  }
  return out;
}

json roofline_of(const json& devices) {
  json out = json::array();
  for (const json& device : devices) {
    json one = picked(device, {"device", "rank"});
    one["roofline"] = device["roofline"];
    out.push_back(std::move(one));
  }
  return out;
}

/// What is small, and what may be large.
struct Measures {
  json figures;
  json tables;
};

json figures_of(const NamedRun& run, const analyze::RunAnalysis& analysis) {
  json out = {{"schema", kSchema}, {"run_id", run.run_id}, {"total_ns", analysis.data.window.total_ns}};
  out["devices"] = json::array();
  for (const auto& device : analysis.data.devices)
    out["devices"].push_back(device_measures(to_json_tree(device)));
  out["steps"] = steps_measures(to_json_tree(analysis.data.steps), analysis.step_durations_ns);
  return out;
}

/// `carried`: what a redacted run has of its original.
json tables_of(const NamedRun& run, const analyze::RunAnalysis& analysis, const json& carried) {
  const json data = to_json_tree(analysis.data);
  json out = {{"schema", kSchema}, {"run_id", run.run_id}};
  out["kernels"] = kernel_rows(data["top_kernels"]);
  out["ops"] = op_rows(data["top_ops"]);
  out["modules"] = data["top_modules"];
  for (const char* key : {"phases", "layers", "model_layers", "counters", "not_shown"}) out[key] = data[key];
  out["roofline"] = roofline_of(data["devices"]);
  out["patterns"] = analysis.patterns;
  if (carried.contains("fingerprint")) out["op_places"] = carried["fingerprint"];
  const auto& steps = analysis.step_durations_ns;
  out["step_durations_ns"] = json(
      std::vector(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(std::min(steps.size(), kMostSteps))));
  return out;
}

Result<Measures> compute(const NamedRun& run, const std::string& peaks_file) {
  analyze::AnalysisOptions options;
  options.window = "whole";
  options.top = kMostRows;
  options.peaks_file = peaks_file;
  options.with_patterns = true;
  NL_TRY(const auto open, open_derived(run));
  NL_TRY(const auto analysis, analyze::analyze_run(open, options));
  const json carried = open->document()["extensions"].value(redact::kCarried, json::object());
  return Measures{figures_of(run, analysis), tables_of(run, analysis, carried)};
}

json joined(Measures measures, MeasureDetail detail) {
  json out = std::move(measures.figures);
  if (detail == MeasureDetail::kFigures) return out;
  json& tables = measures.tables;
  out["steps"]["durations_ns"] = std::move(tables["step_durations_ns"]);
  tables.erase("step_durations_ns");
  out.update(tables);
  return out;
}

// ---- Kept in the bundle

std::string folder_of(const NamedRun& run) {
  return run.place().derived + "/" + kFolderStart + measures_version();
}

constexpr char kFiguresFile[] = "/measures.json";
constexpr char kTablesFile[] = "/tables.json";

/// A line of JSON, and a line with its hash.
std::string kept_text(const json& document) {
  const std::string line = document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  return line + sha256_hex(line) + "\n";
}

/// not_found if the file is not there, bad_input if it is damaged or another run's.
Result<json> read_kept(const NamedRun& run, const char* file) {
  NL_TRY(const std::string text, read_plain_file(folder_of(run) + file, kMostBytes));
  const std::string line = text.substr(0, text.find('\n') + 1);
  json out;
  if (text == line + sha256_hex(line) + "\n") out = json::parse(line, nullptr, false);
  const bool fits =
      out.is_object() && out.value("schema", "") == kSchema && out.value("run_id", "") == run.run_id;
  if (fits) return out;
  return Error{ErrorCode::kBadInput, "not the measures of the run: " + folder_of(run) + file};
}

Result<Measures> read_both(const NamedRun& run, MeasureDetail detail) {
  Measures measures;
  NL_TRY(measures.figures, read_kept(run, kFiguresFile));
  if (detail == MeasureDetail::kFigures) return measures;
  NL_TRY(measures.tables, read_kept(run, kTablesFile));
  return measures;
}

Result<void> write_aside(const NamedRun& run, const std::string& path, const json& document) {
  NL_TRY(NewFile file, NewFile::create(run.place().derived + "/" + store::kDerivedAside));
  NL_CHECK(file.write(kept_text(document)));
  NL_CHECK(file.finish(path, true));
  share_file(path);
  return {};
}

/// The figures come last: whoever sees them finds the tables.
Result<void> keep(const NamedRun& run, const Measures& measures) {
  const std::string folder = folder_of(run);
  NL_CHECK(make_shared_folders(parent_folder(run.place().derived)));
  NL_CHECK(make_trusted_folder(run.place().derived));
  NL_CHECK(make_shared_folders(folder));
  NL_CHECK(write_aside(run, folder + kTablesFile, measures.tables));
  NL_CHECK(write_aside(run, folder + kFiguresFile, measures.figures));
  const std::string derived = run.place().derived + "/";
  for (const auto& name : list_folder(derived)) {
    if (name.starts_with(kFolderStart) && derived + name != folder) remove_tree(derived + name);
  }
  return {};
}

}  // namespace

std::string measures_version() {
  static const std::string kName =
      std::to_string(kVersion) + "-" +
      sha256_hex(analyze::definitions_hash() + store::derived_folder("")).substr(0, 12);
  return kName;
}

Result<json> run_measures(const NamedRun& run, MeasureDetail detail) {
  auto kept = read_both(run, detail);
  if (kept) return joined(std::move(kept).value(), detail);
  if (kept.error().code != ErrorCode::kNotFound)
    report_notice("the measures of run " + short_id(run.run_id) +
                  " were damaged; they have been computed again");
  NL_TRY(Measures measures, compute(run, ""));
  static_cast<void>(keep(run, measures));  // a ledger that can only be read answers all the same
  return joined(std::move(measures), detail);
}

std::optional<bool> kept_measures_are_intact(const NamedRun& run) {
  const auto kept = read_both(run, MeasureDetail::kAll);
  if (!kept && kept.error().code == ErrorCode::kNotFound) return std::nullopt;
  return kept.has_value();
}

Result<json> run_measures_with_peaks(const NamedRun& run, const std::string& peaks_file) {
  NL_TRY(Measures measures, compute(run, peaks_file));
  return joined(std::move(measures), MeasureDetail::kAll);
}

Known<double> measured(const json& device, std::string_view metric) {
  const json& values = device["metrics"];
  if (const auto it = values.find(metric); it != values.end()) return it->get<double>();
  for (const auto& [reason, ids] : device["absent"].items()) {
    if (std::find(ids.begin(), ids.end(), metric) != ids.end()) return Absent{reason};
  }
  return Absent{"not measured"};
}

}  // namespace nl::ops
