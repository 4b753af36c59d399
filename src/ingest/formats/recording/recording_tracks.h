#pragma once
// RecordingTracks: the timelines of a recording, numbered as they first appear: threads, tasks that take
// turns on them, their Python functions, ranges that they started, and streams of devices. One thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "ingest/rows/row_writer.h"

namespace nl::ingest {

struct RecordingTrack {
  enum class Kind : uint8_t { kThread, kTask, kRanges, kStream, kPython };
  Kind kind;
  uint32_t process;
  int64_t thread_id = model::kNull;
  int64_t lane =
      0;  ///< its number among those of its kind in the process, from 1; of a thread and its Python 0
  int64_t device = model::kNull;
  int64_t context = model::kNull;
  int64_t stream = model::kNull;
  std::string name = {};  ///< of a thread, or of that whose Python it is
};

class RecordingTracks {
 public:
  static constexpr size_t kMaxTracks = 1 << 20;

  /// Negative if there are too many; so are those of the functions below.
  int32_t add(RecordingTrack track);
  /// Of a thread that sets markers: if calls of its were seen before, theirs.
  int32_t add_thread(uint32_t process, int64_t thread_id);
  /// Of a thread that others tell of.
  int32_t thread(uint32_t process, int64_t thread_id);
  int32_t stream(uint32_t process, int64_t device, int64_t context, int64_t stream);

  bool has_room() const { return tracks_.size() < kMaxTracks; }
  const RecordingTrack& operator[](int32_t track) const { return tracks_[static_cast<size_t>(track)]; }
  void set_name(int32_t track, std::string_view name) { tracks_[static_cast<size_t>(track)].name = name; }
  /// A name that counts more than the thread's own; false if there are too many.
  bool name_thread(uint32_t process, int64_t thread_id, const std::string& name);

  struct Process {
    int64_t process_id;
    const std::string& program;
  };
  /// As people read it; empty if nobody has named it.
  std::string name_of(const RecordingTrack& track) const;
  Result<void> write(RowWriter& writer, const std::function<Process(uint32_t)>& process_of) const;

 private:
  struct Thread {
    int32_t track;
    bool is_added;  ///< by the thread itself
  };

  std::vector<RecordingTrack> tracks_;
  std::map<std::pair<uint32_t, int64_t>, Thread> threads_;
  std::map<std::tuple<uint32_t, int64_t, int64_t, int64_t>, int32_t> streams_;
  std::map<std::pair<uint32_t, int64_t>, std::string> thread_names_;
};

}  // namespace nl::ingest
