#pragma once
// Actions: what to do about the findings of a run, by what they may save. A rule that fires on several
// devices is one action. Of one device no nanosecond is promised twice (analyze/budget.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/analysis.h"
#include "base/known.h"

namespace nl::ops {

struct Action {
  analyze::DeviceName on = {};
  int64_t devices = 1;
  std::string rule = {};
  int64_t suggestion = 0;
  std::string title = {};
  std::string what_to_do = {};
  Known<int64_t> gain_ns = Absent{};
  bool at_most = false;
  std::optional<double> share = {};
  std::optional<int64_t> alone_ns = {};
  std::vector<std::string> shared_with = {};
  int64_t at_stake_ns = 0;
  analyze::Confidence confidence = analyze::Confidence::kLow;
  std::string proof = {};
  std::string because = {};

  static constexpr auto fields() {
    using A = Action;
    return std::tuple{
        field("rule", &A::rule, "rule that found it"),
        field("suggestion", &A::suggestion, "number of the rule's suggestion, from 1"),
        field("title", &A::title, "what was found"),
        field("do", &A::what_to_do, "what to do about it"),
        field_known("gain_ns", &A::gain_ns,
                    "time of the window that this may save and that no other action of the device promises"),
        field("at_most", &A::at_most, "the gain is an upper bound"),
        field("share", &A::share, "gain_ns as a share of the window; null without a gain"),
        field("alone_ns", &A::alone_ns,
              "what it may save if nothing else is done; null if that is not known"),
        field("shared_with", &A::shared_with, "rules that promise a part of the same time"),
        field("at_stake_ns", &A::at_stake_ns, "time of the window that the finding is about"),
        field("confidence", &A::confidence, "how sure the finding is"),
        field("proof", &A::proof,
              "how gains that this rule promised compared with measured ones; unproved without such"),
        field("because", &A::because, "the figure that it rests on"),
        merged(&A::on),
        field("devices", &A::devices, "devices on which the rule found it")};
  }
};

/// A finding of which no suggestion fits the device is none. The largest gain first; then those without a
/// gain, the most time at stake first; last those whose time others promise already.
std::vector<Action> actions_of(const analyze::Analysis& analysis);

/// "saves at most 1.2 ms (34.5 % of the window)"; of an action without a gain: that it is not known.
std::string gain_words(const Action& action);

/// "on device 1 of rank 1, found on 8 devices", for runs of several devices.
std::string place_words(const Action& action);

}  // namespace nl::ops
