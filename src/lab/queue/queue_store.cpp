#include "lab/queue/queue_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <ctime>
#include <map>

#include "base/files.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "lab/queue/state_folder.h"

namespace nl::lab {
namespace {

using store::SqliteBlob;
using store::SqliteRow;
using store::SqliteValue;

constexpr int64_t kQueueVersion = 1;
constexpr int kQueueBusyMs = 10'000;

constexpr const char* kQueueTables[] = {
    R"(CREATE TABLE jobs(
    id INTEGER PRIMARY KEY AUTOINCREMENT, command BLOB NOT NULL, is_script INTEGER NOT NULL, name TEXT NOT NULL,
    folder BLOB NOT NULL, environment BLOB NOT NULL, device TEXT NOT NULL, alone INTEGER NOT NULL,
    priority INTEGER NOT NULL, time_limit_s INTEGER, retry_failed INTEGER NOT NULL, retry_timeout INTEGER NOT NULL,
    retry_killed INTEGER NOT NULL, retry_unfit INTEGER NOT NULL, log_bytes INTEGER NOT NULL, state TEXT NOT NULL,
    why TEXT NOT NULL, cancel_asked INTEGER NOT NULL, first_counted INTEGER NOT NULL, added_unix_ns INTEGER NOT NULL))",
    "CREATE INDEX jobs_by_state ON jobs(state, device, priority DESC, id)",
    "CREATE INDEX jobs_by_name ON jobs(name, id)",
    "CREATE TABLE needs(job INTEGER NOT NULL, needs INTEGER NOT NULL, PRIMARY KEY(job, needs)) WITHOUT ROWID",
    "CREATE INDEX needs_by_needed ON needs(needs, job)",
    R"(CREATE TABLE attempts(
    job INTEGER NOT NULL, number INTEGER NOT NULL, end TEXT NOT NULL, why TEXT NOT NULL, host TEXT NOT NULL,
    boot_id TEXT NOT NULL, runner_pid INTEGER NOT NULL, runner_start INTEGER NOT NULL, keeper_pid INTEGER NOT NULL,
    keeper_start INTEGER NOT NULL, started_unix_ns INTEGER NOT NULL, is_quiet INTEGER NOT NULL, duration_ns INTEGER,
    exit_code INTEGER, signal INTEGER, stdout_bytes INTEGER, stderr_bytes INTEGER, lost_bytes INTEGER,
    leftovers INTEGER NOT NULL, PRIMARY KEY(job, number)) WITHOUT ROWID)",
    "CREATE INDEX attempts_by_end ON attempts(end, job)",
    "CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "INSERT INTO settings VALUES ('paused', '0'), ('drains', '0')",
};

constexpr char kJobColumns[] =
    "id, command, is_script, name, folder, environment, device, alone, priority, time_limit_s, retry_failed, "
    "retry_timeout, retry_killed, retry_unfit, log_bytes, state, why, cancel_asked, first_counted, "
    "added_unix_ns";
constexpr char kAttemptColumns[] =
    "job, number, end, why, host, boot_id, runner_pid, runner_start, keeper_pid, keeper_start, "
    "started_unix_ns, "
    "is_quiet, duration_ns, exit_code, signal, stdout_bytes, stderr_bytes, lost_bytes, leftovers";

/// Each text ends with a NUL, which no text holds.
SqliteBlob packed_texts(const std::vector<std::string>& texts) {
  SqliteBlob packed;
  for (const std::string& text : texts) packed.bytes += text + '\0';
  return packed;
}

std::vector<std::string> unpacked_texts(std::string_view packed) {
  std::vector<std::string> texts = split(packed, '\0');
  texts.pop_back();
  return texts;
}

std::optional<int64_t> maybe_integer(const SqliteRow& row, int column) {
  return row.is_null(column) ? std::nullopt : std::optional(row.integer(column));
}

SqliteValue maybe_value(const std::optional<int64_t>& number) {
  return number ? SqliteValue(*number) : SqliteValue(nullptr);
}

