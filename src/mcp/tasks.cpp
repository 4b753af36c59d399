#include "mcp/tasks.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <utility>

#include "base/checked_thread.h"
#include "base/random.h"
#include "base/sha256.h"

namespace nl::mcp {
namespace {

using nlohmann::json;
using std::chrono::system_clock;

constexpr size_t kMostTasks = 64;  // with those whose results are still kept
constexpr size_t kMostTasksAtWork = 8;
constexpr size_t kTaskIdBytes = 16;
constexpr int kMostTaskRounds = 16;  // of questions
constexpr auto kResultStays = std::chrono::hours(1);
constexpr auto kLongestQuestion = std::chrono::hours(1);
constexpr auto kLookForCancelEvery = std::chrono::milliseconds(100);
constexpr int64_t kAskEveryMs = 500;

std::string utc_text(system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, ms % 1000);
}

Fault no_task() {
  return {kInvalidParams, "there is no such task"};
}

bool has_failed(const Reply& reply) {
  const auto* const result = std::get_if<json>(&reply);
  return result == nullptr || (result->contains("isError") && (*result)["isError"] == true);
}

}  // namespace

/// One call with its thread.
class Tasks::Task {
 public:
  Task(std::string id, std::string owner) : id_(std::move(id)), owner_(std::move(owner)) {}
  ~Task() { cancel(); }  // and joins
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  bool start(Call call, Work work) {
    call.cancelled = [this] { return is_cancelled_.load(); };
    call.log = [](std::string_view, const json&) {};
    call.progress = [this](double, double, const std::string& what) { note(what); };
    thread_ = CheckedThread([this, call = std::move(call), work = std::move(work)]() mutable -> Result<void> {
      end_with(without_throwing(work, call));
      return {};
    });
    return thread_.is_started();
  }

  const std::string& owner() const { return owner_; }

  bool is_over() {
    const std::lock_guard lock(mutex_);
    return reply_.has_value();
  }
  /// Its result was there for as long as was promised.
  bool is_old() {
    const std::lock_guard lock(mutex_);
    return reply_.has_value() && system_clock::now() - changed_at_ > kResultStays;
  }

  json handle() {
    const std::lock_guard lock(mutex_);
    return described();
  }

  json state() {
    const std::lock_guard lock(mutex_);
    json task = described();
    if (task["status"] == "input_required") task["inputRequests"] = questions_;
    if (task["status"] == "completed") task["result"] = std::get<json>(*reply_);
    if (task["status"] == "failed") task["error"] = error_of(std::get<Fault>(*reply_));
    return task;
  }

  void update(const json& responses) {
    const std::lock_guard lock(mutex_);
    if (reply_) return;
    for (const auto& [key, response] : responses.items()) {
      if (questions_.erase(key) > 0) answers_[key] = response;
    }
    changed_at_ = system_clock::now();
    changed_.notify_all();
  }

  /// Once it is over, its status stays.
  void cancel() {
    const std::lock_guard lock(mutex_);
    if (reply_) return;
    is_cancelled_ = true;
    changed_.notify_all();
  }

 private:
  static json error_of(const Fault& fault) { return fault_message(nullptr, fault)["error"]; }

  /// With the lock.
  json described() const {
    json task = {{"taskId", id_},
                 {"status", status()},
                 {"createdAt", utc_text(created_at_)},
                 {"lastUpdatedAt", utc_text(changed_at_)},
                 {"ttlMs", std::chrono::milliseconds(kResultStays).count()},
                 {"pollIntervalMs", kAskEveryMs}};
    if (!what_.empty() && !reply_) task["statusMessage"] = what_;
    return task;
  }

