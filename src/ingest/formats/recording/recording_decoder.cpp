#include "ingest/formats/recording/recording_decoder.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "base/json.h"
#include "base/small_json.h"
#include "ingest/formats/recording/recording_gpu.h"
#include "ingest/formats/recording/recording_tracks.h"
#include "ingest/formats/recording/stack_table.h"
#include "ingest/rows/row_writer.h"

namespace nl::ingest {
namespace {

using model::kNull;
using model::TableId;
using wire::ChunkKind;
using wire::RecordKind;
using wire::Word;
namespace counters = model::counters;
namespace samples = model::samples;
namespace spans = model::spans;

constexpr size_t kMaxProcesses = 64 << 10;
constexpr size_t kMaxNameText = 64 << 20;  ///< of all processes
constexpr size_t kMaxOpenScopes = 4 << 20;
constexpr size_t kMaxRangeLines = 256;     ///< of a thread; with more, ranges overlap on the last line
constexpr size_t kMaxOpenText = 64 << 20;  ///< attributes of all that is open
constexpr size_t kMaxNotices = 100, kMaxNoticeBytes = 256;
constexpr size_t kMaxOverlap = 64;  ///< how far from the innermost scope an end looks for its begin
constexpr uint64_t kMaxTimeNs = 4'000'000'000'000'000'000;
constexpr size_t kMaxBuildIds = 1000;
/// Limits on the text of stacks, because a few bytes of a hostile file could refer to a huge text.
constexpr uint64_t kMaxStackText = uint64_t{4} << 30, kMaxStackTextOfASample = 256;
constexpr uint64_t kMaxLost = uint64_t{1} << 53;

constexpr int64_t kAnnotation = 2, kInstant = 7, kOther = 8;
static_assert(model::kSpanKinds[kAnnotation] == "annotation" && model::kSpanKinds[kInstant] == "instant" &&
              model::kSpanKinds[kOther] == "other");

/// A name, with the numbers of its texts in the current batch.
struct Name {
  bool is_defined = false;
  std::string text = {};
  std::string domain = {};
  int64_t generation = -1;
  int64_t text_number = kNull;
  int64_t domain_number = kNull;
};

struct Process {
  int64_t process_id = kNull;
  int64_t started_ns = 0;  ///< of CLOCK_MONOTONIC
  std::string program = {};
  std::string key = {};  ///< folder of its rings while they are there
  std::vector<Name> names = {};
  int64_t tasks = 0;
  int64_t range_lines = 0;
  std::array<int64_t, wire::kLossCount> lost = {};
};

using LineKind = RecordingTrack::Kind;

/// A line is what nests within itself and so becomes one track: a thread, one of its tasks, its Python
/// functions, or ranges that it started and that do not overlap.
struct LineKey {
  uint32_t process = 0;
  uint64_t thread = 0;
  LineKind kind = LineKind::kThread;
  uint64_t lane = 0;
  bool operator==(const LineKey&) const = default;
};

struct LineKeyHash {
  size_t operator()(const LineKey& key) const {
    uint64_t hash = key.thread * 0x9E3779B97F4A7C15 ^ key.process;
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93 ^ key.lane ^ static_cast<uint64_t>(key.kind) << 56;
    return (hash ^ hash >> 32) * 0x9E3779B97F4A7C15;
  }
};

struct OpenScope {
  uint32_t name;
  int64_t start_ns;
  std::string args = {};
};

struct Line {
  int32_t track = -1;
  std::vector<OpenScope> open = {};
};

/// One line for ranges of a thread. Ranges that overlap go to different lines.
struct RangeLine {
  Line* line;
  bool is_open;
  int64_t free_from_ns;
};
using RangeLines = std::vector<RangeLine>;

/// A range of which one half is known. The end may come first: another thread may have ended the range, and
/// the rings of threads are read one after the other.
struct Range {
  RangeLines* lines = nullptr;  ///< nullptr: not started yet
  size_t line = 0;
  OpenScope scope = {};
  int64_t end_ns = kNull;
};

}  // namespace

class RecordingDecoder::Recording {
 public:
  Recording(model::RunSink& sink, model::RunInfo& info)
      : writer_(sink, info), info_(info), gpu_(writer_, info, tracks_) {}

  Result<void> take(const wire::ChunkHeader& chunk, std::string_view payload) {
    chunk_ = chunk;
    return take_chunk(payload);
  }

  Result<void> flush() { return writer_.flush(); }

  void forget_open() {
    for (auto& [key, line] : lines_) line.open.clear();
    for (auto& [key, lines] : range_lines_) {
      for (RangeLine& line : lines) line.is_open = false;
    }
    ranges_.clear();
    open_scopes_ = 0;
    open_text_ = 0;
  }

