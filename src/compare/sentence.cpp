#include "compare/sentence.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/number_text.h"
#include "compare/plain_words.h"

namespace nl::compare {
namespace {

constexpr size_t kMostCauses = 3, kMostBack = 2;
constexpr double kWorthNaming = 0.15;    // of the difference
constexpr double kWorthAddingUp = 0.25;  // of the difference, for what no named part explains
constexpr double kEnoughNamed = 0.9;     // of what pulls into the direction of the difference
constexpr double kLargeInside = 0.05;    // of the window: parts that cancel out but are worth a word
constexpr int64_t kAlmostAll = 20;       // one in twenty left counts as none

/// As short as a sentence can bear: 33.7 ms, 554 us.
std::string short_duration(int64_t ns) {
  const double size = std::fabs(static_cast<double>(ns));
  const auto text = [](double value, const char* unit) {
    return fmt::format("{:.{}f} {}", value, value < 99.95 ? 1 : 0, unit);
  };
  if (size < 1e3) return fmt::format("{} ns", std::abs(ns));
  if (size < 999.5e3) return text(size / 1e3, "us");
  if (size < 999.5e6) return text(size / 1e6, "ms");
  return text(size / 1e9, "s");
}

/// Runs that repeats show to be alike in this part are no cause, whatever the two middle runs say.
bool is_shown_unchanged(const PartRow& part) {
  return part.statistics && part.statistics->verdict == stats::Verdict::kNoChange;
}

/// "46.7 ms less waiting for data", "20.9 ms more in matrix products".
std::string cause_text(const PartRow& part) {
  const std::string_view what = plain_words(part.kind, part.name).time;
  const std::string amount = short_duration(part.delta_ns);
  if (part.delta_ns < 0 && part.new_ns * kAlmostAll <= part.base_ns)
    return fmt::format("no more {} ({})", what, amount);
  if (part.delta_ns > 0 && part.base_ns * kAlmostAll <= part.new_ns)
    return fmt::format("{} of {} that the base does not have", amount, what);
  return fmt::format("{} {} {}{}", amount, part.delta_ns < 0 ? "less" : "more",
                     part.kind == PartKind::kCompute ? "in " : "", what);
}

/// "host ops took 9.6 ms back"; of a loss, what was won all the same.
std::string back_text(const PartRow& part) {
  return fmt::format("{} {} {} back", plain_words(part.kind, part.name).cause,
                     part.delta_ns > 0 ? "took" : "gave", short_duration(part.delta_ns));
}

/// The parts that a sentence names.
struct Named {
  std::vector<const PartRow*> causes, back;
  int64_t sum_ns = 0;  ///< of all of them
};

class SentenceWriter {
 public:
  explicit SentenceWriter(const Comparison& comparison) : data_(comparison) {}

  std::string text() const {
    if (is_one_side())
      return "both sides are the same " + std::string(data_.base.runs.size() == 1 ? "run" : "runs");
    if (data_.verdict == stats::Verdict::kIncomparable) return incomparable_text();
    if (data_.verdict == stats::Verdict::kNoChange) return unchanged_text("no difference beyond noise");
    if (data_.verdict == stats::Verdict::kInconclusive) return inconclusive_text();
    if (is_negligible()) return unchanged_text("no difference that matters") + inside_text();
    return head_text() + work_text() + ": " + causes_text() + runs_text();
  }

 private:
  bool is_one_side() const {
    const auto ids = [](const ComparedSide& side) {
      return std::set<std::string>(side.runs.begin(), side.runs.end());
    };
    return !data_.base.runs.empty() && ids(data_.base) == ids(data_.next);
  }

  bool is_tested() const {
    return data_.verdict == stats::Verdict::kRegression || data_.verdict == stats::Verdict::kImprovement;
  }
  bool is_negligible() const {
    if (data_.delta_ns == 0) return true;
    return !is_tested() && data_.ratio && std::abs(*data_.ratio - 1) < data_.statistics.practical_bound;
  }

  // ---- By how much

  /// A capture is as long as somebody let it run: it is shorter, and not faster.
  bool is_capture() const { return data_.unit == "capture"; }
  std::string unit_text() const { return (data_.unit.starts_with("i") ? "an " : "a ") + data_.unit; }
  std::string percent() const {
    return data_.ratio ? fmt::format(" ({})", percent_text(std::abs(*data_.ratio - 1))) : "";
  }

  std::string head_text() const {
    const std::string amount = short_duration(data_.delta_ns);
    const bool less = data_.delta_ns < 0;
    if (is_capture())
      return fmt::format("the capture is {} {}{}", amount, less ? "shorter" : "longer", percent());
    return fmt::format("{} {} {}{}", amount, unit_text(), less ? "faster" : "slower", percent());
  }

  std::string both_windows() const {
    std::string out = fmt::format("{} → {} {}", duration_text(data_.base.window_ns),
                                  duration_text(data_.next.window_ns), unit_text());
    return data_.ratio ? out + " (" + signed_percent_text(*data_.ratio - 1) + ")" : out;
  }

