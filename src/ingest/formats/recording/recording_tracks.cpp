#include "ingest/formats/recording/recording_tracks.h"

namespace nl::ingest {

using model::kNull;
using model::TableId;
namespace columns = model::tracks;

int32_t RecordingTracks::add(RecordingTrack track) {
  if (!has_room()) return -1;
  tracks_.push_back(std::move(track));
  return static_cast<int32_t>(tracks_.size() - 1);
}

int32_t RecordingTracks::add_thread(uint32_t process, int64_t thread_id) {
  const auto known = threads_.find({process, thread_id});
  if (known != threads_.end() && !known->second.is_added) {
    known->second.is_added = true;
    return known->second.track;
  }
  const int32_t track = add({RecordingTrack::Kind::kThread, process, thread_id});
  if (track >= 0) threads_.insert_or_assign({process, thread_id}, Thread{track, true});
  return track;
}

int32_t RecordingTracks::thread(uint32_t process, int64_t thread_id) {
  const auto known = threads_.find({process, thread_id});
  if (known != threads_.end()) return known->second.track;
  const int32_t track = add({RecordingTrack::Kind::kThread, process, thread_id});
  if (track >= 0) threads_.insert({{process, thread_id}, Thread{track, false}});
  return track;
}

int32_t RecordingTracks::stream(uint32_t process, int64_t device, int64_t context, int64_t stream) {
  const auto key = std::make_tuple(process, device, context, stream);
  if (const auto known = streams_.find(key); known != streams_.end()) return known->second;
  RecordingTrack track{RecordingTrack::Kind::kStream, process};
  track.device = device;
  track.context = context;
  track.stream = stream;
  const int32_t number = add(std::move(track));
  if (number >= 0) streams_.emplace(key, number);
  return number;
}

bool RecordingTracks::name_thread(uint32_t process, int64_t thread_id, const std::string& name) {
  if (thread_names_.size() >= kMaxTracks) return false;
  thread_names_[{process, thread_id}] = name;
  return true;
}

std::string RecordingTracks::name_of(const RecordingTrack& track) const {
  switch (track.kind) {
    case RecordingTrack::Kind::kTask:
      return "task " + std::to_string(track.lane);
    case RecordingTrack::Kind::kRanges:
      return "ranges " + std::to_string(track.lane);
    case RecordingTrack::Kind::kStream:
      return {};
    case RecordingTrack::Kind::kThread:
    case RecordingTrack::Kind::kPython:
      break;
  }
  const auto given = thread_names_.find({track.process, track.thread_id});
  return given != thread_names_.end() ? given->second : track.name;
}

Result<void> RecordingTracks::write(RowWriter& writer,
                                    const std::function<Process(uint32_t)>& process_of) const {
  constexpr auto kTable = TableId::tracks;
  static constexpr const char* kKinds[] = {"thread", "other", "other", "stream", "python"};
  for (const RecordingTrack& track : tracks_) {
    const Process process = process_of(track.process);
    const bool is_stream = track.kind == RecordingTrack::Kind::kStream;
    const size_t row = writer.add(kTable);
    writer.set_text(kTable, row, columns::kind, kKinds[static_cast<size_t>(track.kind)]);
    writer.set(kTable, row, columns::process_id, process.process_id);
    writer.set_text(kTable, row, columns::process_name, process.program);
    writer.set(kTable, row, columns::thread_id, is_stream ? track.stream : track.thread_id);
    writer.set_text(kTable, row, columns::thread_name, name_of(track));
    writer.set(kTable, row, columns::clock_id, 0);
    if (!streams_.empty()) writer.set(kTable, row, columns::id_scope, track.process);
    if (is_stream) {
      writer.set(kTable, row, columns::device, track.device);
      writer.set(kTable, row, columns::stream, track.stream);
      if (track.context != kNull)
        writer.set_text(kTable, row, columns::args, "{\"contextId\":" + std::to_string(track.context) + "}");
    }
    NL_CHECK(writer.flush_if_large());
  }
  return {};
}

}  // namespace nl::ingest
