#include "mcp/questions.h"

#include <chrono>

#include "base/random.h"
#include "base/sha256.h"

namespace nl::mcp {
namespace {

constexpr size_t kQuestionIdBytes = 16;
constexpr auto kLongestWait = std::chrono::minutes(5);
constexpr auto kLookEvery = std::chrono::milliseconds(100);

}  // namespace

std::string Questions::open() {
  std::string id = hex_of(random_bytes(kQuestionIdBytes));
  const std::lock_guard lock(mutex_);
  open_.emplace(id, std::nullopt);
  return id;
}

std::optional<nlohmann::json> Questions::wait(const std::string& id, const std::function<bool()>& cancelled) {
  const auto end = std::chrono::steady_clock::now() + kLongestWait;
  std::unique_lock lock(mutex_);
  while (!open_.at(id) && !has_ended_ && std::chrono::steady_clock::now() < end) {
    changed_.wait_for(lock, kLookEvery);
    lock.unlock();
    const bool must_stop = cancelled();  // it may take a lock of its own
    lock.lock();
    if (must_stop) break;
  }
  std::optional<nlohmann::json> outcome = std::move(open_.at(id));
  open_.erase(id);
  return outcome;
}

void Questions::take(const Message& response) {
  if (!response.id.is_string()) return;
  const std::lock_guard lock(mutex_);
  const auto it = open_.find(response.id.get<std::string>());
  if (it == open_.end()) return;
  it->second = response.outcome;
  changed_.notify_all();
}

void Questions::end() {
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

}  // namespace nl::mcp
