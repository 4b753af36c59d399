// The collector in child processes, the recorder in this one or in another child: every call is a marker, and
// markers in the recording + markers said to be lost = calls, whoever is killed. The collector is linked into
// the test, so that recorders need no library.

#include "capture/record/recorder.h"

#include <sys/resource.h>
#include <sys/time.h>

#include <thread>

#include "base/files.h"
#include "recorded.h"

namespace nl::capture {
namespace {

/// `scopes` pairs: 2 markers each.
void mark_scopes(const neurolens_api& api, uint32_t name, uint64_t scopes) {
  for (uint64_t i = 0; i < scopes; i++) api.end(api.begin(name), name);
}

/// Counts up, so that a reader sees what is missing or twice.
void count_up(const neurolens_api& api, uint64_t from, uint64_t to,
              std::atomic<uint64_t>* emitted = nullptr) {
  const uint32_t name = name_of(api, "count");
  for (uint64_t i = from; i < to; i++) {
    api.counter(name, static_cast<double>(i));
    if (emitted != nullptr) emitted->store(i + 1, std::memory_order_release);
  }
}

void expect_adds_up(const RecordingEnd& end, const Imported& imported, uint64_t emitted) {
  EXPECT_EQ(imported.error, "");
  EXPECT_TRUE(imported.info.counts.closes());
  EXPECT_EQ(end.recorded + end.total_lost(), emitted);
  EXPECT_EQ(imported.info.counts.seen, static_cast<int64_t>(emitted));
}

TEST(Recorder, AccountsForAMillionMarkersOfEightThreads) {
  constexpr uint64_t kThreads = 8, kScopes = 62'500;
  TestFolder folder;
  auto recorder =
      Recorder::start({.folder = folder.path(), .library = "/none", .ring_bytes = 64 << 10}).value();
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    const uint32_t name = name_of(api, "work");
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; i++) threads.emplace_back([&] { mark_scopes(api, name, kScopes); });
    for (auto& thread : threads) thread.join();
  });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish();
  ASSERT_TRUE(end) << end.error().message;
  const Imported imported(end->path);
  expect_adds_up(*end, imported, 2 * kThreads * kScopes);
  EXPECT_EQ(imported.names.at("work"), static_cast<int64_t>(end->recorded / 2)) << "no scope lost its end";
  EXPECT_EQ(imported.info.health.count("open_scopes"), 0u);
}

