#pragma once
// Jobs: calls that go on after their request was answered. Whoever started one asks how far it is, gets its
// answer, or cancels it; after a reconnect, too. Threads take jobs in turns of the callers, so that nobody
// waits behind a hundred jobs of somebody else. Answers are kept for an hour. Any thread.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "http/message.h"

namespace nl::http {

enum class JobState { kQueued, kRunning, kDone, kFailed, kCancelled };

/// What a job may use while it runs.
struct JobControl {
  std::function<void(const std::string& what, double fraction)> progress;
  std::function<bool()> cancelled;
};
using JobWork = std::function<Response(const JobControl&)>;

struct JobStart {
  std::string id = {};  ///< empty: a new one
  std::string owner;    ///< nobody else sees it
  std::string operation;
  JobWork work;
};

class Jobs {
 public:
  Jobs(size_t threads, size_t most_waiting_of_one);
  /// Cancels what runs and waits for it.
  ~Jobs();

  /// Its id; limit if the owner has too many of them waiting, conflict if there is one of that id.
  Result<std::string> start(JobStart start);
  /// {id, operation, state, progress, answer}; nothing if the owner has no such job.
  std::optional<nlohmann::json> look(const std::string& owner, const std::string& id) const;
  /// Raised with every change; 0: no such job.
  int64_t version(const std::string& owner, const std::string& id) const;
  bool cancel(const std::string& owner, const std::string& id);
  /// Nothing new begins; what runs is told to stop. Waiting jobs stay where they are.
  void close();
  bool is_closed() const;
  size_t waiting() const;
  size_t running() const;

 private:
  struct Job;
  void work();
  std::shared_ptr<Job> next_job();
  void forget_old();
  std::shared_ptr<Job> find(const std::string& owner, const std::string& id) const;
  nlohmann::json told(const Job& job) const;

  const size_t most_waiting_of_one_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::map<std::string, std::deque<std::shared_ptr<Job>>> waiting_;  ///< by owner
  std::string last_owner_;                                           ///< whose turn it was
  size_t running_ = 0;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace nl::http
