#pragma once
// LiveFollowers: the recordings that this process follows, kept between questions so that each question reads
// only what is new. A few at most; what nobody has asked for in a minute is let go. Any thread.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "follow/follower.h"

namespace nl::ops {

/// A follower serves one question at a time: whoever uses it holds the mutex.
struct HeldFollower {
  using Clock = std::chrono::steady_clock;

  /// Several people may look. What is kept is the most that one of them has asked for in the last minute.
  int64_t most_wished(int64_t keep_s);

  std::mutex mutex = {};
  std::unique_ptr<follow::Follower> follower = {};
  std::map<int64_t, Clock::time_point> wishes = {};  ///< seconds to keep, and when they were asked for
};

class LiveFollowers {
 public:
  static LiveFollowers& of_process();
  ~LiveFollowers();

  /// Of the recording whose markers lie in that folder; not_found if none is known and none is there.
  Result<std::shared_ptr<HeldFollower>> get(const std::string& folder);
  /// The same if it is followed already. Otherwise one that only counts, so that a list costs little.
  Result<std::shared_ptr<HeldFollower>> get_counts(const std::string& folder);

 private:
  using Clock = HeldFollower::Clock;
  struct Entry {
    std::shared_ptr<HeldFollower> held;
    Clock::time_point asked;
  };
  using Entries = std::map<std::string, Entry>;  ///< by folder

  LiveFollowers() = default;
  Result<std::shared_ptr<HeldFollower>> opened(Entries& entries, size_t most,
                                               const follow::FollowOptions& options);
  void tidy_up();

  std::mutex mutex_;
  std::condition_variable news_;
  Entries pictures_;
  Entries counts_;
  std::thread tidier_;
  bool is_ending_ = false;
};

}  // namespace nl::ops
