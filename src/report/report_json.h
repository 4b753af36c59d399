#pragma once
// report.json: an analysis with all that reports need besides, and from which every other report is made.

#include <string>
#include <vector>

#include "base/json.h"

namespace nl::report {

inline constexpr char kReportSchema[] = "neurolens.report/1";

struct ReportInput {
  std::string tool_version;
  nlohmann::json document;  ///< run.json
  nlohmann::json labels;    ///< {key: {value, origin}}, those that count
  nlohmann::json analysis;  ///< with figures and with all rows
  nlohmann::json options;   ///< as given
  int64_t top = 10;         ///< rows of tables in reports that do not show all
};

/// {schema, tool, run, labels, options, metrics, analysis, figures, summary}
nlohmann::json make_report(ReportInput input);
/// The text of report.json.
std::string report_text(const nlohmann::json& report);

/// Metrics that the report has in another version than this tool, as "id 1, here 2".
std::vector<std::string> other_metric_versions(const nlohmann::json& report);
/// What differs, as "/analysis/devices/0/idle_ns: 5 in the report, 6 now". If another version of the tool
/// made the report, wording and what it did not say yet do not count.
std::vector<std::string> differences(const nlohmann::json& report, const nlohmann::json& now, size_t most);
/// Keys of labels that have another value or origin now, or that only one of the two has.
std::vector<std::string> other_labels(const nlohmann::json& report, const nlohmann::json& now);

}  // namespace nl::report
