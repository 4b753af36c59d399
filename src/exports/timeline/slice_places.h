#pragma once
// Viewers draw the slices of a track by a stack: a slice lies inside of the one that is open, or behind it.
// Rows of a run may cross, and they are written in the order of their tables, not of time. SlicePlaces says
// where each slice goes so that the stack always finds what is meant:
// - lane: 0 is the track itself; a slice that would cross an open one goes to the next lane that has room.
// - round: readers sort events by time, those of one time stay in the order of the file. Of slices that begin
//   together the outer one must come first. If the order of the rows says otherwise, the inner one is written
//   in a later round.
// Fed in the order of track, start and falling duration. For one thread.

#include <cstdint>
#include <optional>
#include <vector>

namespace nl::exports {

struct SliceKey {
  int64_t track;
  int64_t start_ns;
  int64_t dur_ns;
  int table;   ///< tables are written in this order
  int64_t id;  ///< rows of a table are written in this order in round 0, in the order of keys in later ones
};

struct SlicePlace {
  int lane;
  int round;
};

/// Times far out end at the last one there is.
int64_t end_of(int64_t start_ns, int64_t dur_ns);

class SlicePlaces {
 public:
  static constexpr int kMaxLanes = 4096;
  static constexpr int kMaxRounds = 4;

  /// Nothing if more slices cross than there are lanes.
  std::optional<SlicePlace> place(const SliceKey& key);

 private:
  struct Lane {
    std::vector<int64_t> open_ends;  ///< of open slices, the innermost last
    SliceKey last = {};              ///< the last slice of the lane
    int last_round = -1;             ///< its round; -1: there is none
  };

  static bool has_room(Lane& lane, int64_t start_ns, int64_t end_ns);
  static int round_of(const Lane& lane, const SliceKey& key);

  std::vector<Lane> lanes_;
  int64_t track_ = 0;
};

}  // namespace nl::exports
