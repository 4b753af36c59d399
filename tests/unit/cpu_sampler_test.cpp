// Samples of a real program, from the kernel to the rows of an import.

#include "capture/sample/cpu_sampler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/process.h"
#include "capture/sample/frame_names.h"
#include "ingest/adapter.h"

namespace nl::capture {
namespace {

/// Burns processor time in known functions, compiled such that all have frame pointers. Its first argument
/// says how, the second how many milliseconds.
constexpr const char* kProgram = R"(
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double wanted;
static volatile unsigned long sink;
namespace work {
__attribute__((noinline)) void hot_loop(unsigned n) { for (unsigned i = 0; i < n; i++) sink = sink * 31 + i; }
__attribute__((noinline)) void spin() {
  timespec t;
  do {
    hot_loop(1000000);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  } while (t.tv_sec * 1e3 + t.tv_nsec / 1e6 < wanted);
  sink = sink + 1;
}
__attribute__((noinline)) void middle() { spin(); sink = sink + 1; }
__attribute__((noinline)) void of_child() { spin(); sink = sink + 1; }
__attribute__((noinline)) void* of_thread(void*) { pthread_setname_np(pthread_self(), "second"); spin(); sink = sink + 1; return 0; }
}
int main(int argc, char** argv) {
  if (argc < 3) return 0;
  wanted = atof(argv[2]);
  if (!strcmp(argv[1], "sleep")) {
    usleep(1000 * wanted);
    work::hot_loop(20000000);
  } else if (!strcmp(argv[1], "threads")) {
    pthread_t thread;
    pthread_create(&thread, 0, work::of_thread, 0);
    work::middle();
    pthread_join(thread, 0);
  } else if (!strcmp(argv[1], "child")) {
    if (fork() == 0) { work::of_child(); _exit(0); }
    if (fork() == 0) { execl(argv[0], "again", "one", argv[2], (char*)0); _exit(1); }
    while (wait(0) > 0) {}
  } else {
    work::middle();
  }
  return 0;
}
)";

/// Compiled once for all tests; empty if there is no compiler.
const std::string& program() {
  static const std::string path = [] {
    const std::string compiler = find_in_path(Environment::of_process(), "c++");
    const std::string folder = testing::TempDir() + "sampled-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder);
    const std::string source = folder + "/program.cpp", binary = folder + "/sampled";
    EXPECT_TRUE(replace_file(source, kProgram));
    ProcessOptions options;
    options.time = std::chrono::minutes(5);
    if (compiler.empty()) return std::string();
    const auto end = run_process({compiler, "-O0", "-pthread", "-o", binary, source}, options);
    return end && end->exit_code == 0 ? binary : std::string();
  }();
  return path;
}

struct Row {
  int32_t track;
  int64_t start_ns, weight;
  std::string stack;
};

struct Rows final : model::RunSink {
  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    namespace samples = model::samples;
    namespace tracks = model::tracks;
    const auto text = [&](int64_t cell) {
      return cell == model::kNull ? "" : std::string(batch->strings[static_cast<size_t>(cell)]);
    };
    const auto& rows = batch->rows(model::TableId::samples);
    for (size_t i = 0; i < rows.size(); i++)
      all.push_back({batch->track_ids[static_cast<size_t>(rows.cell(i, samples::track_id))],
                     rows.cell(i, samples::start_ns), rows.cell(i, samples::weight),
                     text(rows.cell(i, samples::stack))});
    const auto& lines = batch->rows(model::TableId::tracks);
    for (size_t i = 0; i < lines.size(); i++) {
      names.push_back(text(lines.cell(i, tracks::process_name)) + "/" +
                      text(lines.cell(i, tracks::thread_name)));
      processes.push_back(lines.cell(i, tracks::process_id));
      kinds.push_back(text(lines.cell(i, tracks::kind)));
    }
    namespace spans = model::spans;
    const auto& waits = batch->rows(model::TableId::spans);
    for (size_t i = 0; i < waits.size(); i++)
      wait_ms[text(waits.cell(i, spans::name))] += static_cast<double>(waits.cell(i, spans::dur_ns)) / 1e6;
    return {};
  }
  /// Those of Python, or those of the machine.
  Rows only(const std::string& kind) const {
    Rows rows = *this;
    std::erase_if(rows.all, [&](const Row& row) { return kinds[static_cast<size_t>(row.track)] != kind; });
    return rows;
  }
  /// Milliseconds of samples whose stack ends, or is, or goes on like that.
  double ms(std::string_view part) const {
    int64_t sum = 0;
    for (const Row& row : all) {
      if (row.stack.find(part) != std::string::npos) sum += row.weight;
    }
    return static_cast<double>(sum) / 1e6;
  }
  std::vector<Row> all;
  std::vector<std::string> names;
  std::vector<int64_t> processes;
  std::vector<std::string> kinds;
  std::map<std::string, double> wait_ms;
  model::RunInfo info;
};

