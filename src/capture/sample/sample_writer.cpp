#include "capture/sample/sample_writer.h"

#include <algorithm>
#include <cstring>

namespace nl::capture {
namespace {

constexpr size_t kFlushBytes = 256 << 10;   // an entry fits behind it into a chunk
constexpr int64_t kEndingBytes = 64 << 10;  // of the limit, for losses and the end

template <class Head>
void append_entry(std::string& payload, const Head& head, std::string_view text) {
  wire::append_bytes(payload, head);
  payload.append(text);
  payload.resize(wire::padded(payload.size()));
}

template <class T>
std::string bytes_of(const T& value) {
  std::string bytes;
  wire::append_bytes(bytes, value);
  bytes.resize(wire::padded(bytes.size()));
  return bytes;
}

}  // namespace

size_t SampleWriter::FramesHash::operator()(std::span<const uint32_t> frames) const {
  return wire::checksum({reinterpret_cast<const char*>(frames.data()), frames.size_bytes()});
}
bool SampleWriter::SameFrames::operator()(std::span<const uint32_t> a, std::span<const uint32_t> b) const {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

Result<SampleWriter> SampleWriter::create(const std::string& path, int64_t limit_bytes,
                                          const wire::SamplingFacts& facts) {
  NL_TRY(RecordingFile file, RecordingFile::create(path));
  SampleWriter writer(std::move(file), limit_bytes);
  writer.add_facts(facts);
  NL_CHECK(writer.flush());
  return writer;
}

void SampleWriter::add_facts(const wire::SamplingFacts& facts) {
  file_.add({.kind = wire::ChunkKind::kSampling}, bytes_of(facts));
}

// ---- What samples refer to

void SampleWriter::define_process(const SampledProcess& process) {
  if (!processes_.insert(process.number).second) return;
  const wire::ProcessFacts facts{process.process_id,
                                 clock_.monotonic_ns,
                                 clock_.unix_ns,
                                 clock_.bound_ns,
                                 static_cast<uint32_t>(process.program.size()),
                                 0};
  std::string payload;
  append_entry(payload, facts, process.program);
  file_.add({.kind = wire::ChunkKind::kProcess, .process = process.number}, payload);
}

void SampleWriter::define_modules(const std::vector<Module>& modules) {
  for (; modules_ < modules.size(); modules_++) {
    const Module& module = modules[modules_];
    const std::string path = module.path.substr(0, UINT16_MAX);
    append_entry(new_modules_,
                 wire::ModuleHead{modules_, module.process_id, static_cast<uint16_t>(path.size()),
                                  static_cast<uint16_t>(module.build_id.size()), 0},
                 path + module.build_id);
    if (new_modules_.size() > kFlushBytes) move_definitions();
  }
}

std::optional<uint32_t> SampleWriter::frame_of(const CodePlace& place) {
  const std::pair key{place.module, place.address};
  if (const auto it = frames_.find(key); it != frames_.end()) return it->second;
  const auto number = static_cast<uint32_t>(frames_.size());
  if (number >= wire::kMaxFrames) return std::nullopt;
  wire::append_bytes(new_frames_, wire::Frame{number, place.module, place.address});
  frames_[key] = number;
  return number;
}

/// Nothing if there are too many different ones.
std::optional<uint32_t> SampleWriter::stack_of(std::span<const CodePlace> places) {
  std::vector<uint32_t> frames;
  for (const CodePlace& place : places) {
    const auto frame = frame_of(place);
    if (!frame) return std::nullopt;
    frames.push_back(*frame);
  }
  if (const auto it = stacks_.find(frames); it != stacks_.end()) return it->second;
  const auto number = static_cast<uint32_t>(stack_frames_.size());
  if (number >= wire::kMaxStacks || frames_in_stacks_ + frames.size() > wire::kMaxStackFrames)
    return std::nullopt;
  frames_in_stacks_ += frames.size();
  append_entry(new_stacks_, wire::StackHead{number, static_cast<uint32_t>(frames.size())},
               {reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(uint32_t)});
  stack_frames_.push_back(std::move(frames));
  stacks_[stack_frames_.back()] = number;
  return number;
}

// ---- Samples

Result<void> SampleWriter::add(const SampledProcess& process, const SampledThread& thread, uint64_t time_ns,
                               uint32_t weight_ns, std::span<const CodePlace> places,
                               const std::vector<Module>& modules) {
  define_modules(modules);
  return add_sample(wire::ChunkKind::kSamples, process, thread, {time_ns, 0, weight_ns}, places);
}

Result<void> SampleWriter::add_python(const SampledProcess& process, const SampledThread& thread,
                                      uint64_t time_ns, uint32_t weight_ns,
                                      std::span<const uint32_t> functions,
                                      const std::vector<std::string>& names,
                                      const std::vector<Module>& modules) {
  define_modules(modules);
  name_functions(functions, names);
  std::vector<CodePlace> places;
  for (const uint32_t function : functions) places.push_back({SampledProcesses::kPython, function});
  return add_sample(wire::ChunkKind::kPythonSamples, process, thread, {time_ns, 0, weight_ns}, places);
}

/// Their names are known at once, unlike those of machine code.
void SampleWriter::name_functions(std::span<const uint32_t> functions,
                                  const std::vector<std::string>& names) {
  for (const uint32_t function : functions) {
    const CodePlace place{SampledProcesses::kPython, function};
    if (is_full_ || frames_.contains({place.module, place.address})) continue;
    const auto frame = frame_of(place);
    const std::string& name = names[function];
    if (frame)
      append_entry(new_names_, wire::FrameNameHead{*frame, static_cast<uint32_t>(name.size())}, name);
  }
}

Result<void> SampleWriter::add_sample(wire::ChunkKind kind, const SampledProcess& process,
                                      const SampledThread& thread, const wire::Sample& sample,
                                      std::span<const CodePlace> places) {
  const auto stack = is_full_ ? std::optional<uint32_t>(0) : stack_of(places);
  if (!stack) {
    lose(wire::Loss::kTooManyStacks, 1);
    return {};
  }
  std::string record;
  wire::append_bytes(record, wire::Sample{sample.time_ns, *stack, sample.weight_ns});
  return add_record(kind, process, thread, record);
}

Result<void> SampleWriter::add_wait(const SampledProcess& process, const SampledThread& thread,
                                    const wire::Wait& wait) {
  std::string record;
  wire::append_bytes(record, wait);
  return add_record(wire::ChunkKind::kWaits, process, thread, record);
}

Result<void> SampleWriter::add_record(wire::ChunkKind kind, const SampledProcess& process,
                                      const SampledThread& thread, std::string_view record) {
  if (is_full_) {
    lose(wire::Loss::kDiskLimit, 1);
    return {};
  }
  define_process(process);
  Waiting& waiting = samples_[{process.number, thread.number, kind}];
  waiting.payload += record;
  waiting.header = {.kind = kind,
                    .records = waiting.header.records + 1,
                    .process = process.number,
                    .thread = thread.number,
                    .thread_id = thread.thread_id};
  thread.name.copy(waiting.header.thread_name, sizeof waiting.header.thread_name);
  (kind == wire::ChunkKind::kSamples ? waiting_.samples
   : kind == wire::ChunkKind::kWaits ? waiting_.waits
                                     : waiting_.python)++;
  waiting_bytes_ += record.size();
  const size_t definitions = new_frames_.size() + new_names_.size() + new_stacks_.size();
  return waiting_bytes_ + definitions > kFlushBytes ? flush() : Result<void>();
}

void SampleWriter::move_definitions() {
  for (const auto& [kind, payload] : {std::pair{wire::ChunkKind::kModules, &new_modules_},
                                      std::pair{wire::ChunkKind::kFrames, &new_frames_},
                                      std::pair{wire::ChunkKind::kFrameNames, &new_names_},
                                      std::pair{wire::ChunkKind::kStacks, &new_stacks_}}) {
    if (!payload->empty()) file_.add({.kind = kind}, *payload);
    payload->clear();
  }
}

void SampleWriter::move_samples() {
  for (const auto& [thread, waiting] : samples_) file_.add(waiting.header, waiting.payload);
  samples_.clear();
  waiting_bytes_ = 0;
}

/// Once something could not be written, what others refer to may be missing, so nothing more is.
Result<void> SampleWriter::flush() {
  move_definitions();
  move_samples();
  bool is_written = file_.bytes() <= limit_bytes_ - kEndingBytes;
  if (is_written) {
    NL_TRY(is_written, file_.flush());
  }
  if (is_written) {
    recorded_ = {recorded_.samples + waiting_.samples, recorded_.python + waiting_.python,
                 recorded_.waits + waiting_.waits};
  } else {
    is_full_ = true;
    file_.forget_waiting();
    lose(wire::Loss::kDiskLimit, waiting_.total());
  }
  waiting_ = {};
  return {};
}

Result<void> SampleWriter::finish(const wire::SamplingFacts& facts) {
  NL_CHECK(flush());
  add_facts(facts);
  if (std::any_of(lost_.begin(), lost_.end(), [](uint64_t count) { return count > 0; }))
    file_.add({.kind = wire::ChunkKind::kLosses, .process = wire::kNoProcess}, bytes_of(lost_));
  file_.add({.kind = wire::ChunkKind::kEnd}, bytes_of(wire::EndFacts{recorded_.total()}));
  NL_TRY(const bool is_written, file_.flush());
  if (!is_written) return Error{ErrorCode::kIo, "the disk is full: " + file_.path()};
  return file_.sync();
}

}  // namespace nl::capture
