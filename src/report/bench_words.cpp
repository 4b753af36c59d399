#include "report/bench_words.h"

#include <fmt/core.h>

#include "base/json.h"
#include "base/number_text.h"

namespace nl::report {

using nlohmann::json;

std::string text_of(const json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

std::optional<double> number_of(const json& object, const char* key) {
  if (!object.contains(key) || !object[key].is_number()) return std::nullopt;
  return object[key].get<double>();
}

std::string time_of(const json& object, const char* key) {
  const auto ns = number_of(object, key);
  return ns ? duration_text(static_cast<int64_t>(*ns)) : "-";
}

std::string verdict_words(const std::string& verdict) {
  return verdict == "not_met" ? "not met" : verdict;
}

const char* verdict_class(const std::string& verdict) {
  if (verdict == "met") return "better";
  return verdict == "not_met" || verdict == "refused" ? "worse" : "base";
}

std::string speedup_words(const json& claim) {
  const auto speedup = number_of(claim, "speedup"), low = number_of(claim, "low"),
             high = number_of(claim, "high");
  if (!speedup) return {};
  std::string out = fmt::format("{:.3f} ×", *speedup);
  if (low && high) out += fmt::format(" ({:.3f} to {:.3f})", *low, *high);
  return out;
}

}  // namespace nl::report
