#pragma once
// FlightDumps: makes a run from what a flight recorder holds, while the recording continues. A dump is
// requested by SIGUSR1, by another process through dump_recordings, or by a scope that took too long.
// Requests are noticed where the workload is watched and handled where the markers are collected. Imports run
// one at a time on a separate thread, which this object owns.

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>

#include "base/checked_thread.h"
#include "base/json.h"
#include "base/result.h"
#include "base/signal_counter.h"
#include "capture/record/recorder.h"
#include "capture/run/workload.h"

namespace nl::ops {

class FlightDumps {
 public:
  /// `import` makes a run of a recording: its answer, as `record` has it.
  using Import = std::function<Result<nlohmann::json>(const capture::RecordingEnd&)>;
  FlightDumps(std::string folder, Import import);
  FlightDumps(const FlightDumps&) = delete;
  FlightDumps& operator=(const FlightDumps&) = delete;
  ~FlightDumps();

  /// Has both ask here. They must not outlive this.
  void serve(capture::RecorderOptions& recorder, capture::WorkloadOptions& workload);
  /// Waits for the last import.
  void finish();

 private:
  void look();
  void want_if_rested();
  bool take_request();
  void begin(Result<capture::RecordingEnd> dumped);
  Result<void> import_and_answer(const Result<capture::RecordingEnd>& dumped);

  std::string folder_;
  Import import_;
  int lock_ = -1;
  SignalCounter signals_{SIGUSR1};
  uint64_t signals_seen_ = 0;
  std::chrono::steady_clock::time_point last_ = {};  ///< of the thread that records
  std::atomic<bool> is_wanted_{false};
  std::atomic<bool> is_importing_{false};
  CheckedThread importer_;
};

/// Asks each flight recorder at work in a folder below, one after the other, and waits for its answer: an
/// array of what they made. `not_found` if there is none, `unavailable` if one gives no answer.
Result<nlohmann::json> dump_recordings(const std::string& ledger_folder,
                                       const std::function<bool()>& cancelled);

}  // namespace nl::ops