Rows read_back(const std::string& path) {
  Rows rows;
  auto source = ingest::open_file(path);
  EXPECT_TRUE(source);
  const auto chosen = ingest::choose_adapter((*source)->head(), "", "recording");
  EXPECT_TRUE(chosen);
  EXPECT_EQ(chosen->role, "samples");
  const auto done = chosen->adapter->read(**source, {}, rows, rows.info);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(rows.info.counts.closes());
  return rows;
}

class CpuSamplerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (program().empty()) GTEST_SKIP() << "no compiler";
    std::string name = testing::TempDir() + "samples-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.path = folder_ + "/samples.nlr";
    options_.frequency_hz = 999;
    auto sampler = CpuSampler::start({folder_ + "/try.nlr"});
    if (!sampler) GTEST_SKIP() << sampler.error().message;
  }
  void TearDown() override { remove_tree(folder_); }

  Result<void> run(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {program()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    NL_TRY(end_, run_process(command, {}));
    return {};
  }
  Rows sampled(const std::vector<std::string>& arguments) {
    const auto end = sample_around(options_, [&] { return run(arguments); });
    EXPECT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->absent_reason, "");
    recorded_ = end->recorded;
    return end->recorded > 0 ? read_back(options_.path) : Rows();
  }

  std::string folder_;
  SamplerOptions options_;
  ProcessEnd end_;
  uint64_t recorded_ = 0;
};

