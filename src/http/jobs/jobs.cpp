#include "http/jobs/jobs.h"

#include <atomic>

#include "base/checked_thread.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/small_json.h"
#include "http/answers.h"

namespace nl::http {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kKept = std::chrono::hours(1);
constexpr size_t kIdBytes = 16;

const char* state_name(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "queued";
    case JobState::kRunning:
      return "running";
    case JobState::kDone:
      return "done";
    case JobState::kFailed:
      return "failed";
    case JobState::kCancelled:
      return "cancelled";
  }
  return "";
}

}  // namespace

/// Guarded by the mutex of Jobs, but for `is_cancelled`.
struct Jobs::Job {
  JobStart start;
  JobState state = JobState::kQueued;
  std::atomic<bool> is_cancelled = false;
  std::string what;
  double fraction = 0;
  int64_t version = 1;
  json answer = nullptr;
  int status = 0;
  Clock::time_point ended = {};

  bool has_ended() const { return state != JobState::kQueued && state != JobState::kRunning; }
};

Jobs::Jobs(size_t threads, size_t most_waiting_of_one) : most_waiting_of_one_(most_waiting_of_one) {
  for (size_t i = 0; i < threads; i++) threads_.emplace_back([this] { work(); });
}

Jobs::~Jobs() {
  close();
  for (auto& thread : threads_) thread.join();
}

void Jobs::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  for (const auto& [id, job] : jobs_) job->is_cancelled = true;
  changed_.notify_all();
}

Result<std::string> Jobs::start(JobStart start) {
  const std::lock_guard lock(mutex_);
  forget_old();
  if (start.id.empty()) start.id = hex_of(random_bytes(kIdBytes));
  if (is_closed_)
    return Error{ErrorCode::kUnavailable, "the server is about to end", "ask again in a moment"};
  const auto same = jobs_.find(start.id);
  if (same != jobs_.end() && !same->second->has_ended())
    return Error{ErrorCode::kConflict, "there is a job of this id already: " + start.id};
  auto& queue = waiting_[start.owner];
  if (queue.size() >= most_waiting_of_one_)
    return Error{ErrorCode::kLimit, "too many jobs are waiting: " + std::to_string(queue.size()),
                 "wait until some have ended"};
  const auto job = std::make_shared<Job>();
  job->start = std::move(start);
  jobs_[job->start.id] = job;
  queue.push_back(job);
  changed_.notify_one();
  return job->start.id;
}

void Jobs::forget_old() {
  const auto now = Clock::now();
  std::erase_if(jobs_, [&](const auto& entry) {
    return entry.second->has_ended() && now - entry.second->ended > kKept;
  });
}

/// The first job of the caller behind the one who had the last turn. Waits for one; null: it is time to end.
std::shared_ptr<Jobs::Job> Jobs::next_job() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (is_closed_) return nullptr;
    auto it = waiting_.upper_bound(last_owner_);
    if (it == waiting_.end()) it = waiting_.begin();
    if (it != waiting_.end()) {
      const auto job = it->second.front();
      it->second.pop_front();
      last_owner_ = it->first;
      if (it->second.empty()) waiting_.erase(it);
      if (job->has_ended()) continue;  // cancelled while it waited
      job->state = JobState::kRunning;
      job->version++;
      running_++;
      return job;
    }
    changed_.wait(lock);
  }
}

void Jobs::work() {
  while (const auto job = next_job()) {
    JobControl control;
    control.cancelled = [job] { return job->is_cancelled.load(); };
    control.progress = [this, job](const std::string& what, double fraction) {
      const std::lock_guard lock(mutex_);
      if (job->what == what && fraction - job->fraction < 0.01 && fraction >= job->fraction) return;
      job->what = what;
      job->fraction = fraction;
      job->version++;
    };
    Response response;
    try {
      response = job->start.work(control);
    } catch (...) {
      response = failed(job->start.operation, error_of_exception());
    }
    const std::lock_guard lock(mutex_);
    const bool is_fine = response.status < 400;
    job->state = is_fine ? JobState::kDone : job->is_cancelled ? JobState::kCancelled : JobState::kFailed;
    job->answer = json::parse(response.body, nullptr, false);
    job->status = response.status;
    job->fraction = is_fine ? 1 : job->fraction;
    job->ended = Clock::now();
    job->start.work = {};
    job->version++;
    running_--;
  }
}

std::shared_ptr<Jobs::Job> Jobs::find(const std::string& owner, const std::string& id) const {
  const auto it = jobs_.find(id);
  return it == jobs_.end() || it->second->start.owner != owner ? nullptr : it->second;
}

json Jobs::told(const Job& job) const {
  json out = {{"job_id", job.start.id},
              {"operation", job.start.operation},
              {"state", state_name(job.state)},
              {"progress", {{"what", job.what}, {"fraction", job.fraction}}}};
  if (job.has_ended()) {
    out["status"] = job.status;
    out["answer"] = job.answer;
  }
  return out;
}

std::optional<json> Jobs::look(const std::string& owner, const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto job = find(owner, id);
  return job == nullptr ? std::nullopt : std::optional(told(*job));
}

int64_t Jobs::version(const std::string& owner, const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto job = find(owner, id);
  return job == nullptr ? 0 : job->version;
}

bool Jobs::cancel(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto job = find(owner, id);
  if (job == nullptr) return false;
  job->is_cancelled = true;
  if (job->state == JobState::kQueued) {
    job->state = JobState::kCancelled;
    job->status = status_of(ErrorCode::kCancelled);
    job->answer = json::parse(failed(job->start.operation, cancelled_error()).body);
    job->ended = Clock::now();
  }
  job->version++;
  return true;
}

bool Jobs::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_closed_;
}

size_t Jobs::waiting() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& [owner, queue] : waiting_) sum += queue.size();
  return sum;
}

size_t Jobs::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

}  // namespace nl::http
