#include "timeline/area.h"

#include <algorithm>

#include "base/text.h"

namespace nl::timeline {
namespace {

constexpr char kTooMany[] = "the name is in several rows, and there are too many spans: choose less";

struct Interval {
  int64_t begin_ns;
  int64_t end_ns;
};

int64_t union_of(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
  int64_t covered = 0, until = INT64_MIN;
  for (const Interval& one : intervals) {
    if (one.end_ns <= until) continue;
    covered += one.end_ns - std::max(one.begin_ns, until);
    until = one.end_ns;
  }
  return covered;
}

class Sums {
 public:
  Sums(const TimelineFile& file, const Stretch& stretch) : stretch_(stretch), names_(file.names()) {}

  void add(const Row& row, uint32_t number) {
    const uint32_t from = row.first_beyond(stretch_.begin_ns), to = row.first_from(stretch_.end_ns);
    if (from >= to) return;
    for (uint32_t i = from; i < to; i++) add(names_[row.name_of(i)], row.dur_ns(i), number);
    take_back_outside(row.span(from));
    if (to - from > 1) take_back_outside(row.span(to - 1));
    total_ += to - from;
  }

  /// The rows again, for names that are in several.
  void add_unions(const TimelineFile& file, const std::vector<uint32_t>& rows) {
    std::vector<std::vector<Interval>> intervals(names_.size());
    unions_.resize(names_.size());
    for (const uint32_t number : rows) {
      const Row row = file.row(number);
      const uint32_t to = row.first_from(stretch_.end_ns);
      for (uint32_t i = row.first_beyond(stretch_.begin_ns); i < to; i++) {
        const Span span = row.span(i);
        if (names_[span.name].is_in_several)
          intervals[span.name].push_back(
              {std::max(span.start_ns, stretch_.begin_ns), std::min(span.end_ns(), stretch_.end_ns)});
      }
    }
    for (size_t i = 0; i < names_.size(); i++) {
      if (names_[i].is_in_several) unions_[i] = union_of(intervals[i]);
    }
  }

  bool has_few() const { return total_ <= kMostForUnion; }

  AreaSums result() {
    AreaSums out;
    for (uint32_t i = 0; i < names_.size(); i++) {
      const OfName& of = names_[i];
      if (of.count == 0) continue;
      NameSums one{i, of.count, of.whole_ns - of.outside_ns, of.whole_ns, of.min_ns, of.max_ns};
      if (!of.is_in_several) {
        one.union_ns = one.sum_ns;
      } else if (has_few()) {
        one.union_ns = unions_[i];
      } else {
        one.union_ns = Absent{kTooMany};
      }
      out.count += one.count;
      out.sum_ns += one.sum_ns;
      out.names.push_back(std::move(one));
    }
    std::stable_sort(out.names.begin(), out.names.end(),
                     [](const NameSums& a, const NameSums& b) { return a.sum_ns > b.sum_ns; });
    return out;
  }

 private:
  /// Small, since every span looks for its own.
  struct OfName {
    uint64_t count = 0;
    int64_t whole_ns = 0;
    int64_t outside_ns = 0;  ///< of whole spans, what does not lie in the stretch
    int64_t min_ns = INT64_MAX;
    int64_t max_ns = INT64_MIN;
    uint32_t row = kFar;  ///< that it was seen in first
    bool is_in_several = false;
  };

  static void add(OfName& one, int64_t ns, uint32_t row) {
    one.count++;
    one.whole_ns += ns;
    one.min_ns = std::min(one.min_ns, ns);
    one.max_ns = std::max(one.max_ns, ns);
    if (one.row == row) return;
    if (one.row == kFar) {
      one.row = row;
    } else {
      one.is_in_several = true;
    }
  }

  void take_back_outside(const Span& span) {
    const int64_t inside_ns = std::max<int64_t>(
        0, std::min(span.end_ns(), stretch_.end_ns) - std::max(span.start_ns, stretch_.begin_ns));
    names_[span.name].outside_ns += span.dur_ns - inside_ns;
  }

  Stretch stretch_;
  std::vector<OfName> names_;
  std::vector<int64_t> unions_;  ///< of names that are in several rows
  uint64_t total_ = 0;
};

void find_in_row(const Row& row, uint32_t number, const std::vector<bool>& names, int64_t from_ns,
                 Matches& out) {
  const uint32_t middle = row.first_from(from_ns);
  std::optional<uint32_t> next, previous;
  for (uint32_t i = 0; i < row.size(); i++) {
    if (!names[row.name_of(i)]) continue;
    out.count++;
    if (i < middle) previous = i;
    if (i >= middle && !next) next = i;
  }
  if (next && (!out.next || row.start_ns(*next) < out.next->span.start_ns))
    out.next = Match{number, *next, row.span(*next)};
  if (previous && (!out.previous || row.start_ns(*previous) > out.previous->span.start_ns))
    out.previous = Match{number, *previous, row.span(*previous)};
}

}  // namespace

AreaSums sums_of(const TimelineFile& file, const std::vector<uint32_t>& rows, const Stretch& stretch) {
  Sums sums(file, stretch);
  for (const uint32_t number : rows) sums.add(file.row(number), number);
  if (sums.has_few()) sums.add_unions(file, rows);
  return sums.result();
}

std::vector<bool> names_with(const TimelineFile& file, std::string_view text) {
  std::vector<bool> found(file.names());
  const std::string part = lower(text);
  for (size_t i = 0; i < found.size(); i++) found[i] = lower(file.name(i)).find(part) != std::string::npos;
  return found;
}

Matches find_spans(const TimelineFile& file, const std::vector<uint32_t>& rows,
                   const std::vector<bool>& names, int64_t from_ns) {
  Matches out;
  for (const uint32_t number : rows) find_in_row(file.row(number), number, names, from_ns, out);
  return out;
}

}  // namespace nl::timeline
