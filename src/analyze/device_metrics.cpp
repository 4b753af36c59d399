#include "analyze/device_metrics.h"

#include <algorithm>

#include "analyze/names/copy_kinds.h"
#include "analyze/names/kernel_kinds.h"
#include "analyze/time/row_places.h"
#include "model/batch.h"

namespace nl::analyze {
namespace {

constexpr int64_t kShortKernelNs = 10'000;
constexpr int64_t kSmallOpNs = 10'000;
constexpr int64_t kShortGapNs = 1'000'000;

Known<double> ratio(const MetricSet& metrics, Metric above, Metric below) {
  return combine(metrics.get(above), metrics.get(below), [&](double a, double b) -> Known<double> {
    if (b == 0) return Known<double>::absent(std::string(metric_info(below).id) + " is 0");
    return a / b;
  });
}

void set_median(MetricSet& metrics, Metric metric, PagedVector<int64_t>& values, const char* none) {
  if (values.empty()) {
    metrics.absent(metric, none);
  } else {
    metrics.set(metric, median(values));
  }
}

class Measuring {
 public:
  Measuring(const PreparedRun& run, const DeviceState& state, const IntervalSet& window,
            const HostMetrics& host)
      : run_(run),
        state_(state),
        device_(state.device),
        window_(window),
        host_(host),
        metrics_(host.metrics),
        place_of_name_(run.timeline.names.size(), state.device.work.size()) {}

  MetricSet measure() {
    add_times();
    add_idle();
    add_work();
    add_launches();
    return std::move(metrics_);
  }

 private:
  void add_times() {
    const Decomposition sum = decompose(device_, window_);
    metrics_.set(Metric::total_time, sum.window_ns);
    metrics_.set(Metric::busy_time, sum.busy_ns);
    metrics_.set(Metric::compute_time, sum.compute_ns);
    metrics_.set(Metric::comm_time, sum.comm_ns);
    metrics_.set(Metric::copy_time, sum.copy_ns);
    metrics_.set(Metric::exposed_comm_time, sum.exposed_comm_ns);
    metrics_.set(Metric::exposed_copy_time, sum.exposed_copy_ns);
    metrics_.set(Metric::idle_time, sum.idle_ns);
    metrics_.set(Metric::overlap_time, sum.overlap_ns);
    metrics_.set(Metric::comm_overlap, ratio(metrics_, Metric::overlap_time, Metric::comm_time));
    metrics_.set(Metric::compute_overlap, sum.comm_ns == 0
                                              ? Known<double>::absent("comm_time is 0")
                                              : ratio(metrics_, Metric::overlap_time, Metric::compute_time));
    union_of_kernels_ns_ = sum.kernels_ns;
    int64_t longest = 0;
    for (const Interval& gap : subtract(window_, device_.busy)) longest = std::max(longest, gap.length());
    metrics_.set(Metric::longest_gap_time, longest);
  }

  void add_idle() {
    const auto causes = state_.idle.sums_in(window_);
    int64_t host_late = 0;
    for (size_t i = 0; i < kIdleCauses; i++) {
      const auto cause = static_cast<IdleCause>(i);
      const bool fits = device_.is_host == is_host_cause(cause);
      if (fits) {
        metrics_.set(idle_metric(cause), causes[i]);
      } else {
        metrics_.absent(idle_metric(cause),
                        device_.is_host ? "no device work in the run" : "the run has device work");
      }
      if (is_host_late(cause)) host_late += causes[i];
    }
    if (device_.is_host) return metrics_.absent(Metric::idle_host_late_time, "no device work in the run");
    metrics_.set(Metric::idle_host_late_time, host_late);
  }

  void add_kernel(const Work& work, int64_t ns) {
    kernels_++;
    NameSum& sum = sum_of(work.name);
    sum.ns += ns;
    sum.calls++;
    kernel_sum_ += ns;
    class_ns_[static_cast<size_t>(run_.classes.kernel[work.name])] += ns;
    if (!contains(window_, work.start)) return;
    const int64_t dur = work.end - work.start;
    kernel_durations_.push_back(dur);
    if (dur < kShortKernelNs) {
      short_kernels_++;
      short_ns_ += dur;
    }
  }

