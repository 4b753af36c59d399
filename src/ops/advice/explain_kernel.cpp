#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "ops/advice/explained.h"
#include "ops/advice/linked_rows.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

using analyze::Analysis;
using analyze::KernelAnswer;

/// 2: the whole name, 1: a part of it, 0: neither.
int match_of(const std::string& asked, const std::string& name, const std::string& short_name,
             const std::string& label) {
  if (asked == name || asked == short_name || asked == label) return 2;
  return has_part(lower(name), lower(asked)) ? 1 : 0;
}

/// Kernels with little time may be missing from a long list.
bool is_list_cut(const Analysis& data) {
  return std::any_of(data.not_shown.begin(), data.not_shown.end(),
                     [](const analyze::NotShown& one) { return one.kernels && one.kernels->rows > 0; });
}

bool has_device_work(const Analysis& data) {
  return std::any_of(data.devices.begin(), data.devices.end(),
                     [](const analyze::DeviceAnswer& one) { return !one.is_host(); });
}

/// The one with the most time, to see how names are written.
std::string longest_words(const Analysis& data) {
  if (!data.top_kernels.empty()) return "; the longest is " + quoted_name(data.top_kernels[0].label);
  if (data.counters && !data.counters->kernels.empty())
    return "; the longest is " + quoted_name(data.counters->kernels[0].label);
  return "; it has no kernels";
}

Error no_such_kernel(const std::string& name, const Analysis& data, const NamedRun& run) {
  const std::string& window = data.window.name;
  const std::string call = run.call_name();
  if (!has_device_work(data))
    return {ErrorCode::kNotFound,
            fmt::format("no kernel like {} is in the run{}", quoted_name(name), longest_words(data)),
            "{} shows what it holds",
            {suggested("analyze", {{"run", call}})}};
  const std::string text =
      is_list_cut(data)
          ? fmt::format("no kernel like {} is among the {} with the most time in the window {}",
                        quoted_name(name), grouped(static_cast<int64_t>(data.top_kernels.size())),
                        quoted_name(window))
          : fmt::format("no kernel like {} runs in the window {}", quoted_name(name), quoted_name(window));
  if (window != "whole")
    return {ErrorCode::kNotFound,
            text + longest_words(data),
            "{} looks at the whole capture",
            {suggested("explain", {{"run", call}, {"kernel", name}, {"window", "whole"}})}};
  return {ErrorCode::kNotFound,
          text + longest_words(data),
          "{} looks for single calls",
          {suggested("timeline", {{"run", call}, {"what", "search"}, {"text", name}})}};
}

void set_head(Explained& out, const NamedAnalysis& done) {
  const Analysis& data = done.analysis.data;
  out.run_id = done.named.run_id;
  out.window = data.window.name;
  if (data.window.total_ns > 0) out.wall_ns = data.window.total_ns;
}

/// Of all matches the one with the most time, a whole name before a part of one.
struct Found {
  const KernelAnswer* kernel = nullptr;
  size_t index = 0;
  int64_t others = 0;
};

Found find_kernel(const std::string& name, const Analysis& data) {
  Found found;
  int best = 0;
  for (size_t i = 0; i < data.top_kernels.size(); i++) {
    const KernelAnswer& one = data.top_kernels[i];
    const int match = match_of(name, one.name, one.short_name, one.label);
    if (match == 0) continue;
    found.others++;
    if (match < best || (match == best && one.total_ns <= found.kernel->total_ns)) continue;
    best = match;
    found.kernel = &one;
    found.index = i;
  }
  if (found.kernel != nullptr) found.others--;
  return found;
}

