// SQL of users: in processes of its own it gives the same answers, can be killed, and leaves the next query
// alone.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "door/ledger_fixture.h"
#include "source_folder.h"
#include "store/sql_workers.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// One row over which the engine is busy for minutes, deaf to being interrupted.
constexpr char kDeaf[] = "SELECT levenshtein(repeat('a', 150000), repeat('b', 150000))";
constexpr char kRows[] =
    "SELECT span_id, name, dur_ns, dur_ns / 7 AS part, NULL AS nothing FROM spans ORDER BY ALL";

class Query : public LedgerOfSamples {
 protected:
  Result<Outcome> ask(Context own, const std::string& sql, json more = json::object()) const {
    more.update({{"run", ids_[0]}, {"sql", sql}});
    return call("query", more, own);
  }
  Context here() const { return context(Effect::kRead); }
  Context with(store::SqlWorkers& workers) const {
    Context made = here();
    made.sql_workers = &workers;
    return made;
  }
  std::string streamed(Context own, const std::string& format) const {
    std::string bytes;
    own.bytes = [&](std::string_view piece) {
      bytes += piece;
      return Result<void>();
    };
    const auto outcome = ask(own, kRows, {{"format", format}});
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
    return bytes;
  }
  void expect_answers(store::SqlWorkers& workers) const {
    const auto outcome = ask(with(workers), "SELECT 6 * 7 AS x");
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->data["rows"], json::parse("[[42]]"));
  }
};

store::SqlWorkersOptions options() {
  return {.program = built_program(), .ready = 2, .at_once = 4, .threads = 1, .memory_mb = 512};
}

TEST_F(Query, AnswersTheSameInAProcessOfItsOwn) {
  store::SqlWorkers workers(options());
  const auto expected = ask(here(), kRows), found = ask(with(workers), kRows);
  ASSERT_TRUE(expected);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(expected->data["rows"].size(), 2u);
  EXPECT_EQ(found->data, expected->data);
  for (const char* format : {"csv", "json", "parquet"}) {
    const std::string bytes = streamed(here(), format);
    EXPECT_GT(bytes.size(), 100u) << format;
    EXPECT_EQ(streamed(with(workers), format), bytes) << format;
  }
}

TEST_F(Query, FailsTheSameInAProcessOfItsOwn) {
  store::SqlWorkers workers(options());
  for (const char* sql : {"DROP TABLE spans", "SELECT", "SELECT 1; SELECT 2", "SELECT * FROM nowhere",
                          "SELECT * FROM read_csv('/etc/passwd')"}) {
    const auto expected = ask(here(), sql), found = ask(with(workers), sql);
    ASSERT_FALSE(expected) << sql;
    ASSERT_FALSE(found) << sql;
    EXPECT_EQ(found.error().code, expected.error().code) << sql;
    EXPECT_EQ(found.error().message, expected.error().message) << sql;
    EXPECT_EQ(found.error().hint, expected.error().hint) << sql;
    EXPECT_EQ(found.error().calls.size(), expected.error().calls.size()) << sql;
  }
}

TEST_F(Query, CountsTooManyRowsInAProcessOfItsOwn) {
  store::SqlWorkers workers(options());
  for (const auto& [limit, shown] : {std::pair{0, 100'000}, std::pair{5, 5}}) {
    const auto outcome = ask(with(workers), "SELECT * FROM range(1000000)", {{"limit", limit}});
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->data["rows"].size(), static_cast<size_t>(shown));
    EXPECT_EQ(outcome->data["rows_left_out"], 1'000'000 - shown);
    EXPECT_EQ(outcome->data["truncated"], true);
  }
}

TEST_F(Query, EndsAtItsLimitEvenIfTheEngineIsDeaf) {
  store::SqlWorkers workers(options());
  const auto outcome = ask(with(workers), kDeaf, {{"seconds", 1}});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kLimit);
  expect_answers(workers);
}

TEST_F(Query, IsAnErrorWhenItsProcessIsKilled) {
  store::SqlWorkers workers(options());
  const auto ready = workers.ready_processes();
  ASSERT_EQ(ready.size(), 2u);
  std::thread killer([&] {
    while (workers.ready_processes().front() == ready.front()) std::this_thread::yield();
    ::kill(ready.front(), SIGKILL);
  });
  const auto outcome = ask(with(workers), kDeaf);
  killer.join();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kLimit);
  expect_answers(workers);
}

TEST_F(Query, CanBeCancelled) {
  store::SqlWorkers workers(options());
  std::atomic<bool> stop = false;
  Context own = with(workers);
  own.cancelled = [&] { return stop.load(); };
  std::thread user([&] {
    while (workers.ready_processes().size() == 2) std::this_thread::yield();
    stop = true;
  });
  const auto outcome = ask(own, kDeaf);
  user.join();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kCancelled) << outcome.error().message;
  expect_answers(workers);
}

TEST_F(Query, ProcessesThatDiedWhileTheyWaitedAreReplaced) {
  store::SqlWorkers workers(options());
  const auto dead = workers.ready_processes();
  for (const int pid : dead) {
    ::kill(pid, SIGKILL);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  }
  for (int i = 0; i < 3; i++) expect_answers(workers);
  const auto ready = workers.ready_processes();
  EXPECT_EQ(ready.size(), 2u);
  for (const int pid : dead) EXPECT_EQ(std::count(ready.begin(), ready.end(), pid), 0);
}

TEST_F(Query, SeveralRunAtOnce) {
  store::SqlWorkers workers(options());
  const auto expected = ask(here(), kRows);
  ASSERT_TRUE(expected);
  std::atomic<int> equal = 0;
  std::vector<std::thread> users;
  for (int i = 0; i < 8; i++) {  // four at once, the others wait for their turn
    users.emplace_back([&] {
      const auto found = ask(with(workers), kRows);
      if (found && found->data == expected->data) equal++;
    });
  }
  for (auto& user : users) user.join();
  EXPECT_EQ(equal, 8);
}

TEST_F(Query, LeavesNoProcessBehind) {
  std::vector<int> pids;
  {
    store::SqlWorkers workers(options());
    pids = workers.ready_processes();
    expect_answers(workers);
  }
  ASSERT_FALSE(pids.empty());
  for (const int pid : pids) EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(Query, SaysWhenNoProcessCanBeStarted) {
  auto broken = options();
  broken.program = "/no/such/program";
  store::SqlWorkers workers(broken);
  const auto outcome = ask(with(workers), "SELECT 1");
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("/no/such/program"), std::string::npos) << outcome.error().message;
}

}  // namespace
}  // namespace nl::ops