Job job_of_row(const SqliteRow& r) {
  Job job;
  job.id = r.integer(0);
  job.plan.command = unpacked_texts(r.bytes(1));
  job.plan.is_script = r.integer(2) != 0;
  job.plan.name = r.text(3);
  job.plan.folder = r.bytes(4);
  job.plan.environment = unpacked_texts(r.bytes(5));
  job.plan.device = r.text(6);
  job.plan.use = r.integer(7) != 0 ? Use::kAlone : Use::kShared;
  job.plan.priority = r.integer(8);
  job.plan.time_limit_s = maybe_integer(r, 9);
  job.plan.retries = {r.integer(10), r.integer(11), r.integer(12), r.integer(13)};
  job.plan.log_bytes = r.integer(14);
  job.state = job_state_of(r.text(15)).value_or(JobState::kFailed);
  job.why = r.text(16);
  job.cancel_asked = r.integer(17) != 0;
  job.first_counted = r.integer(18);
  job.added_unix_ns = r.integer(19);
  return job;
}

Attempt attempt_of_row(const SqliteRow& r) {
  Attempt attempt;
  attempt.job = r.integer(0);
  attempt.number = r.integer(1);
  attempt.end = attempt_end_of(r.text(2)).value_or(AttemptEnd::kFailed);
  attempt.why = r.text(3);
  attempt.host = r.text(4);
  attempt.runner = {r.text(5), r.integer(6), r.integer(7)};
  attempt.keeper = {r.text(5), r.integer(8), r.integer(9)};
  attempt.started_unix_ns = r.integer(10);
  attempt.is_quiet = r.integer(11) != 0;
  attempt.duration_ns = maybe_integer(r, 12);
  attempt.exit_code = maybe_integer(r, 13);
  attempt.signal = maybe_integer(r, 14);
  attempt.stdout_bytes = maybe_integer(r, 15);
  attempt.stderr_bytes = maybe_integer(r, 16);
  attempt.lost_bytes = maybe_integer(r, 17);
  attempt.leftovers = r.integer(18);
  return attempt;
}

/// SQLite would give it the permissions that the umask leaves.
Result<void> make_queue_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0 && errno != EROFS && errno != EACCES) return errno_error("cannot create", path, errno);
  if (file >= 0) {
    (void)::fchmod(file, 0600);
    ::close(file);
  }
  return check_private(path);
}

std::optional<int64_t> job_number(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc() && stopped == end && number > 0 ? std::optional(number) : std::nullopt;
}

/// For json_each: one statement serves lists of any length.
std::string id_list(const std::vector<int64_t>& ids) {
  return fmt::format("[{}]", fmt::join(ids, ","));
}
constexpr const char* kListed = "(SELECT value FROM json_each(?1))";

Error no_such_job(const std::string& name) {
  return Error{ErrorCode::kNotFound,
               "there is no such job: " + name,
               "{} lists them",
               {{"queue", R"({"action": "list"})"}}};
}

}  // namespace

int64_t wall_clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// ---- Opening

Result<QueueStore> QueueStore::open(const Environment& surroundings) {
  NL_TRY(const std::string folder, make_state_folder(surroundings));
  return open_in(folder);
}

Result<std::optional<QueueStore>> QueueStore::open_if_any(const Environment& surroundings) {
  NL_TRY(const std::string folder, state_folder_name(surroundings));
  if (!path_exists(folder + "/queue.sqlite")) return std::optional<QueueStore>();
  NL_CHECK(check_private(folder));
  NL_TRY(auto store, open_in(folder));
  return std::optional(std::move(store));
}

Result<QueueStore> QueueStore::open_in(const std::string& folder) {
  const std::string path = folder + "/queue.sqlite";
  NL_CHECK(make_queue_file(path));
  const std::string advice = "move it away, with its logs, and queue the jobs again";
  NL_TRY(auto db, store::Sqlite::open(path, kQueueBusyMs, store::SqliteAccess::kReadWrite, {advice, {}}));
  QueueStore store(folder, std::move(db));
  // The journal's removal is flushed, too: a commit that was believed must not come undone with the power.
  NL_CHECK(store.run("PRAGMA synchronous = EXTRA"));
  NL_CHECK(store.create_tables());
  NL_CHECK(store.each("SELECT value FROM settings WHERE key = 'id'", {},
                      [&](const SqliteRow& row) { store.id_ = row.text(0); }));
  return store;
}

