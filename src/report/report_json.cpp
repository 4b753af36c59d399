#include "report/report_json.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "analyze/metrics/metric.h"
#include "base/number_text.h"
#include "report/escape.h"
#include "report/figures.h"
#include "report/summary.h"

namespace nl::report {
namespace {

using nlohmann::json;

json metrics_json() {
  json out = json::object();
  for (const auto& info : analyze::all_metrics()) {
    out[std::string(info.id)] = {
        {"name", info.name}, {"version", info.version}, {"unit", info.unit}, {"formula", info.formula}};
  }
  return out;
}

json run_json(const json& document) {
  json tables = json::object();
  for (const json& table : document["tables"])
    tables[table["name"].get<std::string>()] = {{"rows", table["rows"]}, {"sha256", table["sha256"]}};
  return {{"run_id", document["run_id"]},     {"sources", document["sources"]},
          {"hardware", document["hardware"]}, {"software", document["software"]},
          {"capture", document["capture"]},   {"tables", tables}};
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Text that no JSON can hold is replaced now, not when the file is read again.
json as_written(const json& report) {
  return json::parse(dumped(report), nullptr, false);
}

class Comparison {
 public:
  /// Another version of the tool may word things differently and say more; its figures must be the same.
  Comparison(size_t most, bool same_tool) : most_(most), same_tool_(same_tool) {}

  void compare(const std::string& path, const json& was, const json& now) {
    if (found.size() >= most_ || path == "/tool" || was == now) return;
    if (was.is_object() && now.is_object()) return compare_objects(path, was, now);
    if (was.is_array() && now.is_array() && was.size() == now.size()) {
      for (size_t i = 0; i < was.size(); i++) compare(path + "/" + std::to_string(i), was[i], now[i]);
      return;
    }
    found.push_back(fmt::format("{}: {} in the report, {} now", path, shown(was), shown(now)));
  }

  std::vector<std::string> found;

 private:
  void compare_objects(const std::string& path, const json& was, const json& now) {
    for (const auto& [key, value] : was.items()) {
      if (!same_tool_ && is_wording(key)) continue;
      const std::string below = path + "/" + visible(key, 100);
      if (now.contains(key)) {
        compare(below, value, now[key]);
      } else {
        found.push_back(below + ": in the report, not now");
      }
    }
    for (const auto& [key, value] : now.items()) {
      if (same_tool_ && !was.contains(key))
        found.push_back(path + "/" + visible(key, 100) + ": now, not in the report");
    }
  }
  static bool is_wording(const std::string& key) {
    static const std::set<std::string> kWording = {"sql", "title", "no_query", "summary", "words", "formula"};
    return kWording.contains(key);
  }
  static std::string shown(const json& value) {
    if (value.is_structured()) return counted(static_cast<int64_t>(value.size()), "entry", "entries");
    return visible(dumped(value), 100);
  }
  size_t most_;
  bool same_tool_;
};

}  // namespace

json make_report(ReportInput input) {
  json report = {{"schema", kReportSchema},
                 {"tool", {{"name", "neurolens"}, {"version", std::move(input.tool_version)}}},
                 {"run", run_json(input.document)},
                 {"labels", std::move(input.labels)},
                 {"options", std::move(input.options)},
                 {"top", input.top},
                 {"metrics", metrics_json()},
                 {"figures", figures_of(input.analysis, input.top)}};
  report["analysis"] = std::move(input.analysis);
  report["summary"] = summary_of(report);
  return as_written(report);
}

std::string report_text(const json& report) {
  return report.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<std::string> other_metric_versions(const json& report) {
  std::vector<std::string> others;
  for (const auto& info : analyze::all_metrics()) {
    const std::string id(info.id);
    const json was = report["metrics"].value(id, json::object()).value("version", json(nullptr));
    if (was != info.version)
      others.push_back(fmt::format("{} {}, here {}", id, was.is_null() ? "none" : was.dump(), info.version));
  }
  return others;
}

std::vector<std::string> differences(const json& report, const json& now, size_t most) {
  Comparison comparison(most, report.value("tool", json()) == now["tool"]);
  comparison.compare("", report, now);
  return comparison.found;
}

std::vector<std::string> other_labels(const json& report, const json& now) {
  std::set<std::string> keys;
  for (const auto& [one, other] : {std::pair(&report, &now), std::pair(&now, &report)}) {
    for (const auto& [key, label] : one->at("labels").items()) {
      if (other->at("labels").value(key, json()) != label) keys.insert(visible(key, 100));
    }
  }
  return {keys.begin(), keys.end()};
}

}  // namespace nl::report
