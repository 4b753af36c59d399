#pragma once
// LiveFollowers: the recordings that this process follows, kept between questions so that each question reads
// only what is new. A few at most; what nobody has asked for in a minute is let go. Any thread.

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "follow/follower.h"

namespace nl::ops {

/// A follower serves one question at a time: whoever uses it holds the mutex.
struct HeldFollower {
  std::mutex mutex = {};
  std::unique_ptr<follow::Follower> follower = {};
};

class LiveFollowers {
 public:
  static LiveFollowers& of_process();
  ~LiveFollowers();

  /// Of the recording whose markers lie in that folder; not_found if none is known and none is there.
  Result<std::shared_ptr<HeldFollower>> get(const std::string& folder);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::shared_ptr<HeldFollower> held;
    Clock::time_point asked;
  };

  LiveFollowers() = default;
  void make_room();
  void tidy_up();

  std::mutex mutex_;
  std::condition_variable news_;
  std::map<std::string, Entry> entries_;  ///< by folder
  std::thread tidier_;
  bool is_ending_ = false;
};

}  // namespace nl::ops
