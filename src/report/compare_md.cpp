#include "report/compare_md.h"

#include <fmt/core.h>

#include "base/number_text.h"
#include "report/across_sections.h"
#include "report/compare_sections.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using nlohmann::json;

constexpr size_t kParts = 5, kChanges = 8, kReasons = 3, kFactors = 4;
constexpr size_t kDifferences = 6;

std::string folded(const std::string& title, const std::string& body) {
  return "<details><summary>" + title + "</summary>\n\n" + body + "\n</details>\n";
}

/// With the gate, where one was asked.
std::string verdict_line(const json& comparison) {
  std::string out =
      "**" + headline(comparison) + "**; " + tested_words(comparison["statistics"]) + ".";
  if (!comparison.contains("gate")) return out + "\n";
  const json& gate = comparison["gate"];
  return out + fmt::format(" **Gate {}**: {}.\n", gate["passed"].get<bool>() ? "passed" : "failed",
                           markdown(gate["reason"].get<std::string>()));
}

std::string reasons_line(const json& comparison) {
  std::string out;
  for (size_t i = 0; i < std::min(comparison["reasons"].size(), kReasons); i++)
    out += (i == 0 ? "" : "; ") + markdown(visible(comparison["reasons"][i].get<std::string>()));
  return out.empty() ? "" : "\n" + out + ".\n";
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

std::string comparability_details(const json& comparison) {
  Table unlike = unlike_table(comparison, kFactors);
  const std::string more = unlike.more.empty() ? "" : "\n" + unlike.more + "\n";
  unlike.more.clear();
  const std::string title =
      fmt::format("Comparability {}", ratio_text(comparison["comparability"]["score"], 2));
  return folded(title, (unlike.empty() ? "Nothing takes it down.\n" : unlike.markdown() + more) +
                           differences_line(comparison));
}

std::string command_details(const CompareProvenance& provenance) {
  return folded("Reproduce", markdown_name(provenance.command, 4000) + " with neurolens " +
                                 markdown(provenance.tool_version) + "\n");
}

}  // namespace

std::string compare_markdown(const json& comparison, const CompareProvenance& provenance) {
  const Table parts = short_parts_table(comparison, kParts);
  return verdict_line(comparison) + reasons_line(comparison) +
         (parts.empty() ? "" : "\n" + parts.markdown()) + "\n" + work_details(comparison) +
         comparability_details(comparison) + command_details(provenance) + "\n<!-- neurolens compare -->\n";
}

}  // namespace nl::report
