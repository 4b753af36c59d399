#include "report/report_html.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/device_label.h"
#include "report/escape.h"
#include "report/figures.h"
#include "report/head_labels.h"
#include "report/html_page.h"
#include "report/report_sections.h"
#include "report/window_words.h"

namespace nl::report {
namespace {

constexpr size_t kExactRows = 20;

Cell exact_cell(const FigureValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return count(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return name(*text);
  return words("NULL");
}

/// Exact values as the query gives them.
Table exact_table(const Figure& figure) {
  Table table{figure.columns, {}, {}};
  for (size_t i = 0; i < std::min(figure.rows.size(), kExactRows); i++) {
    std::vector<Cell> cells;
    for (const FigureValue& value : figure.rows[i]) cells.push_back(exact_cell(value));
    table.rows.push_back(std::move(cells));
  }
  if (figure.rows.size() > kExactRows)
    table.more = fmt::format("The first {} of {} rows; report.json has all.", kExactRows, figure.rows.size());
  return table;
}

std::string query_html(const Report& report, const std::string& id) {
  const Figure* figure = figure_named(report.figures, id);
  if (figure == nullptr) return "";
  if (!figure->sql) return "<p class=\"notes\">No query: " + html(figure->no_query.value_or("")) + ".</p>";
  return fmt::format(
      "<details class=\"query\"><summary>Show the query and the exact values</summary><p><code>neurolens "
      "query {} "
      "\"…\"</code></p><pre>{}</pre>{}</details>",
      html(report.run.run_id.substr(0, 12)), html(*figure->sql),
      figure->rows.empty() ? "" : exact_table(*figure).html());
}

std::string link_html(const std::string& url) {
  const bool safe = url.starts_with("https://") && is_plain(url, 2000) &&
                    url.find_first_of(" \"'<>`\\") == std::string::npos;
  if (!safe) return html_name(url);
  return fmt::format("<a href=\"{}\" rel=\"noreferrer\">{}</a>", html(url), html(url));
}

std::string suggestion_html(const analyze::FindingSuggestion& one) {
  std::string gain;
  if (one.gain_ns)
    gain = fmt::format(" <em>Gain: {}{}.</em>", one.at_most ? "at most " : "", duration_text(*one.gain_ns));
  return "<li>" + html_name(one.text, 2000) + gain + "</li>";
}

std::string finding_html(const Report& report, const analyze::FindingOnDevice& found, size_t number) {
  const analyze::Finding& finding = found.finding;
  Table evidence{{"Evidence", "Value", "Formula"}, {}, {}};
  for (const analyze::FindingEvidence& one : finding.evidence)
    evidence.rows.push_back({words(one.text), value_cell(one.value, one.unit), name(one.of)});
  std::string suggestions, references;
  for (const analyze::FindingSuggestion& one : finding.suggestions) suggestions += suggestion_html(one);
  for (const std::string& url : finding.references) references += "<li>" + link_html(url) + "</li>";
  const int64_t window = report.analysis.window.total_ns;
  const double part =
      window == 0 ? 0 : static_cast<double>(finding.at_stake_ns) / static_cast<double>(window);
  return fmt::format(
      "<article id=\"finding-{}\"><h3>{}. {}</h3><p class=\"stake\">{} at stake ({:.1f} % of the window) on "
      "{}; rule "
      "{} version {}, {} confidence</p>{}<h4>What to "
      "try</h4><ol>{}</ol><details><summary>References</summary>"
      "<ul>{}</ul></details></article>\n",
      number, number, html_name(finding.title), duration_text(finding.at_stake_ns), part * 100,
      html(device_title(found.on)), html_name(finding.rule), finding.rule_version,
      html(std::string(confidence_name(finding.confidence))), evidence.html(), suggestions, references);
}

std::string findings_html(const Report& report) {
  std::string out = "<section id=\"findings\"><h2>Findings</h2>";
  const auto& findings = report.analysis.findings;
  if (findings.empty()) out += "<p>None.</p>";
  for (size_t i = 0; i < findings.size(); i++) out += finding_html(report, findings[i], i + 1);
  return out + "</section>\n";
}

std::string summary_html(const Report& report) {
  std::string out =
      "<section id=\"summary\"><h2>Executive summary</h2><div class=\"card\"><ul class=\"summary\">";
  for (const Sentence& sentence : report.summary) {
    out += fmt::format("<li>{} <a href=\"#{}\">evidence</a></li>", html_name(sentence.text, 2000),
                       html(sentence.figure));
  }
  return out + "</ul></div></section>\n";
}

std::string window_html(const Report& report) {
  const analyze::WindowAnswer& window = report.analysis.window;
  return fmt::format("<figure id=\"window\"><h3>Window</h3><p>{}: {} in {}.</p>{}</figure>\n",
                     html_name(window.name, 80), duration_text(window.total_ns),
                     counted(window.pieces, "piece"), query_html(report, "window"));
}

std::string navigation_html(const std::vector<Chapter>& chapters, bool has_notes) {
  std::string out = "<nav aria-label=\"Chapters\"><ul><li><a href=\"#summary\">Summary</a></li>";
  if (has_notes) out += "<li><a href=\"#notes\">Notes</a></li>";
  out += "<li><a href=\"#findings\">Findings</a></li>";
  for (const Chapter& chapter : chapters)
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", chapter.id, html(chapter.title));
  return out + "</ul></nav>\n";
}

/// The name of the device, where all have one name.
std::string hardware_words(const Report& report) {
  std::string found;
  for (const analyze::DeviceAnswer& device : report.analysis.devices) {
    const std::string name = device.name.value_or("");
    if (name.empty() || (!found.empty() && name != found)) return "";
    found = name;
  }
  return found.empty() ? "" : " on " + visible(found, 80);
}

std::string outside_html(const analyze::WindowAnswer& window) {
  const std::string outside = outside_words(window);
  return outside.empty() ? "" : "<p class=\"facts\">" + html(outside) + "</p>";
}

/// What the run is of: the model and the file, where they are known.
std::string names_html(const Report& report) {
  const std::string names = head_words(report);
  return names.empty() ? "" : "<p class=\"facts\"><strong>" + html_name(names, 300) + "</strong></p>";
}

std::string labels_html(const Report& report) {
  std::string out;
  for (const auto& [key, value, origin] : head_labels(report)) {
    out += fmt::format("{}{} <strong>{}</strong> ({})", out.empty() ? "Labels: " : ", ", html_name(key, 100),
                       html_name(value, 100), html(origin));
  }
  return out.empty() ? "" : "<p class=\"facts\">" + out + "</p>";
}

}  // namespace

std::string html_document(const Report& report) {
  const std::string& id = report.run.run_id;
  const std::vector<Chapter> chapters = chapters_of(report);
  const analyze::WindowAnswer& window = report.analysis.window;
  std::string out =
      page_head(title_with("NeuroLens report of run " + id.substr(0, 12), hardware_words(report)));
  out += fmt::format(
      "<header><h1>Report of run {}</h1>{}<p class=\"facts\">Window {}{}, {}</p>{}{}{}</header>\n<main>\n",
      html(id.substr(0, 12)), names_html(report), html_name(window.name, 80), html(hardware_words(report)),
      html(window_words(window)), outside_html(window), labels_html(report),
      navigation_html(chapters, !report.notes.empty()));
  out += summary_html(report) + notes_html(report.notes) + window_html(report) + findings_html(report);
  for (const Chapter& chapter : chapters) {
    out += fmt::format("<section id=\"{}\"><h2>{}</h2>\n", chapter.id, html(chapter.title));
    for (const Section& section : chapter.sections)
      out += figure_html(section, query_html(report, section.id));
    out += "</section>\n";
  }
  return out + fmt::format("</main>\n<footer>neurolens {}, run {}</footer>\n</body>\n</html>\n",
                           html(report.tool.version), html(id));
}

}  // namespace nl::report
