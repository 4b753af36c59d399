#include "exports/timeline/trace_tracks.h"

#include <fmt/format.h>

#include <set>

#include "exports/safe_utf8.h"

namespace nl::exports {
namespace {

constexpr char kTracksSql[] =
    "SELECT track_id::BIGINT, process_id, thread_id, device::BIGINT, stream, rank::BIGINT, "
    "process_sort_index, "
    "thread_sort_index, kind, process_name, process_labels, thread_name, source_process, source_thread, args "
    "FROM tracks";

constexpr size_t kFirstText = 8;

TraceTrack track_at(const store::Chunk& chunk, size_t row) {
  std::string scratch;
  const auto number = [&](size_t column) {
    return chunk.is_null(column, row) ? std::nullopt : std::optional(chunk.int64s(column)[row]);
  };
  const auto text = [&](size_t column) {
    return chunk.is_null(column, row) ? std::string()
                                      : std::string(safe_utf8(chunk.text(column, row), scratch));
  };
  TraceTrack track;
  track.process_id = number(1);
  track.thread_id = number(2);
  track.device = number(3);
  track.stream = number(4);
  track.rank = number(5);
  track.process_sort_index = number(6);
  track.thread_sort_index = number(7);
  const std::string kind = text(kFirstText);
  track.is_stream = kind == "stream";
  track.is_process = kind == "process";
  track.process_name = text(kFirstText + 1);
  track.process_labels = text(kFirstText + 2);
  track.thread_name = text(kFirstText + 3);
  track.source_process = text(kFirstText + 4);
  track.source_thread = text(kFirstText + 5);
  track.args = text(kFirstText + 6);
  return track;
}

}  // namespace

Result<std::vector<TraceTrack>> read_trace_tracks(TraceReader& reader) {
  std::vector<TraceTrack> tracks;
  if (!reader.has("tracks")) return tracks;
  NL_TRY(store::Connection * connection, reader.ask("tracks"));
  NL_CHECK(connection->stream(kTracksSql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t row = 0; row < chunk.size(); row++) tracks.push_back(track_at(chunk, row));
    return {};
  }));
  return tracks;
}

std::string track_title(const TraceTrack& track, int64_t track_id) {
  if (!track.thread_name.empty()) return track.thread_name;
  if (track.is_stream && track.stream) return fmt::format("stream {}", *track.stream);
  if (!track.source_thread.empty()) return track.source_thread;
  if (track.thread_id) return fmt::format("thread {}", *track.thread_id);
  return fmt::format("track {}", track_id);
}

std::string process_title(const TraceTrack& track, bool with_rank) {
  std::string title = track.process_name;
  if (track.is_stream && track.device) title = fmt::format("GPU {}", *track.device);
  if (track.is_stream && !track.process_labels.empty()) title = track.process_labels;
  if (title.empty()) title = track.source_process;
  if (title.empty()) title = track.process_id ? fmt::format("process {}", *track.process_id) : "process";
  return with_rank && track.rank ? fmt::format("{} (rank {})", title, *track.rank) : title;
}

bool has_several_ranks(const std::vector<TraceTrack>& tracks) {
  std::set<int64_t> ranks;
  for (const TraceTrack& track : tracks) {
    if (track.rank) ranks.insert(*track.rank);
  }
  return ranks.size() > 1;
}

}  // namespace nl::exports
