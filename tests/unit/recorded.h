#pragma once
// Workloads and recorders in processes of their own, and what an import sees of a recording, for tests.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "capture/record/recorder.h"
#include "ingest/adapter.h"
#include "neurolens/neurolens.h"

extern "C" const neurolens_api* neurolens_collect(uint32_t version);

namespace nl {

/// A folder that vanishes with the test.
class TestFolder {
 public:
  TestFolder() {
    static int number = 0;
    path_ = testing::TempDir() + "neurolens-recording-" + std::to_string(getpid()) + "-" +
            std::to_string(number++);
    std::filesystem::remove_all(path_);
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Numbers that a child leaves for its parent, even if it is killed.
struct Shared {
  std::atomic<uint64_t> emitted{0};
  std::atomic<uint64_t> other{0};
};

class SharedMemory {
 public:
  SharedMemory()
      : memory_(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~SharedMemory() { munmap(memory_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared* operator->() const { return static_cast<Shared*>(memory_); }

 private:
  void* memory_;
};

/// A process that does the work and ends without the rest of the test.
inline pid_t start_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  return child;
}

/// 0, or the signal that ended it.
inline int signal_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) == 0 ? 0 : -WEXITSTATUS(status);
}

/// The collector of a child, told by what the recorder gives to a workload's environment.
inline const neurolens_api& start_collector(const std::vector<std::string>& environment) {
  for (const auto& variable : environment) {
    const size_t at = variable.find('=');
    setenv(variable.substr(0, at).c_str(), variable.substr(at + 1).c_str(), 1);
  }
  const neurolens_api* const api = neurolens_collect(NEUROLENS_API_VERSION);
  if (api == nullptr) _exit(70);
  return *api;
}

inline uint32_t name_of(const neurolens_api& api, std::string_view text) {
  return api.name("", 0, text.data(), text.size());
}

/// Rows of a recording as its adapter gives them.
class Imported final : public model::RunSink {
 public:
  explicit Imported(const std::string& path) {
    auto source = ingest::open_file(path);
    if (!source) {
      error = source.error().message;
      return;
    }
    const auto chosen = ingest::choose_adapter((*source)->head(), "", "recording");
    const auto done = chosen->adapter->read(**source, {}, *this, info);
    if (!done) error = done.error().message;
  }

  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    const auto& spans = batch->rows(model::TableId::spans);
    for (size_t i = 0; i < spans.size(); i++) {
      const int64_t name = spans.cell(i, model::spans::name);
      names[name == model::kNull ? "" : std::string(batch->strings[static_cast<size_t>(name)])]++;
    }
    const auto& counters = batch->rows(model::TableId::counters);
    for (size_t i = 0; i < counters.size(); i++) {
      const auto track = batch->track_ids[static_cast<size_t>(counters.cell(i, model::counters::track_id))];
      values[track].push_back(std::bit_cast<double>(counters.cell(i, model::counters::value)));
    }
    tracks += batch->rows(model::TableId::tracks).size();
    const auto& rows = batch->rows(model::TableId::tracks);
    for (size_t i = 0; i < rows.size(); i++) processes[rows.cell(i, model::tracks::process_id)]++;
    return {};
  }

  int64_t dropped(const std::string& reason) const {
    const auto it = info.counts.dropped.find(reason);
    return it == info.counts.dropped.end() ? 0 : it->second;
  }

  std::string error;
  model::RunInfo info;
  std::map<std::string, int64_t> names;           ///< of spans
  std::map<int32_t, std::vector<double>> values;  ///< of counters, by track
  std::map<int64_t, int64_t> processes;           ///< tracks by process id
  size_t tracks = 0;
};

/// Polls until the child has ended.
inline void poll_while_running(capture::Recorder& recorder, pid_t child, int expected_signal = 0) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    ASSERT_TRUE(recorder.poll());
    usleep(200);
  }
  EXPECT_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), expected_signal);
}

}  // namespace nl
