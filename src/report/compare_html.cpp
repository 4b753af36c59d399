#include "report/compare_html.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/across_sections.h"
#include "report/compare_sections.h"
#include "report/escape.h"
#include "report/html_page.h"

namespace nl::report {
namespace {

using nlohmann::json;

constexpr size_t kFactorsInSummary = 6;

std::string text_of(const json& value) {
  return value.get<std::string>();
}

std::string verdict_html(const json& comparison) {
  const std::string verdict = comparison["verdict"];
  return fmt::format("<p class=\"verdict\"><strong class=\"{}\">{}</strong><span>{} {}</span></p>",
                     html(verdict), html(verdict_title(verdict)), html_name(text_of(comparison["unit"]), 80),
                     html(change_words(comparison)));
}

std::string reasons_html(const json& comparison) {
  if (comparison["reasons"].empty()) return "";
  std::string out = "<ul class=\"summary\">";
  for (const json& reason : comparison["reasons"])
    out += "<li>" + html_name(sentence(text_of(reason)), 2000) + "</li>";
  return out + "</ul>";
}

std::string gate_html(const json& comparison) {
  if (!comparison.contains("gate")) return "";
  const json& gate = comparison["gate"];
  return fmt::format("<p><strong>Gate {}</strong>: {}.</p>", gate["passed"].get<bool>() ? "passed" : "failed",
                     html_name(text_of(gate["reason"]), 2000));
}

/// Where no verdict can be given, what can be said.
std::string across_html(const json& comparison) {
  return comparison["across"].is_null() ? "" : notes_html(across_summary(comparison));
}

std::string score_html(const json& comparison) {
  const json& score = comparison["comparability"];
  const Table unlike = unlike_table(comparison, kFactorsInSummary);
  return fmt::format(
             "<p>Comparability {} (no verdict below {}), a product of {} <a "
             "href=\"#factors\">factors</a>{}</p>",
             ratio_text(score["score"], 2), ratio_text(score["floor"], 2), score["factors"].size(),
             unlike.empty() ? "; nothing takes it down." : ". These take it down:") +
         (unlike.empty() ? "" : unlike.html());
}

std::string summary_html(const json& comparison) {
  return "<section id=\"summary\"><h2>Verdict</h2><div class=\"card\">" + verdict_html(comparison) +
         reasons_html(comparison) + gate_html(comparison) + across_html(comparison) + "<p>" +
         html(sentence(tested_words(comparison["statistics"]))) + "; figures of " +
         html_name(unit_words(comparison), 200) + ".</p>" + score_html(comparison) + "</div></section>\n";
}

std::string navigation_html(const std::vector<Chapter>& chapters) {
  std::string out = "<nav aria-label=\"Chapters\"><ul><li><a href=\"#summary\">Verdict</a></li>";
  for (const Chapter& chapter : chapters)
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", chapter.id, html(chapter.title));
  return out + "<li><a href=\"#provenance\">Provenance</a></li></ul></nav>\n";
}

std::string window_words(const json& side) {
  std::string out = "window " + text_of(side["window"]);
  if (side["device"].is_string()) out += ", device " + text_of(side["device"]);
  if (side["warm_up_left_out"] != 0)
    out += fmt::format(", without {} warm-up steps", grouped(side["warm_up_left_out"]));
  return out;
}

/// What both sides ran on, as far as it is known.
std::string hardware_words(const json& comparison) {
  for (const json& factor : comparison["comparability"]["factors"]) {
    if (factor["name"] != "device") continue;
    const json &base = factor["base"], &next = factor["new"];
    if (base == next) return base.is_string() ? "; on " + text_of(base) : "";
    return "; on " + (base.is_string() ? text_of(base) : "an unknown device") + " and on " +
           (next.is_string() ? text_of(next) : "an unknown device");
  }
  return "";
}

std::string header_html(const json& comparison, const std::vector<Chapter>& chapters) {
  const json &base = comparison["base"], &next = comparison["new"];
  std::string facts = "Base: " + window_words(base);
  facts += window_words(base) == window_words(next) ? "; the same of the new side"
                                                    : "; new: " + window_words(next);
  return fmt::format(
      "<header><h1>Comparison of {} with {}</h1><p class=\"facts\">{}</p>{}</header>\n<main>\n",
      html(short_run(base)), html(short_run(next)), html_name(facts + hardware_words(comparison), 400),
      navigation_html(chapters));
}

void add_side(Table& table, const char* title, const json& side) {
  for (const json& run : side["runs"]) {
    const bool stands = run == side["run_id"];
    table.rows.push_back({words(title), name(run), words(stands ? "stands for its side" : "")});
  }
}

std::string provenance_html(const json& comparison, const CompareProvenance& provenance) {
  Section section{"runs", "Runs"};
  section.table.columns = {"Side", "Run id", ""};
  add_side(section.table, "Base", comparison["base"]);
  add_side(section.table, "New", comparison["new"]);
  section.notes.push_back(fmt::format("Made by neurolens {} from the {} of the runs.",
                                      provenance.tool_version, text_of(comparison["base"]["source"])));
  return "<section id=\"provenance\"><h2>Provenance</h2>\n" +
         figure_html(section, "<p>The same comparison again:</p><pre>" +
                                  html_name(provenance.command, 20000) + "</pre>") +
         "</section>\n";
}

}  // namespace

std::string compare_html(const json& comparison, const CompareProvenance& provenance) {
  const std::vector<Chapter> chapters = compare_chapters(comparison);
  const std::string title =
      fmt::format("NeuroLens: {} with {}", short_run(comparison["base"]), short_run(comparison["new"]));
  std::string out = page_head(title_with(title, visible(hardware_words(comparison), 200))) +
                    header_html(comparison, chapters) + summary_html(comparison);
  for (const Chapter& chapter : chapters) out += chapter_html(chapter);
  return out + provenance_html(comparison, provenance) +
         fmt::format("</main>\n<footer>neurolens {}</footer>\n</body>\n</html>\n",
                     html(provenance.tool_version));
}

}  // namespace nl::report
