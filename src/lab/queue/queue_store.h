#pragma once
// QueueStore: the jobs and attempts of a user, in queue.sqlite of the state folder. Every change is one short
// transaction that is on the disk when the call returns, so that a runner can be killed at any moment; who
// adds, lists and runs may be different processes at the same time. One thread uses one object.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "lab/queue/job.h"
#include "store/sqlite.h"

namespace nl::lab {

struct JobCounts {
  int64_t waiting = 0, running = 0, done = 0, failed = 0, cancelled = 0, blocked = 0;
  int64_t total() const { return waiting + running + done + failed + cancelled + blocked; }
  static constexpr auto fields() {
    return std::tuple{field("waiting", &JobCounts::waiting),     field("running", &JobCounts::running),
                      field("done", &JobCounts::done),           field("failed", &JobCounts::failed),
                      field("cancelled", &JobCounts::cancelled), field("blocked", &JobCounts::blocked)};
  }
};

class QueueStore {
 public:
  static Result<QueueStore> open(const Environment& surroundings);
  /// Absent if nothing was ever queued; makes nothing.
  static Result<std::optional<QueueStore>> open_if_any(const Environment& surroundings);

  const std::string& folder() const { return folder_; }
  /// Unlike that of any other queue.
  const std::string& id() const { return id_; }

  /// All or none; their ids. A name among `needs` is that of an earlier one of these, else of the newest.
  Result<std::vector<int64_t>> add(const std::vector<JobPlan>& plans);

  /// With their attempts, by id, all of one moment. No ids: all of them.
  Result<std::vector<Job>> jobs(const std::vector<int64_t>& ids = {});
  /// Those of the states, the last ones by id.
  Result<std::vector<Job>> jobs_in(const std::vector<JobState>& states, int64_t most);
  Result<JobCounts> counts(const std::string& device = {});
  /// That jobs were queued for, by name.
  Result<std::vector<std::string>> devices();
  /// Median of the last attempts that were done.
  Result<std::optional<int64_t>> usual_duration_ns();

  /// The next that can run on the device, but for those named.
  Result<std::optional<Job>> next(const std::string& device, const std::vector<int64_t>& but);
  /// Does anything that waits on the device wait for a job that runs on another one?
  Result<bool> waits_for_others(const std::string& device);
  /// Attempts that a runner of the device has not ended.
  Result<std::vector<Attempt>> open_attempts(const std::string& device);

  Result<int64_t> next_number(int64_t job);
  /// The job is running from now on. False if it has changed meanwhile, as it was cancelled.
  Result<bool> begin_attempt(const Attempt& attempt);
  Result<void> set_keeper(const Attempt& attempt);
  Result<void> set_quiet(const Attempt& attempt);
  /// What became of its job. Whoever needs that one is blocked if it has failed.
  Result<NextState> end_attempt(const Attempt& attempt);

  Result<bool> is_cancel_asked(int64_t job);
  /// Waiting ones are cancelled at once, running ones by their runner; others stay. How many were changed.
  Result<int64_t> cancel(const std::vector<int64_t>& ids);
  /// Ended and blocked ones wait again, with all their retries. How many were changed.
  Result<int64_t> requeue(const std::vector<int64_t>& ids);
  /// Ids of jobs by their ids or names.
  Result<std::vector<int64_t>> find(const std::vector<std::string>& ids_or_names);

  Result<bool> is_paused();
  Result<void> set_paused(bool paused);
  /// Asks the runners that run now to end when their jobs have.
  Result<void> ask_to_drain();
  /// A number that changes whenever runners are asked to drain.
  Result<int64_t> drains();

 private:
  QueueStore(std::string folder, store::Sqlite db) : folder_(std::move(folder)), db_(std::move(db)) {}
  static Result<QueueStore> open_in(const std::string& folder);
  Result<void> create_tables();

  Result<void> run(std::string_view sql, const std::vector<store::SqliteValue>& values = {});
  Result<void> each(std::string_view sql, const std::vector<store::SqliteValue>& values,
                    const std::function<void(const store::SqliteRow&)>& row);
  Result<int64_t> integer(std::string_view sql, const std::vector<store::SqliteValue>& values = {});
  Result<void> together(const std::function<Result<void>()>& change);
  Error in_our_words(Error error) const;

  Result<int64_t> add_one(const JobPlan& plan, const std::vector<int64_t>& before,
                          const std::vector<JobPlan>& plans);
  Result<int64_t> needed_job(const std::string& need, const std::vector<int64_t>& before,
                             const std::vector<JobPlan>& plans);
  Result<std::vector<Job>> jobs_where(const std::string& where,
                                      const std::vector<store::SqliteValue>& values);
  Result<void> add_attempts(Job& job);
  Result<NextState> settle(int64_t job);
  Result<void> block_dependents();
  Result<void> unblock_dependents();

  std::string folder_;
  store::Sqlite db_;
  std::string id_ = {};
};

int64_t wall_clock_ns();

}  // namespace nl::lab
