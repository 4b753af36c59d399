#pragma once
// Figures of the server itself, in the text form of Prometheus. Any thread.

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace nl::http {

class Figures {
 public:
  /// Requests that are being answered, for those who count them.
  std::atomic<int64_t>& running() { return running_; }
  /// `route`: the operation, or the fixed path; never what a client made up.
  void ended(std::string_view route, int status, int64_t microseconds);
  void set_jobs(size_t waiting, size_t running) {
    jobs_waiting_ = static_cast<int64_t>(waiting);
    jobs_running_ = static_cast<int64_t>(running);
  }
  std::string text() const;

 private:
  struct Sums {
    std::map<int, int64_t> by_status;
    int64_t microseconds = 0;
    std::array<int64_t, 7> at_most{};
  };
  std::atomic<int64_t> running_{0}, jobs_waiting_{0}, jobs_running_{0};
  mutable std::mutex mutex_;
  std::map<std::string, Sums, std::less<>> routes_;
};

}  // namespace nl::http
