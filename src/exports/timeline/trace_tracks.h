#pragma once
// The timelines of a run, for exporters of traces: one for each row of `tracks`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exports/timeline/trace_rows.h"

namespace nl::exports {

struct TraceTrack {
  bool is_stream = false;
  bool is_process = false;  ///< names a process and has no events
  std::optional<int64_t> process_id, thread_id, device, stream, rank, process_sort_index, thread_sort_index;
  std::string process_name, process_labels, thread_name, source_process, source_thread, args;
};

/// By track_id; all texts are UTF-8.
Result<std::vector<TraceTrack>> read_trace_tracks(TraceReader& reader);

/// For people: "stream 7", the name of a thread.
std::string track_title(const TraceTrack& track, int64_t track_id);

/// For people: "GPU 0", "python"; with the rank if the run has several.
std::string process_title(const TraceTrack& track, bool with_rank);

bool has_several_ranks(const std::vector<TraceTrack>& tracks);

}  // namespace nl::exports
