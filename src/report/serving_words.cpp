#include "report/serving_words.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/number_text.h"

namespace nl::report {
namespace {

constexpr double kLeastClassShare = 0.01;  // smaller ones are left out

/// "2.86 ms", or "2.86 to 3.10 ms" if the two differ.
std::string range_text(int64_t low, int64_t high) {
  const std::string least = duration_text(low), most = duration_text(high);
  return least == most ? least : least + " to " + most;
}

std::string range_text(double low, double high) {
  const std::string least = percent_text(low), most = percent_text(high);
  return least == most ? least : least + " to " + most;
}

}  // namespace

std::vector<std::string> class_shares(const std::map<std::string, int64_t>& classes) {
  std::vector<std::pair<int64_t, std::string>> by_time;
  int64_t sum = 0;
  for (const auto& [name, ns] : classes) {
    by_time.emplace_back(ns, name);
    sum += ns;
  }
  std::sort(by_time.rbegin(), by_time.rend());
  std::vector<std::string> shares;
  for (const auto& [ns, name] : by_time) {
    const double share = static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(sum, 1));
    if (share >= kLeastClassShare) shares.push_back(name + " " + percent_text(share));
  }
  return shares;
}

std::string serving_words(const analyze::ServingRow& row) {
  const auto requests = [](const std::optional<int64_t>& count) {
    return counted(count.value_or(0), "request");
  };
  if (row.phase == "prefill") return "prefill of " + requests(row.prefill_requests);
  if (row.phase == "decode_step") return "decode of " + requests(row.decode_requests);
  return fmt::format("mixed step, prefill of {} and decode of {}", requests(row.prefill_requests),
                     requests(row.decode_requests));
}

std::string roof_title(const analyze::ModelRoofRow& row) {
  const std::string phase = row.phase == "decode_step" ? "decode" : row.phase;
  return fmt::format("{}, {} a step", phase, counted(row.tokens, "token"));
}

std::string model_roof_words(const analyze::ModelRoofRow& row) {
  std::string text = fmt::format("{} a step; reading the weights once takes {}", duration_text(row.step_ns),
                                 range_text(row.weights_ns_low, row.weights_ns_high));
  if (row.cache_ns_low)
    text += fmt::format(", keys and values {}", range_text(*row.cache_ns_low, *row.cache_ns_high));
  text += fmt::format(". That is {} of the memory bandwidth", range_text(row.mbu_low, row.mbu_high));
  if (row.mfu_low) text += fmt::format(" and {} of the peak rate", range_text(*row.mfu_low, *row.mfu_high));
  return text + ".";
}

}  // namespace nl::report