  Result<void> finish(const RecordingReader& reader) {
    reader_ = &reader;
    NL_CHECK(keep_open_scopes());
    count_records();
    count_losses();
    count_damage();
    if (info_.counts.stored == 0)
      return Error{ErrorCode::kBadInput,
                   "the recording holds no marker or sample; lost ones: " + std::to_string(info_.counts.seen),
                   "check that the program sets markers, or runs long enough, while it is recorded"};
    info_.tool = "neurolens";
    add_clock();
    add_sampling();
    gpu_.finish();
    for (const std::string& line : notices_) info_.extensions["recording"]["notices"].push_back(line);
    NL_CHECK(write_tracks());
    return writer_.flush();
  }

  // ---- What is known before the end

  uint32_t depth(size_t row) const {
    const bool is_of_batch = depths_generation_ == writer_.generation() && row < depths_.size();
    return is_of_batch ? depths_[row] : 0;
  }

  DecodedTrack track(int32_t number) const {
    const RecordingTrack& track = tracks_[number];
    const auto process = processes_.find(track.process);
    DecodedTrack out;
    out.is_stream = track.kind == LineKind::kStream;
    out.thread_id = out.is_stream ? track.stream : track.thread_id;
    out.device = track.device;
    out.stream = track.stream;
    out.name = tracks_.name_of(track);
    if (process != processes_.end()) {
      out.process_id = process->second.process_id;
      out.program = process->second.program;
    }
    return out;
  }

  std::optional<int64_t> process_id(uint32_t number) const {
    const auto process = processes_.find(number);
    const bool is_known = process != processes_.end() && process->second.process_id != kNull;
    return is_known ? std::optional(process->second.process_id) : std::nullopt;
  }

  size_t open_scopes() const { return open_scopes_ + ranges_.size(); }

  void for_each_open(const std::function<void(const DecodedOpen&)>& visit) const {
    for (const auto& [key, line] : lines_) {
      if (line.open.empty()) continue;
      const Process& process = processes_.at(key.process);
      for (size_t i = 0; i < line.open.size(); i++)
        visit({line.track, static_cast<uint32_t>(i), process.names[line.open[i].name].text,
               line.open[i].start_ns});
    }
    for (const auto& [key, range] : ranges_) {
      if (range.lines == nullptr) continue;
      visit({(*range.lines)[range.line].line->track, 0, processes_.at(key.first).names[range.scope.name].text,
             range.scope.start_ns});
    }
  }

  std::vector<DecodedLosses> losses() const {
    std::vector<DecodedLosses> out;
    for (const auto& [number, process] : processes_) {
      DecodedLosses one{process.key, {}};
      for (size_t i = 0; i < wire::kLossCount; i++) one.lost[i] = static_cast<uint64_t>(process.lost[i]);
      out.push_back(std::move(one));
    }
    return out;
  }

  std::optional<int64_t> started_ns() const {
    return clock_ ? std::optional(clock_->monotonic_ns) : std::nullopt;
  }

 private:
  Result<void> take_chunk(std::string_view payload) {
    is_finished_ = chunk_.kind == ChunkKind::kEnd;
    switch (chunk_.kind) {
      case ChunkKind::kProcess:
        return take_process(payload);
      case ChunkKind::kNames:
        return take_names(payload);
      case ChunkKind::kRecords:
        return take_records(payload);
      case ChunkKind::kLosses:
        return take_losses(payload);
      case ChunkKind::kEnd:
        take_end(payload);
        return {};
      case ChunkKind::kSampling:
        return take_sampling(payload);
      case ChunkKind::kModules:
      case ChunkKind::kFrames:
      case ChunkKind::kFrameNames:
      case ChunkKind::kStacks:
        return stacks_.take(chunk_.kind, payload) ? Result<void>() : bad_chunk();
      case ChunkKind::kSamples:
      case ChunkKind::kPythonSamples:
        return take_entries<wire::Sample>(payload, [&](const auto& sample) { take_sample(sample); });
      case ChunkKind::kWaits:
        return take_entries<wire::Wait>(payload, [&](const auto& wait) { take_wait(wait); });
      case ChunkKind::kNotice:
        take_notice(payload);
        return {};
    }
    info_.health["unknown_chunk"]++;
    return {};
  }

  // ---- Definitions that records refer to

  Process* process_of(uint32_t number) {
    if (const auto it = processes_.find(number); it != processes_.end()) return &it->second;
    if (processes_.size() >= kMaxProcesses) return nullptr;
    return &processes_[number];
  }

