#include "exports/timeline/slice_places.h"

#include <tuple>

namespace nl::exports {

int64_t end_of(int64_t start_ns, int64_t dur_ns) {
  int64_t end = 0;
  return __builtin_add_overflow(start_ns, dur_ns, &end) ? INT64_MAX : end;
}

std::optional<SlicePlace> SlicePlaces::place(const SliceKey& key) {
  if (key.track != track_) lanes_.clear();
  track_ = key.track;
  const int64_t end = end_of(key.start_ns, key.dur_ns);
  for (int lane = 0; lane < kMaxLanes; lane++) {
    const auto at = static_cast<size_t>(lane);
    if (at == lanes_.size()) lanes_.emplace_back();
    Lane& found = lanes_[at];
    if (!has_room(found, key.start_ns, end)) continue;
    const int round = round_of(found, key);
    if (round > kMaxRounds) continue;
    found.open_ends.push_back(end);
    found.last = key;
    found.last_round = round;
    return SlicePlace{lane, round};
  }
  return std::nullopt;
}

bool SlicePlaces::has_room(Lane& lane, int64_t start_ns, int64_t end_ns) {
  auto& open = lane.open_ends;
  while (!open.empty() && open.back() <= start_ns) open.pop_back();
  return open.empty() || end_ns <= open.back();
}

/// The first round in which the slice is written behind the one that begins together with it.
int SlicePlaces::round_of(const Lane& lane, const SliceKey& key) {
  const SliceKey& before = lane.last;
  if (lane.last_round < 0 || before.start_ns != key.start_ns) return 0;
  const bool is_behind = lane.last_round == 0
                             ? std::tie(key.table, key.id) > std::tie(before.table, before.id)
                             : key.table >= before.table;
  return lane.last_round + (is_behind ? 0 : 1);
}

}  // namespace nl::exports