TEST(Recorder, LosesNothingIfThreadsWait) {
  constexpr uint64_t kCount = 100'000;
  TestFolder folder;
  auto recorder =
      Recorder::start(
          {.folder = folder.path(), .library = "/none", .ring_bytes = 16 << 10, .wait_ms = 60'000})
          .value();
  const pid_t child = start_child([&] { count_up(start_collector(recorder->environment()), 0, kCount); });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  EXPECT_EQ(end.recorded, kCount);
  EXPECT_EQ(end.total_lost(), 0u);
  const Imported imported(end.path);
  const auto& values = imported.values.at(0);
  ASSERT_EQ(values.size(), kCount);
  for (uint64_t i = 0; i < kCount; i++) ASSERT_EQ(values[i], static_cast<double>(i));
}

TEST(Recorder, AWaitInVainEndsAndIsNotRepeated) {
  TestFolder folder;
  auto recorder =
      Recorder::start({.folder = folder.path(), .library = "/none", .ring_bytes = 16 << 10, .wait_ms = 30})
          .value();
  const SharedMemory shared;
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    const int64_t start = wire::clock_ns(CLOCK_MONOTONIC);
    count_up(api, 0, 10'000);
    shared->other = static_cast<uint64_t>(wire::clock_ns(CLOCK_MONOTONIC) - start);
  });
  EXPECT_EQ(signal_of(child), 0);  // nobody drains meanwhile
  EXPECT_GE(shared->other, 30'000'000u);
  EXPECT_LT(shared->other, 5'000'000'000u) << "thousands of markers waited 30 ms each";
  const auto end = recorder->finish().value();
  EXPECT_EQ(end.recorded + end.total_lost(), 10'000u);
  EXPECT_EQ(end.recorded,
            end.recorded + end.total_lost() - end.lost[static_cast<size_t>(wire::Loss::kRingFull)]);
}

TEST(Recorder, ThreadsThatEndedLeaveTheirRingToOthers) {
  constexpr int kThreads = 2000;
  TestFolder folder;
  auto recorder =
      Recorder::start(
          {.folder = folder.path(), .library = "/none", .total_bytes = 4 << 20, .ring_bytes = 256 << 10})
          .value();
  const SharedMemory shared;
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    for (int i = 0; i < kThreads; i++) {
      std::thread thread([&] { api.counter(name_of(api, "thread"), i); });
      thread.join();
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
      if (entry.path().filename().string().starts_with("ring-")) shared->other++;
  });
  poll_while_running(*recorder, child);
  EXPECT_LE(shared->other, 2u);
  const auto end = recorder->finish().value();
  EXPECT_EQ(end.recorded, uint64_t{kThreads});
  EXPECT_EQ(Imported(end.path).tracks, size_t{kThreads}) << "each thread has a track of its own";
}

TEST(Recorder, CountsTheMarkersOfThreadsBeyondTheLimitOfMemory) {
  constexpr uint64_t kThreads = 8, kCount = 100;
  TestFolder folder;
  auto recorder =
      Recorder::start(
          {.folder = folder.path(), .library = "/none", .total_bytes = 3 << 20, .ring_bytes = 512 << 10})
          .value();
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    std::atomic<uint64_t> ready{0};
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kThreads; i++) {
      threads.emplace_back([&] {
        count_up(api, 0, kCount);
        for (ready++; ready < kThreads;) std::this_thread::yield();  // all at once
      });
    }
    for (auto& thread : threads) thread.join();
  });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  EXPECT_EQ(end.recorded, 3 * kCount) << "three rings fit beside the names";
  EXPECT_EQ(end.lost[static_cast<size_t>(wire::Loss::kNoRing)], (kThreads - 3) * kCount);
  EXPECT_EQ(Imported(end.path).dropped("no_ring"), static_cast<int64_t>((kThreads - 3) * kCount));
}

TEST(Recorder, KeepsWhatAKilledWorkloadWrote) {
  TestFolder folder;
  auto recorder = Recorder::start({.folder = folder.path(), .library = "/none"}).value();
  const SharedMemory shared;
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    api.begin(name_of(api, "never ended"));
    count_up(api, 0, UINT64_MAX, &shared->emitted);
  });
  while (shared->emitted < 20'000) ASSERT_TRUE(recorder->poll());
  kill(child, SIGKILL);
  EXPECT_EQ(signal_of(child), SIGKILL);
  const uint64_t emitted = shared->emitted + 1;  // and the begin
  const auto end = recorder->finish().value();
  const Imported imported(end.path);
  const uint64_t seen = end.recorded + end.total_lost();
  EXPECT_TRUE(seen == emitted || seen == emitted + 1)
      << seen << " of " << emitted << ", one may be under way";
  expect_adds_up(end, imported, seen);
  EXPECT_EQ(imported.info.health.at("open_scopes"), 1);
  EXPECT_EQ(imported.names.at("never ended"), 1);
}

