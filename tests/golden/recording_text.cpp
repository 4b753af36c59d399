#include "recording_text.h"

#include <algorithm>
#include <bit>
#include <sstream>
#include <vector>

#include "wire/gpu_record.h"
#include "wire/recording.h"

namespace nl::golden {
namespace {

using wire::ChunkKind;
using wire::RecordKind;
using wire::Word;

class Recording {
 public:
  Recording() { wire::append_file_header(file_, "00000000-0000-4000-8000-000000000001"); }

  void take(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "process") return add_process(words);
    if (verb == "name") return add_name(words);
    if (verb == "thread") return start_thread(ChunkKind::kRecords, words);
    if (verb == "samples") return start_thread(ChunkKind::kSamples, words);
    if (verb == "python_samples") return start_thread(ChunkKind::kPythonSamples, words);
    if (verb == "waits") return start_thread(ChunkKind::kWaits, words);
    if (verb == "sample") return add_sample(words);
    if (verb == "wait") return add_wait(words);
    if (verb == "sampling") return add_sampling(words);
    if (verb == "module") return add_module(words);
    if (verb == "frame") return add_frame(words);
    if (verb == "frame_name") return add_frame_name(words);
    if (verb == "stack") return add_stack(words);
    if (verb == "losses") return add_losses(words);
    if (verb == "finish") return finish();
    if (verb == "notice") return add_notice(words);
    if (verb == "kernel") return add_kernel(words);
    if (verb == "copy") return add_copy(words);
    if (verb == "sync") return add_sync(words);
    if (verb == "call") return add_call(words);
    if (verb == "overhead") return add_overhead(words);
    if (verb == "device") return add_device(words);
    if (verb == "gpu_clock") return add_gpu_clock(words);
    add_record(verb, words);
  }
  std::string file() {
    end_records();
    return file_;
  }

 private:
  void add_process(std::istream& words) {
    wire::ProcessFacts facts{};
    uint32_t number = 0;
    std::string program;
    words >> number >> facts.process_id >> facts.monotonic_ns >> facts.unix_ns >> facts.bound_ns >> program;
    facts.program_bytes = static_cast<uint32_t>(program.size());
    std::string payload;
    wire::append_bytes(payload, facts);
    payload += program;
    add_chunk({.kind = ChunkKind::kProcess, .process = number}, payload);
  }

  void add_name(std::istream& words) {
    uint32_t process = 0, id = 0;
    std::string text, domain, payload;
    words >> process >> id >> text >> domain;
    wire::append_name(payload, id, domain, text);
    add_chunk({.kind = ChunkKind::kNames, .process = process}, payload);
  }

  void add_losses(std::istream& words) {
    uint32_t process = 0;
    uint64_t counts[wire::kLossCount] = {};
    std::string reason;
    words >> process;
    while (words >> reason) {
      const auto* const found = std::find(std::begin(wire::kLossNames), std::end(wire::kLossNames), reason);
      words >> counts[found - std::begin(wire::kLossNames)];
    }
    add_chunk({.kind = ChunkKind::kLosses, .process = process},
              {reinterpret_cast<const char*>(counts), sizeof counts});
  }

  void start_thread(ChunkKind kind, std::istream& words) {
    end_records();
    thread_ = {.kind = kind};
    std::string name;
    words >> thread_.process >> thread_.thread >> thread_.thread_id >> name;
    name.copy(thread_.thread_name, sizeof thread_.thread_name);
  }

  void add_sample(std::istream& words) {
    wire::Sample sample{};
    words >> sample.time_ns >> sample.stack >> sample.weight_ns;
    wire::append_bytes(records_, sample);
    thread_.records++;
  }

  void add_wait(std::istream& words) {
    wire::Wait wait{};
    words >> wait.time_ns >> wait.duration_ns >> wait.is_preempted;
    wire::append_bytes(records_, wait);
    thread_.records++;
  }

  void add_sampling(std::istream& words) {
    wire::SamplingFacts facts{};
    words >> facts.frequency_hz >> facts.with_kernel >> facts.throttled >> facts.torn;
    facts.period_ns = 1'000'000'000 / facts.frequency_hz;
    add_entry(ChunkKind::kSampling, facts, "");
  }

  void add_module(std::istream& words) {
    wire::ModuleHead head{};
    std::string path, build_id;
    words >> head.module >> path >> build_id;
    head.path_bytes = static_cast<uint16_t>(path.size());
    head.build_id_bytes = static_cast<uint16_t>(build_id.size());
    add_entry(ChunkKind::kModules, head, path + build_id);
  }

  void add_frame(std::istream& words) {
    wire::Frame frame{};
    words >> frame.frame >> frame.module >> std::hex >> frame.address;
    add_entry(ChunkKind::kFrames, frame, "");
  }

  void add_frame_name(std::istream& words) {
    wire::FrameNameHead head{};
    std::string name;
    words >> head.frame;
    std::getline(words >> std::ws, name);
    head.name_bytes = static_cast<uint32_t>(name.size());
    add_entry(ChunkKind::kFrameNames, head, name);
  }

  void add_stack(std::istream& words) {
    wire::StackHead head{};
    std::string frames;
    words >> head.stack;
    for (uint32_t frame = 0; words >> frame; head.depth++) wire::append_bytes(frames, frame);
    add_entry(ChunkKind::kStacks, head, frames);
  }

  template <class Head>
  void add_entry(ChunkKind kind, const Head& head, const std::string& text) {
    std::string payload;
    wire::append_bytes(payload, head);
    add_chunk({.kind = kind}, payload + text);
  }