  /// Another amount of work is the first thing to know of a difference of times.
  std::string work_text() const {
    for (const Factor& factor : data_.comparability.factors) {
      const bool counts_calls = factor.name == kAmountOfWork && factor.base == "1" && factor.next;
      if (counts_calls && factor.state == FactorState::kDifferent)
        return ", with " + *factor.next + " times the calls";
    }
    return "";
  }

  // ---- Why

  static void take(const std::vector<const PartRow*>& parts, size_t most, double least, int64_t enough,
                   std::vector<const PartRow*>& to, int64_t& sum) {
    int64_t taken = 0;
    for (const PartRow* part : parts) {
      const int64_t size = std::abs(part->delta_ns);
      if (to.size() == most || static_cast<double>(size) < least || taken >= enough) return;
      to.push_back(part);
      taken += size;
      sum += part->delta_ns;
    }
  }

  Named named(double least) const {
    std::vector<const PartRow*> with, against;
    int64_t pull = 0;
    for (const PartRow& part : data_.parts) {
      if (part.delta_ns == 0) continue;
      const bool same = (part.delta_ns < 0) == (data_.delta_ns < 0);
      if (same) pull += std::abs(part.delta_ns);
      if (!is_shown_unchanged(part)) (same ? with : against).push_back(&part);
    }
    Named out;
    const auto enough = static_cast<int64_t>(kEnoughNamed * static_cast<double>(pull));
    take(with, kMostCauses, least, enough, out.causes, out.sum_ns);
    take(against, kMostBack, least, INT64_MAX, out.back, out.sum_ns);
    return out;
  }

  std::string causes_text() const {
    const double size = std::abs(static_cast<double>(data_.delta_ns));
    const Named parts = named(kWorthNaming * size);
    if (parts.causes.empty() && parts.back.empty()) return "in many small parts";
    std::vector<std::string> causes, clauses;
    for (const PartRow* part : parts.causes) causes.push_back(cause_text(*part));
    if (!causes.empty()) clauses.push_back(fmt::format("{}", fmt::join(causes, ", ")));
    for (const PartRow* part : parts.back) clauses.push_back(back_text(*part));
    const int64_t left = data_.delta_ns - parts.sum_ns;
    if (std::abs(static_cast<double>(left)) >= kWorthAddingUp * size)
      clauses.push_back(
          fmt::format("{} {} in smaller parts", short_duration(left), left < 0 ? "less" : "more"));
    return fmt::format("{}", fmt::join(clauses, "; "));
  }

  /// Parts that moved far and cancel out.
  std::string inside_text() const {
    const Named parts = named(kLargeInside * static_cast<double>(data_.base.window_ns));
    std::vector<std::string> moved;
    for (const auto* list : {&parts.causes, &parts.back}) {
      for (const PartRow* part : *list) moved.push_back(cause_text(*part));
    }
    return moved.empty() ? "" : fmt::format("; inside of it {}", fmt::join(moved, ", "));
  }

  // ---- How sure

  std::string count_text() const {
    const size_t base = data_.base.runs.size(), next = data_.next.runs.size();
    return base == 1 && next == 1 ? "one run each" : fmt::format("{} and {} runs", base, next);
  }
  std::string runs_text() const { return is_tested() ? "" : " (" + count_text() + ")"; }

  std::string unchanged_text(const char* what) const {
    return fmt::format("{}: {}{}, {}", what, both_windows(), work_text(), count_text());
  }

  std::string inconclusive_text() const {
    std::string out = fmt::format("no difference shown beyond noise: {}{}, and {} cannot tell",
                                  both_windows(), work_text(), count_text());
    if (const auto more = data_.statistics.more_runs; more && *more > 0)
      out += fmt::format("; {} on each side would probably decide", counted(*more, "more run"));
    return out;
  }

  // ---- What cannot be told

  std::string incomparable_text() const {
    if (data_.mode != Mode::kSame && data_.across) return across_text();
    return "not comparable" + (data_.reasons.empty() ? "" : ": " + data_.reasons.front());
  }

  /// Figures of both without a word about faster: two things changed at once.
  std::string across_text() const {
    const bool hardware = data_.mode == Mode::kOtherHardware;
    std::string names[2];
    for (const Factor& factor : data_.comparability.factors) {
      if (factor.name != (hardware ? "device" : "backend")) continue;
      names[0] = factor.base.value_or("");
      names[1] = factor.next.value_or("");
    }
    const char* with = hardware ? "on" : "with";
    return fmt::format("{} {} {} {}, {} {} {}: {}", short_duration(data_.base.window_ns), unit_text(), with,
                       names[0], short_duration(data_.next.window_ns), with, names[1],
                       hardware
                           ? "other hardware, so shares and peaks are compared and no verdict is given"
                           : "another backend, so shares of classes are compared and no verdict is given");
  }

  const Comparison& data_;
};

}  // namespace

std::string sentence_of(const Comparison& comparison) {
  return SentenceWriter(comparison).text();
}

}  // namespace nl::compare