  void add_copy(const Work& work, int64_t ns) {
    const std::string_view name = run_.timeline.names[work.name];
    const CopyDirection direction = copy_direction(name);
    const HostMemory memory = host_memory(name);
    copies_++;
    copy_ns_[static_cast<size_t>(direction)] += ns;
    if (memory == HostMemory::kPageable) pageable_ns_ += ns;
    memory_known_ = memory_known_ || memory != HostMemory::kUnknown;
    const bool host = direction == CopyDirection::kHostToDevice || direction == CopyDirection::kDeviceToHost;
    host_copies_ += host;
    const int64_t bytes =
        work.table == WorkTable::kCopies ? run_.timeline.copy_bytes[work.row] : model::kNull;
    if (!contains(window_, work.start)) return;
    bytes_unknown_ = bytes_unknown_ || (host && bytes == model::kNull);
    if (bytes == model::kNull) return;
    copy_bytes_[static_cast<size_t>(direction)] += bytes;
    if (direction == CopyDirection::kHostToDevice &&
        length_inside(window_, {work.start, work.end}) == work.end - work.start) {
      whole_h2d_ns_ += work.end - work.start;
      whole_h2d_bytes_ += bytes;
    }
  }

  void add_work() {
    if (device_.is_host) return absent_work();
    for (const Work& work : device_.work) {
      if (!touches(work, window_)) continue;
      const int64_t ns = clipped_ns(work, window_);
      if (work.kind == WorkKind::kCopy) {
        add_copy(work, ns);
      } else {
        add_kernel(work, ns);
      }
    }
    if (device_.has_records) {
      metrics_.set(Metric::kernel_count, kernels_);
    } else {
      metrics_.absent(Metric::kernel_count, "the source shows spans of the device, not kernels");
    }
    metrics_.set(Metric::copy_count, copies_);
    metrics_.set(Metric::kernel_sum_time, kernel_sum_);
    metrics_.set(Metric::short_kernel_count, short_kernels_);
    metrics_.set(Metric::short_kernel_time, short_ns_);
    set_median(metrics_, Metric::kernel_median, kernel_durations_, "no kernel starts in the window");
    if (union_of_kernels_ns_ > 0) {
      metrics_.set(Metric::concurrency, Known<double>(static_cast<double>(kernel_sum_) /
                                                      static_cast<double>(union_of_kernels_ns_)));
    } else {
      metrics_.absent(Metric::concurrency, "no kernels in the window");
    }
    set_classes();
    set_copies();
    set_coverage();
  }

  void absent_work() {
    for (const Metric metric : {Metric::kernel_count,
                                Metric::copy_count,
                                Metric::kernel_sum_time,
                                Metric::short_kernel_count,
                                Metric::short_kernel_time,
                                Metric::kernel_median,
                                Metric::concurrency,
                                Metric::h2d_time,
                                Metric::d2h_time,
                                Metric::d2d_time,
                                Metric::memset_time,
                                Metric::h2d_bytes,
                                Metric::d2h_bytes,
                                Metric::pageable_time,
                                Metric::h2d_bandwidth,
                                Metric::top_kernel_time,
                                Metric::top_kernel_count,
                                Metric::cast_copy_kernel_time,
                                Metric::launch_linked_share,
                                Metric::op_linked_share}) {
      metrics_.absent(metric, "no device work in the run");
    }
    const int64_t other = host_.class_ns[static_cast<size_t>(OpClass::k_other)], sum = host_.own_ns;
    for (size_t i = 0; i < kOpClasses; i++)
      metrics_.set(class_metric(static_cast<OpClass>(i)), host_.class_ns[i]);
    if (sum == 0) return metrics_.absent(Metric::unclassified_share, "no ops in the window");
    metrics_.set(Metric::unclassified_share,
                 Known<double>(static_cast<double>(other) / static_cast<double>(sum)));
  }