  /// With the lock. What has ended well in spite of being cancelled is completed: it was done.
  const char* status() const {
    if (!reply_) return questions_.empty() ? "working" : "input_required";
    if (is_cancelled_ && has_failed(*reply_)) return "cancelled";
    return std::holds_alternative<json>(*reply_) ? "completed" : "failed";
  }

  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    changed_at_ = system_clock::now();
  }

  void end_with(Reply reply) {
    if (auto* const result = std::get_if<json>(&reply)) (*result)["resultType"] = "complete";
    const std::lock_guard lock(mutex_);
    questions_ = json::object();
    reply_ = std::move(reply);
    changed_at_ = system_clock::now();
  }

  Reply without_throwing(const Work& work, Call& call) {
    try {
      return with_questions(work, call);
    } catch (...) {
      return Fault{kInternalError, error_of_exception().message};
    }
  }

  Reply with_questions(const Work& work, Call& call) {
    for (int round = 0; round < kMostTaskRounds; round++) {
      Reply reply = work(call);
      auto* const wanted = std::get_if<InputRequired>(&reply);
      if (wanted == nullptr) return reply;
      call.state = wanted->state;
      if (!ask(std::move(wanted->requests), call.input)) break;
    }
    return Fault{kInternalError, "the client did not answer what the call asks for"};
  }

  /// Waits until each question has its answer.
  bool ask(json questions, json& input) {
    std::unique_lock lock(mutex_);
    questions_ = std::move(questions);
    answers_ = json::object();
    changed_at_ = system_clock::now();
    const auto end = std::chrono::steady_clock::now() + kLongestQuestion;
    while (!questions_.empty() && !is_cancelled_ && std::chrono::steady_clock::now() < end)
      changed_.wait_for(lock, kLookForCancelEvery);
    const bool has_all = questions_.empty();
    questions_ = json::object();
    input.update(answers_);
    return has_all;
  }

  const std::string id_;
  const std::string owner_;
  const system_clock::time_point created_at_ = system_clock::now();
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  system_clock::time_point changed_at_ = created_at_;
  std::string what_ = {};            ///< what it does now
  json questions_ = json::object();  ///< that still wait for an answer
  json answers_ = json::object();    ///< of this round
  std::optional<Reply> reply_ = {};  ///< once it is over
  CheckedThread thread_;             ///< the last member: it uses the others
};

std::optional<json> Tasks::begin(const std::string& owner, const Call& call, Work work) {
  auto task = std::make_shared<Task>(hex_of(random_bytes(kTaskIdBytes)), owner);
  json handle = task->handle();
  const std::lock_guard lock(mutex_);
  forget_old();
  const auto at_work =
      std::count_if(tasks_.begin(), tasks_.end(), [](const auto& one) { return !one.second->is_over(); });
  const bool has_room = tasks_.size() < kMostTasks && static_cast<size_t>(at_work) < kMostTasksAtWork;
  if (has_ended_ || !has_room || !task->start(call, std::move(work))) return std::nullopt;
  tasks_.emplace(handle["taskId"].get<std::string>(), std::move(task));
  handle["resultType"] = "task";
  return handle;
}

/// With the lock.
void Tasks::forget_old() {
  std::erase_if(tasks_, [](const auto& one) { return one.second->is_old(); });
}

std::shared_ptr<Tasks::Task> Tasks::find(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(mutex_);
  forget_old();
  const auto it = tasks_.find(id);
  return it != tasks_.end() && it->second->owner() == owner ? it->second : nullptr;
}

Reply Tasks::get(const std::string& owner, const std::string& id) {
  const auto task = find(owner, id);
  if (task == nullptr) return no_task();
  return task->state();
}

Reply Tasks::update(const std::string& owner, const std::string& id, const json& responses) {
  const auto task = find(owner, id);
  if (task == nullptr) return no_task();
  task->update(responses);
  return json::object();
}

Reply Tasks::cancel(const std::string& owner, const std::string& id) {
  const auto task = find(owner, id);
  if (task == nullptr) return no_task();
  task->cancel();
  return json::object();
}

void Tasks::end() {
  std::map<std::string, std::shared_ptr<Task>> all;
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    all.swap(tasks_);
  }
  for (const auto& [id, task] : all) task->cancel();
  all.clear();  // joins them
}

}  // namespace nl::mcp
