#include "ops/advice/actions.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "ops/advice/time_parts.h"
#include "ops/text/figure_text.h"
#include "report/device_label.h"

namespace nl::ops {
namespace {

using analyze::Analysis;
using analyze::FindingOnDevice;
using analyze::FindingSuggestion;

/// The suggestion that saves most; the first one if none says how much.
const FindingSuggestion& best_of(const std::vector<FindingSuggestion>& suggestions) {
  const FindingSuggestion* best = &suggestions.front();
  for (const FindingSuggestion& one : suggestions) {
    if (one.gain_ns.value_or(0) > best->gain_ns.value_or(0)) best = &one;
  }
  return *best;
}

/// Without its gain.
Action action_of(const FindingOnDevice& found, const FindingSuggestion& suggestion) {
  const auto& [finding, on] = found;
  Action action{.on = on,
                .rule = finding.rule,
                .suggestion = suggestion.suggestion,
                .title = finding.title,
                .what_to_do = suggestion.text,
                .at_most = suggestion.at_most,
                .alone_ns = suggestion.gain_ns.optional(),
                .shared_with = finding.shared_with,
                .at_stake_ns = finding.at_stake_ns,
                .confidence = finding.confidence,
                .proof = finding.proof};
  if (!finding.evidence.empty()) action.because = evidence_text(finding.evidence.front());
  return action;
}

void add_gain(Action& action, int64_t promised_ns, const FindingSuggestion& suggestion, int64_t window_ns) {
  if (!suggestion.gain_ns) {
    action.gain_ns = Absent{suggestion.gain_ns.reason()};
    return;
  }
  // Time of steps, for example, or of collectives beside which kernels run: the budget has none to promise.
  if (promised_ns == 0 && *suggestion.gain_ns > 0 && action.shared_with.empty()) {
    action.gain_ns = Absent{"its time is not a separate part of the window, so other gains may include it"};
    return;
  }
  const int64_t gain = std::min(promised_ns, *action.alone_ns);
  action.at_most = action.at_most || gain < *action.alone_ns;
  action.gain_ns = gain;
  if (window_ns > 0) action.share = static_cast<double>(gain) / static_cast<double>(window_ns);
}

/// The device that the limiter is about goes before others, so that gains of one device stand together. The
/// limiter of a job is about all its ranks: there the rank with the most at stake stays.
bool is_better(const FindingOnDevice& a, const FindingOnDevice& b, const Analysis& data) {
  if (data.limiters.empty() || mean_of_devices(data)) return false;
  const analyze::DeviceName& main = data.limiters.front().on;
  return a.on == main && !(b.on == main);
}

/// 0: with a gain, 1: nobody knows, 2: others promise the same time.
int group_of(const Action& action) {
  if (!action.gain_ns) return 1;
  return *action.gain_ns > 0 ? 0 : 2;
}

bool comes_before(const Action& a, const Action& b) {
  const int left = group_of(a), right = group_of(b);
  if (left != right) return left < right;
  const int64_t a_ns = left == 0 ? *a.gain_ns : a.at_stake_ns;
  const int64_t b_ns = left == 0 ? *b.gain_ns : b.at_stake_ns;
  return a_ns > b_ns;
}

}  // namespace

std::string gain_words(const Action& action) {
  if (!action.gain_ns) return "gain not known: " + action.gain_ns.reason();
  if (*action.gain_ns == 0 && action.shared_with.empty()) return "saves nothing of the window";
  if (*action.gain_ns == 0)
    return fmt::format("saves nothing beyond {}", fmt::join(action.shared_with, ", "));
  return fmt::format("saves {}{}{}", action.at_most ? "at most " : "about ", duration_text(*action.gain_ns),
                     action.share ? fmt::format(", {} of the window", percent_text(*action.share)) : "");
}

std::string place_words(const Action& action) {
  return fmt::format("on {}{}", report::device_title(action.on),
                     action.devices > 1 ? fmt::format(", found on {} devices", action.devices) : "");
}

std::vector<Action> actions_of(const Analysis& data) {
  std::vector<const FindingOnDevice*> chosen;  // one of each rule, in the order of the findings
  std::map<std::string, int64_t> devices;
  for (const FindingOnDevice& found : data.findings) {
    devices[found.finding.rule]++;
    if (found.finding.suggestions.empty()) continue;  // none fits this device
    const auto same = std::find_if(chosen.begin(), chosen.end(), [&](const FindingOnDevice* one) {
      return one->finding.rule == found.finding.rule;
    });
    if (same == chosen.end()) {
      chosen.push_back(&found);
    } else if (is_better(found, **same, data)) {
      *same = &found;
    }
  }
  std::vector<Action> actions;
  for (const FindingOnDevice* found : chosen) {
    const FindingSuggestion& best = best_of(found->finding.suggestions);
    Action action = action_of(*found, best);
    action.devices = devices[action.rule];
    add_gain(action, found->finding.promised_ns, best, data.window.total_ns);
    actions.push_back(std::move(action));
  }
  std::stable_sort(actions.begin(), actions.end(), comes_before);
  return actions;
}

}  // namespace nl::ops