  void set_classes() {
    for (size_t i = 0; i < kOpClasses; i++) metrics_.set(class_metric(static_cast<OpClass>(i)), class_ns_[i]);
    metrics_.set(Metric::cast_copy_kernel_time, class_ns_[static_cast<size_t>(OpClass::k_memory)]);
    metrics_.set(Metric::unclassified_share,
                 ratio(metrics_, Metric::other_kernel_time, Metric::kernel_sum_time));
    set_top_kernel();
    set_kernel_kinds();
  }

  /// What only the names of kernels tell.
  void set_kernel_kinds() {
    int64_t ampere = 0, flash2 = 0, sgemm = 0;
    bool needs_hopper = false;
    for (const NameSum& sum : by_name_) {
      const KernelKinds kinds = kernel_kinds(run_.timeline.names[sum.name]);
      if (kinds.is_ampere) ampere += sum.ns;
      if (kinds.is_flash2) flash2 += sum.ns;
      if (kinds.is_sgemm) sgemm += sum.ns;
      needs_hopper = needs_hopper || kinds.needs_hopper;
    }
    metrics_.set(Metric::ampere_kernel_time, ampere);
    metrics_.set(Metric::flash2_kernel_time, flash2);
    metrics_.set(Metric::fp32_matrix_time, sgemm);
    if (needs_hopper) metrics_.set(Metric::compute_capability, Known<double>(9.0));
  }

  /// Of equal sums the first by name.
  void set_top_kernel() {
    const Names& names = run_.timeline.names;
    if (by_name_.empty()) {
      metrics_.absent(Metric::top_kernel_time, "no kernels in the window");
      return metrics_.absent(Metric::top_kernel_count, "no kernels in the window");
    }
    const auto top =
        std::min_element(by_name_.begin(), by_name_.end(), [&](const NameSum& a, const NameSum& b) {
          return a.ns != b.ns ? a.ns > b.ns : names[a.name] < names[b.name];
        });
    metrics_.set(Metric::top_kernel_time, top->ns);
    metrics_.set(Metric::top_kernel_count, top->calls);
  }

  int64_t copied_ns(CopyDirection direction) const { return copy_ns_[static_cast<size_t>(direction)]; }
  int64_t copied_bytes(CopyDirection direction) const { return copy_bytes_[static_cast<size_t>(direction)]; }

  void set_copies() {
    metrics_.set(Metric::h2d_time, copied_ns(CopyDirection::kHostToDevice));
    metrics_.set(Metric::d2h_time, copied_ns(CopyDirection::kDeviceToHost));
    metrics_.set(Metric::d2d_time, copied_ns(CopyDirection::kDeviceToDevice));
    metrics_.set(Metric::memset_time, copied_ns(CopyDirection::kSet));
    if (bytes_unknown_) {
      for (const Metric m : {Metric::h2d_bytes, Metric::d2h_bytes})
        metrics_.absent(m, "the source does not give the bytes of all copies");
    } else {
      metrics_.set(Metric::h2d_bytes, copied_bytes(CopyDirection::kHostToDevice));
      metrics_.set(Metric::d2h_bytes, copied_bytes(CopyDirection::kDeviceToHost));
    }
    if (host_copies_ > 0 && !memory_known_) {
      metrics_.absent(Metric::pageable_time, "the source does not tell pageable from pinned memory");
    } else {
      metrics_.set(Metric::pageable_time, pageable_ns_);
    }
    if (whole_h2d_ns_ == 0) {
      metrics_.absent(Metric::h2d_bandwidth, "no copy from host to device lies in the window");
    } else {
      metrics_.set(Metric::h2d_bandwidth, Known<double>(static_cast<double>(whole_h2d_bytes_) * 1e9 /
                                                        static_cast<double>(whole_h2d_ns_)));
    }
  }

  void set_coverage() {
    const Coverage coverage = coverage_of(run_.timeline, device_, window_);
    metrics_.set(Metric::graph_kernel_time, coverage.graph_ns);
    if (coverage.kernels_ns == 0) {
      metrics_.absent(Metric::launch_linked_share, "no kernel time in the window");
      return metrics_.absent(Metric::op_linked_share, "no kernel time in the window");
    }
    const auto share = [&](int64_t ns) {
      return Known<double>(static_cast<double>(ns) / static_cast<double>(coverage.kernels_ns));
    };
    metrics_.set(Metric::launch_linked_share, share(coverage.with_launch_ns));
    metrics_.set(Metric::op_linked_share, share(coverage.with_op_ns));
  }

