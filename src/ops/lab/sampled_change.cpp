#include "ops/lab/sampled_change.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json.h"
#include "ops/door.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

// Addresses without a name are one function for each file. Python functions hold what they call in C.
constexpr char kFunctions[] = R"(
  SELECT regexp_replace(string_split(stack, ';')[-1], '\+0x[0-9a-f]+$', ' (no name)') AS name,
         count(*) AS samples, sum(weight)::BIGINT AS ns
  FROM samples JOIN tracks USING (track_id) WHERE stack IS NOT NULL AND (kind = 'python') = {} GROUP BY 1)";
constexpr int64_t kMostFunctions = 100'000;
constexpr size_t kMostNamed = 3;
constexpr double kDeviations = 4;

struct Sampled {
  int64_t samples = 0;
  int64_t ns = 0;
};
using Functions = std::map<std::string, Sampled>;

Result<Functions> functions_of(const Context& given, const std::string& run, bool python) {
  Context context = given;
  const json parameters = {{"run", run}, {"sql", fmt::format(kFunctions, python)}, {"limit", kMostFunctions}};
  NL_TRY(const Outcome outcome, call("query", parameters, context));
  Functions functions;
  for (const json& row : outcome.data["rows"]) functions[row[0]] = {row[1], row[2]};
  return functions;
}

/// Both runs, by Python functions if both have such.
Result<std::pair<Functions, Functions>> functions_of_both(const Context& context,
                                                          const std::vector<std::string>& runs) {
  for (const bool python : {true, false}) {
    NL_TRY(auto base, functions_of(context, runs[0], python));
    NL_TRY(auto changed, functions_of(context, runs[1], python));
    if (!base.empty() && !changed.empty()) return std::pair(std::move(base), std::move(changed));
  }
  return Error{ErrorCode::kUnavailable, "the runs have no samples to compare"};
}

Sampled sum_of(const Functions& functions) {
  Sampled sum;
  for (const auto& [name, one] : functions) {
    sum.samples += one.samples;
    sum.ns += one.ns;
  }
  return sum;
}

struct Change {
  std::string name;
  Sampled base, changed;

  int64_t ns() const { return changed.ns - base.ns; }
  /// Samples come by chance: the variance of a number of them is that number.
  bool is_shown() const {
    const auto samples = static_cast<double>(base.samples + changed.samples);
    const double weight = static_cast<double>(base.ns + changed.ns) / samples;
    return std::abs(static_cast<double>(ns())) > kDeviations * weight * std::sqrt(samples);
  }
};

std::vector<Change> shown_changes(const Functions& base, const Functions& changed) {
  std::map<std::string, Change> all;
  for (const auto& [name, one] : base) all[name].base = one;
  for (const auto& [name, one] : changed) all[name].changed = one;
  std::vector<Change> shown;
  for (auto& [name, change] : all) {
    change.name = name;
    if (change.is_shown()) shown.push_back(change);
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const Change& a, const Change& b) { return std::abs(a.ns()) > std::abs(b.ns()); });
  return shown;
}

std::string times_of(const Sampled& base, const Sampled& changed) {
  return duration_text(changed.ns) + " instead of " + duration_text(base.ns);
}

}  // namespace

Result<std::string> sampled_change(const Context& context, const std::vector<std::string>& runs) {
  NL_TRY(const auto functions, functions_of_both(context, runs));
  const auto& [base, changed] = functions;
  const auto changes = shown_changes(base, changed);
  const Sampled all_base = sum_of(base), all_changed = sum_of(changed);
  if (changes.empty())
    return fmt::format("not known: the samples of one run of each ({} and {}) show no function that changed",
                       grouped(all_base.samples), grouped(all_changed.samples));
  std::string words;
  for (size_t i = 0; i < std::min(changes.size(), kMostNamed); i++) {
    words += fmt::format("{}{} took {}", i == 0 ? "" : ", ", quoted_name(changes[i].name),
                         times_of(changes[i].base, changes[i].changed));
  }
  return fmt::format("by samples of one run of each, {}; all functions took {} of processor time", words,
                     times_of(all_base, all_changed));
}

}  // namespace nl::ops
