#include <fmt/core.h>

#include <algorithm>

#include "analyze/names/copy_kinds.h"
#include "analyze/names/kernel_kinds.h"
#include "analyze/time/idle.h"
#include "ops/advice/explained.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

using analyze::Analysis;
using analyze::CopyDirection;
using analyze::DeviceAnswer;
using analyze::GapAnswer;
using analyze::IdleCause;
using analyze::KernelAnswer;
using analyze::KernelKinds;
using analyze::Metric;
using analyze::OpAnswer;
using analyze::OpClass;

constexpr size_t kMostRowsBehind = 5;
constexpr int64_t kShortKernelNs = 10'000;  // as docs/metrics.md defines short kernels

// ---- Gaps

std::vector<ExplainedRow> gap_rows(const DeviceAnswer& device, const std::vector<GapAnswer>& gaps) {
  std::vector<ExplainedRow> rows;
  for (const GapAnswer& gap : gaps) {
    if (rows.size() == kMostRowsBehind) break;
    ExplainedRow row{.on = device.on, .kind = "gap", .name = gap.cause, .time_ns = gap.dur_ns};
    row.start_ns = gap.start_ns;
    if (gap.next_table && gap.next_row) row.row = fmt::format("{}:{}", *gap.next_table, *gap.next_row);
    row.text =
        gap.host_span ? "the host was in " + quoted_name(*gap.host_span) : "nothing says what the host did";
    rows.push_back(std::move(row));
  }
  return rows;
}

template <class Is>
std::vector<ExplainedRow> gaps_that(const DeviceAnswer& device, Is&& is) {
  std::vector<GapAnswer> gaps;
  std::copy_if(device.longest_gaps.begin(), device.longest_gaps.end(), std::back_inserter(gaps), is);
  return gap_rows(device, gaps);
}

/// The listed gaps are pieces of one cause each: those that lie side by side and last longest together.
std::vector<ExplainedRow> longest_gap(const DeviceAnswer& device) {
  std::vector<GapAnswer> gaps = device.longest_gaps, longest;
  std::sort(gaps.begin(), gaps.end(),
            [](const GapAnswer& a, const GapAnswer& b) { return a.start_ns < b.start_ns; });
  int64_t most = 0;
  for (size_t from = 0, to = 0; from < gaps.size(); from = to) {
    int64_t end = gaps[from].start_ns;
    for (to = from; to < gaps.size() && gaps[to].start_ns == end; to++) end += gaps[to].dur_ns;
    if (end - gaps[from].start_ns <= most) continue;
    most = end - gaps[from].start_ns;
    longest.assign(gaps.begin() + static_cast<ptrdiff_t>(from), gaps.begin() + static_cast<ptrdiff_t>(to));
  }
  std::stable_sort(longest.begin(), longest.end(),
                   [](const GapAnswer& a, const GapAnswer& b) { return a.dur_ns > b.dur_ns; });
  return gap_rows(device, longest);
}

/// Of the metrics of idle time; none of others.
std::optional<std::vector<ExplainedRow>> gaps_behind(const DeviceAnswer& device, Metric metric) {
  if (metric == Metric::longest_gap_time) return longest_gap(device);
  if (metric == Metric::idle_time) return gaps_that(device, [](const GapAnswer&) { return true; });
  const bool is_late = metric == Metric::idle_host_late_time;
  std::vector<std::string_view> causes;
  for (size_t i = 0; i < analyze::kIdleCauses; i++) {
    const auto cause = static_cast<IdleCause>(i);
    if (analyze::idle_metric(cause) == metric || (is_late && analyze::is_host_late(cause)))
      causes.push_back(analyze::idle_cause_name(cause));
  }
  if (causes.empty()) return std::nullopt;
  return gaps_that(device, [&](const GapAnswer& gap) {
    return std::find(causes.begin(), causes.end(), gap.cause) != causes.end();
  });
}

// ---- Kernels and copies

/// Spans of a device that move memory count as copies, see devices.h.
bool copies(const KernelAnswer& one) {
  return one.is_copy || (one.longest_table == "spans" && one.op_class == OpClass::k_memory);
}

bool is_of_class(const KernelAnswer& one, OpClass op_class) {
  return !copies(one) && one.op_class == op_class;
}

bool goes(const KernelAnswer& one, CopyDirection direction) {
  return copies(one) && analyze::copy_direction(one.name) == direction;
}

bool has_kind(const KernelAnswer& one, bool KernelKinds::*kind) {
  return !copies(one) && analyze::kernel_kinds(one.name).*kind;
}

std::optional<OpClass> class_of(Metric metric) {
  for (size_t i = 0; i < analyze::kOpClasses; i++) {
    const auto op_class = static_cast<OpClass>(i);
    if (analyze::class_metric(op_class) == metric) return op_class;
  }
  return metric == Metric::unclassified_share ? std::optional(OpClass::k_other) : std::nullopt;
}

