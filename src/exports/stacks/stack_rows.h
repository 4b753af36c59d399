#pragma once
// The rows that stacks are made from, read from the views of a run, a chunk at a time. What is in a row is
// valid inside the callback that gets it. A time that is NULL is never taken for 0: such rows are counted.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exports/exporter.h"
#include "store/open_run.h"

namespace nl::exports {

constexpr int64_t kNoSpan = -1;

struct HostSpan {
  int32_t track_id;  ///< -1: none
  int64_t span_id;
  int64_t start_ns;
  int64_t end_ns;
  std::string_view name;
  bool is_op;
  bool is_runtime;     ///< a call of the runtime, such as a launch
  bool is_annotation;  ///< a range that the program or the profiler has named
  std::string_view shapes;
};

/// Spans with a duration, timeline by timeline, each in the order that SpanSweep needs. Shapes are empty
/// unless they are wanted: they would be sorted with the rest.
Result<void> for_host_spans(const ExportCall& call, bool with_shapes,
                            const std::function<Result<void>(const HostSpan&)>& each, ExportReport& report);

struct DeviceWork {
  int64_t row;
  int32_t track_id;
  std::optional<int32_t> device;
  std::optional<int64_t> stream;
  int64_t start_ns;
  int64_t end_ns;
  std::string_view name;
  int64_t launched_by;  ///< span: the call that launched it, or its op; kNoSpan
};

/// Kernels or copies, by the name of the table, as they are stored.
Result<void> for_device_work(const ExportCall& call, const std::string& table,
                             const std::function<Result<void>(const DeviceWork&)>& each,
                             ExportReport& report);

struct StreamWork {
  int32_t track_id;
  int64_t start_ns;
  int64_t end_ns;
  std::string_view name;
  bool is_copy;
};
/// Kernels and copies together, stream by stream, each in the order that SpanSweep needs.
Result<void> for_streams(const ExportCall& call, const std::function<Result<void>(const StreamWork&)>& each,
                         ExportReport& report);

/// From the first start to the last end of spans, kernels, copies, samples and requests, or of the window.
/// Nothing if there are no times.
Result<std::optional<Stretch>> time_range(const ExportCall& call);
/// Do the times of the run count from 1970?
bool is_unix_time(const store::OpenRun& run);

struct StackSample {
  int32_t track_id;
  std::optional<int64_t> start_ns;
  std::string_view stack;  ///< frames, outermost first, joined by ;
  int64_t weight;
};

/// In the order of tracks and times.
Result<void> for_samples(const ExportCall& call, const std::function<Result<void>(const StackSample&)>& each,
                         ExportReport& report);

/// The frames of such a stack, outermost first.
template <class Each>
void for_frames(std::string_view stack, Each&& each) {
  while (!stack.empty()) {
    const size_t end = std::min(stack.find(';'), stack.size());
    each(stack.substr(0, end));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
}

struct LayerTime {
  std::string_view name;
  int64_t total_ns;
  int64_t calls;
};
/// What each layer of an engine took in all; there is no timeline of it.
Result<void> for_layers(const ExportCall& call, const std::function<void(const LayerTime&)>& each,
                        ExportReport& report);

/// Names of timelines for people. Two of them never have the same name.
class TrackNames {
 public:
  static Result<TrackNames> read(store::OpenRun& run);

  /// A thread, or a timeline of ranges on a device.
  const std::string& track(int32_t track_id) const;
  /// The same without numbers that differ between two runs of one program, so that two may be alike.
  const std::string& kind_of_track(int32_t track_id) const;
  /// A stream of a device, as a timeline of work.
  std::string stream(int32_t track_id) const;
  /// The device of a piece of work, with its rank if the run has several.
  std::string device(int32_t track_id, std::optional<int32_t> device) const;
  /// Is it a stream of a device?
  bool is_stream(int32_t track_id) const;
  /// If the run has several.
  std::optional<int32_t> rank(int32_t track_id) const;
  std::optional<int64_t> process(int32_t track_id) const;
  std::optional<int64_t> thread(int32_t track_id) const;
  size_t size() const { return tracks_.size(); }

 private:
  struct Track {
    std::string kind;
    std::string process_name;
    std::string thread_name;
    std::optional<int64_t> process_id, thread_id, stream;
    std::optional<int32_t> device, rank;
    std::string name = {};
    std::string kind_name = {};
  };

  void name_tracks();
  std::string plain_name(const Track& track) const;
  std::string rank_prefix(const Track& track) const;
  const Track* find(int32_t track_id) const;

  std::vector<Track> tracks_;
  bool has_ranks_ = false;
  std::string none_ = "no thread";
};

/// Counts the rows of all other tables, which the format has no room for.
Result<void> count_tables_left_out(const ExportCall& call, const std::vector<std::string>& written,
                                   ExportReport& report);
/// Counts the rows that have no place in time. A window leaves them out without a word: nobody knows whether
/// they touch it.
Result<void> count_untimed(const ExportCall& call, store::Connection& connection, const std::string& table,
                           ExportReport& report);
/// Counts only what there is.
void count_lost(ExportReport& report, const std::string& what, int64_t count);

}  // namespace nl::exports