  Result<void> take_process(std::string_view payload) {
    wire::ProcessFacts facts;
    Process* const process = process_of(chunk_.process);
    if (process == nullptr || payload.size() < sizeof facts) return bad_chunk();
    std::memcpy(&facts, payload.data(), sizeof facts);
    payload.remove_prefix(sizeof facts);
    if (facts.program_bytes > payload.size()) return bad_chunk();
    process->process_id = facts.process_id <= INT32_MAX ? static_cast<int64_t>(facts.process_id) : kNull;
    process->program = payload.substr(0, facts.program_bytes);
    process->key = payload.substr(facts.program_bytes, facts.key_bytes);
    const auto in_range = [](int64_t ns) { return ns >= 0 && ns <= static_cast<int64_t>(kMaxTimeNs); };
    if (!in_range(facts.monotonic_ns) || !in_range(facts.unix_ns) || !in_range(facts.bound_ns))
      return bad_chunk();
    process->started_ns = facts.monotonic_ns;
    if (!clock_ || facts.bound_ns < clock_->bound_ns) clock_ = facts;
    return {};
  }

  Result<void> take_names(std::string_view payload) {
    Process* const process = process_of(chunk_.process);
    if (process == nullptr) return bad_chunk();
    while (!payload.empty()) {
      wire::NameHead head;
      if (payload.size() < sizeof head) return bad_chunk();
      std::memcpy(&head, payload.data(), sizeof head);
      const size_t text = size_t{head.domain_bytes} + head.name_bytes;
      if (head.name >= wire::kMaxNames || wire::padded(sizeof head + text) > payload.size())
        return bad_chunk();
      const size_t size = std::max<size_t>(process->names.size(), head.name + 1);
      name_text_ += text + (size - process->names.size()) * sizeof(Name);
      if (name_text_ > kMaxNameText) return bad_chunk();
      process->names.resize(size);
      // A flight recorder defines its names again in each file.
      name_text_ -= process->names[head.name].text.size() + process->names[head.name].domain.size();
      process->names[head.name] = {
          true, std::string(payload.substr(sizeof head + head.domain_bytes, head.name_bytes)),
          std::string(payload.substr(sizeof head, head.domain_bytes))};
      payload.remove_prefix(wire::padded(sizeof head + text));
    }
    return {};
  }

  Result<void> take_losses(std::string_view payload) {
    Process* const process = process_of(chunk_.process);
    if (process == nullptr || payload.size() > wire::kLossCount * sizeof(uint64_t)) return bad_chunk();
    for (size_t i = 0; i < payload.size() / sizeof(uint64_t); i++) {
      uint64_t count;
      std::memcpy(&count, payload.data() + i * sizeof count, sizeof count);
      if (count > kMaxLost) return bad_chunk();
      process->lost[i] = static_cast<int64_t>(count);
    }
    return {};
  }

  void take_end(std::string_view payload) {
    wire::EndFacts facts;
    if (payload.size() < sizeof facts) return;
    std::memcpy(&facts, payload.data(), sizeof facts);
    records_said_ = facts.records;
  }

  void take_notice(std::string_view payload) {
    const std::string line = repaired_utf8(payload.substr(0, std::min(payload.find('\0'), kMaxNoticeBytes)));
    if (notices_.size() < kMaxNotices) notices_.insert(line);
  }

  Result<void> bad_chunk() {
    info_.health["bad_chunk"]++;
    return {};
  }

  // ---- Markers

  Result<void> take_records(std::string_view payload) {
    if (payload.empty()) return {};  // an empty chunk only says that a thread began
    words_.resize(payload.size() / sizeof(Word));
    std::memcpy(words_.data(), payload.data(), payload.size());
    process_ = process_of(chunk_.process);
    thread_ = nullptr;
    if (process_ != nullptr) gpu_.set_process(chunk_.process, process_->started_ns);
    int64_t taken = 0;
    for (size_t at = 0; at < words_.size();) {
      const size_t size = wire::words_of(words_[at]);
      if (size < wire::kScopeWords || size > words_.size() - at) {
        const auto rest = static_cast<int64_t>((words_.size() - at) / wire::kScopeWords);
        drop("bad_record",
             std::clamp<int64_t>(int64_t{chunk_.records} - taken, 1, std::max<int64_t>(rest, 1)));
        break;
      }
      taken += is_clock(words_[at]) ? 0 : 1;
      take_record(&words_[at], size);
      at += size;
    }
    records_taken_ += taken;
    return writer_.flush_if_large();
  }

  void drop(const char* reason, int64_t records = 1) {
    info_.counts.seen += records;
    info_.counts.dropped[reason] += records;
  }

  static bool is_clock(Word head) {
    return wire::kind_of(head) == static_cast<uint8_t>(RecordKind::kGpuClock);
  }

  void take_gpu_record(const Word* record, size_t size) {
    const uint32_t name = wire::name_of(record[0]);
    const bool is_defined =
        process_ != nullptr &&
        (name == 0 || (name < process_->names.size() && process_->names[name].is_defined));
    static const std::string kNoName;
    if (is_defined) return gpu_.take(record, size, name == 0 ? kNoName : process_->names[name].text);
    if (!is_clock(record[0])) drop("undefined_name");
  }