/// A recorder that is killed while a workload marks; the workload goes on and ends.
TEST(Recorder, AKilledRecorderLosesNothingAndRecordsNothingTwice) {
  for (int round = 0; round < 5; round++) {
    TestFolder folder;
    const SharedMemory shared;
    const RecorderOptions options{.folder = folder.path(), .library = "/none", .ring_bytes = 4 << 20};
    const pid_t recording = start_child([&] {
      auto recorder = Recorder::start(options).value();
      for (shared->other = 1;;) {
        if (!recorder->poll()) _exit(1);
      }
    });
    while (shared->other == 0) usleep(100);
    const std::vector<std::string> environment = {"NEUROLENS_RECORDING=" + folder.path() + "/live",
                                                  "NEUROLENS_RING_BYTES=4194304"};
    const pid_t workload =
        start_child([&] { count_up(start_collector(environment), 0, 150'000, &shared->emitted); });
    while (shared->emitted < 20'000 + 7'919 * static_cast<uint64_t>(round)) usleep(10);
    kill(recording, SIGKILL);
    EXPECT_EQ(signal_of(recording), SIGKILL);
    EXPECT_EQ(signal_of(workload), 0);
    const auto end = recover(folder.path());
    ASSERT_TRUE(end) << end.error().message;
    const Imported imported(end->path);
    expect_adds_up(*end, imported, 150'000);
    const auto& values = imported.values.at(0);
    ASSERT_EQ(imported.values.size(), 1u) << "one thread, one track";
    for (size_t i = 1; i < values.size(); i++) ASSERT_LT(values[i - 1], values[i]) << "a record twice";
    EXPECT_FALSE(path_exists(folder.path() + "/live"));
  }
}

TEST(Recorder, ATornChunkIsWrittenAgainFromItsRing) {
  TestFolder folder;
  const pid_t recording = start_child([&] {
    auto recorder = Recorder::start({.folder = folder.path(), .library = "/none"}).value();
    const pid_t workload = start_child([&] { count_up(start_collector(recorder->environment()), 0, 1000); });
    signal_of(workload);
    raise(SIGKILL);  // nothing was drained
  });
  EXPECT_EQ(signal_of(recording), SIGKILL);
  std::string chunk;
  wire::append_chunk(chunk, {.kind = wire::ChunkKind::kRecords, .records = 4}, std::string(64, 'x'));
  const std::string path = folder.path() + "/recording.nlr";
  const std::string before = read_file(path).value();
  ASSERT_TRUE(write_file_durably(path, before + chunk.substr(0, chunk.size() - 9)));
  const auto end = recover(folder.path());
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->recorded, 1000u);
  const Imported imported(end->path);
  expect_adds_up(*end, imported, 1000);
  EXPECT_EQ(imported.info.health.count("unfinished"), 0u);
}

/// Killed between the write of a chunk and the release of its room.
TEST(Recorder, AChunkThatWasNotReleasedIsNotWrittenTwice) {
  TestFolder folder;
  const std::string live = folder.path() + "/live", aside = folder.path() + "/aside";
  const pid_t recording = start_child([&] {
    auto recorder = Recorder::start({.folder = folder.path(), .library = "/none"}).value();
    const SharedMemory shared;
    const pid_t workload = start_child([&] {
      const auto& api = start_collector(recorder->environment());
      count_up(api, 0, 1000);
      for (shared->emitted = 1; shared->other == 0;) usleep(100);
      count_up(api, 1000, 1500);
    });
    while (shared->emitted == 0) usleep(100);
    std::filesystem::copy(live, aside, std::filesystem::copy_options::recursive);
    if (recorder->poll().value() != 1000) _exit(1);
    shared->other = 1;
    signal_of(workload);
    raise(SIGKILL);
  });
  EXPECT_EQ(signal_of(recording), SIGKILL);
  std::filesystem::remove_all(live);
  std::filesystem::rename(aside, live);  // the rings as they were before the poll
  const auto end = recover(folder.path());
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->recorded, 1000u);
  const Imported imported(end->path);
  EXPECT_EQ(imported.values.at(0).size(), 1000u);
}

TEST(Recorder, AScopeEndsEvenIfTheRingIsFull) {
  constexpr int kScopes = 10;
  TestFolder folder;
  auto recorder =
      Recorder::start({.folder = folder.path(), .library = "/none", .ring_bytes = 16 << 10}).value();
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    const uint32_t name = name_of(api, "outer");
    uint64_t tokens[kScopes];
    for (uint64_t& token : tokens) token = api.begin(name);
    count_up(api, 0, 10'000);
    for (const uint64_t token : tokens) api.end(token, name);
  });
  EXPECT_EQ(signal_of(child), 0);  // nobody drains meanwhile
  const auto end = recorder->finish().value();
  const Imported imported(end.path);
  expect_adds_up(end, imported, 2 * kScopes + 10'000);
  EXPECT_EQ(imported.info.counts.folded.at("begin_joins_its_end"), kScopes);
  EXPECT_GT(imported.dropped("ring_full"), 9'000);
}

TEST(Recorder, IsNotRecoveredWhileItRuns) {
  TestFolder folder;
  auto recorder = Recorder::start({.folder = folder.path(), .library = "/none"}).value();
  const auto end = recover(folder.path());
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::kConflict);
  EXPECT_EQ(Recorder::start({.folder = folder.path(), .library = "/none"}).error().code,
            ErrorCode::kConflict);
}

TEST(Recorder, AForkedChildMarksByItself) {
  TestFolder folder;
  auto recorder = Recorder::start({.folder = folder.path(), .library = "/none"}).value();
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    const uint32_t known = name_of(api, "known before");
    const uint64_t token = api.begin(known);
    const pid_t forked = start_child([&] {
      mark_scopes(api, known, 10);
      mark_scopes(api, name_of(api, "new in child"), 5);
      api.end(token, known);  // the parent's
    });
    if (signal_of(forked) != 0) _exit(1);
    mark_scopes(api, name_of(api, "new in parent"), 3);
    api.end(token, known);
  });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  const Imported imported(end.path);
  expect_adds_up(end, imported, 2 * (1 + 10 + 5 + 3) + 1);
  EXPECT_EQ(imported.names.at("known before"), 11);
  EXPECT_EQ(imported.names.at("new in child"), 5);
  EXPECT_EQ(imported.names.at("new in parent"), 3);
  EXPECT_EQ(imported.processes.size(), 2u);
  EXPECT_EQ(imported.dropped("foreign_end"), 1);
}

