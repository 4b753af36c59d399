#include "report/report_json.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "analyze/metrics/metric.h"
#include "base/number_text.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using nlohmann::json;

std::map<std::string, ReportedMetric> metrics_here() {
  std::map<std::string, ReportedMetric> out;
  for (const auto& info : analyze::all_metrics())
    out[std::string(info.id)] = {std::string(info.name), info.version, std::string(info.unit),
                                 std::string(info.formula)};
  return out;
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
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

ReportedRun reported_run(const json& document) {
  ReportedRun run{document["run_id"],   document["sources"], document["hardware"],
                  document["software"], document["capture"], {}};
  for (const json& table : document["tables"])
    run.tables[table["name"].get<std::string>()] = {table["rows"], table["sha256"]};
  return run;
}

Report finished(Report report) {
  report.metrics = metrics_here();
  report.figures = figures_of(report.analysis, report.top);
  report.summary = summary_of(report.analysis);
  return report;
}

json report_tree(const Report& report) {
  return json::parse(dumped(to_json_tree(report)), nullptr, false);
}

std::string report_text(const Report& report) {
  return to_json_tree(report).dump(1, ' ', false, json::error_handler_t::replace) + "\n";
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
