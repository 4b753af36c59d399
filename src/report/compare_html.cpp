#include "report/compare_html.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/across_sections.h"
#include "report/compare_sections.h"
#include "report/escape.h"
#include "report/html_page.h"

namespace nl::report {
namespace {

using compare::ComparedSide;
using compare::Comparison;

constexpr size_t kFactorsInSummary = 6;

std::string verdict_html(const Comparison& comparison) {
  return fmt::format("<p class=\"verdict\"><strong class=\"{}\">{}</strong><span>{} {}</span></p>",
                     html(stats::verdict_name(comparison.verdict)), html(verdict_title(comparison.verdict)),
                     html_name(comparison.unit, 80), html(change_words(comparison)));
}

std::string sentence_html(const Comparison& comparison) {
  if (comparison.sentence.empty()) return "";
  return "<p class=\"sentence\"><strong>" + html_name(sentence(comparison.sentence), 1000) + ".</strong></p>";
}

std::string reasons_html(const Comparison& comparison) {
  if (comparison.reasons.empty() && comparison.remarks.empty()) return "";
  std::string out = "<ul class=\"summary\">";
  for (const auto* lines : {&comparison.reasons, &comparison.remarks}) {
    for (const std::string& line : *lines) out += "<li>" + html_name(sentence(line), 2000) + "</li>";
  }
  return out + "</ul>";
}

std::string gate_html(const Comparison& comparison) {
  if (!comparison.gate) return "";
  return fmt::format("<p><strong>Gate {}</strong>: {}.</p>", comparison.gate->passed ? "passed" : "failed",
                     html_name(comparison.gate->reason, 2000));
}

/// Where no verdict can be given, what can be said.
std::string across_html(const Comparison& comparison) {
  return comparison.across ? notes_html(across_summary(*comparison.across)) : "";
}

std::string score_html(const Comparison& comparison) {
  const auto& score = comparison.comparability;
  const Table unlike = unlike_table(comparison, kFactorsInSummary);
  return fmt::format(
             "<p>Comparability {} (no verdict below {}), a product of {} <a "
             "href=\"#factors\">factors</a>{}</p>",
             ratio_text(score.score, 2), ratio_text(score.floor, 2), score.factors.size(),
             unlike.empty() ? "; nothing lowers it." : ". These lower it:") +
         (unlike.empty() ? "" : unlike.html());
}

std::string summary_html(const Comparison& comparison) {
  return "<section id=\"summary\"><h2>Verdict</h2><div class=\"card\">" + sentence_html(comparison) +
         verdict_html(comparison) + reasons_html(comparison) + gate_html(comparison) +
         across_html(comparison) + "<p>" + html(sentence(tested_words(comparison.statistics))) +
         "; figures of " + html_name(unit_words(comparison), 200) + ".</p>" + score_html(comparison) +
         "</div></section>\n";
}

std::string navigation_html(const std::vector<Chapter>& chapters) {
  std::string out = "<nav aria-label=\"Chapters\"><ul><li><a href=\"#summary\">Verdict</a></li>";
  for (const Chapter& chapter : chapters)
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", chapter.id, html(chapter.title));
  return out + "<li><a href=\"#provenance\">Provenance</a></li></ul></nav>\n";
}

std::string window_words(const ComparedSide& side) {
  std::string out = "window " + side.window;
  if (side.device) out += ", device " + *side.device;
  if (side.warm_up_left_out != 0)
    out += fmt::format(", without {} warm-up steps", grouped(side.warm_up_left_out));
  return out;
}

/// What both sides ran on, as far as it is known.
std::string hardware_words(const Comparison& comparison) {
  for (const compare::Factor& factor : comparison.comparability.factors) {
    if (factor.name != "device") continue;
    if (factor.base == factor.next) return factor.base ? "; on " + *factor.base : "";
    return "; on " + factor.base.value_or("an unknown device") + " and on " +
           factor.next.value_or("an unknown device");
  }
  return "";
}

/// Model and file of both sides; nothing if neither is known.
std::string names_html(const Comparison& comparison) {
  const std::string base = side_words(comparison.base), next = side_words(comparison.next);
  if (base.empty() && next.empty()) return "";
  const auto shown = [](const std::string& words) {
    return words.empty() ? "unnamed" : html_name(words, 300);
  };
  return fmt::format("<p class=\"facts\">Base: <strong>{}</strong>; new: <strong>{}</strong></p>",
                     shown(base), shown(next));
}

std::string header_html(const Comparison& comparison, const std::vector<Chapter>& chapters) {
  const ComparedSide &base = comparison.base, &next = comparison.next;
  std::string facts = "Base: " + window_words(base);
  facts += window_words(base) == window_words(next) ? "; the same of the new side"
                                                    : "; new: " + window_words(next);
  return fmt::format(
      "<header><h1>Comparison of {} with {}</h1>{}<p class=\"facts\">{}</p>{}</header>\n<main>\n",
      html(short_run(base)), html(short_run(next)), names_html(comparison),
      html_name(facts + hardware_words(comparison), 400), navigation_html(chapters));
}

void add_side(Table& table, const char* title, const ComparedSide& side) {
  for (const std::string& run : side.runs) {
    const bool stands = run == side.run_id;
    table.rows.push_back({words(title), name(run), words(stands ? "represents its side" : "")});
  }
}

std::string provenance_html(const Comparison& comparison, const CompareProvenance& provenance) {
  Section section{"runs", "Runs"};
  section.table.columns = {"Side", "Run id", ""};
  add_side(section.table, "Base", comparison.base);
  add_side(section.table, "New", comparison.next);
  section.notes.push_back(fmt::format("Made by neurolens {} from the {} of the runs.",
                                      provenance.tool_version, comparison.base.source));
  return "<section id=\"provenance\"><h2>Provenance</h2>\n" +
         figure_html(section, "<p>The same comparison again:</p><pre>" +
                                  html_name(provenance.command, 20000) + "</pre>") +
         "</section>\n";
}

}  // namespace

std::string compare_html(const Comparison& comparison, const CompareProvenance& provenance) {
  const std::vector<Chapter> chapters = compare_chapters(comparison);
  const std::string title =
      fmt::format("NeuroLens: {} with {}", short_run(comparison.base), short_run(comparison.next));
  std::string out = page_head(title_with(title, visible(hardware_words(comparison), 200))) +
                    header_html(comparison, chapters) + summary_html(comparison);
  for (const Chapter& chapter : chapters) out += chapter_html(chapter);
  return out + provenance_html(comparison, provenance) +
         fmt::format("</main>\n<footer>neurolens {}</footer>\n</body>\n</html>\n",
                     html(provenance.tool_version));
}

}  // namespace nl::report