TEST(Recorder, ManyProcessesDoNotUseUpTheMemory) {
  constexpr int kProcesses = 20;
  TestFolder folder;
  auto recorder =
      Recorder::start({.folder = folder.path(), .library = "/none", .total_bytes = 5 << 20}).value();
  for (int i = 0; i < kProcesses; i++) {
    const pid_t child = start_child([&] { count_up(start_collector(recorder->environment()), 0, 10); });
    EXPECT_EQ(signal_of(child), 0);
    ASSERT_TRUE(recorder->poll());
  }
  const auto end = recorder->finish().value();
  EXPECT_EQ(end.recorded, uint64_t{kProcesses} * 10);
}

volatile sig_atomic_t alarms = 0;
const neurolens_api* alarm_api = nullptr;
uint32_t alarm_name = 0;

TEST(Recorder, ASignalHandlerMayMark) {
  constexpr uint64_t kCount = 300'000;
  TestFolder folder;
  auto recorder =
      Recorder::start({.folder = folder.path(), .library = "/none", .ring_bytes = 16 << 20}).value();
  const SharedMemory shared;
  const pid_t child = start_child([&] {
    alarm_api = &start_collector(recorder->environment());
    alarm_name = name_of(*alarm_api, "alarm");
    signal(SIGALRM, [](int) {
      alarm_api->mark(alarm_name, nullptr, 0);
      alarms = alarms + 1;
    });
    const itimerval often{{0, 50}, {0, 50}};
    setitimer(ITIMER_REAL, &often, nullptr);
    count_up(*alarm_api, 0, kCount);
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    shared->other = static_cast<uint64_t>(alarms);
  });
  poll_while_running(*recorder, child);
  ASSERT_GT(shared->other, 0u);
  const auto end = recorder->finish().value();
  const Imported imported(end.path);
  expect_adds_up(end, imported, kCount + shared->other);
}

