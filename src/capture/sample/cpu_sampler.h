#pragma once
// CpuSampler: finds out where a workload spends its CPU time, with the kernel's perf_event. After each fixed
// amount of running time of a thread, its stack is recorded as a sample. poll moves the samples into a file
// (wire/recording.h); finish does so for the last time and adds the names of the frames. One thread at a
// time.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/sample/perf_event.h"
#include "capture/sample/python_stacks.h"
#include "capture/sample/sample_writer.h"
#include "capture/sample/sampled_processes.h"

namespace nl::capture {

struct SamplerOptions {
  std::string path;                        ///< of the file; it must not be there
  uint64_t frequency_hz = 99;              ///< samples of a second of processor time, of one thread
  int64_t limit_bytes = int64_t{1} << 30;  ///< of the file; samples beyond are lost
  size_t ring_bytes = 512 << 10;           ///< of one processor; a power of two of pages
  bool with_python = false;                ///< the Python functions of threads, too
  bool with_waits = false;                 ///< when threads do not run, too
};

struct SamplingEnd {
  std::string absent_reason = {};  ///< not empty: nothing was sampled, and why
  std::string path = {};
  uint64_t recorded = 0;
  uint64_t python = 0, waits = 0;  ///< recorded, besides
  Losses lost{};
  uint64_t torn = 0;       ///< stacks of Python that changed while they were read
  uint64_t throttled = 0;  ///< how often the kernel held samples back
  bool with_kernel =
      true;  ///< false: what runs inside of the kernel is not sampled, as that is not permitted
  std::string unnamed_reason = {};    ///< not empty: frames are modules and addresses, and why
  std::string no_python_reason = {};  ///< not empty: a Python that could not be read, and why
};

class CpuSampler {
 public:
  /// What the calling thread starts from now on is sampled as soon as it becomes another program (exec), with
  /// all that it starts itself; the caller is not. An error if the kernel refuses.
  static Result<std::unique_ptr<CpuSampler>> start(const SamplerOptions& options);

  /// Moves what the rings hold. Some ten times a second is enough.
  Result<void> poll();
  /// Waits until a ring is half full, or for so long.
  void wait(int milliseconds) const;
  /// The last poll. Of frames without a symbol the file names module and address.
  Result<SamplingEnd> finish();

 private:
  /// A record as the kernel wrote it, waiting for its turn: rings are of processors, threads move between
  /// them.
  struct Event {
    uint64_t time_ns;
    uint32_t type;
    uint16_t flags;
    std::string body;
    std::vector<uint32_t> python = {};  ///< of a sample: functions that the thread was in shortly after
    uint64_t python_ns = 0;             ///< that these stand for
  };

  /// What the kernel lets us have.
  struct Events {
    bool with_kernel = true;
    bool count_losses = true;  ///< else it tells of a loss only with the next record that finds room
  };

  CpuSampler(SamplerOptions options, SampleWriter writer, Events has)
      : options_(std::move(options)), writer_(std::move(writer)), has_(has) {}
  static perf_event_attr attributes_of(const SamplerOptions& options, Events has);
  static int open_events(const SamplerOptions& options, Events has, std::vector<int>& fds);
  wire::SamplingFacts facts() const;
  void gather();
  void read_python(size_t first);
  Result<void> take_until(uint64_t time_ns);
  Result<void> take(const Event& event);
  void take_mapping(const Event& event);
  void take_name(const Event& event);
  Result<void> take_sample(const Event& event);
  void take_fork(const Event& event);
  void take_exit(const Event& event);
  Result<void> take_switch(const Event& event);

  SamplerOptions options_;
  SampleWriter writer_;
  Events has_;
  std::vector<PerfRing> rings_ = {};
  SampledProcesses processes_ = {};
  std::vector<Event> events_ = {};
  std::vector<CodePlace> places_ = {};
  PythonStacks python_ = {};
  uint64_t torn_ = 0;
  /// Threads that do not run, since when, and whether they could.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint64_t, bool>> waiting_ = {};
  uint64_t last_poll_ns_ = 0;
  uint64_t last_flush_ns_ = 0;
  uint64_t throttled_ = 0;
};

/// Samples what `run` starts on this thread; a thread of its own drains the rings meanwhile. If sampling is
/// not possible, `run` runs without and the end says why.
Result<SamplingEnd> sample_around(const SamplerOptions& options, const std::function<Result<void>()>& run);

/// What a sampler that was killed has left in its file, with names for the frames.
Result<SamplingEnd> recover_samples(const std::string& path);

}  // namespace nl::capture
