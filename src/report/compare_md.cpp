#include "report/compare_md.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/across_sections.h"
#include "report/compare_sections.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using nlohmann::json;

constexpr size_t kShownParts = 5, kChanges = 7, kReasons = 3, kFactors = 6;
constexpr size_t kDifferences = 6;

std::string folded(const std::string& title, const std::string& body) {
  return "<details><summary>" + title + "</summary>\n\n" + body + "\n</details>\n";
}

/// With the gate, where one was asked.
std::string verdict_line(const json& comparison) {
  std::string out = "**" + headline(comparison) + "**; " + tested_words(comparison["statistics"]) + ".";
  if (!comparison.contains("gate")) return out + "\n";
  const json& gate = comparison["gate"];
  return out + fmt::format(" **Gate {}**: {}.\n", gate["passed"].get<bool>() ? "passed" : "failed",
                           markdown(gate["reason"].get<std::string>()));
}

std::string reasons_line(const json& comparison) {
  std::string out;
  for (size_t i = 0; i < std::min(comparison["reasons"].size(), kReasons); i++)
    out += (i == 0 ? "" : "; ") + markdown(visible(comparison["reasons"][i].get<std::string>()));
  return out.empty() ? "" : "\n" + sentence(out) + ".\n";
}

std::string limits_line(const json& comparison) {
  std::string unmet;
  size_t kept = 0;
  const json limits = comparison.value("expectations", json::array());
  for (const json& limit : limits) {
    if (limit["met"].get<bool>())
      kept++;
    else
      unmet += "; not kept: " + markdown(visible(limit_title(limit) + ", is " + limit_value(limit)));
  }
  return limits.empty() ? "" : fmt::format("\n{} of {} limits are kept{}.\n", kept, limits.size(), unmet);
}

std::string work_details(const json& comparison) {
  const bool across = !comparison["across"].is_null();
  const Table table =
      across ? short_across_table(comparison, kChanges) : short_changes_table(comparison, kChanges);
  if (table.empty()) return "";
  std::string words;
  for (const std::string& sentence : across ? across_summary(comparison) : std::vector<std::string>())
    words += (words.empty() ? "" : " ") + markdown(sentence);
  return folded(across ? "Against the peaks" : "What changed in the work",
                (words.empty() ? "" : words + "\n\n") + table.markdown());
}

std::string differences_line(const json& comparison) {
  const json& all = comparison["differences"];
  if (all.empty()) return "";
  std::string out = "\nDiffers: ";
  for (size_t i = 0; i < std::min(all.size(), kDifferences); i++)
    out += (i == 0 ? "" : "; ") + markdown(visible(all[i].get<std::string>(), 120));
  return out + (all.size() > kDifferences ? fmt::format("; {} more", all.size() - kDifferences) : "") + ".\n";
}

std::string factor_words(const json& factor) {
  std::string out = factor["name"].get<std::string>() + " " + ratio_text(factor["score"], 2);
  if (factor["base"].is_string() && factor["new"].is_string())
    out += " (" + factor["base"].get<std::string>() + " against " + factor["new"].get<std::string>() + ")";
  else if (factor["words"].is_string())
    out += " (" + factor["words"].get<std::string>() + ")";
  return out;
}

std::string factors_line(const json& comparison) {
  const auto unlike = unlike_factors(comparison);
  if (unlike.empty()) return "Nothing takes the comparability down.\n";
  std::string out = "Taken down by: ";
  for (size_t i = 0; i < std::min(unlike.size(), kFactors); i++)
    out += (i == 0 ? "" : "; ") + markdown(visible(factor_words(unlike[i]), 200));
  return out + (unlike.size() > kFactors ? fmt::format("; {} more", unlike.size() - kFactors) : "") + ".\n";
}

std::string comparability_details(const json& comparison, const CompareProvenance& provenance) {
  const std::string title = fmt::format("Comparability {}, and how to compare again",
                                        ratio_text(comparison["comparability"]["score"], 2));
  return folded(title, factors_line(comparison) + differences_line(comparison) + "\n" +
                           markdown_name(provenance.command, 20000) + " with neurolens " +
                           markdown(provenance.tool_version) + "\n");
}

}  // namespace

std::string compare_markdown(const json& comparison, const CompareProvenance& provenance) {
  const Table parts = short_parts_table(comparison, kShownParts);
  return verdict_line(comparison) + reasons_line(comparison) + limits_line(comparison) +
         (parts.empty() ? "" : "\n" + parts.markdown()) + "\n" + work_details(comparison) +
         comparability_details(comparison, provenance) + "\n<!-- neurolens compare -->\n";
}

}  // namespace nl::report