/// Whether time or calls of a kernel or copy are a part of what the metric sums up. Metrics of which the list
/// of kernels tells no part (whose launch is known, whose ops have a model) have none.
bool is_work_behind(const KernelAnswer& one, Metric metric) {
  if (const auto op_class = class_of(metric)) return is_of_class(one, *op_class);
  switch (metric) {
    case Metric::busy_time:
      return true;
    case Metric::compute_time:
      return !copies(one) && one.op_class != OpClass::k_communication;
    case Metric::kernel_sum_time:
    case Metric::kernel_count:
    case Metric::kernel_median:
    case Metric::concurrency:
    case Metric::top_kernel_time:
    case Metric::top_kernel_count:
      return !copies(one);
    case Metric::comm_time:
    case Metric::exposed_comm_time:
    case Metric::overlap_time:
    case Metric::comm_overlap:
    case Metric::compute_overlap:
    case Metric::collective_wait_time:
      return is_of_class(one, OpClass::k_communication);
    case Metric::cast_copy_kernel_time:
      return is_of_class(one, OpClass::k_memory);
    case Metric::copy_time:
    case Metric::exposed_copy_time:
    case Metric::copy_count:
      return copies(one);
    case Metric::h2d_time:
    case Metric::h2d_bytes:
    case Metric::h2d_bandwidth:
      return goes(one, CopyDirection::kHostToDevice);
    case Metric::d2h_time:
    case Metric::d2h_bytes:
      return goes(one, CopyDirection::kDeviceToHost);
    case Metric::d2d_time:
      return goes(one, CopyDirection::kDeviceToDevice);
    case Metric::memset_time:
      return goes(one, CopyDirection::kSet);
    case Metric::pageable_time:
      return copies(one) && analyze::host_memory(one.name) == analyze::HostMemory::kPageable;
    case Metric::short_kernel_count:
    case Metric::short_kernel_time:
      return !copies(one) && one.longest_ns < kShortKernelNs;
    case Metric::ampere_kernel_time:
      return has_kind(one, &KernelKinds::is_ampere);
    case Metric::flash2_kernel_time:
      return has_kind(one, &KernelKinds::is_flash2);
    case Metric::fp32_matrix_time:
      return has_kind(one, &KernelKinds::is_sgemm);
    default:
      return false;
  }
}

std::vector<ExplainedRow> works_behind(const Analysis& data, const DeviceAnswer& device, Metric metric) {
  const bool is_top = metric == Metric::top_kernel_time || metric == Metric::top_kernel_count;
  std::vector<ExplainedRow> rows;
  for (const KernelAnswer& one : data.top_kernels) {
    if (!(one.on == device.on) || !is_work_behind(one, metric)) continue;
    rows.push_back({.on = one.on,
                    .kind = copies(one) ? "copy" : "kernel",
                    .name = one.name,
                    .time_ns = one.total_ns,
                    .calls = one.calls,
                    .share = one.share,
                    .row = fmt::format("{}:{}", one.longest_table, one.longest_row),
                    .text = "share of the device's kernels and copies; the row is the longest call"});
    if (rows.size() == (is_top ? 1 : kMostRowsBehind)) break;
  }
  return rows;
}

// ---- Ops of a host, which has no kernels

bool is_op_behind(const OpAnswer& one, Metric metric) {
  if (const auto op_class = class_of(metric)) return one.op_class == *op_class;
  switch (metric) {
    case Metric::busy_time:
    case Metric::host_op_time:
    case Metric::host_op_sum_time:
    case Metric::host_op_count:
      return true;
    case Metric::compute_time:
      return one.op_class != OpClass::k_communication;
    case Metric::comm_time:
    case Metric::exposed_comm_time:
      return one.op_class == OpClass::k_communication;
    default:
      return false;
  }
}

std::vector<ExplainedRow> ops_behind(const Analysis& data, const DeviceAnswer& device, Metric metric) {
  std::vector<ExplainedRow> rows;
  for (const OpAnswer& one : data.top_ops) {
    if (!one.on || !(*one.on == device.on) || !is_op_behind(one, metric)) continue;
    rows.push_back({.on = one.on,
                    .kind = "op",
                    .name = one.name,
                    .time_ns = one.time_ns(),
                    .calls = one.calls,
                    .share = one.share,
                    .text = "own time, share of the sum of all ops"});
    if (rows.size() == kMostRowsBehind) break;
  }
  return rows;
}

}  // namespace

std::vector<ExplainedRow> rows_behind(const Analysis& data, const DeviceAnswer& device, Metric metric) {
  const Known<double>& value = device.metrics.get(metric);
  if (!value || (*value == 0 && analyze::metric_info(metric).unit != "ratio")) return {};
  if (auto gaps = gaps_behind(device, metric)) return std::move(*gaps);
  return device.is_host() ? ops_behind(data, device, metric) : works_behind(data, device, metric);
}

}  // namespace nl::ops
