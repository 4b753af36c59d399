#pragma once
// GpuRecords: turns the GPU records of a recording (wire/gpu_record.h) into rows of kernels, copies, syncs
// and spans. It uses the same terms as other sources of CUPTI records (nsys). A value that cannot be true is
// left out and counted; the rest of the record is kept. One thread.

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "ingest/formats/recording/recording_tracks.h"
#include "wire/gpu_record.h"

namespace nl::ingest {

constexpr bool is_gpu_kind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(wire::RecordKind::kKernel) &&
         kind <= static_cast<uint8_t>(wire::RecordKind::kGpuClock);
}

class GpuRecords {
 public:
  GpuRecords(RowWriter& writer, model::RunInfo& info, RecordingTracks& tracks)
      : writer_(writer), info_(info), tracks_(tracks) {}

  /// The process of the records that follow, and when it began to record.
  void set_process(uint32_t process, int64_t started_ns) {
    process_ = process;
    started_ns_ = started_ns;
    clock_ = &clocks_[process];
  }
  /// `name`: the text of the name in its head. Counts what becomes of it; a clock is no record.
  void take(const wire::Word* record, size_t words, const std::string& name);
  /// What all of them say together.
  void finish();

 private:
  struct GpuClock {
    int64_t offset_ns = 0;  ///< of CUPTI's clock
    int64_t seen_ns = 0;    ///< CLOCK_MONOTONIC; no record before it is from later
    bool is_known = false;
  };
  struct Times {
    int64_t start = model::kNull;
    int64_t duration = model::kNull;
  };
  /// Texts of a name in the present batch.
  struct KernelName {
    std::string shown = {};
    int64_t generation = -1;
    int64_t shown_number = model::kNull;
    int64_t mangled_number = model::kNull;
  };
  struct LastCall {
    uint32_t correlation = 0;
    int64_t end_ns = 0;
  };
  /// Columns that the tables of device work share.
  struct Columns {
    model::TableId table;
    int track, device, stream, context, start, duration, correlation;
  };

  template <class Record>
  bool read(const wire::Word* words, size_t count, Record& record) const;
  const char* take_any(const wire::Word* record, size_t words, const std::string& name);
  const char* take_kernel(const wire::KernelRecord& record, const std::string& name);
  const char* take_copy(const wire::CopyRecord& record);
  const char* take_sync(const wire::SyncRecord& record);
  const char* take_call(const wire::CallRecord& record, const std::string& name);
  const char* take_overhead(const wire::OverheadRecord& record);
  const char* take_device(const wire::DeviceRecord& record, const std::string& name);
  const char* take_clock(const wire::GpuClockRecord& record);

  template <class Number>
  void arg(const char* key, Number value);
  bool is_in_session(int64_t time) const;
  int64_t monotonic(uint64_t time) const;
  Times device_times(uint64_t start, uint64_t end);
  Times times_of(int64_t start, int64_t end);
  size_t begin_row(const Columns& columns, const wire::GpuPlace& place, int64_t device, uint64_t start,
                   uint64_t end);
  void set_args(model::TableId table, size_t row, int column);
  const KernelName& known(const std::string& name);
  size_t begin_span(int64_t thread_id, int64_t kind, const char* category, const Times& times);
  void watch_correlation(const wire::CallRecord& call, const Times& times);
  void store(const char* phase);

  RowWriter& writer_;
  model::RunInfo& info_;
  RecordingTracks& tracks_;
  uint32_t process_ = 0;
  int64_t started_ns_ = 0;
  GpuClock* clock_ = nullptr;
  std::map<uint32_t, GpuClock> clocks_;
  std::string args_;
  std::unordered_map<std::string, KernelName> names_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> device_of_context_;
  std::map<std::pair<uint32_t, uint32_t>, LastCall> last_calls_;  ///< of threads
  std::set<int64_t> active_devices_;
  int64_t clock_bound_ns_ = 0;
  bool is_clock_ours_ = true;
};

}  // namespace nl::ingest
