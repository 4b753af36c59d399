#pragma once
// Report: an analysis together with everything else that reports need. report.json is its JSON; Markdown and
// HTML are made from the same struct.

#include <map>
#include <string>
#include <vector>

#include "analyze/answer/analysis.h"
#include "base/json.h"
#include "report/figures.h"
#include "report/notes.h"
#include "report/summary.h"

namespace nl::report {

inline constexpr char kReportSchema[] = "neurolens.report/1";

struct ReportTool {
  std::string name = "neurolens";
  std::string version = {};

  static constexpr auto fields() {
    return std::tuple{field("name", &ReportTool::name), field("version", &ReportTool::version)};
  }
};

struct ReportedTable {
  int64_t rows = 0;
  std::string sha256 = {};

  static constexpr auto fields() {
    return std::tuple{field("rows", &ReportedTable::rows), field("sha256", &ReportedTable::sha256)};
  }
};

/// What run.json says of the run, as it says it.
struct ReportedRun {
  std::string run_id = {};
  nlohmann::json sources = {}, hardware = {}, software = {}, capture = {};
  std::map<std::string, ReportedTable> tables = {};

  static constexpr auto fields() {
    using R = ReportedRun;
    return std::tuple{field("run_id", &R::run_id),     field("sources", &R::sources),
                      field("hardware", &R::hardware), field("software", &R::software),
                      field("capture", &R::capture),   field("tables", &R::tables)};
  }
};

struct ReportedLabel {
  std::string value = {};
  std::string origin = {};

  static constexpr auto fields() {
    return std::tuple{field("value", &ReportedLabel::value), field("origin", &ReportedLabel::origin)};
  }
};

/// How a metric was defined when the report was made.
struct ReportedMetric {
  std::string name = {};
  int64_t version = 0;
  std::string unit = {};
  std::string formula = {};

  static constexpr auto fields() {
    using R = ReportedMetric;
    return std::tuple{field("name", &R::name), field("version", &R::version), field("unit", &R::unit),
                      field("formula", &R::formula)};
  }
};

struct Report {
  std::string schema = kReportSchema;
  ReportTool tool = {};
  ReportedRun run = {};
  std::vector<std::string> files = {};               ///< names of the profiles, without folders
  std::map<std::string, ReportedLabel> labels = {};  ///< those that count
  std::vector<ReportedNote> notes = {};              ///< of people; no figures
  nlohmann::json options = {};                       ///< of the analysis, as given
  int64_t top = 10;                                  ///< rows of tables in reports that do not show all
  std::map<std::string, ReportedMetric> metrics = {};
  std::vector<Figure> figures = {};
  analyze::Analysis analysis = {};  ///< with figures and with all rows
  std::vector<Sentence> summary = {};

  size_t shown_rows() const { return static_cast<size_t>(top); }

  static constexpr auto fields() {
    using R = Report;
    return std::tuple{
        field("schema", &R::schema),   field("tool", &R::tool),         field("run", &R::run),
        field("files", &R::files),     field("labels", &R::labels),     field("notes", &R::notes),
        field("options", &R::options), field("top", &R::top),           field("metrics", &R::metrics),
        field("figures", &R::figures), field("analysis", &R::analysis), field("summary", &R::summary)};
  }
};

/// The facts of run.json that a report keeps.
ReportedRun reported_run(const nlohmann::json& document);
/// With its metrics, figures and summary.
Report finished(Report report);

/// The report as its text would be read again: what no JSON can hold is replaced.
nlohmann::json report_tree(const Report& report);
/// The text of report.json.
std::string report_text(const Report& report);

/// Metrics that the report has in another version than this tool, as "id 1, here 2".
std::vector<std::string> other_metric_versions(const nlohmann::json& report);
/// What differs, as "/analysis/devices/0/idle_ns: 5 in the report, 6 now". If another version of the tool
/// made the report, wording and what it did not say yet do not count.
std::vector<std::string> differences(const nlohmann::json& report, const nlohmann::json& now, size_t most);
/// Keys of labels that have another value or origin now, or that only one of the two has.
std::vector<std::string> other_labels(const nlohmann::json& report, const nlohmann::json& now);

}  // namespace nl::report
