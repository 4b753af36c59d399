#include "compare/trend_answer.h"

namespace nl::compare {

std::string_view trend_meaning_name(TrendMeaning meaning) {
  static constexpr std::string_view kMeanings[] = {"worse", "better", "changed"};
  return kMeanings[static_cast<size_t>(meaning)];
}

TrendMeaning trend_meaning(double before, double after, std::string_view better) {
  if (better == "none" || after == before) return TrendMeaning::kChanged;
  return (after > before) == (better == "lower") ? TrendMeaning::kWorse : TrendMeaning::kBetter;
}

std::string group_title(const GroupValues& group, std::string_view between) {
  std::string title;
  for (const auto& [key, value] : group) {
    if (!title.empty()) title += between;
    title += value.value_or("no " + key);
  }
  return title.empty() ? "all runs" : title;
}

}  // namespace nl::compare