TEST_F(CpuSamplerTest, TheHotFunctionHasMostOfTheTimeUnderItsCallers) {
  const Rows rows = sampled({"one", "400"});
  ASSERT_EQ(rows.all.size(), recorded_);
  const double total = rows.ms("");
  EXPECT_GT(rows.ms("main;work::middle();work::spin();work::hot_loop(unsigned int)"), 0.9 * total);
  const double cpu_ms = static_cast<double>(end_.user_ns + end_.system_ns) / 1e6;
  EXPECT_NEAR(total, cpu_ms, 0.15 * cpu_ms) << "samples stand for the processor time";
  EXPECT_EQ(rows.names, std::vector<std::string>{"sampled/sampled"});
  EXPECT_EQ(rows.info.counts.total_dropped(), 0);
  const int64_t now = wire::clock_ns(CLOCK_MONOTONIC);
  for (const Row& row : rows.all) EXPECT_TRUE(row.start_ns < now && row.start_ns > now - 600'000'000'000);
  EXPECT_EQ(rows.info.extensions["sampling"]["frequency_hz"], 999);
}

TEST_F(CpuSamplerTest, ThreadsAreTracksWithTheirNames) {
  const Rows rows = sampled({"threads", "200"});
  ASSERT_EQ(rows.names.size(), 2u);
  std::map<std::string, double> by_name;
  for (const Row& row : rows.all)
    by_name[rows.names[static_cast<size_t>(row.track)]] += static_cast<double>(row.weight) / 1e6;
  EXPECT_GT(by_name["sampled/sampled"], 100);
  EXPECT_GT(by_name["sampled/second"], 100);
  EXPECT_GT(rows.ms("work::of_thread(void*);work::spin()"), 100);
  EXPECT_EQ(rows.processes[0], rows.processes[1]);
}

TEST_F(CpuSamplerTest, ChildrenAreFollowedWithAndWithoutAnotherProgram) {
  const Rows rows = sampled({"child", "200"});
  EXPECT_GT(rows.ms("work::of_child();work::spin();work::hot_loop(unsigned int)"), 100);
  EXPECT_GT(rows.ms("work::middle();work::spin();work::hot_loop(unsigned int)"), 100);
  std::map<int64_t, double> by_process;
  for (const Row& row : rows.all) by_process[rows.processes[static_cast<size_t>(row.track)]] += 1;
  EXPECT_GE(by_process.size(), 2u);
}

TEST_F(CpuSamplerTest, AProcessTooShortForASampleIsNoError) {
  sampled({});
  EXPECT_LT(recorded_, 50u);
}

TEST_F(CpuSamplerTest, WhatTheCallerDoesItselfIsNotSampled) {
  const auto end = sample_around(options_, [] {
    for (const int64_t until = wire::clock_ns(CLOCK_MONOTONIC) + 100'000'000;
         wire::clock_ns(CLOCK_MONOTONIC) < until;) {
    }
    return Result<void>();
  });
  ASSERT_TRUE(end);
  EXPECT_EQ(end->recorded, 0u);
}

TEST_F(CpuSamplerTest, AKilledProgramKeepsItsSamples) {
  const auto end = sample_around(options_, [&] {
    ProcessOptions options;
    int looks = 0;
    options.watch = [&]() -> Result<void> {
      if (++looks < 40) return {};
      return Error{ErrorCode::kUnavailable, "enough"};
    };
    (void)run_process({program(), "one", "600000"}, options);  // killed with SIGKILL
    return Result<void>();
  });
  ASSERT_TRUE(end) << end.error().message;
  const Rows rows = read_back(options_.path);
  EXPECT_GT(rows.ms("work::spin();work::hot_loop(unsigned int)"), 0.8 * rows.ms(""));
}

TEST_F(CpuSamplerTest, AKilledSamplerLosesOnlyItsLastSamples) {
  const pid_t sampler = ::fork();
  if (sampler == 0) {
    (void)sample_around(options_, [&] { return run({"one", "20000"}); });
    ::_exit(0);
  }
  const auto is_long = [&] {
    const auto bytes = file_size(options_.path);
    return bytes && *bytes >= 8000;
  };
  for (int i = 0; i < 600 && !is_long(); i++) ::usleep(50'000);
  ::kill(sampler, SIGKILL);
  ::waitpid(sampler, nullptr, 0);
  Rows rows = read_back(options_.path);
  ASSERT_FALSE(rows.processes.empty());
  ::kill(static_cast<pid_t>(rows.processes[0]), SIGKILL);  // the program, which goes on
  EXPECT_GT(rows.all.size(), 100u);
  EXPECT_EQ(rows.info.health["unfinished"], 1);
  EXPECT_GT(rows.ms("sampled+0x"), 0.8 * rows.ms("")) << "a place, without a name";
  ASSERT_TRUE(name_frames(options_.path));
  rows = read_back(options_.path);
  EXPECT_GT(rows.ms("main;work::middle();work::spin();work::hot_loop(unsigned int)"), 0.8 * rows.ms(""));
}

TEST_F(CpuSamplerTest, AFullRingIsCounted) {
  options_.ring_bytes = 4096;
  auto sampler = CpuSampler::start(options_);
  ASSERT_TRUE(sampler);
  ASSERT_TRUE(run({"one", "300"}));  // nobody drains
  ASSERT_TRUE(run({"one", "50"}));
  ASSERT_TRUE((*sampler)->poll());
  ASSERT_TRUE(run({"one", "50"}));  // the kernel says what was lost before the next record
  const auto end = (*sampler)->finish();
  ASSERT_TRUE(end);
  EXPECT_GT(end->lost[static_cast<size_t>(wire::Loss::kSampleRing)], 0u);
  EXPECT_GT(read_back(options_.path).info.counts.dropped["sample_ring_full"], 0);
}

TEST_F(CpuSamplerTest, TheLimitOfTheFileIsKept) {
  options_.limit_bytes = 90'000;
  const auto end = sample_around(options_, [&] { return run({"one", "2500"}); });
  ASSERT_TRUE(end);
  EXPECT_GT(end->lost[static_cast<size_t>(wire::Loss::kDiskLimit)], 0u);
  EXPECT_GT(end->recorded, 0u);
  EXPECT_TRUE(read_back(options_.path).info.counts.dropped.contains("disk_limit"));
}

TEST_F(CpuSamplerTest, WhereTheKernelRefusesTheWorkloadRunsWithoutSamples) {
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  bool has_run = false;
  const auto end = sample_around(options_, [&] {
    has_run = ::setrlimit(RLIMIT_NOFILE, &usual) == 0;
    return Result<void>();
  });
  ASSERT_TRUE(end);
  EXPECT_TRUE(has_run);
  EXPECT_NE(end->absent_reason, "");
  EXPECT_FALSE(path_exists(options_.path));
}

TEST_F(CpuSamplerTest, ThreadsThatDoNotRunWaitOrArePreempted) {
  EXPECT_TRUE(sampled({"sleep", "300"}).wait_ms.empty()) << "nobody asked";
  ::unlink(options_.path.c_str());
  options_.with_waits = true;
  Rows rows = sampled({"sleep", "300"});
  EXPECT_GT(rows.wait_ms["waiting"], 299);
  EXPECT_LT(rows.wait_ms["waiting"], 2000);
  ::unlink(options_.path.c_str());
  rows = sampled({"one", "300"});
  const double off_ms = rows.wait_ms["waiting"] + rows.wait_ms["preempted"];
  const double wall_ms = static_cast<double>(end_.wall_ns) / 1e6;
  EXPECT_NEAR(off_ms + rows.ms(""), wall_ms, 0.25 * wall_ms) << "a thread runs, or it does not";
}

/// Burns processor time two functions deep, in a second thread too.
constexpr const char* kPython = R"(
import threading
class Model:
    def forward(self, n):
        for i in range(n):
            self.attention()
    def attention(self):
        total = 0
        for i in range(20000): total += i
def second(): Model().forward(200)
thread = threading.Thread(target=second)
thread.start()
thread.join()
Model().forward(400)
)";

TEST_F(CpuSamplerTest, PythonFunctionsHaveATrackOfTheirOwn) {
  const std::string python = find_in_path(Environment::of_process(), "python3"),
                    script = folder_ + "/model.py";
  if (python.empty()) GTEST_SKIP() << "no Python";
  ASSERT_TRUE(replace_file(script, kPython));
  options_.with_python = true;
  const auto end = sample_around(options_, [&]() -> Result<void> {
    NL_TRY(end_, run_process({python, script}, {}));
    return {};
  });
  ASSERT_TRUE(end) << end.error().message;
  if (!end->no_python_reason.empty()) GTEST_SKIP() << end->no_python_reason;
  const Rows rows = read_back(options_.path);
  EXPECT_EQ(rows.only("thread").all.size(), end->recorded);
  const Rows functions = rows.only("python");
  EXPECT_EQ(functions.all.size(), end->python);
  EXPECT_LT(end->torn, end->python / 10 + 5);
  EXPECT_GT(functions.ms(""), 0.6 * rows.only("thread").ms(""));
  EXPECT_LT(functions.ms(""), 1.2 * rows.only("thread").ms(""));
  const std::string file = " (" + folder_.substr(folder_.rfind('/') + 1) + "/model.py:";
  std::map<int64_t, double> by_track;
  for (const Row& row : functions.all) {
    if (row.stack.find(";Model.forward" + file + "4)") != std::string::npos ||
        row.stack.find(";forward" + file + "4)") != std::string::npos)
      by_track[row.track] += static_cast<double>(row.weight) / 1e6;
  }
  EXPECT_EQ(by_track.size(), 2u) << "one for each thread";
  EXPECT_GT(functions.ms("second" + file + "10);"), 0.2 * functions.ms(""));
  EXPECT_GT(functions.ms("attention" + file + "7)"), 0.8 * functions.ms("")) << "the innermost one";
}

TEST(PythonFunctionText, NamesTheFileByItsLastTwoParts) {
  EXPECT_EQ(python_function_text("forward", "/srv/models/llama.py", 12), "forward (models/llama.py:12)");
  EXPECT_EQ(python_function_text("f", "llama.py", 0), "f (llama.py)");
  EXPECT_EQ(python_function_text("f", "/x.py", 1), "f (/x.py:1)");
}

TEST(PythonStacks, WhatIsNoPythonHasNone) {
  PythonStacks stacks;
  std::vector<uint32_t> functions;
  stacks.map(static_cast<uint32_t>(::getpid()), "/usr/lib/libpython3.11.so.that.is.not.there", 0);
  EXPECT_EQ(stacks.read(static_cast<uint32_t>(::getpid()), static_cast<uint32_t>(::getpid()), functions),
            PythonStacks::Found::kNothing);
}

TEST_F(CpuSamplerTest, FrequenciesOutOfRangeAreRefused) {
  options_.frequency_hz = 0;
  EXPECT_EQ(CpuSampler::start(options_).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace nl::capture