  void take_record(const Word* record, size_t size) {
    if (is_gpu_kind(wire::kind_of(record[0]))) return take_gpu_record(record, size);
    if (record[1] > kMaxTimeNs) return drop("bad_time");
    const auto time = static_cast<int64_t>(record[1]);
    const uint32_t name = wire::name_of(record[0]);
    if (wire::kind_of(record[0]) == static_cast<uint8_t>(RecordKind::kRangeEnd))
      return size == wire::kLaneWords ? end_range(record[2], time) : drop("bad_record");
    if (process_ == nullptr || name >= process_->names.size() || !process_->names[name].is_defined)
      return drop("undefined_name");
    switch (static_cast<RecordKind>(wire::kind_of(record[0]))) {
      case RecordKind::kBegin:
        return begin(record, size, wire::kScopeWords, name, time);
      case RecordKind::kEnd:
        return size == wire::kScopeWords ? end(thread_line(), name, time) : drop("bad_record");
      case RecordKind::kLaneBegin:
        return begin(record, size, wire::kLaneWords, name, time);
      case RecordKind::kLaneEnd:
        return size == wire::kLaneWords ? end(lane_line(record[2]), name, time) : drop("bad_record");
      case RecordKind::kMark:
        return mark(record, size, name, time);
      case RecordKind::kCounter:
        return size == wire::kCounterWords ? count(std::bit_cast<double>(record[2]), name, time)
                                           : drop("bad_record");
      case RecordKind::kRangeStart:
        return start_range(record, size, name, time);
      case RecordKind::kThreadName:
        return size == wire::kLaneWords ? name_thread(record[2], name) : drop("bad_record");
      default:
        break;
    }
    drop("unsupported_kind");
  }

  Line* thread_line() {
    if (thread_ == nullptr) thread_ = line_of({chunk_.process, chunk_.thread, LineKind::kThread, 0});
    return thread_;
  }
  Line* lane_line(uint64_t lane) { return line_of({chunk_.process, chunk_.thread, LineKind::kTask, lane}); }
  Line* python_line() { return line_of({chunk_.process, chunk_.thread, LineKind::kPython, 0}); }

  /// nullptr if there are too many.
  Line* line_of(const LineKey& key) {
    const auto it = lines_.find(key);
    if (it == lines_.end() && !tracks_.has_room()) return nullptr;
    Line& line = it == lines_.end() ? lines_[key] : it->second;
    if (line.track < 0) line.track = new_track(key);
    if ((key.kind == LineKind::kThread || key.kind == LineKind::kPython) && line.track >= 0) {
      const char* const name = chunk_.thread_name;
      tracks_.set_name(line.track, {name, strnlen(name, sizeof chunk_.thread_name)});
    }
    return line.track < 0 ? nullptr : &line;
  }

  int32_t new_track(const LineKey& key) {
    const int64_t thread_id = chunk_.thread_id <= INT32_MAX ? static_cast<int64_t>(chunk_.thread_id) : kNull;
    if (key.kind == LineKind::kThread) return tracks_.add_thread(key.process, thread_id);
    if (key.kind == LineKind::kPython) return tracks_.add({key.kind, key.process, thread_id});
    int64_t& lanes = key.kind == LineKind::kTask ? process_->tasks : process_->range_lines;
    return tracks_.add({key.kind, key.process, thread_id, ++lanes});
  }

  /// Reads the attributes after the fixed words of a record; false if the record is malformed.
  bool take_args(const Word* record, size_t size, size_t head_words, OpenScope& scope) {
    if (size == head_words) return true;
    if (size < head_words) return false;
    const uint64_t bytes = record[head_words];
    if (bytes > (size - head_words - 1) * sizeof(Word)) return false;
    if (open_text_ + bytes > kMaxOpenText) {
      info_.health["attributes_left_out"]++;
    } else if (bytes > 0) {
      scope.args = json_of({reinterpret_cast<const char*>(record + head_words + 1), bytes});
    }
    return true;
  }

  /// `head_words`: with the lane, or without one.
  void begin(const Word* record, size_t size, size_t head_words, uint32_t name, int64_t time) {
    OpenScope scope{name, time};
    if (!take_args(record, size, head_words, scope)) return drop("bad_record");
    begin(head_words == wire::kLaneWords ? lane_line(record[2]) : thread_line(), std::move(scope));
  }

  void begin(Line* line, OpenScope scope) {
    if (line == nullptr) return drop("too_many_threads");
    if (open_scopes_ >= kMaxOpenScopes) return drop("too_many_open");
    open_scopes_++;
    begins_++;
    open_text_ += scope.args.size();
    line->open.push_back(std::move(scope));
  }

