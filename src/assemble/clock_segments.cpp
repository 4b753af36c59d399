#include "assemble/clock_segments.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace nl::assemble {
namespace {

constexpr long double kGrossNs = 3.6e12L;  // an hour away from all others
constexpr size_t kLookAhead = 32;          // limits of one side that tell a step from a corrupt record
constexpr size_t kStepContradictions = 4;  // so many of them must contradict
constexpr size_t kShortestRun = 4;         // limits after a step
constexpr size_t kMostSegments = 64;

template <class Get>
int64_t median_of(const std::vector<OffsetLimit>& limits, Get get) {
  std::vector<int64_t> values;
  for (const OffsetLimit& limit : limits) values.push_back(get(limit));
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

long double difference(int64_t a, int64_t b) {
  return static_cast<long double>(a) - static_cast<long double>(b);
}

}  // namespace

ClockSegmenter::ClockSegmenter(std::vector<OffsetLimit> limits, double max_drift)
    : limits_(std::move(limits)), max_drift_(max_drift) {
  if (limits_.empty()) return;
  most_corrupt_ = std::max<size_t>(16, limits_.size() / 10);
  base_ns_ = median_of(limits_, [](const OffsetLimit& limit) { return limit.offset_ns; });
  origin_ns_ = median_of(limits_, [](const OffsetLimit& limit) { return limit.at_ns; });
}

long double ClockSegmenter::x(int64_t at_ns) const {
  return difference(at_ns, origin_ns_);
}

void ClockSegmenter::add(Points& points, size_t i) const {
  const OffsetLimit& limit = limits_[i];
  auto& side = limit.side == LimitSide::kLower ? points.lowers : points.uppers;
  side.push_back({x(limit.at_ns), difference(limit.offset_ns, base_ns_), i});
}

OffsetLines ClockSegmenter::lines(size_t begin, size_t end) const {
  Points points;
  for (size_t i = begin; i < end; i++) add(points, i);
  return lines(points);
}

OffsetLines ClockSegmenter::lines(const std::vector<size_t>& limits) const {
  Points points;
  for (const size_t i : limits) add(points, i);
  return lines(points);
}

/// Both limits of a corrupt record go.
void ClockSegmenter::drop(uint32_t record) {
  std::vector<size_t> begins = begins_;
  for (size_t i = 0; i < limits_.size(); i++) {
    if (limits_[i].record != record) continue;
    dropped_.push_back(limits_[i]);
    for (size_t r = 0; r < begins_.size(); r++) begins[r] -= i < begins_[r];
  }
  begins_ = std::move(begins);
  std::erase_if(limits_, [&](const OffsetLimit& limit) { return limit.record == record; });
  corrupt_.push_back(record);
}

void ClockSegmenter::drop_gross() {
  std::vector<uint32_t> gross;
  for (const OffsetLimit& limit : limits_) {
    if (std::fabs(difference(limit.offset_ns, base_ns_)) > kGrossNs) gross.push_back(limit.record);
  }
  std::sort(gross.begin(), gross.end());
  gross.erase(std::unique(gross.begin(), gross.end()), gross.end());
  std::erase_if(limits_, [&](const OffsetLimit& limit) {
    return std::binary_search(gross.begin(), gross.end(), limit.record);
  });
  corrupt_ = std::move(gross);
}

/// The first limit that no line through [begin, known) and what is between meets. Steps grow while all goes
/// well; what is behind is remembered by its hulls.
size_t ClockSegmenter::reach_forward(size_t begin, size_t known) const {
  Points behind;
  lines(begin, known).hull_points(behind.lowers, behind.uppers);
  size_t step = 1;
  while (known < limits_.size()) {
    const size_t end = std::min(limits_.size(), known + step);
    Points points = behind;
    for (size_t i = known; i < end; i++) add(points, i);
    const OffsetLines tried = lines(points);
    if (!tried.empty()) {
      tried.hull_points(behind.lowers, behind.uppers);
      known = end;
      step *= 2;
    } else if (end - known == 1) {
      return known;
    } else {
      step = (end - known) / 2;
    }
  }
  return known;
}

/// The first limit from which on all up to `end` agree; not before `first`.
size_t ClockSegmenter::reach_back(size_t begin, size_t end, size_t first) const {
  size_t step = 1;
  while (begin > first) {
    const size_t next = begin - std::min(step, begin - first);
    if (!lines(next, end).empty()) {
      begin = next;
      step *= 2;
    } else if (begin - next == 1) {
      return begin;
    } else {
      step = (begin - next) / 2;
    }
  }
  return begin;
}

/// Records that may be to blame for the contradiction: the last one and those that it contradicts.
std::vector<uint32_t> ClockSegmenter::suspects(size_t begin, size_t conflict) const {
  std::vector<uint32_t> records = {limits_[conflict].record};
  for (const size_t limit : lines(begin, conflict + 1).conflict()) {
    const uint32_t record = limits_[limit].record;
    if (std::find(records.begin(), records.end(), record) == records.end()) records.push_back(record);
  }
  return records;
}

/// Without the suspect: how many of the next limits on this side contradict what came before.
size_t ClockSegmenter::contradictions(size_t begin, size_t conflict, uint32_t suspect, size_t& seen) const {
  Points points;
  for (size_t i = begin; i <= conflict; i++) {
    if (limits_[i].record != suspect) add(points, i);
  }
  const OffsetLines before = lines(points);
  size_t count = 0;
  seen = 0;
  for (size_t i = conflict + 1; i < limits_.size() && seen < kLookAhead; i++) {
    const OffsetLimit& limit = limits_[i];
    if (limit.side != limits_[conflict].side || limit.record == suspect) continue;
    seen++;
    const long double at = x(limit.at_ns), offset = difference(limit.offset_ns, base_ns_);
    const bool lower = limit.side == LimitSide::kLower;
    if (before.empty() || (lower ? before.highest(at) < offset : before.lowest(at) > offset)) count++;
  }
  return before.empty() ? SIZE_MAX : count;
}

/// False if it must be given up. A corrupt record is dropped; after a step a new run begins at `conflict`.
bool ClockSegmenter::resolve(size_t begin, size_t conflict, bool& is_step) {
  size_t fewest = SIZE_MAX, seen_then = 0;
  uint32_t guilty = limits_[conflict].record;
  for (const uint32_t suspect : suspects(begin, conflict)) {
    size_t seen = 0;
    const size_t count = contradictions(begin, conflict, suspect, seen);
    if (count >= fewest) continue;
    fewest = count;
    seen_then = seen;
    guilty = suspect;
  }
  // With itself. Near the end of the evidence fewer must do.
  const size_t all = seen_then + 1, enough = all <= 6 ? 2 : all <= 12 ? 3 : kStepContradictions;
  const bool many = fewest != SIZE_MAX && fewest + 1 >= enough;
  is_step = many && limits_.size() - conflict >= kShortestRun;
  if (!is_step) drop(guilty);
  return corrupt_.size() <= most_corrupt_;
}

/// From the last run back: one that is sure to be clean tells how far back it reaches, and thus where the one
/// before it surely ends.
void ClockSegmenter::settle_runs() {
  const std::vector<size_t>& begins = begins_;
  runs_.assign(begins.size(), {});
  size_t end = limits_.size();
  for (size_t r = begins.size(); r-- > 0;) {
    runs_[r] = {begins[r], end};
    if (r == 0) break;
    end = end > begins[r] ? reach_back(begins[r], end, begins[r - 1]) : begins[r];
  }
}

bool ClockSegmenter::split() {
  drop_gross();
  if (corrupt_.size() > most_corrupt_) return false;
  size_t known = 0;
  while ((known = reach_forward(begins_.back(), known)) < limits_.size()) {
    bool is_step = false;
    if (!resolve(begins_.back(), known, is_step)) return false;
    if (is_step) begins_.push_back(known);
    known = begins_.back();  // what was dropped may have lain before
    if (begins_.size() > kMostSegments) return false;
  }
  // A corrupt record may have passed for the first one after a step: now that all are gone, once more.
  begins_ = {0};
  while ((known = reach_forward(begins_.back(), begins_.back())) < limits_.size()) begins_.push_back(known);
  settle_runs();
  return true;
}

}  // namespace nl::assemble
