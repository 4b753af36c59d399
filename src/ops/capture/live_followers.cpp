#include "ops/capture/live_followers.h"

#include <algorithm>

namespace nl::ops {
namespace {

constexpr size_t kMostPictures = 4, kMostCounts = 64;
constexpr auto kIdle = std::chrono::seconds(60);
constexpr auto kTidyPause = std::chrono::seconds(10);
constexpr int64_t kOldBytesOfCounts = 64 << 10;  ///< the chunks before are counted by their headers

/// The one that was not asked for the longest goes; a call that uses it right now still ends well.
template <class Entries>
void make_room(Entries& entries, size_t most) {
  if (entries.size() < most) return;
  entries.erase(std::min_element(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.second.asked < b.second.asked;
  }));
}

}  // namespace

int64_t HeldFollower::most_wished(int64_t keep_s) {
  const auto now = Clock::now();
  wishes[keep_s] = now;
  std::erase_if(wishes, [&](const auto& wish) { return now - wish.second >= kIdle; });
  return wishes.rbegin()->first;
}

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
  return opened(pictures_, kMostPictures, {.folder = folder});
}

Result<std::shared_ptr<HeldFollower>> LiveFollowers::get_counts(const std::string& folder) {
  std::shared_ptr<HeldFollower> picture;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = pictures_.find(folder); known != pictures_.end()) picture = known->second.held;
  }
  if (picture != nullptr) {
    const std::lock_guard turn(picture->mutex);
    if (picture->follower != nullptr) return picture;
  }
  return opened(counts_, kMostCounts,
                {.folder = folder, .most_old_bytes = kOldBytesOfCounts, .counts_only = true});
}

/// Opening reads through the whole file. Only those who want this recording wait for it.
Result<std::shared_ptr<HeldFollower>> LiveFollowers::opened(Entries& entries, size_t most,
                                                            const follow::FollowOptions& options) {
  std::shared_ptr<HeldFollower> held;
  {
    const std::lock_guard lock(mutex_);
    if (!entries.contains(options.folder)) make_room(entries, most);
    Entry& entry = entries[options.folder];
    if (entry.held == nullptr) entry.held = std::make_shared<HeldFollower>();
    entry.asked = Clock::now();
    held = entry.held;
    if (!tidier_.joinable()) tidier_ = std::thread([this] { tidy_up(); });
  }
  const std::lock_guard turn(held->mutex);
  if (held->follower != nullptr) return held;
  auto follower = follow::Follower::open(options);
  if (follower) {
    held->follower = std::move(*follower);
    return held;
  }
  const std::lock_guard lock(mutex_);
  const auto known = entries.find(options.folder);
  if (known != entries.end() && known->second.held == held) entries.erase(known);
  return follower.error();
}

void LiveFollowers::tidy_up() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    news_.wait_for(lock, kTidyPause);
    const auto now = Clock::now();
    for (Entries* entries : {&pictures_, &counts_})
      std::erase_if(*entries, [&](const auto& entry) { return now - entry.second.asked >= kIdle; });
  }
}

}  // namespace nl::ops
