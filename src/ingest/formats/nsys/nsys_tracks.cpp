#include "ingest/formats/nsys/nsys_tracks.h"

namespace nl::ingest {
namespace {

using model::kNull;
using model::TableId;
namespace columns = model::tracks;

bool is_int32(int64_t value) {
  return value == static_cast<int32_t>(value);
}

const std::string* found(const std::map<int64_t, std::string>& names, int64_t key) {
  const auto it = names.find(key);
  return it == names.end() ? nullptr : &it->second;
}

}  // namespace

int32_t NsysTracks::find(const NsysTrack& track) {
  const auto known = ids_.find(track);
  if (known != ids_.end()) return last_ = known->second;
  if (tracks_.size() >= kMaxTracks) return -1;
  last_ = static_cast<int32_t>(tracks_.size());
  ids_.emplace(track, last_);
  tracks_.push_back(track);
  if (track.kind != NsysTrack::Kind::kOther) {
    scopes_.try_emplace(track.process, static_cast<int32_t>(scopes_.size()));
  }
  return last_;
}

bool NsysTracks::has_thread(int64_t global_tid) const {
  return ids_.contains(
      {NsysTrack::Kind::kThread, NsysGlobalId::process_of(global_tid), NsysGlobalId::tid_of(global_tid)});
}

void NsysTracks::write_row(model::Batch& batch, const NsysTrack& track) const {
  constexpr auto kTable = TableId::tracks;
  static constexpr const char* kKinds[] = {"thread", "stream", "other"};
  const size_t row = batch.add_row(kTable);
  const auto set = [&](int column, int64_t value) {
    if (value != kNull) batch.set(kTable, row, column, value);
  };
  const auto set_name = [&](int column, const std::string* name) {
    if (name != nullptr) batch.set_text(kTable, row, column, *name);
  };
  const bool has_process = track.process != NsysGlobalId::kNone;
  batch.set_text(kTable, row, columns::kind, kKinds[static_cast<size_t>(track.kind)]);
  set(columns::clock_id, 0);
  if (track.kind == NsysTrack::Kind::kOther) {
    set(columns::thread_id, track.thread);
    set_name(columns::thread_name, found(other_names_, track.thread));
    if (track.device != kNull && is_int32(track.device)) set(columns::device, track.device);
    return;
  }
  set(columns::process_id, has_process ? NsysGlobalId::pid_of(track.process) : kNull);
  set_name(columns::process_name, found(process_names_, track.process));
  set(columns::id_scope, scopes_.at(track.process));
  if (track.kind == NsysTrack::Kind::kThread) {
    set(columns::thread_id, track.thread);
    set_name(columns::thread_name, found(thread_names_, track.process << 24 | track.thread));
    return;
  }
  set(columns::thread_id, track.stream);
  set(columns::stream, track.stream);
  if (track.device != kNull && is_int32(track.device)) set(columns::device, track.device);
  if (track.context != kNull) {
    batch.set_text(kTable, row, columns::args, "{\"contextId\":" + std::to_string(track.context) + "}");
  }
}

std::shared_ptr<model::Batch> NsysTracks::write() const {
  auto batch = std::make_shared<model::Batch>();
  for (const NsysTrack& track : tracks_) write_row(*batch, track);
  return batch;
}

}  // namespace nl::ingest
