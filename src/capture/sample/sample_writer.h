#pragma once
// SampleWriter: writes the file of a sampler (wire/recording.h). Frames and stacks are numbered and written
// once, before anything that refers to them. Samples are collected by thread. Flushed data survives the death
// of the process. One thread.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "capture/record/live_process.h"
#include "capture/record/recording_file.h"
#include "capture/sample/sampled_processes.h"
#include "wire/clock_pair.h"

namespace nl::capture {

class SampleWriter {
 public:
  static Result<SampleWriter> create(const std::string& path, int64_t limit_bytes,
                                     const wire::SamplingFacts& facts);

  /// `places` innermost first; they name `modules`.
  Result<void> add(const SampledProcess& process, const SampledThread& thread, uint64_t time_ns,
                   uint32_t weight_ns, std::span<const CodePlace> places, const std::vector<Module>& modules);
  /// Python functions, innermost first, by their numbers in `names`.
  Result<void> add_python(const SampledProcess& process, const SampledThread& thread, uint64_t time_ns,
                          uint32_t weight_ns, std::span<const uint32_t> functions,
                          const std::vector<std::string>& names, const std::vector<Module>& modules);
  Result<void> add_wait(const SampledProcess& process, const SampledThread& thread, const wire::Wait& wait);
  void lose(wire::Loss reason, uint64_t samples) { lost_[static_cast<size_t>(reason)] += samples; }
  /// Down to the file system.
  Result<void> flush();
  /// The last flush.
  Result<void> finish(const wire::SamplingFacts& facts);

  struct Counts {
    uint64_t samples = 0, python = 0, waits = 0;
    uint64_t total() const { return samples + python + waits; }
  };
  const Counts& recorded() const { return recorded_; }
  const Losses& lost() const { return lost_; }

 private:
  struct FramesHash {
    size_t operator()(std::span<const uint32_t> frames) const;
  };
  struct SameFrames {
    bool operator()(std::span<const uint32_t> a, std::span<const uint32_t> b) const;
  };
  struct Waiting {
    wire::ChunkHeader header;
    std::string payload;
  };

  SampleWriter(RecordingFile file, int64_t limit_bytes) : file_(std::move(file)), limit_bytes_(limit_bytes) {}
  void define_process(const SampledProcess& process);
  void define_modules(const std::vector<Module>& modules);
  std::optional<uint32_t> frame_of(const CodePlace& place);
  std::optional<uint32_t> stack_of(std::span<const CodePlace> places);
  Result<void> add_sample(wire::ChunkKind kind, const SampledProcess& process, const SampledThread& thread,
                          const wire::Sample& sample, std::span<const CodePlace> places);
  Result<void> add_record(wire::ChunkKind kind, const SampledProcess& process, const SampledThread& thread,
                          std::string_view record);
  void name_functions(std::span<const uint32_t> functions, const std::vector<std::string>& names);
  void add_facts(const wire::SamplingFacts& facts);
  void move_definitions();
  void move_samples();

  RecordingFile file_;
  int64_t limit_bytes_;
  wire::ClockPair clock_ = wire::read_clock_pair();
  bool is_full_ = false;
  std::unordered_set<uint32_t> processes_;
  uint32_t modules_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> frames_;  ///< by module and address
  std::vector<std::vector<uint32_t>> stack_frames_;  ///< owned here, so that the table can refer to them
  std::unordered_map<std::span<const uint32_t>, uint32_t, FramesHash, SameFrames> stacks_;
  size_t frames_in_stacks_ = 0;
  std::string new_modules_, new_frames_, new_names_, new_stacks_;               ///< payloads
  std::map<std::tuple<uint32_t, uint64_t, wire::ChunkKind>, Waiting> samples_;  ///< by process and thread
  size_t waiting_bytes_ = 0;                                                    ///< of payloads
  Counts waiting_;
  Counts recorded_;
  Losses lost_{};
};

}  // namespace nl::capture