  /// Ends the innermost open scope of that name. Scopes that began later may still be open: that happens if
  /// several activities take turns on the thread without naming lanes.
  void end(Line* line, uint32_t name, int64_t time) {
    if (line == nullptr) return drop("too_many_threads");
    auto& open = line->open;
    const size_t looked_at = std::min(open.size(), kMaxOverlap);
    for (size_t i = 1; i <= looked_at; i++) {
      if (open[open.size() - i].name != name) continue;
      const OpenScope scope = std::move(open[open.size() - i]);
      open.erase(open.end() - static_cast<ptrdiff_t>(i));
      open_scopes_--;
      if (i > 1) info_.health["scopes_overlap"]++;
      depth_ = static_cast<uint32_t>(open.size() - i + 1);  // scopes that began before and are still open
      close_scope(*line, scope, time);
      depth_ = 0;
      return;
    }
    drop("end_without_begin");
  }

  void close_scope(const Line& line, const OpenScope& scope, int64_t end_ns) {
    ends_++;
    open_text_ -= scope.args.size();
    if (end_ns < scope.start_ns) info_.health["negative_duration"]++;
    add_span(*process_, line, scope, end_ns < scope.start_ns ? kNull : end_ns - scope.start_ns);
  }

  // ---- Ranges that any thread may end

  void start_range(const Word* record, size_t size, uint32_t name, int64_t time) {
    OpenScope scope{name, time};
    if (size < wire::kLaneWords || !take_args(record, size, wire::kLaneWords, scope))
      return drop("bad_record");
    if (ranges_.size() >= kMaxOpenScopes) return drop("too_many_open");
    RangeLines& lines = range_lines_[{chunk_.process, chunk_.thread}];
    const std::optional<size_t> at = free_line(lines, time);
    if (!at) return drop("too_many_threads");
    const auto [it, is_new] = ranges_.try_emplace({chunk_.process, record[2]});
    if (it->second.lines != nullptr) return drop("range_started_twice");
    begins_++;
    open_text_ += scope.args.size();
    RangeLine& line = lines[*at];
    if (is_new) {
      it->second = {&lines, *at, std::move(scope), kNull};
      line.is_open = true;
      return;
    }
    line.free_from_ns = std::max(line.free_from_ns, it->second.end_ns);
    close_scope(*line.line, scope, it->second.end_ns);
    ranges_.erase(it);
  }

  void end_range(uint64_t id, int64_t time) {
    const auto it = ranges_.find({chunk_.process, id});
    const bool is_full = it == ranges_.end() && ranges_.size() >= kMaxOpenScopes;
    if (is_full || process_ == nullptr) return drop("too_many_open");
    if (it == ranges_.end()) {
      ranges_[{chunk_.process, id}].end_ns = time;
      return;
    }
    Range& range = it->second;
    if (range.lines == nullptr) return drop("end_without_begin");
    RangeLine& line = (*range.lines)[range.line];
    line.is_open = false;
    line.free_from_ns = std::max(line.free_from_ns, time);
    close_scope(*line.line, range.scope, time);
    ranges_.erase(it);
  }

  /// The first line that is free at that time. This is enough because the ranges of a thread start in order
  /// of time. None if there are too many tracks.
  std::optional<size_t> free_line(RangeLines& lines, int64_t time) {
    for (size_t i = 0; i < lines.size(); i++) {
      if (!lines[i].is_open && lines[i].free_from_ns <= time) return i;
    }
    if (lines.size() == kMaxRangeLines) {
      info_.health["ranges_overlap"]++;
      return lines.size() - 1;
    }
    Line* const line = line_of({chunk_.process, chunk_.thread, LineKind::kRanges, lines.size()});
    if (line == nullptr) return std::nullopt;
    lines.push_back({line, false, 0});
    return lines.size() - 1;
  }

  void name_thread(uint64_t thread_id, uint32_t name) {
    const bool is_kept =
        thread_id <= INT32_MAX &&
        tracks_.name_thread(chunk_.process, static_cast<int64_t>(thread_id), process_->names[name].text);
    if (!is_kept) return drop("too_many_threads");
    info_.counts.seen++;
    info_.counts.folded["thread_name"]++;
  }

  /// Looks up the texts of a name once per batch.
  Name& known(Process& process, uint32_t number) {
    Name& name = process.names[number];
    if (name.generation != writer_.generation()) {
      name.generation = writer_.generation();
      name.text_number = writer_.text(name.text);
      name.domain_number = writer_.text(name.domain.empty() ? "neurolens" : name.domain);
    }
    return name;
  }