void add_kernel_figures(Explained& out, const KernelAnswer& kernel) {
  out.figures.push_back(
      ns_figure("total_ns", static_cast<double>(kernel.total_ns), "sum of its calls in the window"));
  out.figures.push_back({.name = "calls",
                         .value = static_cast<double>(kernel.calls),
                         .unit = "count",
                         .text = "calls in the window"});
  Known<double> mean = Absent{"no call in the window"};
  if (kernel.mean_ns) mean = *kernel.mean_ns;
  out.figures.push_back(ns_figure("mean_ns", mean, "of a call in the window"));
  out.figures.push_back(ns_figure("longest_ns", static_cast<double>(kernel.longest_ns),
                                  "longest call in the window, not clipped"));
  out.figures.push_back(ns_figure("exposed_ns", static_cast<double>(kernel.exposed_ns),
                                  "time in which nothing else ran on the device"));
  for (ExplainedFigure& figure : out.figures) figure.on = kernel.on;
}

/// Shortest and longest call of the whole run: the window may clip calls.
Result<void> add_extremes(Explained& out, store::Connection& connection, const KernelAnswer& kernel) {
  const std::string sql =
      fmt::format("SELECT min(dur_ns)::BIGINT, max(dur_ns)::BIGINT FROM {} WHERE is_copy = {} AND name = {}",
                  kDeviceWork, kernel.is_copy, store::sql_quoted(kernel.name));
  std::optional<int64_t> least, most;
  NL_CHECK(connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    if (chunk.size() == 0) return {};
    least = number_at(chunk, 0, 0);
    most = number_at(chunk, 1, 0);
    return {};
  }));
  const char* reason = "no call of this name has a duration";
  out.figures.push_back(ns_figure("min_ns", known_or(least, reason), "shortest call of the whole run"));
  out.figures.push_back(ns_figure("max_ns", known_or(most, reason), "longest call of the whole run"));
  return {};
}

/// Which ops launch it.
Result<void> add_launching_ops(Explained& out, store::Connection& connection, const KernelAnswer& kernel) {
  const std::string sql = fmt::format(
      "SELECT s.name, count(*)::BIGINT AS calls, try_cast(sum(k.dur_ns) AS BIGINT) AS ns FROM {} k LEFT JOIN "
      "spans "
      "s ON s.span_id = k.op_id WHERE k.name = {} GROUP BY s.name ORDER BY ns DESC, s.name LIMIT 3",
      kernel.is_copy ? kLinkedCopies : kLinkedKernels, store::sql_quoted(kernel.name));
  return connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      const bool has_op = !chunk.is_null(0, i);
      out.rows.push_back({.kind = "op",
                          .name = text_at(chunk, 0, i, "(no op)"),
                          .time_ns = number_at(chunk, 2, i),
                          .calls = number_at(chunk, 1, i),
                          .text = has_op ? "op that launched it, in the whole run"
                                         : "the capture does not tell which op launched these"});
    }
    return {};
  });
}

void add_roofline(Explained& out, const Analysis& data, const KernelAnswer& kernel) {
  const auto device = std::find_if(data.devices.begin(), data.devices.end(),
                                   [&](const analyze::DeviceAnswer& one) { return one.on == kernel.on; });
  if (device == data.devices.end()) return;
  for (const analyze::RooflineOp& op : device->roofline.ops) {
    const bool launches = std::any_of(out.rows.begin(), out.rows.end(), [&](const ExplainedRow& row) {
      return row.kind == "op" && row.name == op.name;
    });
    if (!launches || !op.roof_share) continue;
    out.rows.push_back(
        {.on = kernel.on,
         .kind = "roofline",
         .name = op.name,
         .time_ns = op.kernel_ns,
         .calls = op.calls,
         .share = op.roof_share,
         .text = fmt::format("share of the roof that all kernels of this op reach in {}, bound by {}",
                             op.dtype, op.bound.value_or("nothing known"))});
    return;
  }
}

void add_counters_of(Explained& out, const analyze::CountedKernel& counted_kernel) {
  out.rows.push_back({.kind = "counters",
                      .name = counted_kernel.kernel,
                      .time_ns = counted_kernel.replay_ns,
                      .calls = counted_kernel.launches,
                      .share = counted_kernel.share,
                      .text = "replayed with counters: " +
                              (counted_kernel.bound ? "bound by " + *counted_kernel.bound
                                                    : std::string("no counter says what bounds it"))});
}