  /// Idle in short gaps before launches that came late: what one call for many kernels would save.
  void set_short_gaps() {
    int64_t sum = 0, gap = 0, late = 0;
    uint32_t next = kNoRow;
    const auto end_gap = [&] {
      if (gap < kShortGapNs) sum += late;
      gap = late = 0;
    };
    state_.idle.for_each_stretch([&](const IdlePiece& piece) {
      if (piece.next != next || next == kNoRow) end_gap();
      next = piece.next;
      gap += piece.time.length();
      if (is_host_late(piece.cause) || piece.cause == IdleCause::kLaunch)
        late += length_inside(window_, piece.time);
    });
    end_gap();
    metrics_.set(Metric::short_gap_time, sum);
  }

  void add_launches() {
    if (!device_.is_host) set_short_gaps();
    LaunchStats stats = launch_stats(state_.launches, window_);
    if (state_.launches.empty()) return absent_launches();
    metrics_.set(Metric::launch_count, stats.calls);
    metrics_.set(Metric::launch_api_time, stats.api_ns);
    metrics_.set(Metric::graph_launch_count, stats.graph_calls);
    metrics_.set(Metric::graph_kernel_count, stats.graph_kernels);
    metrics_.set(Metric::launch_delay_negative_count, stats.negative);
    const char* none = "no launch call in the window";
    set_median(metrics_, Metric::launch_api_median, stats.api, none);
    set_median(metrics_, Metric::launch_delay_median, stats.delay, none);
    if (stats.queue.empty()) {
      metrics_.absent(Metric::queue_max, none);
    } else {
      metrics_.set(Metric::queue_max, *std::max_element(stats.queue.begin(), stats.queue.end()));
    }
    set_median(metrics_, Metric::queue_median, stats.queue, none);
    metrics_.set(Metric::launch_bound, launch_bound());
  }

  void absent_launches() {
    for (const Metric metric :
         {Metric::launch_count, Metric::launch_api_time, Metric::graph_launch_count,
          Metric::graph_kernel_count, Metric::launch_delay_negative_count, Metric::launch_api_median,
          Metric::launch_delay_median, Metric::queue_max, Metric::queue_median, Metric::launch_bound}) {
      metrics_.absent(metric,
                      device_.is_host ? "no device work in the run" : "no launch call in the capture");
    }
    if (device_.is_host) metrics_.absent(Metric::graph_kernel_time, "no device work in the run");
  }

  Known<double> launch_bound() const {
    for (const Metric needed : {Metric::queue_median, Metric::kernel_median, Metric::launch_api_median}) {
      if (!metrics_.get(needed)) return Known<double>::absent(metrics_.get(needed).reason());
    }
    const double late = *metrics_.get(Metric::idle_host_late_time) + *metrics_.get(Metric::idle_launch_time);
    const double total = *metrics_.get(Metric::total_time);
    if (total == 0) return Known<double>::absent("total_time is 0");
    const bool bound = late / total > 0.2 && *metrics_.get(Metric::queue_median) <= 1 &&
                       *metrics_.get(Metric::kernel_median) < *metrics_.get(Metric::launch_api_median);
    return bound ? 1.0 : 0.0;
  }

  const PreparedRun& run_;
  const DeviceState& state_;
  const Device& device_;
  const IntervalSet& window_;
  const HostMetrics& host_;
  MetricSet metrics_;