  void add_span(Process& process, const Line& line, const OpenScope& scope, int64_t duration_ns,
                int64_t kind = kAnnotation) {
    constexpr auto kTable = TableId::spans;
    const Name& name = known(process, scope.name);
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, spans::track_id, line.track);
    writer_.set(kTable, row, spans::name, name.text_number);
    writer_.set(kTable, row, spans::category, name.domain_number);
    writer_.set(kTable, row, spans::kind, kind);
    writer_.set(kTable, row, spans::start_ns, scope.start_ns);
    writer_.set(kTable, row, spans::dur_ns, duration_ns);
    if (!scope.args.empty()) writer_.set_text(kTable, row, spans::args, scope.args);
    note_depth(row);
    info_.counts.stored++;
  }

  /// Only deep spans take memory: rows that are not noted have depth 0.
  void note_depth(size_t row) {
    if (depths_generation_ != writer_.generation()) depths_.clear();
    depths_generation_ = writer_.generation();
    if (depth_ == 0) return;
    depths_.resize(row + 1);
    depths_[row] = depth_;
  }

  void mark(const Word* record, size_t size, uint32_t name, int64_t time) {
    if (size < wire::kMarkHeadWords || record[2] > (size - wire::kMarkHeadWords) * sizeof(Word))
      return drop("bad_record");
    const Line* const line = thread_line();
    if (line == nullptr) return drop("too_many_threads");
    marks_++;
    OpenScope scope{name, time};
    const std::string_view text(reinterpret_cast<const char*>(record + wire::kMarkHeadWords), record[2]);
    if (!text.empty()) scope.args = json_of(text);
    depth_ = static_cast<uint32_t>(line->open.size());
    add_span(*process_, *line, scope, kNull, kInstant);
    depth_ = 0;
  }

  /// Attributes should be JSON; anything else is kept as text.
  std::string json_of(std::string_view text) {
    if (!parse_small_json(text).is_discarded()) return std::string(text);
    info_.health["attributes_are_not_json"]++;
    return nlohmann::json{{"text", repaired_utf8(text)}}.dump();
  }