void add_counters(Explained& out, const Analysis& data, const std::string& name) {
  if (!data.counters) return;
  for (const analyze::CountedKernel& one : data.counters->kernels) {
    if (one.kernel == name) add_counters_of(out, one);
  }
}

/// The kernels before and behind it in the list by time, of the same device.
void add_neighbours(Explained& out, const Analysis& data, const Found& found) {
  for (const size_t at : {found.index - 1, found.index + 1}) {
    if (at >= data.top_kernels.size() || !(data.top_kernels[at].on == found.kernel->on)) continue;
    const KernelAnswer& one = data.top_kernels[at];
    out.rows.push_back({.on = one.on,
                        .kind = "neighbour",
                        .name = one.name,
                        .time_ns = one.total_ns,
                        .calls = one.calls,
                        .share = one.share,
                        .text = at < found.index ? "the next longer one" : "the next shorter one"});
  }
}

std::string kernel_here(const KernelAnswer& kernel, const Analysis& data) {
  std::string out = fmt::format("{}: {} in {}", quoted_name(kernel.label), duration_text(kernel.total_ns),
                                counted(kernel.calls, "call")) +
                    on_words(kernel.on, data);
  if (kernel.share)
    out += fmt::format(", {} of the device's kernels and copies", percent_text(*kernel.share));
  return out;
}

Result<Explained> counted_kernel(const std::string& name, const NamedAnalysis& done) {
  const Analysis& data = done.analysis.data;
  const analyze::CountedKernel* best = nullptr;
  int best_match = 0;
  int64_t matches = 0;
  if (data.counters) {
    for (const analyze::CountedKernel& one : data.counters->kernels) {
      const int match = match_of(name, one.kernel, one.label, one.label);
      matches += match > 0;
      if (match <= best_match) continue;  // they come the longest first
      best = &one;
      best_match = match;
    }
  }
  if (best == nullptr) return no_such_kernel(name, data, done.named);
  Explained out{.kind = "kernel", .name = best->kernel};
  set_head(out, done);
  out.meaning = "A kernel whose launches a counter profiler replayed: its times are not those of the run.";
  out.here = fmt::format(
      "{}: {} in {}, {}", quoted_name(best->label),
      best->replay_ns ? duration_text(*best->replay_ns) + " of replayed time" : "no replayed time",
      counted(best->launches, "launch", "launches"),
      best->bound ? "bound by " + *best->bound : "no counter says what bounds it");
  add_counters_of(out, *best);
  for (const analyze::KernelDiagnosis& one : data.counters->diagnosis) {
    if (one.kernel == best->kernel) out.limits.push_back(one.text);
  }
  if (matches > 1)
    out.limits.push_back(fmt::format("{} kernels match; this one has the most time.", matches));
  return out;
}

}  // namespace

Result<Explained> explain_kernel(const std::string& name, const NamedAnalysis& done) {
  const Analysis& data = done.analysis.data;
  const Found found = find_kernel(name, data);
  if (found.kernel == nullptr) return counted_kernel(name, done);
  const KernelAnswer& kernel = *found.kernel;
  Explained out{.kind = "kernel", .name = kernel.name, .here = kernel_here(kernel, data)};
  set_head(out, done);
  out.meaning = fmt::format("{} of the class {} ({}){}.", kernel.is_copy ? "A copy" : "A kernel",
                            op_class_name(kernel.op_class), analyze::op_class_doc(kernel.op_class),
                            kernel.family.empty() ? "" : ", from " + kernel.family);
  add_kernel_figures(out, kernel);
  NL_TRY(store::Connection* const connection, done.open->ask(kLinkedTables));
  NL_CHECK(add_extremes(out, *connection, kernel));
  NL_CHECK(add_launching_ops(out, *connection, kernel));
  add_roofline(out, data, kernel);
  add_counters(out, data, kernel.name);
  add_neighbours(out, data, found);
  if (found.others > 0)
    out.limits.push_back(
        fmt::format("{} more kernels or devices match; this one has the most time.", found.others));
  out.limits.push_back(
      "Shares are of the sum of kernels and copies, not of the window: kernels may overlap.");
  return out;
}

}  // namespace nl::ops