  struct NameSum {
    uint32_t name;
    int64_t ns = 0, calls = 0;
  };
  NameSum& sum_of(uint32_t name) {
    uint32_t& place = place_of_name_[name];
    if (place == kNoRow) {
      place = static_cast<uint32_t>(by_name_.size());
      by_name_.push_back({name});
    }
    return by_name_[place];
  }
  RowPlaces place_of_name_;
  std::vector<NameSum> by_name_;  ///< of the kernels of the window
  int64_t union_of_kernels_ns_ = 0;
  int64_t kernels_ = 0, kernel_sum_ = 0, short_kernels_ = 0, short_ns_ = 0;
  PagedVector<int64_t> kernel_durations_;
  std::array<int64_t, kOpClasses> class_ns_{};
  int64_t copies_ = 0, host_copies_ = 0, pageable_ns_ = 0, whole_h2d_ns_ = 0, whole_h2d_bytes_ = 0;
  bool memory_known_ = false, bytes_unknown_ = false;
  std::array<int64_t, 5> copy_ns_{}, copy_bytes_{};
};

/// What is equal for all devices of a window.
class HostMeasuring {
 public:
  HostMeasuring(const PreparedRun& run, const IntervalSet& window) : run_(run), window_(window) {}

  HostMetrics measure() {
    add_own_times();
    add_host();
    add_steps();
    add_phases();
    add_annotations();
    return std::move(out_);
  }

 private:
  void add_own_times() {
    for (const HostOpRow& row : host_op_rows(run_.timeline, window_)) {
      out_.class_ns[static_cast<size_t>(run_.classes.op[row.op_type])] += row.own_ns;
      out_.own_ns += row.own_ns;
    }
  }

  int64_t starting(const PagedVector<uint32_t>& spans) const {
    return std::count_if(spans.begin(), spans.end(),
                         [&](uint32_t span) { return contains(window_, run_.timeline.spans.start[span]); });
  }

  void add_host() {
    const HostActivity& host = *run_.host;
    const auto set = [&](Metric count, Metric time, IdleCause kind) {
      out_.metrics.set(count, starting(host.spans(kind)));
      out_.metrics.set(time, total_length(intersect(host.everywhere(kind), window_)));
    };
    const bool has_calls =
        !host.spans(IdleCause::kHostCall).empty() || !host.spans(IdleCause::kHostSync).empty();
    if (has_calls) {
      set(Metric::sync_count, Metric::sync_time, IdleCause::kHostSync);
      set(Metric::alloc_count, Metric::alloc_time, IdleCause::kHostAlloc);
    } else {
      for (const Metric m : {Metric::sync_count, Metric::sync_time, Metric::alloc_count, Metric::alloc_time})
        out_.metrics.absent(m, "no runtime calls in the capture");
    }
    out_.metrics.set(Metric::data_loading_time,
                     total_length(intersect(host.everywhere(IdleCause::kHostData), window_)));
    if (host.spans(IdleCause::kHostOp).empty()) return absent_ops();
    set(Metric::host_op_count, Metric::host_op_time, IdleCause::kHostOp);
    add_ops();
  }

  void absent_ops() {
    for (const Metric m :
         {Metric::host_op_count, Metric::host_op_time, Metric::host_op_sum_time, Metric::host_thread_count,
          Metric::small_op_count, Metric::small_op_time, Metric::parallel_efficiency}) {
      out_.metrics.absent(m, "no ops in the capture");
    }
  }

  void add_ops() {
    const Spans& spans = run_.timeline.spans;
    std::vector<bool> has_op(spans.size());
    for (const uint32_t i : run_.host->spans(IdleCause::kHostOp)) {
      const uint32_t parent = spans.parent[i];
      if (parent != kNoRow && spans.op[parent] != kNoRow) has_op[spans.op[parent]] = true;
    }
    std::vector<bool> has_ops(run_.timeline.tracks.size());
    int64_t small = 0, small_ns = 0;
    for (const uint32_t i : run_.host->spans(IdleCause::kHostOp)) {
      if (!contains(window_, spans.start[i])) continue;
      has_ops[static_cast<size_t>(spans.track[i])] = true;
      if (has_op[i] || spans.end[i] - spans.start[i] >= kSmallOpNs) continue;
      small++;
      small_ns += length_inside(window_, spans.interval(i));
    }
    out_.metrics.set(Metric::small_op_count, small);
    out_.metrics.set(Metric::small_op_time, small_ns);
    out_.metrics.set(Metric::host_thread_count, std::count(has_ops.begin(), has_ops.end(), true));
    out_.metrics.set(Metric::host_op_sum_time, out_.own_ns);
    out_.metrics.absent(Metric::parallel_efficiency, "the source does not show its thread pool");
  }

