#pragma once
// Recorder: collects the markers of a workload while it runs. The processes of the workload write into ring
// buffers in a folder. poll moves their content into a recording, and finish does so for the last time. If
// the recorder is killed, the folder and the rings stay, and recover makes a recording from them. One thread
// at a time.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/aside.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"
#include "capture/record/live_process.h"
#include "capture/record/segments.h"
#include "capture/record/slow_scope.h"

namespace nl::capture {

struct RecorderOptions {
  std::string folder;  ///< made if it is not there; of this recording alone
  const Environment* surroundings = &Environment::of_process();  ///< that the workload gets, too
  std::string library = {};                ///< libneurolens_collect.so; empty: the one of this program
  int64_t limit_bytes = int64_t{4} << 30;  ///< of the recording; markers beyond are lost
  uint64_t total_bytes = wire::kDefaultTotalBytes;  ///< of all rings together
  uint64_t ring_bytes = wire::kDefaultRingBytes;    ///< of one thread; a power of two
  bool with_gpu = true;  ///< false: CUPTI is left to a profiler inside of the program
  /// How long a thread waits for space in its ring before it drops the marker; empty: it drops it at once.
  std::optional<int> wait_ms = {};
  /// Only the last markers are kept, between half of limit_bytes and all, and written by dump or finish.
  bool is_flight_recorder = false;
  /// record_around, of a flight recorder: asked after each poll whether to dump, and given what came of it.
  std::function<bool()> wants_dump = [] { return false; };
  std::function<void(Result<struct RecordingEnd>)> take_dump = {};
  std::optional<SlowScope> slow_scope = {};  ///< to look out for
  std::function<void()> saw_slow_scope = [] {};
};

struct RecordingEnd {
  std::string path;
  uint64_t recorded = 0;
  Losses lost{};
  std::vector<std::string> notices = {};  ///< lines of processes for the person who records
  uint64_t total_lost() const;
};

/// Counts by reason, without zeros.
nlohmann::json losses_json(const Losses& lost);

class Recorder {
 public:
  static Result<std::unique_ptr<Recorder>> start(const RecorderOptions& options);

  /// NAME=value for the workload.
  std::vector<std::string> environment() const;
  /// Moves what the rings hold. The number of markers: if it is large, the next call should come soon.
  Result<uint64_t> poll();
  /// Flight recorder: writes the markers that are kept as a recording of that name in the folder, and goes
  /// on.
  Result<RecordingEnd> dump(const std::string& name);
  /// The last poll: after it the recording is complete and the rings are removed. Anything that a process
  /// writes after this point is lost.
  Result<RecordingEnd> finish();

 private:
  friend Result<RecordingEnd> recover(const std::string& folder);

  /// Where the recording ends for a ring, and whose its next records are.
  struct RingPlace {
    uint64_t position = 0;
    uint64_t thread = 0;
    uint64_t thread_id = 0;
    char thread_name[wire::kThreadNameBytes] = {};
  };
  struct ProcessPlace {
    uint32_t number = 0;
    uint32_t names = 0;
    std::map<uint32_t, RingPlace> rings = {};
  };

  Recorder(RecorderOptions options, Mapped<wire::SessionHeader> session)
      : options_(std::move(options)), session_(std::move(session)) {}
  static std::string live_folder(const std::string& folder) { return folder + "/live"; }
  void restore(const wire::ChunkHeader& header, std::string_view payload);
  ProcessPlace& place_of(uint32_t number);

  bool may_have_new_processes();
  void find_processes();
  Result<uint64_t> drain(LiveProcess& process);
  void move_to_place(LiveProcess& process, uint32_t number, LiveRing& ring);
  Result<void> flush();
  Result<void> forget(LiveProcess& process);
  std::string loss_chunks(Losses& total);
  void lose(wire::Loss reason, uint64_t markers);
  Result<RecordingEnd> end_of(const std::function<Result<Segments::Ending>(const std::string&)>& write);

  RecorderOptions options_;
  Mapped<wire::SessionHeader> session_;
  std::optional<FolderAside> code_;  ///< holds the library
  std::optional<Segments> segments_;
  std::vector<std::unique_ptr<LiveProcess>> processes_;
  std::map<std::string, ProcessPlace> places_;  ///< of all processes seen, by key
  std::map<uint32_t, Losses> gone_;             ///< losses of processes that are no more
  std::set<std::string> notices_;
  int64_t folder_changed_ns_ = -1;  ///< when the processes in it were found; -1: look again
  std::vector<LiveRing*> taken_;    ///< to be released when their markers are in the file
};

/// Makes the recording of what a killed recorder left in its folder; a conflict if one still runs.
Result<RecordingEnd> recover(const std::string& folder);

/// Records around a workload: `run` gets the variables for its environment, and returns when it has ended. A
/// thread of its own drains the rings meanwhile.
Result<RecordingEnd> record_around(const RecorderOptions& options,
                                   const std::function<Result<void>(const std::vector<std::string>&)>& run);

}  // namespace nl::capture