TEST(Recorder, EndsAtItsLimitAndSaysWhatIsMissing) {
  constexpr uint64_t kCount = 200'000;
  TestFolder folder;
  auto recorder =
      Recorder::start(
          {.folder = folder.path(), .library = "/none", .limit_bytes = 1 << 20, .wait_ms = 60'000})
          .value();
  const pid_t child = start_child([&] { count_up(start_collector(recorder->environment()), 0, kCount); });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  EXPECT_LE(file_size(end.path).value(), 1 << 20);
  EXPECT_GT(end.lost[static_cast<size_t>(wire::Loss::kDiskLimit)], 0u);
  const Imported imported(end.path);
  expect_adds_up(end, imported, kCount);
  EXPECT_GT(imported.values.at(0).size(), 10'000u);
}

/// A limit of the process stands for a disk without room.
TEST(Recorder, ADiskThatIsFullForAWhileLosesCountedMarkers) {
  constexpr uint64_t kCount = 50'000;
  TestFolder folder;
  auto recorder = Recorder::start({.folder = folder.path(), .library = "/none", .wait_ms = 60'000}).value();
  const SharedMemory shared;
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    count_up(api, 0, 1000, &shared->emitted);
    while (shared->other == 0) usleep(100);
    count_up(api, 1000, kCount);
  });
  while (shared->emitted < 1000) usleep(100);
  ASSERT_EQ(recorder->poll().value(), 1000u);
  shared->other = 1;
  rlimit usual{};
  getrlimit(RLIMIT_FSIZE, &usual);
  const rlimit small{300'000, usual.rlim_max};
  const auto before = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  poll_while_running(*recorder, child);
  const auto polled = recorder->poll();
  setrlimit(RLIMIT_FSIZE, &usual);
  signal(SIGXFSZ, before);
  ASSERT_TRUE(polled) << polled.error().message;
  const auto end = recorder->finish().value();
  EXPECT_GT(end.lost[static_cast<size_t>(wire::Loss::kDiskLimit)], 0u);
  const Imported imported(end.path);
  expect_adds_up(end, imported, kCount);
  EXPECT_EQ(imported.info.health.size(), 0u) << "no chunk is torn";
  EXPECT_GE(imported.values.at(0).size(), 1000u);
}

TEST(FlightRecorder, KeepsTheLastMarkers) {
  constexpr uint64_t kCount = 300'000;
  TestFolder folder;
  auto recorder = Recorder::start({.folder = folder.path(),
                                   .library = "/none",
                                   .limit_bytes = 2 << 20,
                                   .ring_bytes = 64 << 10,
                                   .wait_ms = 60'000,
                                   .is_flight_recorder = true})
                      .value();
  const SharedMemory shared;
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    count_up(api, 0, kCount, &shared->emitted);
    while (shared->other == 0) usleep(100);
    count_up(api, kCount, kCount + 10);
  });
  while (shared->emitted < kCount) ASSERT_TRUE(recorder->poll());
  const auto dumped = recorder->dump("dumped.nlr");
  ASSERT_TRUE(dumped) << dumped.error().message;
  shared->other = 1;
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  for (const auto& [recording, count] : {std::pair{*dumped, kCount}, std::pair{end, kCount + 10}}) {
    const Imported imported(recording.path);
    expect_adds_up(recording, imported, count);
    EXPECT_LT(file_size(recording.path).value(), 2 << 20);
    const auto& values = imported.values.at(0);
    ASSERT_GT(values.size(), 20'000u);
    for (size_t i = 0; i < values.size(); i++)
      ASSERT_EQ(values[i], static_cast<double>(count - values.size() + i)) << "the last ones, none missing";
    EXPECT_EQ(imported.dropped("overwritten"), static_cast<int64_t>(count - values.size()));
  }
  EXPECT_EQ(list_folder(folder.path()), (std::vector<std::string>{"dumped.nlr", "recording.nlr"}));
}

TEST(FlightRecorder, IsRecoveredWhenKilled) {
  constexpr uint64_t kCount = 300'000;
  TestFolder folder;
  const pid_t recording = start_child([&] {
    auto recorder = Recorder::start({.folder = folder.path(),
                                     .library = "/none",
                                     .limit_bytes = 2 << 20,
                                     .wait_ms = 60'000,
                                     .is_flight_recorder = true})
                        .value();
    const pid_t workload =
        start_child([&] { count_up(start_collector(recorder->environment()), 0, kCount); });
    int status = 0;
    while (waitpid(workload, &status, WNOHANG) == 0) (void)recorder->poll();
    raise(SIGKILL);
  });
  EXPECT_EQ(signal_of(recording), SIGKILL);
  const auto end = recover(folder.path());
  ASSERT_TRUE(end) << end.error().message;
  const Imported imported(end->path);
  expect_adds_up(*end, imported, kCount);
  EXPECT_EQ(imported.values.at(0).back(), static_cast<double>(kCount - 1));
}

TEST(Recorder, RecordsAroundAWorkload) {
  TestFolder folder;
  const auto end = record_around({.folder = folder.path(), .library = "/path/of/library"},
                                 [](const std::vector<std::string>& environment) -> Result<void> {
                                   EXPECT_EQ(environment[0], "NEUROLENS_COLLECT=/path/of/library");
                                   EXPECT_TRUE(environment[1].starts_with("NEUROLENS_RECORDING=/"));
                                   const pid_t child =
                                       start_child([&] { count_up(start_collector(environment), 0, 1000); });
                                   EXPECT_EQ(signal_of(child), 0);
                                   return {};
                                 });
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->recorded, 1000u);
}

TEST(Collector, LanesNestByThemselvesAndForeignEndsAreCounted) {
  TestFolder folder;
  auto recorder = Recorder::start({.folder = folder.path(), .library = "/none"}).value();
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    const uint32_t name = name_of(api, "task");
    const uint64_t first = api.begin_on_lane(name, 1), second = api.begin_on_lane(name, 2);
    api.end_on_lane(first, name, 1);
    api.end_on_lane(second, name, 2);
    const uint64_t mine = api.begin(name);
    std::thread([&] { api.end(mine, name); }).join();
    api.end(mine, name);
    api.end(0, name);
    api.begin(0);
    const std::string large(wire::kMaxAttributeBytes + 1, ' ');
    api.mark(name, large.data(), large.size());
    api.mark(name, large.data(), wire::kMaxAttributeBytes);
    api.refuse_reused();
    api.name_thread("renamed", 7);
  });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  const Imported imported(end.path);
  expect_adds_up(end, imported, 4 + 3 + 1 + 1 + 1 + 1 + 1);
  EXPECT_EQ(imported.names.at("task"), 4);
  EXPECT_EQ(imported.tracks, 3u) << "the thread and two lanes";
  for (const char* reason : {"foreign_end", "begin_lost", "names_full", "too_large", "scope_reused"})
    EXPECT_EQ(imported.dropped(reason), 1) << reason;
}

TEST(Collector, MoreNamesThanTheTableHoldsAreCounted) {
  constexpr uint64_t kNames = wire::kMaxNames + 100;
  TestFolder folder;
  auto recorder =
      Recorder::start({.folder = folder.path(), .library = "/none", .ring_bytes = 4 << 20}).value();
  const pid_t child = start_child([&] {
    const auto& api = start_collector(recorder->environment());
    for (uint64_t i = 0; i < kNames; i++) api.counter(name_of(api, "name " + std::to_string(i)), 1);
    api.counter(name_of(api, "name 7"), 1);
  });
  poll_while_running(*recorder, child);
  const auto end = recorder->finish().value();
  const Imported imported(end.path);
  expect_adds_up(end, imported, kNames + 1);
  EXPECT_EQ(imported.dropped("names_full"), 101);
}

}  // namespace
}  // namespace nl::capture
