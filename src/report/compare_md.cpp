#include "report/compare_md.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/across_sections.h"
#include "report/compare_sections.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using compare::Comparison;

constexpr size_t kShownParts = 5, kChanges = 7, kReasons = 3, kFactors = 6;
constexpr size_t kDifferences = 6;

std::string folded(const std::string& title, const std::string& body) {
  return "<details><summary>" + title + "</summary>\n\n" + body + "\n</details>\n";
}

std::string sentence_line(const Comparison& comparison) {
  if (comparison.sentence.empty()) return "";
  return "**" + markdown(visible(sentence(comparison.sentence), 1000)) + ".**\n";
}

/// What both sides are, behind the command; nothing if neither is known.
std::string sides_text(const Comparison& comparison) {
  const std::string base = side_words(comparison.base), next = side_words(comparison.next);
  if (base.empty() && next.empty()) return "";
  const auto shown = [](const std::string& words) { return markdown(visible(words, 200)); };
  return fmt::format("; base: {}; new: {}", base.empty() ? "unnamed" : shown(base),
                     next.empty() ? "unnamed" : shown(next));
}

/// With the gate, where one was asked.
std::string verdict_line(const Comparison& comparison) {
  std::string out = "**" + headline(comparison) + "**; " + tested_words(comparison.statistics) + ".";
  if (!comparison.gate) return out + "\n";
  return out + fmt::format(" **Gate {}**: {}.\n", comparison.gate->passed ? "passed" : "failed",
                           markdown(comparison.gate->reason));
}

/// Reasons of the verdict, and what the times cannot carry.
std::string reasons_line(const Comparison& comparison) {
  std::string out;
  for (size_t i = 0; i < std::min(comparison.reasons.size(), kReasons); i++)
    out += (i == 0 ? "" : "; ") + markdown(visible(comparison.reasons[i]));
  for (const std::string& remark : comparison.remarks)
    out += (out.empty() ? "" : ". ") + markdown(visible(sentence(remark), 400));
  return out.empty() ? "" : "\n" + sentence(out) + ".\n";
}

std::string limits_line(const Comparison& comparison) {
  std::string unmet;
  size_t kept = 0;
  const auto& limits = comparison.expectations;
  for (const auto& limit : limits) {
    if (limit.met)
      kept++;
    else
      unmet += "; not kept: " + markdown(visible(limit_title(limit) + ", is " + limit_value(limit)));
  }
  return limits.empty() ? "" : fmt::format("\n{} of {} limits are kept{}.\n", kept, limits.size(), unmet);
}

std::string work_details(const Comparison& comparison) {
  const auto& across = comparison.across;
  const Table table =
      across ? short_across_table(*across, kChanges) : short_changes_table(comparison, kChanges);
  if (table.empty()) return "";
  std::string words;
  for (const std::string& sentence : across ? across_summary(*across) : std::vector<std::string>())
    words += (words.empty() ? "" : " ") + markdown(sentence);
  return folded(across ? "Compared with the peaks" : "What changed in the work",
                (words.empty() ? "" : words + "\n\n") + table.markdown());
}

std::string differences_line(const Comparison& comparison) {
  const auto& all = comparison.differences;
  if (all.empty()) return "";
  std::string out = "\nDiffers: ";
  for (size_t i = 0; i < std::min(all.size(), kDifferences); i++)
    out += (i == 0 ? "" : "; ") + markdown(visible(all[i], 120));
  return out + (all.size() > kDifferences ? fmt::format("; {} more", all.size() - kDifferences) : "") + ".\n";
}

std::string factor_words(const compare::Factor& factor) {
  std::string out = factor.name + " " + ratio_text(factor.score, 2);
  if (factor.base && factor.next)
    out += " (" + *factor.base + " against " + *factor.next + ")";
  else if (factor.words)
    out += " (" + *factor.words + ")";
  return out;
}

std::string factors_line(const Comparison& comparison) {
  const auto unlike = unlike_factors(comparison);
  if (unlike.empty()) return "Nothing lowers the comparability.\n";
  std::string out = "Lowered by: ";
  for (size_t i = 0; i < std::min(unlike.size(), kFactors); i++)
    out += (i == 0 ? "" : "; ") + markdown(visible(factor_words(unlike[i]), 200));
  return out + (unlike.size() > kFactors ? fmt::format("; {} more", unlike.size() - kFactors) : "") + ".\n";
}

std::string comparability_details(const Comparison& comparison, const CompareProvenance& provenance) {
  const std::string title = fmt::format("Comparability {}, and how to compare again",
                                        ratio_text(comparison.comparability.score, 2));
  return folded(title, factors_line(comparison) + differences_line(comparison) + "\n" +
                           markdown_name(provenance.command, 20000) + " with neurolens " +
                           markdown(provenance.tool_version) + sides_text(comparison) + "\n");
}

}  // namespace

std::string compare_markdown(const Comparison& comparison, const CompareProvenance& provenance) {
  const Table parts = short_parts_table(comparison, kShownParts);
  return sentence_line(comparison) + verdict_line(comparison) + reasons_line(comparison) +
         limits_line(comparison) + (parts.empty() ? "" : "\n" + parts.markdown()) + "\n" +
         work_details(comparison) + comparability_details(comparison, provenance) +
         "\n<!-- neurolens compare -->\n";
}

}  // namespace nl::report
