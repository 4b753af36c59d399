#include "capture/record/recorder.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <thread>

#include "base/checked_thread.h"
#include "base/files.h"
#include "base/private_folder.h"
#include "capture/record/collector_library.h"
#include "capture/record/ring_chunks.h"
#include "wire/clock_pair.h"

namespace nl::capture {
namespace {

constexpr size_t kFlushBytes = 4 << 20;

std::string bytes_of(const Losses& losses) {
  return {reinterpret_cast<const char*>(losses.data()), sizeof losses};
}

void add_to(Losses& sum, const Losses& more) {
  for (size_t i = 0; i < sum.size(); i++) sum[i] += more[i];
}

bool is_any(const Losses& losses) {
  return std::any_of(losses.begin(), losses.end(), [](uint64_t count) { return count != 0; });
}

Result<Mapped<wire::SessionHeader>> open_session(const std::string& path) {
  auto session = Mapped<wire::SessionHeader>::open(path, sizeof(wire::SessionHeader));
  if (!session || (*session)->magic != wire::kSessionMagic)
    return Error{ErrorCode::kNotFound, "no recording is running: " + path};
  return std::move(*session);
}

}  // namespace

uint64_t RecordingEnd::total_lost() const {
  return std::accumulate(lost.begin(), lost.end(), uint64_t{0});
}

nlohmann::json losses_json(const Losses& lost) {
  nlohmann::json reasons = nlohmann::json::object();
  for (size_t i = 0; i < wire::kLossCount; i++) {
    if (lost[i] > 0) reasons[wire::kLossNames[i]] = lost[i];
  }
  return reasons;
}

// ---- Starting

Result<std::unique_ptr<Recorder>> Recorder::start(const RecorderOptions& options) {
  const std::string live = live_folder(options.folder);
  if (path_exists(live) || path_exists(options.folder + "/recording.nlr"))
    return Error{ErrorCode::kConflict, "the folder holds a recording already: " + options.folder};
  NL_CHECK(make_folders(live));
  std::string header;
  header.resize(sizeof(wire::SessionHeader));
  const uint64_t facts[2] = {wire::kSessionMagic, options.total_bytes};
  std::memcpy(header.data(), facts, sizeof facts);
  NL_CHECK(write_file_durably(live + "/session", header));
  NL_TRY(auto session, open_session(live + "/session"));
  std::unique_ptr<Recorder> recorder(new Recorder(options, std::move(session)));
  if (options.library.empty()) {
    NL_TRY(FolderAside code, make_private_folder(*options.surroundings, PrivateUse::kCode));
    recorder->code_.emplace(std::move(code));
    NL_TRY(recorder->options_.library, write_collector_library(recorder->code_->path()));
  }
  NL_TRY(auto segments, Segments::create({options.folder, options.limit_bytes, options.is_flight_recorder}));
  recorder->segments_ = std::move(segments);
  return recorder;
}

std::vector<std::string> Recorder::environment() const {
  const Environment& surroundings = *options_.surroundings;
  const auto set = [](const char* name, const std::string& value) { return std::string(name) + "=" + value; };
  std::vector<std::string> variables = {
      set(wire::kCollectVariable, surroundings.absolute(options_.library)),
      set(wire::kFolderVariable, surroundings.absolute(live_folder(options_.folder))),
      set(wire::kRingBytesVariable, std::to_string(options_.ring_bytes))};
  if (options_.wait_ms) {
    variables.push_back(set(wire::kWhenFullVariable, "wait"));
    variables.push_back(set(wire::kWaitVariable, std::to_string(*options_.wait_ms)));
  }
  const auto load = [&](const char* variable) {
    if (!surroundings.has(variable))  // another tool's is left alone
      variables.push_back(set(variable, surroundings.absolute(options_.library)));
  };
  load(wire::kNvtxVariable);
  if (options_.with_gpu) load(wire::kCudaVariable);
  return variables;
}

// ---- Draining

/// The folder tells by its time, which is cheaper than to list it hundreds of times a second. A time is not
/// trusted before it is so old that another change would have another one.
bool Recorder::may_have_new_processes() {
  constexpr int64_t kSettledNs = 100'000'000;
  struct stat info {};
  if (::stat(live_folder(options_.folder).c_str(), &info) != 0) return true;
  const int64_t changed_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  if (changed_ns == folder_changed_ns_) return false;
  const bool is_settled = wire::clock_ns(CLOCK_REALTIME) - changed_ns > kSettledNs;
  folder_changed_ns_ = is_settled ? changed_ns : -1;
  return true;
}

void Recorder::find_processes() {
  if (!may_have_new_processes()) return;
  for (const auto& key : list_folder(live_folder(options_.folder))) {
    if (key == "session" || key.ends_with(".so")) continue;
    const auto [it, is_new] = places_.try_emplace(key, ProcessPlace{static_cast<uint32_t>(places_.size())});
    const bool is_known = std::any_of(processes_.begin(), processes_.end(),
                                      [&](const auto& process) { return process->key() == key; });
    if (is_known) continue;
    auto process = LiveProcess::open(live_folder(options_.folder) + "/" + key, key, it->second.number);
    if (process == nullptr) {
      folder_changed_ns_ = -1;  // it is not ready yet
      continue;
    }
    if (!is_new && it->second.names > 0) process->set_defined(it->second.names);
    processes_.push_back(std::move(process));
  }
}

/// The rings first: what they hold by then only uses names that are there by then.
Result<uint64_t> Recorder::drain(LiveProcess& process) {
  std::vector<uint64_t> heads;
  auto& rings = process.rings();
  for (const auto& ring : rings) heads.push_back(ring->reader.head());
  const std::string definitions = process.new_definitions();
  if (options_.slow_scope) options_.slow_scope->define(definitions);
  segments_->define(process.number(), definitions);
  if (std::string notice = process.notice(); !notice.empty()) notices_.insert(std::move(notice));
  uint64_t markers = 0;
  const auto add = [&](const wire::ChunkHeader& header, std::string_view payload) {
    segments_->add(header, payload);
    markers += header.records;
    if (options_.slow_scope && options_.slow_scope->take(header, payload)) options_.saw_slow_scope();
  };
  for (uint32_t i = 0; i < rings.size(); i++) {
    LiveRing& ring = *rings[i];
    const bool was_damaged = ring.is_damaged;
    ring.is_damaged = was_damaged || ring.memory.is_cut();
    move_to_place(process, i, ring);
    while (take_chunks(ring, process.number(), i, heads[i], add)) {
      taken_.push_back(&ring);
      if (segments_->waiting_bytes() > kFlushBytes) NL_CHECK(flush());
    }
    if (ring.is_damaged && !was_damaged) lose(wire::Loss::kDamaged, 1);
  }
  return markers;
}

/// A killed recorder may have written more than it released, and knew whose the next records are.
void Recorder::move_to_place(LiveProcess& process, uint32_t number, LiveRing& ring) {
  auto& rings = places_.at(process.key()).rings;
  const auto it = rings.find(number);
  if (it == rings.end()) return;
  const RingPlace& place = it->second;
  if (place.position > ring.reader.tail()) ring.reader.take(place.position);
  ring.thread = place.thread;
  ring.thread_id = place.thread_id;
  std::memcpy(ring.thread_name, place.thread_name, sizeof ring.thread_name);
  rings.erase(it);
}

Result<void> Recorder::flush() {
  NL_TRY(const GivenUp given_up, segments_->flush());
  lose(wire::Loss::kDiskLimit, given_up.disk_limit);
  lose(wire::Loss::kOverwritten, given_up.overwritten);
  for (LiveRing* ring : taken_) ring->reader.release();
  taken_.clear();
  return {};
}

Result<uint64_t> Recorder::poll() {
  find_processes();
  uint64_t markers = 0;
  std::vector<LiveProcess*> idle;
  for (const auto& process : processes_) {
    NL_TRY(const uint64_t more, drain(*process));
    if (more == 0) idle.push_back(process.get());
    markers += more;
  }
  NL_CHECK(flush());
  for (LiveProcess* process : idle) {
    if (process->is_gone()) NL_CHECK(forget(*process));
  }
  return markers;
}

/// The memory of a process that has ended is free for others.
Result<void> Recorder::forget(LiveProcess& process) {
  const Losses losses = process.losses();
  if (is_any(losses)) {
    gone_[process.number()] = losses;
    segments_->add_losses({.kind = wire::ChunkKind::kLosses, .process = process.number()}, bytes_of(losses));
    NL_CHECK(flush());
  }
  remove_tree(live_folder(options_.folder) + "/" + process.key());
  session_->used_bytes.fetch_sub(process.bytes(), std::memory_order_relaxed);
  std::erase_if(processes_, [&](const auto& known) { return known.get() == &process; });
  return {};
}

// ---- Ending

void Recorder::lose(wire::Loss reason, uint64_t markers) {
  if (markers > 0) session_->lost[static_cast<size_t>(reason)].fetch_add(markers, std::memory_order_relaxed);
}

/// All there is to say of losses by now, and their sum.
std::string Recorder::loss_chunks(Losses& total) {
  std::map<uint32_t, Losses> all = gone_;
  for (const auto& process : processes_) all[process->number()] = process->losses();
  for (size_t i = 0; i < wire::kLossCount; i++)
    all[wire::kNoProcess][i] = session_->lost[i].load(std::memory_order_relaxed);
  std::string chunks;
  for (const auto& [process, losses] : all) {
    add_to(total, losses);
    if (is_any(losses))
      wire::append_chunk(chunks, {.kind = wire::ChunkKind::kLosses, .process = process}, bytes_of(losses));
  }
  return chunks;
}

Result<RecordingEnd> Recorder::end_of(
    const std::function<Result<Segments::Ending>(const std::string&)>& write) {
  NL_CHECK(poll());
  RecordingEnd end;
  const std::string chunks = loss_chunks(end.lost);
  NL_TRY(const auto ending, write(chunks));
  end.path = ending.path;
  end.recorded = ending.records;
  end.notices.assign(notices_.begin(), notices_.end());
  return end;
}

Result<RecordingEnd> Recorder::dump(const std::string& name) {
  return end_of([&](const std::string& chunks) { return segments_->dump(name, chunks); });
}

Result<RecordingEnd> Recorder::finish() {
  NL_TRY(const auto end, end_of([&](const std::string& chunks) { return segments_->finish(chunks); }));
  processes_.clear();
  remove_tree(live_folder(options_.folder));
  return end;
}

// ---- After a kill

Recorder::ProcessPlace& Recorder::place_of(uint32_t number) {
  for (auto& [key, place] : places_) {
    if (place.number == number) return place;
  }
  return places_[std::to_string(number)] = {number};  // cannot be: its introduction stands before
}

void Recorder::restore(const wire::ChunkHeader& header, std::string_view payload) {
  switch (header.kind) {
    case wire::ChunkKind::kProcess: {
      wire::ProcessFacts facts;
      if (payload.size() < sizeof facts) break;
      std::memcpy(&facts, payload.data(), sizeof facts);
      if (facts.program_bytes > payload.size() - sizeof facts) break;
      const std::string key(payload.substr(sizeof facts + facts.program_bytes, facts.key_bytes));
      places_.try_emplace(key, ProcessPlace{header.process});
      break;
    }
    case wire::ChunkKind::kNames:
      for (size_t at = 0; at + sizeof(wire::NameHead) <= payload.size();) {
        wire::NameHead head;
        std::memcpy(&head, payload.data() + at, sizeof head);
        place_of(header.process).names = head.name;
        at += wire::padded(sizeof head + head.domain_bytes + size_t{head.name_bytes});
      }
      break;
    case wire::ChunkKind::kRecords: {
      RingPlace place{header.position, header.thread, header.thread_id};
      std::memcpy(place.thread_name, header.thread_name, sizeof place.thread_name);
      place_of(header.process).rings[header.ring] = place;
      break;
    }
    case wire::ChunkKind::kLosses:
      if (header.process != wire::kNoProcess && payload.size() == sizeof(Losses))
        std::memcpy(gone_[header.process].data(), payload.data(), payload.size());
      break;
    default:
      break;
  }
}

Result<RecordingEnd> recover(const std::string& folder) {
  NL_TRY(auto session, open_session(Recorder::live_folder(folder) + "/session"));
  RecorderOptions options;
  options.folder = folder;
  Recorder recorder(options, std::move(session));
  const auto restore = [&](const wire::ChunkHeader& header, std::string_view payload) {
    recorder.restore(header, payload);
  };
  NL_TRY(auto segments, Segments::reopen(folder, restore));
  recorder.segments_ = std::move(segments);
  return recorder.finish();
}

// ---- Around a workload

Result<RecordingEnd> record_around(const RecorderOptions& options,
                                   const std::function<Result<void>(const std::vector<std::string>&)>& run) {
  constexpr auto kPause = std::chrono::milliseconds(2);
  constexpr auto kIdlePause = std::chrono::milliseconds(10);  // a ring is not full before, unless in a flood
  constexpr int kIdlePolls = 50;
  constexpr uint64_t kMany = 10'000;
  NL_TRY(auto recorder, Recorder::start(options));
  std::atomic<bool> has_ended{false};
  CheckedThread thread([&]() -> Result<void> {
    int idle = 0;
    while (!has_ended.load(std::memory_order_acquire)) {
      NL_TRY(const uint64_t markers, recorder->poll());
      if (options.wants_dump()) options.take_dump(recorder->dump("dump.nlr"));
      idle = markers > 0 ? 0 : std::min(idle + 1, kIdlePolls);
      if (markers < kMany) std::this_thread::sleep_for(idle == kIdlePolls ? kIdlePause : kPause);
    }
    return {};
  });
  const Result<void> ran = without_exceptions([&] { return run(recorder->environment()); });
  has_ended.store(true, std::memory_order_release);
  NL_CHECK(thread.join());
  auto end = recorder->finish();
  if (!ran) return ran.error();
  return end;
}

}  // namespace nl::capture