Result<void> QueueStore::create_tables() {
  NL_TRY(const int64_t before, integer("PRAGMA user_version"));
  if (before == kQueueVersion) return {};
  return together([&]() -> Result<void> {
    NL_TRY(const int64_t version, integer("PRAGMA user_version"));
    if (version == kQueueVersion) return {};  // another process was first
    if (version > kQueueVersion)
      return Error{ErrorCode::kUnsupported, "the queue was made by a newer neurolens: " + folder_,
                   "use that one"};
    for (const char* const table : kQueueTables) NL_CHECK(run(table));
    NL_CHECK(run("INSERT INTO settings VALUES ('id', ?)", {hex_of(random_bytes(8))}));
    return run("PRAGMA user_version = " + std::to_string(kQueueVersion));
  });
}

// ---- Talking to the file

Error QueueStore::in_our_words(Error error) const {
  switch (error.code) {
    case ErrorCode::kConflict:
      error.message = "the queue is busy: " + folder_;
      error.hint = "try again";
      break;
    case ErrorCode::kPermission:
      error.message = "the queue cannot be changed: " + error.message;
      error.hint = "check the permissions of " + folder_ + ", or name another folder with NEUROLENS_STATE";
      break;
    case ErrorCode::kIo:
      if (!error.hint.starts_with("move it away"))
        error.hint = "the disk may be full, or fails: free some space in " + folder_ +
                     "; what was queued before is not lost";
      break;
    default:
      break;
  }
  return error;
}

Result<void> QueueStore::run(std::string_view sql, const std::vector<SqliteValue>& values) {
  return each(sql, values, [](const SqliteRow&) {});
}

Result<void> QueueStore::each(std::string_view sql, const std::vector<SqliteValue>& values,
                              const std::function<void(const SqliteRow&)>& row) {
  auto done = db_.each(sql, values, row);
  if (!done) return in_our_words(done.error());
  return done;
}

Result<int64_t> QueueStore::integer(std::string_view sql, const std::vector<SqliteValue>& values) {
  auto found = db_.integer(sql, values);
  if (!found) return in_our_words(found.error());
  return found;
}

Result<void> QueueStore::together(const std::function<Result<void>()>& change) {
  auto transaction = store::SqliteTransaction::begin(db_);
  if (!transaction) return in_our_words(transaction.error());
  NL_CHECK(change());
  auto committed = transaction->commit();
  if (!committed) return in_our_words(committed.error());
  return committed;
}

// ---- Adding

Result<std::vector<int64_t>> QueueStore::add(const std::vector<JobPlan>& plans) {
  for (const JobPlan& plan : plans) NL_CHECK(check_plan(plan));
  std::vector<int64_t> ids;
  NL_CHECK(together([&]() -> Result<void> {
    for (const JobPlan& plan : plans) {
      NL_TRY(const int64_t id, add_one(plan, ids, plans));
      ids.push_back(id);
    }
    return block_dependents();
  }));
  return ids;
}

Result<int64_t> QueueStore::add_one(const JobPlan& plan, const std::vector<int64_t>& before,
                                    const std::vector<JobPlan>& plans) {
  const Retries& retries = plan.retries;
  NL_CHECK(
      run("INSERT INTO jobs(command, is_script, name, folder, environment, device, alone, priority, "
          "time_limit_s, "
          "retry_failed, retry_timeout, retry_killed, retry_unfit, log_bytes, state, why, cancel_asked, "
          "first_counted, "
          "added_unix_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', '', 0, 1, ?)",
          {packed_texts(plan.command), int64_t{plan.is_script}, plan.name, SqliteBlob{plan.folder},
           packed_texts(plan.environment), plan.device, int64_t{plan.use == Use::kAlone}, plan.priority,
           maybe_value(plan.time_limit_s), retries.failed, retries.timeout, retries.killed, retries.unfit,
           plan.log_bytes, wall_clock_ns()}));
  NL_TRY(const int64_t id, integer("SELECT last_insert_rowid()"));
  for (const std::string& need : plan.needs) {
    NL_TRY(const int64_t needed, needed_job(need, before, plans));
    if (needed >= id) return no_such_job(need);  // it needs itself
    NL_CHECK(run("INSERT OR IGNORE INTO needs VALUES (?, ?)", {id, needed}));
  }
  return id;
}

Result<int64_t> QueueStore::needed_job(const std::string& need, const std::vector<int64_t>& before,
                                       const std::vector<JobPlan>& plans) {
  for (size_t i = before.size(); i-- > 0;) {
    if (plans[i].name == need) return before[i];
  }
  NL_TRY(const auto found, find({need}));
  return found[0];
}

