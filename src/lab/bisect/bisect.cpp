#include "lab/bisect/bisect.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/call_control.h"
#include "lab/bisect/kept_values.h"
#include "stats/effect.h"
#include "stats/random.h"

namespace nl::lab {
namespace {

using stats::EndsMeasured;
using stats::StepDecision;
using stats::StepTest;
using stats::TimePair;

Result<void> check(const std::vector<BisectPoint>& points, const BisectOptions& options) {
  if (points.size() < 2) return Error{ErrorCode::kBadInput, "a bisection needs a good and a bad point"};
  std::set<std::string> ids;
  for (const BisectPoint& point : points) {
    if (!ids.insert(point.id).second)
      return Error{ErrorCode::kBadInput, "a point is in the list twice: " + point.id};
  }
  if (!(options.error > 0 && options.error < 0.5))
    return Error{ErrorCode::kBadInput, "the error budget lies between 0 and 0.5"};
  if (options.most_pairs < static_cast<int64_t>(EndsMeasured::kLeastPairs))
    return Error{ErrorCode::kBadInput,
                 "the ends need more pairs: at least " + std::to_string(EndsMeasured::kLeastPairs)};
  return {};
}

/// The same for a text on every machine.
uint64_t number_of(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

/// Whether the good one comes first in a pair: A B B A or B A A B, block by block, drawn from the seed and
/// the point, so that a search that goes on draws the same.
bool is_good_first(uint64_t seed, const std::string& point, size_t pair) {
  stats::Random random(seed ^ number_of(point) ^ (pair / 2 * 0x9E3779B97F4A7C15));
  return random.below(2) == pair % 2;
}

/// Halvings of a list of so many places that may hold the culprit.
double halvings(int64_t places) {
  double count = 0;
  for (int64_t left = places; left > 1; left = (left + 1) / 2) count++;
  return count;
}

double median_ratio(const std::vector<TimePair>& pairs) {
  std::vector<double> ratios;
  for (const TimePair& pair : pairs) ratios.push_back(pair.candidate / pair.good);
  return ratios.empty() ? 1 : stats::median(stats::sorted(std::move(ratios)));
}

class Search {
 public:
  Search(const std::vector<BisectPoint>& points, const BisectCalls& calls, const BisectOptions& options,
         KeptValues& kept)
      : points_(points), calls_(calls), options_(options), kept_(kept), budget_(options.error) {
    answer_.points = static_cast<int64_t>(points.size());
    answer_.good = points.front();
    answer_.bad = points.back();
    answer_.error = options.error;
    answer_.seed = options.seed;
    good_ = 0;
    bad_ = last();
  }

  Result<BisectAnswer> run() {
    NL_TRY(const auto ends, measure_ends());
    if (!ends) return finished();
    answer_.status = BisectStatus::kFound;
    while (bad_ - good_ > 1) {
      NL_TRY(const auto place, next_ready_place());
      if (!place) break;
      NL_TRY(const bool is_over, decide(*place, *ends));
      if (is_over) break;
    }
    return finished();
  }

 private:
  int64_t last() const { return answer_.points - 1; }
  const BisectPoint& at(int64_t place) const { return points_[static_cast<size_t>(place)]; }

  Error cannot_measure(const BisectPoint& point, const std::string& reason) const {
    return {ErrorCode::kUnavailable, "an end of the list cannot be measured: " + point.name + ": " + reason,
            "choose another end, or mend what it says"};
  }

  /// Prepares what is not ready yet: nothing while kept pairs are enough.
  Result<Known<bool>> ready(const BisectPoint& point) {
    std::string& ready_id = &point == &points_.front() ? ready_good_ : ready_candidate_;
    if (ready_id == point.id) return Known<bool>(true);
    ready_id.clear();
    report_progress("preparing " + point.name, progress());
    NL_TRY(auto ready, calls_.prepare(point));
    if (ready && *ready) ready_id = point.id;
    if (ready && !*ready) return Known<bool>::absent("it cannot be made ready");
    return ready;
  }

  /// The two of a pair, in the order that was drawn. Absent: the candidate cannot be measured.
  Result<Known<TimePair>> measured_pair(const BisectPoint& point, size_t number) {
    NL_TRY(const auto good_ready, ready(points_.front()));
    if (!good_ready) return cannot_measure(points_.front(), good_ready.reason());
    NL_TRY(const auto is_ready, ready(point));
    if (!is_ready) return Known<TimePair>::absent(is_ready.reason());
    TimePair pair;
    const bool good_first = is_good_first(options_.seed, point.id, number);
    for (const bool is_good : {good_first, !good_first}) {
      NL_CHECK(check_cancelled());
      NL_TRY(const auto time, calls_.measure(is_good ? points_.front() : point));
      if (!time && is_good) return cannot_measure(points_.front(), time.reason());
      if (!time) return Known<TimePair>::absent(time.reason());
      (is_good ? pair.good : pair.candidate) = *time;
    }
    NL_CHECK(kept_.add(points_.front().id, point.id, pair));
    return Known<TimePair>(pair);
  }

  /// The pair of that number: kept, or measured now.
  Result<Known<TimePair>> pair_of(const BisectPoint& point, size_t number, int64_t& kept_pairs) {
    const auto& kept = kept_.pairs(points_.front().id, point.id);
    if (number >= kept.size()) return measured_pair(point, number);
    kept_pairs++;
    return Known<TimePair>(kept[number]);
  }

  void say_ends(const EndsMeasured& measured) {
    answer_.change = measured.change();
    std::vector<double> ratios;
    for (const TimePair& pair : answer_.ends) ratios.push_back(pair.candidate / pair.good);
    answer_.change_interval = stats::median_interval(stats::sorted(std::move(ratios)));
  }

  /// Nothing if the ends do not differ.
  Result<std::optional<EndsMeasured>> measure_ends() {
    const double error = budget_ / (halvings(last()) + 1);
    std::optional<EndsMeasured> found;
    while (static_cast<int64_t>(answer_.ends.size()) < options_.most_pairs) {
      report_progress("measuring both ends", 0);
      NL_TRY(const auto pair, pair_of(points_.back(), answer_.ends.size(), answer_.kept_end_pairs));
      if (!pair) return cannot_measure(points_.back(), pair.reason());
      answer_.ends.push_back(*pair);
      if (answer_.ends.size() < EndsMeasured::kLeastPairs) continue;
      NL_TRY(auto measured, EndsMeasured::of(answer_.ends, error));
      say_ends(measured);
      answer_.status = measured.is_faster() ? BisectStatus::kBadIsFaster : BisectStatus::kNoDifference;
      if (measured.is_faster()) return std::optional<EndsMeasured>();
      if (measured.is_slower()) found = std::move(measured);
      if (found && found->is_enough()) break;
    }
    budget_ -= error;
    return found;
  }

  bool is_skipped(int64_t place) const {
    return std::any_of(answer_.skipped.begin(), answer_.skipped.end(),
                       [&](const SkippedPoint& s) { return s.place == place; });
  }

  /// The next place to try between the good and the bad one: the middle, or, where that cannot be measured,
  /// ever farther from it to both sides, so that a long stretch of broken points is soon left; then any.
  std::optional<int64_t> next_place() const {
    const int64_t middle = good_ + (bad_ - good_) / 2;
    const auto may = [&](int64_t place) { return place > good_ && place < bad_ && !is_skipped(place); };
    for (int64_t away = 0; away <= bad_ - good_; away = 2 * away + 1) {
      if (may(middle - away)) return middle - away;
      if (may(middle + away)) return middle + away;
    }
    for (int64_t away = 0; away <= bad_ - good_; away++) {
      if (may(middle - away)) return middle - away;
      if (may(middle + away)) return middle + away;
    }
    return std::nullopt;
  }

  void skip(int64_t place, const std::string& reason) {
    answer_.skipped.push_back({place, at(place), reason});
  }

  Result<std::optional<int64_t>> next_ready_place() {
    while (const auto place = next_place()) {
      NL_CHECK(check_cancelled());
      if (!kept_.pairs(points_.front().id, at(*place).id).empty()) return place;
      NL_TRY(const auto is_ready, ready(at(*place)));
      if (is_ready) return place;
      skip(*place, is_ready.reason());
    }
    return std::optional<int64_t>();
  }

  double progress() const { return 1 - halvings(bad_ - good_) / std::max(1.0, halvings(last())); }

  /// True if the search cannot go on.
  Result<bool> decide(int64_t place, const EndsMeasured& ends) {
    BisectStep step;
    step.place = place;
    step.point = at(place);
    step.error = budget_ / std::max(1.0, halvings(bad_ - good_));
    StepTest test(ends, step.error);
    while (step.decision == StepDecision::kUndecided &&
           static_cast<int64_t>(step.pairs.size()) < options_.most_pairs) {
      report_progress("measuring " + step.point.name, progress());
      NL_TRY(const auto pair, pair_of(step.point, step.pairs.size(), step.kept_pairs));
      if (!pair) {
        lost_runs_ += 2 * static_cast<int64_t>(step.pairs.size());
        skip(place, pair.reason());
        return false;
      }
      step.pairs.push_back(*pair);
      step.decision = test.add(*pair);
    }
    step.evidence = test.evidence();
    step.ratio = median_ratio(step.pairs);
    budget_ -= step.error;
    answer_.steps.push_back(step);
    if (step.decision == StepDecision::kUndecided) {
      answer_.status = BisectStatus::kUndecided;
      return true;
    }
    (step.decision == StepDecision::kSlow ? bad_ : good_) = place;
    return false;
  }

  void count_runs() {
    answer_.runs = 2 * static_cast<int64_t>(answer_.ends.size()) + lost_runs_;
    answer_.kept_runs = 2 * answer_.kept_end_pairs;
    int64_t of_steps = 0;
    for (const BisectStep& step : answer_.steps) {
      of_steps += 2 * static_cast<int64_t>(step.pairs.size());
      answer_.kept_runs += 2 * step.kept_pairs;
    }
    answer_.runs += of_steps;
    if (answer_.status != BisectStatus::kFound || answer_.steps.empty()) return;
    const int64_t measured_up_to_culprit = std::min(bad_, last() - 1);
    const double each = static_cast<double>(of_steps) / static_cast<double>(answer_.steps.size());
    answer_.linear_runs = 2 * static_cast<int64_t>(answer_.ends.size()) +
                          std::llround(each * static_cast<double>(measured_up_to_culprit));
  }

  BisectAnswer finished() {
    const bool differ =
        answer_.status != BisectStatus::kNoDifference && answer_.status != BisectStatus::kBadIsFaster;
    if (differ) {
      for (int64_t place = good_ + 1; place <= bad_; place++) answer_.suspects.push_back(at(place));
      answer_.before = at(good_);
      if (bad_ < last()) answer_.after = at(bad_ + 1);
      if (answer_.status == BisectStatus::kFound && bad_ - good_ > 1) answer_.status = BisectStatus::kRange;
    }
    count_runs();
    return std::move(answer_);
  }

  const std::vector<BisectPoint>& points_;
  const BisectCalls& calls_;
  const BisectOptions& options_;
  KeptValues& kept_;
  double budget_;  ///< of the error, what is left
  int64_t good_ = 0, bad_ = 0;
  std::string ready_good_, ready_candidate_;  ///< ids
  int64_t lost_runs_ = 0;                     ///< of points that failed after some pairs
  BisectAnswer answer_;
};

}  // namespace

std::string_view bisect_status_name(BisectStatus status) {
  static constexpr std::array<std::string_view, kBisectStatuses> kNames = {"found", "range", "no_difference",
                                                                           "bad_is_faster", "undecided"};
  return kNames[static_cast<size_t>(status)];
}

Result<BisectAnswer> bisect(const std::vector<BisectPoint>& points, const BisectCalls& calls,
                            const BisectOptions& options) {
  NL_CHECK(check(points, options));
  NL_TRY(auto kept, KeptValues::open(options.values_file, options.task, options.machine, options.seed));
  return Search(points, calls, options, kept).run();
}

}  // namespace nl::lab
