#include "ops/capture/live_followers.h"

#include <algorithm>

namespace nl::ops {
namespace {

constexpr size_t kMostFollowers = 4;
constexpr auto kIdle = std::chrono::seconds(60);
constexpr auto kTidyPause = std::chrono::seconds(10);

}  // namespace

LiveFollowers& LiveFollowers::of_process() {
  static LiveFollowers followers;
  return followers;
}

LiveFollowers::~LiveFollowers() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  news_.notify_all();
  if (tidier_.joinable()) tidier_.join();
}

Result<std::shared_ptr<HeldFollower>> LiveFollowers::get(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  if (const auto known = entries_.find(folder); known != entries_.end()) {
    known->second.asked = Clock::now();
    return known->second.held;
  }
  auto held = std::make_shared<HeldFollower>();
  NL_TRY(held->follower, follow::Follower::open({.folder = folder}));
  make_room();
  entries_[folder] = {held, Clock::now()};
  if (!tidier_.joinable()) tidier_ = std::thread([this] { tidy_up(); });
  return held;
}

/// The one that was not asked for the longest goes; a call that uses it right now still ends well.
void LiveFollowers::make_room() {
  if (entries_.size() < kMostFollowers) return;
  entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return a.second.asked < b.second.asked;
  }));
}

void LiveFollowers::tidy_up() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    news_.wait_for(lock, kTidyPause);
    const auto now = Clock::now();
    std::erase_if(entries_, [&](const auto& entry) { return now - entry.second.asked >= kIdle; });
  }
}

}  // namespace nl::ops