Result<std::vector<int64_t>> QueueStore::find(const std::vector<std::string>& ids_or_names) {
  std::vector<int64_t> ids;
  for (const std::string& text : ids_or_names) {
    const auto number = job_number(text);
    NL_TRY(const int64_t id, number ? integer("SELECT id FROM jobs WHERE id = ?", {*number})
                                    : integer("SELECT max(id) FROM jobs WHERE name = ?", {text}));
    if (id == 0) return no_such_job(text);
    ids.push_back(id);
  }
  return ids;
}

// ---- Looking

Result<std::vector<Job>> QueueStore::jobs_where(const std::string& where,
                                                const std::vector<SqliteValue>& values) {
  std::vector<Job> jobs;
  std::map<int64_t, size_t> places;
  const std::string chosen = "(SELECT id FROM jobs " + where + ")";  // few forms: statements are kept
  NL_CHECK(run("BEGIN"));                                            // all of one moment
  auto read = each(fmt::format("SELECT {} FROM jobs WHERE id IN {} ORDER BY id", kJobColumns, chosen), values,
                   [&](const SqliteRow& row) {
                     jobs.push_back(job_of_row(row));
                     places[jobs.back().id] = jobs.size() - 1;
                   });
  if (read)
    read =
        each(fmt::format("SELECT job, needs FROM needs WHERE job IN {} ORDER BY job, needs", chosen), values,
             [&](const SqliteRow& row) { jobs[places[row.integer(0)]].needs.push_back(row.integer(1)); });
  if (read)
    read = each(
        fmt::format("SELECT {} FROM attempts WHERE job IN {} ORDER BY job, number", kAttemptColumns, chosen),
        values,
        [&](const SqliteRow& row) { jobs[places[row.integer(0)]].attempts.push_back(attempt_of_row(row)); });
  const auto over = run("COMMIT");
  NL_CHECK(read);
  NL_CHECK(over);
  return jobs;
}

Result<std::vector<Job>> QueueStore::jobs(const std::vector<int64_t>& ids) {
  if (ids.empty()) return jobs_where("", {});
  return jobs_where(fmt::format("WHERE id IN {}", kListed), {id_list(ids)});
}

Result<std::vector<Job>> QueueStore::jobs_in(const std::vector<JobState>& states, int64_t most) {
  std::string names;
  for (const JobState state : states)
    names += (names.empty() ? "'" : ", '") + std::string(job_state_name(state)) + "'";
  return jobs_where(fmt::format("WHERE state IN ({}) ORDER BY id DESC LIMIT {}", names, most), {});
}

Result<JobCounts> QueueStore::counts(const std::string& device) {
  std::map<std::string, int64_t> found;
  NL_CHECK(each("SELECT state, count(*) FROM jobs WHERE ?1 = '' OR device = ?1 GROUP BY state", {device},
                [&](const SqliteRow& row) { found[row.text(0)] = row.integer(1); }));
  return JobCounts{found["waiting"], found["running"],   found["done"],
                   found["failed"],  found["cancelled"], found["blocked"]};
}

Result<std::vector<std::string>> QueueStore::devices() {
  std::vector<std::string> names;
  NL_CHECK(each("SELECT DISTINCT device FROM jobs ORDER BY device", {},
                [&](const SqliteRow& row) { names.push_back(row.text(0)); }));
  return names;
}

Result<std::optional<int64_t>> QueueStore::usual_duration_ns() {
  std::vector<int64_t> durations;
  NL_CHECK(
      each("SELECT duration_ns FROM (SELECT duration_ns FROM attempts WHERE end = 'done' AND duration_ns IS "
           "NOT NULL "
           "ORDER BY job DESC LIMIT 100) ORDER BY duration_ns",
           {}, [&](const SqliteRow& row) { durations.push_back(row.integer(0)); }));
  if (durations.empty()) return std::optional<int64_t>();
  return std::optional(durations[durations.size() / 2]);
}