  void add_steps() {
    PagedVector<int64_t> lengths;
    for (const Step& step : run_.windows.steps.list) {
      if (length_inside(window_, step.time) == step.time.length()) lengths.push_back(step.time.length());
    }
    out_.metrics.set(Metric::step_count, static_cast<int64_t>(lengths.size()));
    const auto absent = [&](std::initializer_list<Metric> all, const std::string& why) {
      for (const Metric m : all) out_.metrics.absent(m, why);
    };
    if (lengths.empty()) absent({Metric::step_median}, "no steps in the window");
    if (lengths.size() < 3) absent({Metric::step_max_ratio, Metric::first_step_ratio}, "fewer than 3 steps");
    if (lengths.size() < 4) absent({Metric::step_spread}, "fewer than 4 steps");
    if (lengths.empty()) return;
    PagedVector<int64_t> values = lengths;
    const auto middle = static_cast<double>(median(values));
    out_.metrics.set(Metric::step_median, Known<double>(middle));
    if (lengths.size() >= 3) {
      const auto longest = static_cast<double>(*std::max_element(lengths.begin(), lengths.end()));
      out_.metrics.set(Metric::step_max_ratio, Known<double>(longest / middle));
      out_.metrics.set(Metric::first_step_ratio,
                       Known<double>(static_cast<double>(lengths.front()) / middle));
    }
    if (lengths.size() >= 4) {
      const auto spread = static_cast<double>(quantile(values, 0.75) - quantile(values, 0.25));
      out_.metrics.set(Metric::step_spread, Known<double>(spread / middle));
    }
  }

  void add_phases() {
    PagedVector<Interval> prefill, decode;
    PagedVector<int64_t> steps;
    for (const PhaseRange& range : run_.windows.phases) {
      const bool is_prefill = range.phase == Phase::kPrefill;
      if (range.phase != Phase::kMixed) (is_prefill ? prefill : decode).push_back(range.time);
      const bool inside = length_inside(window_, range.time) == range.time.length();
      if (range.phase == Phase::kDecodeStep && inside) steps.push_back(range.time.length());
    }
    const auto set = [&](Metric metric, PagedVector<Interval> ranges) {
      if (ranges.empty()) return out_.metrics.absent(metric, "no such ranges in the capture");
      out_.metrics.set(metric, total_length(intersect(union_of(std::move(ranges)), window_)));
    };
    set(Metric::prefill_time, prefill);
    set(Metric::decode_time, decode);
    set_median(out_.metrics, Metric::decode_step_median, steps, "no decode steps in the window");
  }

  void add_annotations() {
    PagedVector<Interval> ranges;
    const Spans& spans = run_.timeline.spans;
    for (size_t i = 0; i < spans.size(); i++) {
      if (spans.kind[i] == model::SpanKind::annotation) ranges.push_back(spans.interval(i));
    }
    const int64_t total = total_length(window_);
    if (total == 0) return out_.metrics.absent(Metric::annotation_coverage, "total_time is 0");
    const auto covered = static_cast<double>(total_length(intersect(union_of(std::move(ranges)), window_)));
    out_.metrics.set(Metric::annotation_coverage, Known<double>(covered / static_cast<double>(total)));
  }

  const PreparedRun& run_;
  const IntervalSet& window_;
  HostMetrics out_;
};

}  // namespace

HostMetrics host_metrics(const PreparedRun& run, const IntervalSet& window) {
  return HostMeasuring(run, window).measure();
}

MetricSet device_metrics(const PreparedRun& run, const DeviceState& state, const IntervalSet& window,
                         const HostMetrics& host) {
  return Measuring(run, state, window, host).measure();
}

MetricSet device_metrics(const PreparedRun& run, const DeviceState& state, const IntervalSet& window) {
  return device_metrics(run, state, window, host_metrics(run, window));
}

}  // namespace nl::analyze
