#pragma once
// NsysTracks: the timelines of an nsys export, numbered as they first appear: threads of processes, streams
// of devices, and sources of counters. A process is identified by the upper bits of its global id.
// Correlation ids are unique only within a process, so each process is also a namespace for them. One thread.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/batch.h"

namespace nl::ingest {

/// A serialized global id: machine and process in the upper 40 bits, the thread in the lower 24.
struct NsysGlobalId {
  static constexpr int64_t kNone = -1;
  static int64_t process_of(int64_t global_id) { return global_id == model::kNull ? kNone : global_id >> 24; }
  static int64_t pid_of(int64_t process) { return process & 0xFFFFFF; }
  static int64_t tid_of(int64_t global_id) { return global_id & 0xFFFFFF; }
};

struct NsysTrack {
  enum class Kind : uint8_t { kThread, kStream, kOther };
  Kind kind;
  int64_t process;  ///< NsysGlobalId::process_of; kNone if the source does not say
  int64_t thread = model::kNull;
  int64_t device = model::kNull;
  int64_t context = model::kNull;
  int64_t stream = model::kNull;
  auto operator<=>(const NsysTrack&) const = default;
};

class NsysTracks {
 public:
  static constexpr size_t kMaxTracks = 1 << 20;

  /// Negative if there are too many.
  int32_t id_of(const NsysTrack& track) {
    if (!tracks_.empty() && tracks_[static_cast<size_t>(last_)] == track) return last_;
    return find(track);
  }
  bool has_process(int64_t process) const { return scopes_.contains(process); }
  bool has_thread(int64_t global_tid) const;
  void name_process(int64_t process, std::string name) { process_names_[process] = std::move(name); }
  void name_thread(int64_t global_tid, std::string name) { thread_names_[global_tid] = std::move(name); }
  /// What a source of counters is called.
  void name_other(int64_t number, std::string name) { other_names_[number] = std::move(name); }

  std::shared_ptr<model::Batch> write() const;

 private:
  int32_t find(const NsysTrack& track);
  void write_row(model::Batch& batch, const NsysTrack& track) const;

  std::map<NsysTrack, int32_t> ids_;
  std::vector<NsysTrack> tracks_;
  int32_t last_ = 0;
  std::map<int64_t, int32_t> scopes_;  // process -> namespace of its correlation ids
  std::map<int64_t, std::string> process_names_;
  std::map<int64_t, std::string> thread_names_;
  std::map<int64_t, std::string> other_names_;
};

}  // namespace nl::ingest