Result<std::optional<Job>> QueueStore::next(const std::string& device, const std::vector<int64_t>& but) {
  NL_TRY(
      const int64_t id,
      integer("SELECT id FROM jobs WHERE state = 'waiting' AND device = ?2 AND id NOT IN "
              "(SELECT value FROM json_each(?1)) AND NOT EXISTS (SELECT 1 FROM needs JOIN jobs AS needed ON "
              "needed.id = needs.needs WHERE needs.job = jobs.id AND needed.state <> 'done') "
              "ORDER BY priority DESC, id LIMIT 1",
              {id_list(but), device}));
  if (id == 0) return std::optional<Job>();
  NL_TRY(auto found, jobs({id}));
  if (found.empty()) return std::optional<Job>();
  return std::optional(std::move(found[0]));
}

Result<bool> QueueStore::waits_for_others(const std::string& device) {
  NL_TRY(const int64_t there_are,
         integer("SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'waiting' AND device = ?1) AND "
                 "EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND device <> ?1)",
                 {device}));
  return there_are != 0;
}

Result<std::vector<Attempt>> QueueStore::open_attempts(const std::string& device) {
  std::vector<Attempt> open;
  NL_CHECK(each(fmt::format("SELECT {} FROM attempts WHERE end = 'running' AND job IN (SELECT id FROM jobs "
                            "WHERE device = ?) ORDER BY job, number",
                            kAttemptColumns),
                {device}, [&](const SqliteRow& row) { open.push_back(attempt_of_row(row)); }));
  return open;
}

// ---- Running

Result<int64_t> QueueStore::next_number(int64_t job) {
  return integer("SELECT 1 + coalesce(max(number), 0) FROM attempts WHERE job = ?", {job});
}

Result<bool> QueueStore::begin_attempt(const Attempt& attempt) {
  bool is_begun = false;
  NL_CHECK(together([&]() -> Result<void> {
    NL_CHECK(run(
        "UPDATE jobs SET state = 'running', why = '' WHERE id = ? AND state = 'waiting' AND NOT cancel_asked",
        {attempt.job}));
    if (db_.changes() == 0) return {};
    is_begun = true;
    return run(
        "INSERT INTO attempts(job, number, end, why, host, boot_id, runner_pid, runner_start, keeper_pid, "
        "keeper_start, started_unix_ns, is_quiet, leftovers) VALUES (?, ?, 'running', '', ?, ?, ?, ?, 0, 0, "
        "?, 0, 0)",
        {attempt.job, attempt.number, attempt.host, attempt.runner.boot_id, attempt.runner.pid,
         attempt.runner.start_ticks, attempt.started_unix_ns});
  }));
  return is_begun;
}

Result<void> QueueStore::set_keeper(const Attempt& attempt) {
  return run("UPDATE attempts SET keeper_pid = ?, keeper_start = ? WHERE job = ? AND number = ?",
             {attempt.keeper.pid, attempt.keeper.start_ticks, attempt.job, attempt.number});
}

Result<void> QueueStore::set_quiet(const Attempt& attempt) {
  return run("UPDATE attempts SET is_quiet = ? WHERE job = ? AND number = ?",
             {int64_t{attempt.is_quiet}, attempt.job, attempt.number});
}

Result<NextState> QueueStore::end_attempt(const Attempt& attempt) {
  NextState next;
  NL_CHECK(together([&]() -> Result<void> {
    NL_CHECK(
        run("UPDATE attempts SET end = ?, why = ?, is_quiet = 0, duration_ns = ?, exit_code = ?, signal = ?, "
            "stdout_bytes = ?, stderr_bytes = ?, lost_bytes = ?, leftovers = ? WHERE job = ? AND number = ?",
            {std::string(attempt_end_name(attempt.end)), attempt.why, maybe_value(attempt.duration_ns),
             maybe_value(attempt.exit_code), maybe_value(attempt.signal), maybe_value(attempt.stdout_bytes),
             maybe_value(attempt.stderr_bytes), maybe_value(attempt.lost_bytes), attempt.leftovers,
             attempt.job, attempt.number}));
    NL_TRY(next, settle(attempt.job));
    return next.state == JobState::kFailed || next.state == JobState::kCancelled ? block_dependents()
                                                                                 : Result<void>();
  }));
  return next;
}

