// The parts of the queue one by one: its file, its rules, its logs, the processes it finds. What happens when
// processes are killed is shown end to end, in tests/e2e/test_queue.py and tests/full/queue.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <random>

#include "base/files.h"
#include "base/json.h"
#include "lab/queue/attempt_log.h"
#include "lab/queue/job_file.h"
#include "lab/queue/queue_store.h"
#include "lab/queue/state_folder.h"

namespace nl::lab {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

class Queue : public testing::Test {
 protected:
  Queue() {
    std::string name = testing::TempDir() + "queue-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    surroundings_ =
        std::make_unique<Environment>(std::vector<std::string>{"NEUROLENS_STATE=" + folder_ + "/state",
                                                               "PATH=/bin", "HF_TOKEN=abc", "EXTRA=x=y"},
                                      folder_);
  }
  ~Queue() override { remove_tree(folder_); }

  QueueStore opened() const {
    auto store = QueueStore::open(*surroundings_);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  JobPlan plan(const std::string& name = "", const std::vector<std::string>& needs = {}) const {
    JobPlan plan;
    plan.command = {"true"};
    plan.folder = folder_;
    plan.name = name;
    plan.needs = needs;
    return plan;
  }
  static int64_t add(QueueStore& store, const JobPlan& plan) {
    const auto ids = store.add({plan});
    EXPECT_TRUE(ids) << ids.error().message;
    return ids ? ids->at(0) : 0;
  }
  /// One attempt that ends so; what became of the job.
  static JobState attempted(QueueStore& store, int64_t job, AttemptEnd end) {
    Attempt attempt;
    attempt.job = job;
    attempt.number = store.next_number(job).value();
    EXPECT_TRUE(store.begin_attempt(attempt).value());
    attempt.end = end;
    return store.end_attempt(attempt).value().state;
  }
  static JobState state_of(QueueStore& store, int64_t job) { return store.jobs({job}).value().at(0).state; }
  static int64_t next_id(QueueStore& store) {
    const auto next = store.next(kWholeMachine, {}).value();
    return next ? next->id : 0;
  }

  std::string folder_;
  std::unique_ptr<Environment> surroundings_;
};

// ---- The file

TEST_F(Queue, KeepsBytesAsTheyAre) {
  std::mt19937 random(7);
  std::vector<JobPlan> plans;
  for (int i = 0; i < 200; i++) {
    JobPlan one = plan();
    one.command = {"x"};
    for (auto words = random() % 5; words > 0; words--) {
      std::string word;
      for (auto bytes = random() % 40; bytes > 0; bytes--) word += static_cast<char>(1 + random() % 255);
      one.command.push_back(word);
    }
    one.environment = {"A=" + one.command.back()};
    plans.push_back(one);
  }
  ASSERT_TRUE(opened().add(plans));
  const auto jobs = opened().jobs().value();
  ASSERT_EQ(jobs.size(), plans.size());
  for (size_t i = 0; i < jobs.size(); i++) {
    EXPECT_EQ(jobs[i].plan.command, plans[i].command);
    EXPECT_EQ(jobs[i].plan.environment, plans[i].environment);
  }
}

TEST_F(Queue, IsOfItsUserAlone) {
  opened();
  struct stat info {};
  ASSERT_EQ(::stat((folder_ + "/state").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((folder_ + "/state/queue.sqlite").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Queue, IsRefusedWhereOthersMayWrite) {
  ASSERT_EQ(::mkdir((folder_ + "/state").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((folder_ + "/state").c_str(), 0770), 0);
  const auto store = QueueStore::open(*surroundings_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kPermission);
}

TEST_F(Queue, MakesNothingToLook) {
  EXPECT_FALSE(QueueStore::open_if_any(*surroundings_).value());
  EXPECT_FALSE(path_exists(folder_ + "/state"));
}

TEST_F(Queue, RefusesWhatNoProgramCanBeGiven) {
  auto store = opened();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{}, {""}, {std::string("a\0b", 3)}, {"x", std::string(200'000, 'x')}}) {
    JobPlan bad = plan();
    bad.command = command;
    EXPECT_FALSE(store.add({plan(), bad}));
  }
  EXPECT_EQ(store.counts().value().total(), 0);  // all or none
}

// ---- Rules

TEST_F(Queue, TakesThePriorityFirstThenTheOldest) {
  auto store = opened();
  const int64_t first = add(store, plan()), second = add(store, plan());
  JobPlan urgent = plan();
  urgent.priority = 5;
  const int64_t third = add(store, urgent);
  EXPECT_EQ(next_id(store), third);
  EXPECT_EQ(store.next(kWholeMachine, {third}).value()->id, first);
  EXPECT_EQ(store.next(kWholeMachine, {third, first}).value()->id, second);
  EXPECT_FALSE(store.next("gpu0", {}).value());
}

TEST_F(Queue, RunsWhatIsNeededBefore) {
  auto store = opened();
  const auto ids =
      store.add({plan("prepare"), plan("train", {"prepare"}), plan("report", {"train"})}).value();
  EXPECT_EQ(next_id(store), ids[0]);
  EXPECT_EQ(attempted(store, ids[0], AttemptEnd::kDone), JobState::kDone);
  EXPECT_EQ(next_id(store), ids[1]);
  EXPECT_EQ(attempted(store, ids[1], AttemptEnd::kFailed), JobState::kFailed);
  EXPECT_EQ(state_of(store, ids[2]), JobState::kBlocked);
  EXPECT_EQ(next_id(store), 0);
  EXPECT_EQ(store.requeue({ids[1]}).value(), 1);
  EXPECT_EQ(state_of(store, ids[2]), JobState::kWaiting);
  EXPECT_EQ(next_id(store), ids[1]);
}

TEST_F(Queue, BlocksWhatNeedsAFailedOneAtOnce) {
  auto store = opened();
  const int64_t failed = add(store, plan("a"));
  attempted(store, failed, AttemptEnd::kFailed);
  EXPECT_EQ(state_of(store, add(store, plan("b", {"a"}))), JobState::kBlocked);
  EXPECT_FALSE(store.add({plan("c", {"nothing"})}));
  EXPECT_FALSE(store.add({plan("d", {"d"})}));
}

TEST_F(Queue, RepeatsByReason) {
  auto store = opened();
  JobPlan one = plan();
  ASSERT_TRUE(set_retry(one.retries, "failed=2"));
  const int64_t id = add(store, one);
  EXPECT_EQ(attempted(store, id, AttemptEnd::kKilled), JobState::kWaiting);
  EXPECT_EQ(attempted(store, id, AttemptEnd::kFailed), JobState::kWaiting);
  EXPECT_EQ(attempted(store, id, AttemptEnd::kStopped), JobState::kWaiting);
  EXPECT_EQ(attempted(store, id, AttemptEnd::kNeverStarted), JobState::kWaiting);
  EXPECT_EQ(attempted(store, id, AttemptEnd::kFailed), JobState::kWaiting);
  EXPECT_EQ(attempted(store, id, AttemptEnd::kFailed), JobState::kFailed);
  EXPECT_EQ(store.requeue({id}).value(), 1);
  EXPECT_EQ(attempted(store, id, AttemptEnd::kFailed), JobState::kWaiting);  // it counts anew
  EXPECT_EQ(attempted(store, id, AttemptEnd::kTimeout), JobState::kFailed);
  EXPECT_EQ(store.jobs({id}).value().at(0).attempts.size(), 8u);
}

TEST_F(Queue, CancelsWhatWaitsAtOnceAndWhatRunsAtItsEnd) {
  auto store = opened();
  const int64_t waits = add(store, plan()), runs = add(store, plan("base")),
                needs = add(store, plan("", {"base"}));
  Attempt attempt;
  attempt.job = runs;
  attempt.number = 1;
  ASSERT_TRUE(store.begin_attempt(attempt).value());
  EXPECT_EQ(store.cancel({waits, runs}).value(), 2);
  EXPECT_EQ(state_of(store, waits), JobState::kCancelled);
  EXPECT_EQ(state_of(store, runs), JobState::kRunning);
  EXPECT_TRUE(store.is_cancel_asked(runs).value());
  attempt.end = AttemptEnd::kKilled;  // whatever ended it first
  EXPECT_EQ(store.end_attempt(attempt).value().state, JobState::kCancelled);
  EXPECT_EQ(state_of(store, needs), JobState::kBlocked);
  attempt.job = waits;
  EXPECT_FALSE(store.begin_attempt(attempt).value());  // too late
}

TEST(QueueRules, TellsAKillFromAFailure) {
  EXPECT_EQ(end_of_exit(0, 0), AttemptEnd::kDone);
  EXPECT_EQ(end_of_exit(1, 0), AttemptEnd::kFailed);
  EXPECT_EQ(end_of_exit(kUnfitExit, 0), AttemptEnd::kUnfit);
  EXPECT_EQ(end_of_exit(128 + SIGKILL, SIGKILL), AttemptEnd::kKilled);
  EXPECT_EQ(end_of_exit(128 + SIGKILL, 0), AttemptEnd::kKilled);
  EXPECT_EQ(end_of_exit(128 + SIGSEGV, SIGSEGV), AttemptEnd::kFailed);
}

TEST(QueueRules, ReadsRetries) {
  Retries retries;
  EXPECT_TRUE(set_retry(retries, "unfit=0"));
  EXPECT_EQ(retries.unfit, 0);
  for (const char* const bad : {"", "killed", "killed=", "killed=-1", "killed=x", "other=1", "killed=1 "})
    EXPECT_FALSE(set_retry(retries, bad)) << bad;
}

// ---- Files of jobs

class JobFiles : public Queue {
 protected:
  Result<std::vector<JobPlan>> read(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(replace_file(folder_ + "/" + name, text));
    return read_job_file(name, *surroundings_);
  }
  std::string fault(const std::string& name, const std::string& text) const {
    const auto plans = read(name, text);
    return plans ? "none" : plans.error().message;
  }
};

TEST_F(JobFiles, SayWhatCommandsCan) {
  const auto plans = read("jobs.yaml", R"(- command: [python, train.py, --lr, "0.1"]
  name: train
  env: [HF_TOKEN, A=b]
  time_limit: 60
  retry: [failed=2, killed=0]
- shell: |
    set -e
    cat <<'EOF'
    it's "quoted"
    EOF
  needs: [train]
  use: shared
  priority: 3
)");
  ASSERT_TRUE(plans) << plans.error().message;
  ASSERT_EQ(plans->size(), 2u);
  const JobPlan &first = plans->at(0), &second = plans->at(1);
  EXPECT_EQ(first.command, (std::vector<std::string>{"python", "train.py", "--lr", "0.1"}));
  EXPECT_EQ(first.environment, (std::vector<std::string>{"A=b", "HF_TOKEN=abc", "PATH=/bin"}));
  EXPECT_EQ(first.retries.failed, 2);
  EXPECT_EQ(first.retries.killed, 0);
  EXPECT_EQ(first.time_limit_s, 60);
  EXPECT_EQ(first.folder, folder_);
  EXPECT_TRUE(second.is_script);
  EXPECT_EQ(second.command[0], "set -e\ncat <<'EOF'\nit's \"quoted\"\nEOF\n");
  EXPECT_EQ(second.use, Use::kShared);
  EXPECT_EQ(second.needs, std::vector<std::string>{"train"});
}

TEST_F(JobFiles, OfJsonLinesHoldAllBytes) {
  const auto plans = read("jobs.jsonl", R"({"command_base64": ["eA==", "/wD+Cg=="]})"
                                        "\n");
  EXPECT_FALSE(plans);  // a NUL
  const auto fine = read("jobs.jsonl",
                         "\n"
                         R"({"command_base64": ["eA==", "//4K"], "priority": 2, "needs": [1]})"
                         "\n");
  ASSERT_TRUE(fine) << fine.error().message;
  EXPECT_EQ(fine->at(0).command, (std::vector<std::string>{"x", "\xFF\xFE\n"}));
  EXPECT_EQ(fine->at(0).needs, std::vector<std::string>{"1"});
}

TEST_F(JobFiles, NameTheLineOfAFault) {
  EXPECT_EQ(fault("a.yaml", "- command: [x]\n- comand: [x]\n").substr(0, 9), "a.yaml:2:");
  EXPECT_EQ(fault("a.yaml", "- command: [x]\n  priority: high\n").substr(0, 9), "a.yaml:2:");
  EXPECT_EQ(fault("a.yaml", "- command: [x]\n\n- name: y\n").substr(0, 9), "a.yaml:3:");
  EXPECT_EQ(fault("a.yaml", "- command: [x]\n  shell: x\n").substr(0, 9), "a.yaml:1:");
  EXPECT_EQ(fault("a.jsonl", "{\"command\": [\"x\"]}\n{\n").substr(0, 10), "a.jsonl:2:");
  EXPECT_EQ(fault("a.jsonl", "{\"command\": \"x\"}\n").substr(0, 10), "a.jsonl:1:");
  EXPECT_NE(fault("a.yaml", "- command: [\xFF]\n"), "none");
  EXPECT_NE(fault("a.yaml", "- command: [x]\n  env: [NOT_SET]\n"), "none");
  EXPECT_NE(fault("a.yaml", "[]"), "none");
}

TEST_F(Queue, PassesNoVariableThatNobodyNamed) {
  EXPECT_EQ(job_environment({}, *surroundings_).value(), std::vector<std::string>{"PATH=/bin"});
  EXPECT_EQ(job_environment({"EXTRA", "PATH=/x"}, *surroundings_).value(),
            (std::vector<std::string>{"EXTRA=x=y", "PATH=/x"}));
}

// ---- Logs

class Logs : public Queue {
 protected:
  std::string path() const { return folder_ + "/1.out"; }
  /// Lines of ten bytes: "000000042\n".
  static std::string lines(int from, int to) {
    std::string text;
    for (int i = from; i < to; i++) {
      const std::string digits = std::to_string(i);
      text += std::string(9 - digits.size(), '0') + digits + "\n";
    }
    return text;
  }
  int64_t written(int count, int64_t most) const {
    auto log = AttemptLog::create(path(), most).value();
    for (int i = 0; i < count; i++) log.add(lines(i, i + 1));
    EXPECT_EQ(log.seen_bytes(), 10 * count);
    return log.lost_bytes();
  }
};

TEST_F(Logs, AreWholeWhereTheyFit) {
  EXPECT_EQ(written(100, 4096), 0);
  EXPECT_TRUE(join_log(path(), 0));
  EXPECT_EQ(read_file(path()).value(), lines(0, 100));
}

TEST_F(Logs, PutTheirEndBehindTheirBeginning) {
  const int64_t lost = written(300, 4000);
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(join_log(path(), lost));
  EXPECT_EQ(read_file(path()).value(), lines(0, 300));
}

TEST_F(Logs, KeepBeginningAndEndAndCountTheRest) {
  const int64_t lost = written(10'000, 4000);
  const std::string before = read_log(path(), 1 << 20).value();
  EXPECT_TRUE(before.starts_with(lines(0, 200)));
  EXPECT_TRUE(before.ends_with(lines(9950, 10'000)));  // also while it is in pieces
  EXPECT_TRUE(join_log(path(), lost));
  const std::string text = read_file(path()).value();
  const std::string note = "\n[neurolens: " + std::to_string(lost) + " bytes are missing here]\n";
  ASSERT_NE(text.find(note), std::string::npos);
  EXPECT_EQ(static_cast<int64_t>(text.size() - note.size()) + lost, 100'000);
  EXPECT_TRUE(text.starts_with(lines(0, 200) + note));
  EXPECT_TRUE(text.ends_with(lines(9900, 10'000)));
  EXPECT_LE(text.size(), 4000u + note.size());
  EXPECT_TRUE(join_log(path(), lost));
  EXPECT_EQ(read_file(path()).value(), text);  // once more does nothing
}

TEST_F(Logs, AreFinishedIfJoiningWasCutShort) {
  const int64_t lost = written(10'000, 4000);
  EXPECT_TRUE(replace_file(path() + ".whole", "all of it\n"));  // killed before the pieces went
  EXPECT_EQ(read_log(path(), 100).value(), "all of it\n");
  EXPECT_TRUE(join_log(path(), lost));
  EXPECT_EQ(read_file(path()).value(), "all of it\n");
  EXPECT_EQ(list_folder(folder_), std::vector<std::string>{"1.out"});
}

// ---- Processes

class Processes : public testing::Test {
 protected:
  ~Processes() override {
    for (const pid_t pid : children_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  /// A process that sleeps, with this variable, in a session of its own.
  pid_t sleeping(const std::string& variable) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setsid();
      const std::string ignore = "trap '' TERM; sleep 100 & wait; wait";
      const char* const arguments[] = {"sh", "-c", ignore.c_str(), nullptr};
      const char* const variables[] = {variable.c_str(), "PATH=/usr/bin:/bin", nullptr};
      ::execve("/bin/sh", const_cast<char**>(arguments), const_cast<char**>(variables));
      ::_exit(127);
    }
    ::close(ready[1]);
    char nothing = 0;
    EXPECT_EQ(::read(ready[0], &nothing, 1), 0);  // it has executed: the pipe is closed
    ::close(ready[0]);
    children_.push_back(pid);
    return pid;
  }
  std::vector<pid_t> children_;
};

TEST_F(Processes, HaveNamesThatAreNotUsedTwice) {
  const auto self = find_process(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(is_alive(*self));
  ProcessId other = *self;
  other.start_ticks++;
  EXPECT_FALSE(is_alive(other));
  send_signal(other, SIGKILL);  // not us
  other = *self;
  other.boot_id = "another";
  EXPECT_FALSE(is_alive(other));
}

TEST_F(Processes, AreFoundByTheirMarkAndEndedThoughTheyDoNotListen) {
  const pid_t ours = sleeping("NEUROLENS_QUEUE=q.1.1"), other = sleeping("NEUROLENS_QUEUE=q.1.11");
  const auto ended = end_processes({"NEUROLENS_QUEUE=q.1.1", {}}, milliseconds(50));
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_GE(ended->ended, 1);
  EXPECT_FALSE(find_process(ours));
  EXPECT_TRUE(find_process(other));
}

TEST_F(Processes, AreFoundByTheSessionOfALeaderThatLives) {
  const pid_t leader = sleeping("OTHER=1");
  const auto id = find_process(leader);
  ASSERT_TRUE(id);
  ProcessId wrong = *id;
  wrong.start_ticks++;  // one that had its number before
  const auto none = end_processes({"NEUROLENS_QUEUE=none", wrong}, milliseconds(0));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->ended, 0);
  EXPECT_FALSE(none->doubtful.empty());
  EXPECT_TRUE(find_process(leader));
  ASSERT_TRUE(end_processes({"NEUROLENS_QUEUE=none", *id}, milliseconds(0)));
  EXPECT_FALSE(find_process(leader));
}

}  // namespace
}  // namespace nl::lab
