#pragma once
// Follower: a recording while it is made. Each catch_up reads the chunks that were written since, decodes
// them as the import will, and renews the picture of the last seconds. It never writes, and the recorder does
// not wait for it. One thread at a time.

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "capture/record/live_process.h"
#include "follow/chunk_tail.h"
#include "follow/live_losses.h"
#include "follow/live_picture.h"
#include "ingest/formats/recording/recording_decoder.h"

namespace nl::follow {

struct FollowOptions {
  std::string folder;  ///< of the recorder: markers of one recording
  PictureLimits limits = {};
  int64_t most_old_bytes = 64 << 20;  ///< of what was there before; markers further back are passed over
  bool counts_only = false;           ///< markers are counted and not decoded: there is no picture
};

class Follower {
 public:
  static Result<std::unique_ptr<Follower>> open(const FollowOptions& options);

  /// Reads for at most so long. An error of the disk ends the picture.
  void catch_up(std::chrono::milliseconds at_most, const std::function<bool()>& cancelled);

  bool is_running() const { return tail_.state() == ChunkTail::State::kRunning; }
  bool was_killed() const { return tail_.state() == ChunkTail::State::kKilled; }
  /// Why there is no more to see; empty if the recording runs, or ended as it should.
  const std::string& why() const { return tail_.why().empty() ? failed_ : tail_.why(); }

  /// From the origin, as all times. The last end once it is over.
  int64_t now_ns() const { return now_ns_; }
  uint64_t seen() const { return tail_.records(); }  ///< markers in the chunks
  uint64_t skipped() const { return tail_.skipped(); }
  uint64_t missed_segments() const { return tail_.missed_segments(); }
  /// What catch_up had no time for. What was written after it is not counted.
  int64_t behind_bytes() const { return is_behind_ ? tail_.behind_bytes() : 0; }
  /// Markers that are in the recording now; a flight recorder gives up its oldest.
  uint64_t recorded() const { return tail_.recorded(); }
  const capture::Losses& lost() const { return lost_; }
  double rate_per_s() const;
  uint64_t open_scopes() const { return decoder_.open_scopes(); }
  /// Ids of the processes that have set markers.
  std::set<int64_t> processes() const;

  LivePicture& picture() { return picture_; }
  ingest::DecodedTrack track(int32_t number) const;

 private:
  struct Reading {
    int64_t monotonic_ns;
    uint64_t records;
  };

  Follower(ChunkTail tail, const FollowOptions& options);
  Result<void> take(const wire::ChunkHeader& header, std::string_view payload);
  void look_at_clock();

  ChunkTail tail_;
  bool counts_only_;
  LivePicture picture_;
  model::RunInfo info_ = {};
  ingest::RecordingDecoder decoder_;
  LiveLosses losses_;
  capture::Losses lost_ = {};
  bool is_behind_ = false;
  uint64_t missed_segments_ = 0;  ///< of those, the decoder knows
  bool has_origin_ = false;
  int64_t origin_ns_ = 0;
  int64_t now_ns_ = 0;
  std::deque<Reading> readings_ = {};
  std::string failed_ = {};
};

}  // namespace nl::follow