  void count(double value, uint32_t name, int64_t time) {
    if (!std::isfinite(value)) return drop("not_a_number");
    const Line* const line = thread_line();
    if (line == nullptr) return drop("too_many_threads");
    constexpr auto kTable = TableId::counters;
    values_++;
    info_.counts.stored++;
    const Name& known_name = known(*process_, name);
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, counters::track_id, line->track);
    writer_.set(kTable, row, counters::name, known_name.text_number);
    writer_.set(kTable, row, counters::start_ns, time);
    writer_.set_double(kTable, row, counters::value, value);
    if (!known_name.domain.empty())
      writer_.set_args(kTable, row, counters::args, {{"domain", known_name.domain}});
  }

  // ---- Samples

  Result<void> take_sampling(std::string_view payload) {
    wire::SamplingFacts facts{};
    if (payload.size() < offsetof(wire::SamplingFacts, torn)) return bad_chunk();
    std::memcpy(&facts, payload.data(), std::min(payload.size(), sizeof facts));
    if (std::max({facts.frequency_hz, facts.period_ns, facts.throttled, facts.torn}) > kMaxLost)
      return bad_chunk();
    sampling_ = facts;
    return {};
  }

  template <class Entry, class Take>
  Result<void> take_entries(std::string_view payload, const Take& take) {
    process_ = process_of(chunk_.process);
    thread_ = nullptr;
    Entry entry;
    for (; payload.size() >= sizeof entry; payload.remove_prefix(sizeof entry)) {
      std::memcpy(&entry, payload.data(), sizeof entry);
      take(entry);
      records_taken_++;
      NL_CHECK(writer_.flush_if_large());
    }
    if (!payload.empty()) return bad_chunk();
    return {};
  }

  void take_sample(const wire::Sample& sample) {
    if (sample.time_ns > kMaxTimeNs) return drop("bad_time");
    const bool is_python = chunk_.kind == ChunkKind::kPythonSamples;
    const Line* const line = process_ == nullptr ? nullptr : is_python ? python_line() : thread_line();
    if (line == nullptr) return drop("too_many_threads");
    constexpr auto kTable = TableId::samples;
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, samples::track_id, line->track);
    writer_.set(kTable, row, samples::start_ns, static_cast<int64_t>(sample.time_ns));
    writer_.set(kTable, row, samples::stack, stack_number(sample.stack));
    writer_.set(kTable, row, samples::weight, int64_t{sample.weight_ns});
    (is_python ? python_samples_ : samples_)++;
    info_.counts.stored++;
  }

  /// A time in which the thread did not run, as a span on its track.
  void take_wait(const wire::Wait& wait) {
    if (wait.time_ns > kMaxTimeNs || wait.duration_ns > kMaxTimeNs - wait.time_ns) return drop("bad_time");
    const Line* const line = process_ == nullptr ? nullptr : thread_line();
    if (line == nullptr) return drop("too_many_threads");
    constexpr auto kTable = TableId::spans;
    const size_t row = writer_.add(kTable);
    writer_.set_track(kTable, row, spans::track_id, line->track);
    writer_.set_text(kTable, row, spans::name, wait.is_preempted != 0 ? "preempted" : "waiting");
    writer_.set_text(kTable, row, spans::category, "off_cpu");
    writer_.set(kTable, row, spans::kind, kOther);
    writer_.set(kTable, row, spans::start_ns, static_cast<int64_t>(wait.time_ns));
    writer_.set(kTable, row, spans::dur_ns, static_cast<int64_t>(wait.duration_ns));
    waits_++;
    info_.counts.stored++;
  }

  /// The number of the stack's text in the current batch; kNull if the file does not define the stack.
  int64_t stack_number(uint32_t stack) {
    if (!stacks_.has(stack)) {
      info_.health["undefined_stack"]++;
      return kNull;
    }
    if (stack_generation_ != writer_.generation()) stack_numbers_.clear();
    stack_generation_ = writer_.generation();
    const auto [it, is_new] = stack_numbers_.try_emplace(stack, kNull);
    if (!is_new) return it->second;
    if (stack_text_ >
        kMaxStackText + static_cast<uint64_t>(samples_ + python_samples_) * kMaxStackTextOfASample) {
      info_.health["stack_text_limit"]++;
      return kNull;
    }
    const std::string text = stacks_.text(stack);
    stack_text_ += text.size();
    return it->second = writer_.text(text);
  }

  void add_sampling() {
    if (!sampling_) return;
    nlohmann::json& facts = info_.extensions["sampling"];
    facts = {{"frequency_hz", sampling_->frequency_hz},
             {"period_ns", sampling_->period_ns},
             {"with_kernel", sampling_->with_kernel != 0}};
    if (sampling_->throttled > 0) info_.health["throttled"] = static_cast<int64_t>(sampling_->throttled);
    if (sampling_->torn > 0) facts["torn_python_stacks"] = sampling_->torn;
    for (const auto& [path, id] : stacks_.build_ids()) {
      if (facts["build_ids"].size() >= kMaxBuildIds) break;
      facts["build_ids"].push_back({repaired_utf8(path.substr(path.rfind('/') + 1)), id});
    }
  }

  // ---- The end

  /// Scopes that never ended become spans without a duration. They are sorted by track first, because the
  /// hash table of lines has no stable order and the rows must not depend on it.
  Result<void> keep_open_scopes() {
    std::vector<const Line*> open;
    for (const auto& [key, line] : lines_) {
      if (!line.open.empty()) open.push_back(&line);
    }
    std::sort(open.begin(), open.end(), [](const Line* a, const Line* b) { return a->track < b->track; });
    for (const Line* line : open) {
      Process& process = processes_.at(tracks_[line->track].process);
      for (const OpenScope& scope : line->open) {
        add_span(process, *line, scope, kNull);
        NL_CHECK(writer_.flush_if_large());
      }
      info_.health["open_scopes"] += static_cast<int64_t>(line->open.size());
    }
    return keep_open_ranges();
  }

  Result<void> keep_open_ranges() {
    for (const auto& [key, range] : ranges_) {
      if (range.lines == nullptr) {
        drop("end_without_begin");
        continue;
      }
      add_span(processes_.at(key.first), *(*range.lines)[range.line].line, range.scope, kNull);
      info_.health["open_scopes"]++;
      NL_CHECK(writer_.flush_if_large());
    }
    return {};
  }

  void count_records() {
    info_.counts.seen += begins_ + ends_ + marks_ + values_ + samples_ + python_samples_ + waits_;
    if (ends_ > 0) info_.counts.folded["begin_joins_its_end"] = ends_;
    for (const auto& [phase, records] :
         {std::pair{"begin", begins_}, std::pair{"end", ends_}, std::pair{"mark", marks_},
          std::pair{"counter", values_}, std::pair{"sample", samples_},
          std::pair{"python_sample", python_samples_}, std::pair{"wait", waits_}}) {
      if (records > 0) info_.records_by_phase[phase] = records;
    }
  }

  void count_losses() {
    for (const auto& [number, process] : processes_) {
      for (size_t i = 0; i < wire::kLossCount; i++) {
        if (process.lost[i] > 0) drop(wire::kLossNames[i], process.lost[i]);
      }
    }
  }

  void count_damage() {
    if (!is_finished_) info_.health["unfinished"] = 1;
    if (reader_->is_cut_off()) info_.health["cut_off"] = 1;
    if (reader_->cut_off_records() > 0) drop("cut_off", reader_->cut_off_records());
    if (reader_->damaged_chunks() > 0) info_.health["damaged_chunks"] = reader_->damaged_chunks();
    if (reader_->skipped_bytes() > 0) info_.health["damaged_bytes"] = reader_->skipped_bytes();
    if (const int64_t lost = reader_->damaged_records() + skipped_records(); lost > 0)
      drop("damaged_chunk", lost);
  }

  /// Estimates how many records were in the skipped bytes: the end chunk says how many there were in all. The
  /// number is limited by what could fit into these bytes.
  int64_t skipped_records() const {
    const auto known = static_cast<uint64_t>(records_taken_ + reader_->damaged_records());
    const auto most = static_cast<uint64_t>(reader_->skipped_bytes()) / (2 * sizeof(Word));
    if (!is_finished_ || records_said_ <= known) return 0;
    return static_cast<int64_t>(std::min(records_said_ - known, most));
  }

  void add_clock() {
    model::Clock clock;
    clock.kind = clock_ ? "unix" : "relative";
    if (clock_) {
      clock.base_unix_ns = clock_->unix_ns - clock_->monotonic_ns;
      info_.extensions["recording"]["clock_bound_ns"] = clock_->bound_ns;
    }
    clock.identity = model::monotonic_identity(reader_->boot_id());
    info_.clocks.push_back(clock);
  }

  Result<void> write_tracks() {
    return tracks_.write(writer_, [this](uint32_t number) {
      const Process& process = processes_.at(number);
      return RecordingTracks::Process{process.process_id, process.program};
    });
  }

  const RecordingReader* reader_ = nullptr;  // for finish
  RowWriter writer_;
  model::RunInfo& info_;
  wire::ChunkHeader chunk_ = {};
  std::vector<Word> words_ = {};
  std::map<uint32_t, Process> processes_ = {};
  std::unordered_map<LineKey, Line, LineKeyHash> lines_ = {};
  RecordingTracks tracks_ = {};
  GpuRecords gpu_;
  std::map<std::pair<uint32_t, uint64_t>, Range> ranges_ = {};            // of a process, by their number
  std::map<std::pair<uint32_t, uint64_t>, RangeLines> range_lines_ = {};  // of a thread
  Process* process_ = nullptr;                                            // of the chunk
  Line* thread_ = nullptr;
  std::optional<wire::ProcessFacts> clock_ = {};
  size_t name_text_ = 0;
  size_t open_scopes_ = 0;
  size_t open_text_ = 0;
  std::set<std::string> notices_ = {};
  StackTable stacks_ = {};
  std::unordered_map<uint32_t, int64_t> stack_numbers_ = {};  // in the batch of that generation
  int64_t stack_generation_ = -1;
  uint64_t stack_text_ = 0;
  std::optional<wire::SamplingFacts> sampling_ = {};
  int64_t begins_ = 0, ends_ = 0, marks_ = 0, values_ = 0, samples_ = 0, python_samples_ = 0, waits_ = 0;
  int64_t records_taken_ = 0;
  uint64_t records_said_ = 0;
  bool is_finished_ = false;
  uint32_t depth_ = 0;                 // of the span that is added next
  std::vector<uint32_t> depths_ = {};  // of rows of spans in the batch of that generation
  int64_t depths_generation_ = -1;
};