  void add_record(const std::string& verb, std::istream& words) {
    uint32_t id = 0;
    Word time = 0;
    words >> id >> time;
    std::string rest;
    std::getline(words >> std::ws, rest);
    std::vector<Word> more;
    if (verb.starts_with("lane") || verb.starts_with("range") || verb == "thread_name") {
      size_t digits = 0;
      more.push_back(std::stoull(rest, &digits));
      rest.erase(0, rest.find_first_not_of(' ', digits));
    }
    if (verb == "counter") more.push_back(std::bit_cast<Word>(std::stod(rest)));
    if (verb == "mark" || ((verb == "begin" || verb == "range_start") && !rest.empty())) {
      const size_t at = more.size();
      more.push_back(rest.size());
      rest.resize(wire::padded(rest.size()));
      more.resize(at + 1 + rest.size() / sizeof(Word));
      std::memcpy(more.data() + at + 1, rest.data(), rest.size());
    }
    more.insert(more.begin(),
                {wire::record_head(kind_of(verb), static_cast<uint32_t>(2 + more.size()), id), time});
    records_.append(reinterpret_cast<const char*>(more.data()), more.size() * sizeof(Word));
    thread_.records++;
  }

  void add_notice(std::istream& words) {
    uint32_t process = 0;
    std::string text;
    words >> process;
    std::getline(words >> std::ws, text);
    add_chunk({.kind = ChunkKind::kNotice, .process = process}, text);
  }

  // ---- Work on a GPU

  template <class Record>
  void add_gpu(RecordKind kind, Record record, uint32_t name = 0, bool is_counted = true) {
    record.head = wire::record_head(kind, wire::words_in<Record>(), name);
    wire::append_bytes(records_, record);
    thread_.records += is_counted ? 1 : 0;
  }
  static std::istream& read(std::istream& words, wire::GpuPlace& place) {
    return words >> place.device >> place.context >> place.stream >> place.correlation;
  }

  void add_kernel(std::istream& words) {
    wire::KernelRecord record{};
    uint32_t name = 0;
    read(words >> name >> record.start_ns >> record.end_ns, record.place) >> record.graph >>
        record.graph_node;
    for (int i = 0; i < 3; i++) record.grid[i] = 4, record.block[i] = 32;
    record.registers = 16;
    record.static_shared_bytes = 100;
    add_gpu(RecordKind::kKernel, record, name);
  }
  void add_copy(std::istream& words) {
    wire::CopyRecord record{};
    uint32_t kind = 0, from = 0, to = 0, set = 0;
    read(words >> record.start_ns >> record.end_ns, record.place) >> record.bytes >> kind >> from >> to >>
        set;
    record.copy_kind = static_cast<uint8_t>(kind);
    record.from_kind = static_cast<uint8_t>(from);
    record.to_kind = static_cast<uint8_t>(to);
    record.is_set = static_cast<uint8_t>(set);
    add_gpu(RecordKind::kCopy, record);
  }
  void add_sync(std::istream& words) {
    wire::SyncRecord record{};
    words >> record.start_ns >> record.end_ns >> record.type >> record.context >> record.stream >>
        record.correlation;
    add_gpu(RecordKind::kSync, record);
  }
  void add_call(std::istream& words) {
    wire::CallRecord record{};
    uint32_t name = 0;
    words >> name >> record.start_ns >> record.end_ns >> record.thread_id >> record.correlation >>
        record.return_value >> record.is_driver;
    add_gpu(RecordKind::kCall, record, name);
  }
  void add_overhead(std::istream& words) {
    wire::OverheadRecord record{};
    words >> record.start_ns >> record.end_ns >> record.kind >> record.thread_id;
    add_gpu(RecordKind::kOverhead, record);
  }
  void add_device(std::istream& words) {
    wire::DeviceRecord record{};
    uint32_t name = 0;
    words >> name >> record.device >> record.memory_bytes >> record.multiprocessors >> record.compute_major;
    add_gpu(RecordKind::kDevice, record, name);
  }
  void add_gpu_clock(std::istream& words) {
    wire::GpuClockRecord record{};
    words >> record.monotonic_ns >> record.cupti_ns >> record.bound_ns >> record.is_ours;
    add_gpu(RecordKind::kGpuClock, record, 0, false);
  }

  static RecordKind kind_of(const std::string& verb) {
    constexpr const char* kVerbs[] = {"",        "begin", "end",         "lane_begin", "lane_end",   "mark",
                                      "counter", "",      "range_start", "range_end",  "thread_name"};
    return static_cast<RecordKind>(std::find(std::begin(kVerbs), std::end(kVerbs), verb) -
                                   std::begin(kVerbs));
  }

  void end_records() {
    if (thread_.records == 0) return;
    total_ += thread_.records;
    wire::append_chunk(file_, thread_, records_);
    records_.clear();
    thread_.records = 0;
  }

  void finish() {
    end_records();
    std::string payload;
    wire::append_bytes(payload, wire::EndFacts{total_});
    add_chunk({.kind = ChunkKind::kEnd}, payload);
  }

  void add_chunk(const wire::ChunkHeader& header, std::string payload) {
    end_records();
    payload.resize(wire::padded(payload.size()));
    wire::append_chunk(file_, header, payload);
  }

  std::string file_;
  std::string records_;
  wire::ChunkHeader thread_;
  uint64_t total_ = 0;
};

}  // namespace

std::string recording_of(std::string_view text) {
  Recording recording;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') recording.take(line);
  }
  return recording.file();
}

}  // namespace nl::golden
