#include "report/report_md.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/device_label.h"
#include "report/escape.h"
#include "report/figures.h"
#include "report/head_labels.h"
#include "report/report_sections.h"
#include "report/window_words.h"

namespace nl::report {
namespace {

std::string anchor(const std::string& id) {
  return "<a id=\"" + id + "\"></a>\n\n";
}

std::string heading(int level, const std::string& title) {
  return std::string(static_cast<size_t>(level), '#') + " " + markdown(title) + "\n\n";
}

/// Longer than every run of backticks in the text.
std::string fence_for(const std::string& text) {
  size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max<size_t>(3, longest + 1), '`');
}

std::string query_text(const Report& report, const std::string& id) {
  const Figure* figure = figure_named(report.figures, id);
  if (figure == nullptr) return "";
  if (!figure->sql) return "No query: " + markdown(figure->no_query.value_or("")) + ".\n\n";
  const std::string& sql = *figure->sql;
  const std::string fence = fence_for(sql);
  return "<details><summary>Show the query</summary>\n\n" + fence + "sql\n" + sql + "\n" + fence +
         "\n\n</details>\n\n";
}

std::string notes_text(const std::vector<std::string>& notes) {
  std::string out;
  for (const std::string& note : notes) out += (out.empty() ? "" : " ") + markdown(note);
  return out.empty() ? "" : out + "\n\n";
}

std::string section_text(const Report& report, const Section& section) {
  std::string out = anchor(section.id) + heading(3, section.title) + notes_text(section.notes);
  if (!section.table.empty()) out += section.table.markdown() + "\n";
  return out + query_text(report, section.id);
}

std::string labels_text(const Report& report) {
  std::string out;
  for (const auto& [key, value, origin] : head_labels(report)) {
    out += fmt::format("{}{} {} ({})", out.empty() ? "Labels: " : ", ", markdown(visible(key, 100)),
                       markdown_name(value, 100), origin);
  }
  return out.empty() ? "" : out + ".\n\n";
}

std::string title_text(const Report& report, const std::string& what) {
  const analyze::WindowAnswer& window = report.analysis.window;
  const std::string outside = outside_words(window);
  const std::string names = head_words(report);
  return "# " + what + "\n\n" + (names.empty() ? "" : "Of " + markdown_name(names, 300) + ".\n\n") +
         fmt::format("Run `{}`, window {}, {}.{}\n\n", report.run.run_id, markdown_name(window.name, 80),
                     markdown(window_words(window)), outside.empty() ? "" : " " + markdown(outside)) +
         labels_text(report);
}

/// Each sentence with the figure that proves it.
std::string summary_text(const Report& report, const std::string& document) {
  std::string out;
  for (const Sentence& sentence : report.summary) {
    out += fmt::format("- {} ([evidence]({}#{}))\n", markdown(sentence.text), document, sentence.figure);
  }
  return out + "\n";
}

std::string link_text(const std::string& url) {
  const bool plain =
      url.starts_with("https://") && url.find_first_of(" <>()[]\\`|\"'\n") == std::string::npos;
  return plain && is_plain(url, 2000) ? "<" + url + ">" : markdown_name(url);
}

std::string finding_text(const analyze::FindingOnDevice& found, size_t number) {
  const analyze::Finding& finding = found.finding;
  std::string out = anchor(fmt::format("finding-{}", number)) +
                    heading(3, fmt::format("{}. {}", number, visible(finding.title)));
  out +=
      fmt::format("{} at stake on {}; rule {} version {}, {} confidence.\n\n",
                  duration_text(finding.at_stake_ns), device_title(found.on), markdown(visible(finding.rule)),
                  finding.rule_version, confidence_name(finding.confidence));
  Table evidence{{"Evidence", "Value", "Formula"}, {}, {}};
  for (const analyze::FindingEvidence& one : finding.evidence)
    evidence.rows.push_back({words(one.text), value_cell(one.value, one.unit), name(one.of)});
  out += evidence.markdown() + "\n";
  for (const analyze::FindingSuggestion& one : finding.suggestions) out += "- " + markdown(one.text) + "\n";
  out += "\n";
  for (const std::string& url : finding.references) out += "- " + link_text(url) + "\n";
  return out + "\n";
}

std::string findings_text(const Report& report) {
  std::string out = anchor("findings") + "## Findings\n\n";
  const auto& findings = report.analysis.findings;
  if (findings.empty()) return out + "None.\n\n";
  for (size_t i = 0; i < findings.size(); i++) out += finding_text(findings[i], i + 1);
  return out;
}

std::string whole_report(const Report& report) {
  std::string out = title_text(report, "Report") + "## Executive summary\n\n" + summary_text(report, "") +
                    notes_markdown(report.notes);
  const analyze::WindowAnswer& window = report.analysis.window;
  out += anchor("window") + "## Window\n\n" +
         fmt::format("{} in {}.\n\n", duration_text(window.total_ns), counted(window.pieces, "piece")) +
         query_text(report, "window") + findings_text(report);
  for (const Chapter& chapter : chapters_of(report)) {
    out += anchor(chapter.id) + heading(2, chapter.title);
    for (const Section& section : chapter.sections) out += section_text(report, section);
  }
  return out;
}

std::string kernels_document(const Report& report) {
  const Table table = kernels_table(report, nullptr, 0);
  std::string out = title_text(report, "Kernels and copies") +
                    "All of them, by their total time. Share: of the total on their device. Exposed: the "
                    "part in which nothing else ran on the device.\n\n";
  return out + (table.empty() ? "The run has no kernels and no copies.\n" : table.markdown());
}

std::string operators_document(const Report& report) {
  const Table table = ops_table(report, nullptr, 0);
  std::string out = title_text(report, "Operators") +
                    "On a device: the time of the kernels and copies that an op launched. On a host: its own "
                    "time. For an engine: the time of a layer.\n\n";
  return out + (table.empty() ? "The run has no ops.\n" : table.markdown());
}

std::string stages_text(const Report& report) {
  const analyze::Analysis& analysis = report.analysis;
  std::string out;
  if (!analysis.phases.empty()) out += phases_table(report).markdown() + "\n";
  if (!analysis.steps.list.empty()) {
    for (const analyze::DeviceAnswer& device : analysis.devices) {
      out += "Steps of " + device_title(device.on) + ", by " + analysis.steps.source + ":\n\n" +
             steps_table(report, device.on, 20).markdown() + "\n";
    }
  }
  return out.empty() ? "The capture marks neither phases nor steps, and no period was found.\n\n" : out;
}

std::string or_none(const Table& table) {
  return table.empty() ? "None in the run.\n\n" : table.markdown() + "\n";
}

std::string stakeholder_summary(const Report& report) {
  const size_t top = report.shown_rows();
  std::string out =
      title_text(report, "Summary") + "## Executive summary\n\n" + summary_text(report, "report.md");
  out += "## Environment\n\n" + or_none(environment_table(report));
  out += "## Aggregates\n\n" + or_none(aggregates_table(report));
  out += "## Per-Stage Timings\n\n" + stages_text(report);
  out += "## MFU\n\n" + or_none(utilisation_table(report));
  out += "## Top Operators\n\n" + or_none(ops_table(report, nullptr, top));
  out += "## Top Kernels\n\n" + or_none(kernels_table(report, nullptr, top));
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> markdown_documents(const Report& report) {
  return {{"report.md", whole_report(report)},
          {"kernels.md", kernels_document(report)},
          {"operators.md", operators_document(report)},
          {"stakeholder_summary.md", stakeholder_summary(report)}};
}

}  // namespace nl::report