Result<NextState> QueueStore::settle(int64_t id) {
  Retries retries;
  bool cancel_asked = false;
  NL_CHECK(each(
      "SELECT retry_failed, retry_timeout, retry_killed, retry_unfit, cancel_asked FROM jobs WHERE id = ?",
      {id}, [&](const SqliteRow& r) {
        retries = {r.integer(0), r.integer(1), r.integer(2), r.integer(3)};
        cancel_asked = r.integer(4) != 0;
      }));
  std::vector<AttemptEnd> ends;
  NL_CHECK(each(
      "SELECT end FROM attempts WHERE job = ?1 AND number >= (SELECT first_counted FROM jobs WHERE id = ?1) "
      "ORDER BY number",
      {id},
      [&](const SqliteRow& r) { ends.push_back(attempt_end_of(r.text(0)).value_or(AttemptEnd::kFailed)); }));
  NextState next = next_state(retries, ends, cancel_asked);
  NL_CHECK(run("UPDATE jobs SET state = ?, why = ? WHERE id = ?",
               {std::string(job_state_name(next.state)), next.why, id}));
  return next;
}

Result<void> QueueStore::block_dependents() {
  do {
    NL_CHECK(run(R"(
      UPDATE jobs SET state = 'blocked', why = (
          SELECT 'it needs job ' || needed.id || ', which is ' || needed.state
          FROM needs JOIN jobs AS needed ON needed.id = needs.needs
          WHERE needs.job = jobs.id AND needed.state IN ('failed', 'cancelled', 'blocked') ORDER BY needed.id LIMIT 1)
      WHERE state = 'waiting' AND id IN (
          SELECT needs.job FROM needs JOIN jobs AS needed ON needed.id = needs.needs
          WHERE needed.state IN ('failed', 'cancelled', 'blocked')))"));
  } while (db_.changes() > 0);
  return {};
}

Result<void> QueueStore::unblock_dependents() {
  do {
    NL_CHECK(run(R"(
      UPDATE jobs SET state = 'waiting', why = '' WHERE state = 'blocked' AND NOT EXISTS (
          SELECT 1 FROM needs JOIN jobs AS needed ON needed.id = needs.needs
          WHERE needs.job = jobs.id AND needed.state IN ('failed', 'cancelled', 'blocked')))"));
  } while (db_.changes() > 0);
  return {};
}

// ---- What users ask for

Result<bool> QueueStore::is_cancel_asked(int64_t job) {
  NL_TRY(const int64_t asked, integer("SELECT cancel_asked FROM jobs WHERE id = ?", {job}));
  return asked != 0;
}

Result<int64_t> QueueStore::cancel(const std::vector<int64_t>& ids) {
  int64_t changed = 0;
  NL_CHECK(together([&]() -> Result<void> {
    NL_CHECK(
        run(fmt::format("UPDATE jobs SET cancel_asked = 1 WHERE state = 'running' AND id IN {}", kListed),
            {id_list(ids)}));
    changed += db_.changes();
    NL_CHECK(run(
        fmt::format("UPDATE jobs SET state = 'cancelled', why = 'as a user asked' WHERE state IN ('waiting', "
                    "'blocked') AND id IN {}",
                    kListed),
        {id_list(ids)}));
    changed += db_.changes();
    return block_dependents();
  }));
  return changed;
}

Result<int64_t> QueueStore::requeue(const std::vector<int64_t>& ids) {
  int64_t changed = 0;
  NL_CHECK(together([&]() -> Result<void> {
    NL_CHECK(
        run(fmt::format("UPDATE jobs SET state = 'waiting', why = '', cancel_asked = 0, first_counted = 1 + "
                        "coalesce((SELECT max(number) FROM attempts WHERE job = jobs.id), 0) "
                        "WHERE state IN ('done', 'failed', 'cancelled', 'blocked') AND id IN {}",
                        kListed),
            {id_list(ids)}));
    changed = db_.changes();
    NL_CHECK(unblock_dependents());
    return block_dependents();
  }));
  return changed;
}

Result<bool> QueueStore::is_paused() {
  NL_TRY(const int64_t paused, integer("SELECT value FROM settings WHERE key = 'paused'"));
  return paused != 0;
}

Result<void> QueueStore::set_paused(bool paused) {
  return run("UPDATE settings SET value = ? WHERE key = 'paused'", {std::string(paused ? "1" : "0")});
}

Result<void> QueueStore::ask_to_drain() {
  return run("UPDATE settings SET value = CAST(value AS INTEGER) + 1 WHERE key = 'drains'");
}

Result<int64_t> QueueStore::drains() {
  return integer("SELECT value FROM settings WHERE key = 'drains'");
}

}  // namespace nl::lab