RecordingDecoder::RecordingDecoder(model::RunSink& sink, model::RunInfo& info)
    : recording_(std::make_unique<Recording>(sink, info)) {}
RecordingDecoder::~RecordingDecoder() = default;

Result<void> RecordingDecoder::take(const wire::ChunkHeader& chunk, std::string_view payload) {
  return recording_->take(chunk, payload);
}
void RecordingDecoder::forget_open() {
  recording_->forget_open();
}
Result<void> RecordingDecoder::flush() {
  return recording_->flush();
}
Result<void> RecordingDecoder::finish(const RecordingReader& reader) {
  return recording_->finish(reader);
}
uint32_t RecordingDecoder::depth(size_t row) const {
  return recording_->depth(row);
}
DecodedTrack RecordingDecoder::track(int32_t number) const {
  return recording_->track(number);
}
std::optional<int64_t> RecordingDecoder::process_id(uint32_t number) const {
  return recording_->process_id(number);
}
size_t RecordingDecoder::open_scopes() const {
  return recording_->open_scopes();
}
void RecordingDecoder::for_each_open(const std::function<void(const DecodedOpen&)>& visit) const {
  recording_->for_each_open(visit);
}
std::vector<DecodedLosses> RecordingDecoder::losses() const {
  return recording_->losses();
}
std::optional<int64_t> RecordingDecoder::started_ns() const {
  return recording_->started_ns();
}

}  // namespace nl::ingest
