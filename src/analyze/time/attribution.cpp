#include "analyze/time/attribution.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyze/load/host_calls.h"
#include "analyze/load/module_paths.h"
#include "analyze/time/row_places.h"
#include "analyze/time/seen_spans.h"

namespace nl::analyze {
namespace {

bool is_copy(const Work& work) {
  return work.table == WorkTable::kCopies;
}

/// Calls each(work, clipped ns) for the work that touches the window. Windows of one piece are the common
/// case.
template <class Each>
void for_work_in(const Device& device, const IntervalSet& window, Each&& each) {
  if (window.empty()) return;
  for (const Work& work : device.work) {
    if (work.start >= window.back().end) break;
    if (touches(work, window)) each(work, clipped_ns(work, window));
  }
}

/// Gives the time in which exactly one piece of work ran to the name of that work.
class ExposureSweep {
 public:
  ExposureSweep(const Device& device, const IntervalSet& window) : device_(device), window_(window) {}

  template <class Give>
  void run(Give&& give) {
    PagedVector<uint32_t> ends = by_end();
    size_t starts = 0, ended = 0;
    const auto& work = device_.work;
    while (ended < ends.size()) {
      const bool starts_next = starts < work.size() && work[starts].start <= work[ends[ended]].end;
      const int64_t time = starts_next ? work[starts].start : work[ends[ended]].end;
      if (running_ == 1 && time > since_) give(work[which_], length_inside(window_, {since_, time}));
      since_ = time;
      const uint32_t changed = starts_next ? static_cast<uint32_t>(starts++) : ends[ended++];
      running_ += starts_next ? 1 : -1;
      which_ ^= changed;  // of one running piece, its own number
    }
  }

 private:
  PagedVector<uint32_t> by_end() const {
    PagedVector<uint32_t> order(device_.work.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<uint32_t>(i);
    const auto before = [&](uint32_t a, uint32_t b) {
      return std::tie(device_.work[a].end, a) < std::tie(device_.work[b].end, b);
    };
    if (!std::is_sorted(order.begin(), order.end(), before)) std::sort(order.begin(), order.end(), before);
    return order;
  }

  const Device& device_;
  const IntervalSet& window_;
  int64_t since_ = 0;
  int running_ = 0;
  uint32_t which_ = 0;
};

Owner owner_of(const Timeline& run, HostCallsByName& calls, const Work& work) {
  if (work.launch == kNoRow) return work.op == kNoRow ? Owner::kNoLaunch : Owner::kOp;
  if (calls[run.spans.name[work.launch]] == HostCall::kGraphLaunch) return Owner::kGraphLaunch;
  return work.op == kNoRow ? Owner::kCall : Owner::kOp;
}

/// Rows by the name and type of an op, in the order in which they come. Nearly all ops have their name as
/// type, which is looked up without a tree.
template <class Row>
class RowsByOp {
 public:
  RowsByOp(size_t names, size_t owners, size_t asked) : names_(names), place_(names * owners, asked) {}

  Row& at(size_t owner, uint32_t name, uint32_t type, const Row& fresh) {
    uint32_t& place = name == type ? place_[owner * names_ + name]
                                   : odd_.try_emplace({owner, name, type}, kNoRow).first->second;
    if (place == kNoRow) {
      place = static_cast<uint32_t>(rows_.size());
      rows_.push_back(fresh);
    }
    return rows_[place];
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  size_t names_;
  RowPlaces place_;
  std::map<std::tuple<size_t, uint32_t, uint32_t>, uint32_t> odd_;
  std::vector<Row> rows_;
};

/// Order of rows of one name.
bool comes_first(const KernelRow& a, const KernelRow& b, const Timeline&) {
  return a.is_copy < b.is_copy;
}
bool comes_first(const OpRow& a, const OpRow& b, const Timeline& run) {
  return std::pair(a.owner, run.names[a.op_type]) < std::pair(b.owner, run.names[b.op_type]);
}
bool comes_first(const HostOpRow& a, const HostOpRow& b, const Timeline& run) {
  return run.names[a.op_type] < run.names[b.op_type];
}

template <class Row>
void by_time(std::vector<Row>& rows, int64_t Row::*time, const Timeline& run) {
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (a.*time != b.*time) return a.*time > b.*time;
    if (a.name != b.name) return run.names[a.name] < run.names[b.name];
    return comes_first(a, b, run);
  });
}

}  // namespace

int64_t clipped_ns(const Work& work, const IntervalSet& window) {
  if (window.size() == 1) {
    return std::max<int64_t>(0, std::min(work.end, window[0].end) - std::max(work.start, window[0].begin));
  }
  return length_inside(window, {work.start, work.end});
}

bool touches(const Work& work, const IntervalSet& window) {
  const auto it = first_ending_after(window, work.start);
  return it != window.end() && (it->begin < work.end || it->begin <= work.start);
}

std::vector<KernelRow> kernel_rows(const Timeline& run, const Device& device, const IntervalSet& window) {
  std::vector<KernelRow> by_name;
  RowPlaces place(run.names.size() * 2, device.work.size());
  const auto row_of = [&](const Work& work) -> KernelRow& {
    uint32_t& at = place[work.name * 2 + is_copy(work)];
    if (at == kNoRow) {
      at = static_cast<uint32_t>(by_name.size());
      by_name.push_back({work.name, is_copy(work)});
    }
    return by_name[at];
  };
  for_work_in(device, window, [&](const Work& work, int64_t ns) {
    KernelRow& row = row_of(work);
    row.total_ns += ns;
    row.calls++;
    if (work.end - work.start <= row.longest_ns) return;
    row.longest_ns = work.end - work.start;
    row.longest_row = work.row;
    row.longest_table = work.table;
  });
  ExposureSweep(device, window).run([&](const Work& work, int64_t ns) {
    if (ns > 0) row_of(work).exposed_ns += ns;
  });
  by_time(by_name, &KernelRow::total_ns, run);
  return by_name;
}

std::string_view owner_name(Owner owner) {
  static constexpr std::string_view kNames[] = {"op",        "graph_launch", "call",
                                                "no_launch", "layer",        "graph_op"};
  return kNames[static_cast<size_t>(owner)];
}

std::vector<OpRow> op_rows(const Timeline& run, const Device& device, const IntervalSet& window,
                           const LentOps& lent) {
  HostCallsByName calls(run.names);
  RowsByOp<OpRow> rows(run.names.size(), 4, device.work.size());
  SeenSpans seen(run.spans.size());
  for_work_in(device, window, [&](const Work& work, int64_t ns) {
    if (lent.op(work) != kNoRow) return;
    const Owner owner = owner_of(run, calls, work);
    const uint32_t span = owner == Owner::kNoLaunch ? kNoRow : owner == Owner::kOp ? work.op : work.launch;
    const uint32_t name = span == kNoRow ? 0 : run.spans.name[span];
    const uint32_t type = span == kNoRow ? 0 : run.spans.op_type[span];
    OpRow& row = rows.at(static_cast<size_t>(owner), name, type, OpRow{owner, name, type});
    row.device_ns += ns;
    row.works++;
    row.calls += span != kNoRow && seen.is_new(span);
  });
  std::vector<OpRow> list = rows.take();
  by_time(list, &OpRow::device_ns, run);
  return list;
}

std::vector<HostOpRow> host_op_rows(const Timeline& run, const IntervalSet& window) {
  const Spans& spans = run.spans;
  PagedVector<int64_t> own(spans.size());
  for (size_t i = 0; i < spans.size(); i++) {
    const bool is_op = spans.kind[i] == model::SpanKind::op;
    if (!is_op && spans.kind[i] != model::SpanKind::runtime) continue;
    const int64_t ns = length_inside(window, spans.interval(i));
    if (is_op) own[i] += ns;
    const uint32_t parent = spans.parent[i];
    if (parent != kNoRow && spans.op[parent] != kNoRow) own[spans.op[parent]] -= ns;
  }
  RowsByOp<HostOpRow> rows(run.names.size(), 1, spans.size());
  for (size_t i = 0; i < spans.size(); i++) {
    if (spans.kind[i] != model::SpanKind::op) continue;
    const bool starts = contains(window, spans.start[i]);
    if (!starts && own[i] <= 0) continue;
    HostOpRow& row = rows.at(0, spans.name[i], spans.op_type[i], HostOpRow{spans.name[i], spans.op_type[i]});
    row.own_ns += std::max<int64_t>(own[i], 0);
    row.calls += starts;
  }
  std::vector<HostOpRow> list = rows.take();
  by_time(list, &HostOpRow::own_ns, run);
  return list;
}

std::vector<ModuleRow> module_rows(const Timeline& run, const Device& device, const IntervalSet& window,
                                   const LentOps& lent, size_t most) {
  ModulePaths paths(run);
  const bool any_lent = std::any_of(lent.module_of_op.begin(), lent.module_of_op.end(),
                                    [](const std::string& path) { return !path.empty(); });
  if (!paths.any() && !any_lent) return {};
  std::map<std::string_view, ModuleRow> rows;  // by the paths themselves, which are kept once
  const std::string unknown(kNoLaunchName);
  for_work_in(device, window, [&](const Work& work, int64_t ns) {
    const uint32_t lent_op = any_lent ? lent.op(work) : kNoRow;
    const std::string& path = lent_op != kNoRow       ? lent.module_of_op[lent_op]
                              : work.launch == kNoRow ? unknown
                                                      : paths.around(work.launch);
    ModuleRow& row = rows[path];
    row.device_ns += ns;
    row.works++;
  });
  std::vector<std::pair<std::string_view, ModuleRow>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.device_ns > b.second.device_ns; });
  std::vector<ModuleRow> list;
  for (auto& [path, row] : sorted) {
    if (list.size() < most) row.path = path;
    list.push_back(std::move(row));
  }
  return list;
}

std::vector<PhaseRow> phase_rows(const Timeline& run, const Windows& windows, const Device& device,
                                 const IntervalSet& window) {
  HostCallsByName calls(run.names);
  std::vector<PhaseRow> rows;
  for (const Phase phase : {Phase::kPrefill, Phase::kDecodeAll, Phase::kDecodeStep, Phase::kMixed}) {
    PagedVector<Interval> ranges;
    for (const PhaseRange& range : windows.phases) {
      if (range.phase == phase && length_inside(window, range.time) > 0) ranges.push_back(range.time);
    }
    if (ranges.empty()) continue;
    PhaseRow row{phase, static_cast<int64_t>(ranges.size())};
    const IntervalSet set = union_of(std::move(ranges));
    row.host_ns = total_length(intersect(set, window));
    for_work_in(device, window, [&](const Work& work, int64_t ns) {
      if (work.launch == kNoRow || !contains(set, run.spans.start[work.launch])) return;
      row.device_ns += ns;
      row.kernels += !is_copy(work);
      row.graph_kernels += !is_copy(work) && owner_of(run, calls, work) == Owner::kGraphLaunch;
    });
    rows.push_back(row);
  }
  return rows;
}

Coverage coverage_of(const Timeline& run, const Device& device, const IntervalSet& window) {
  HostCallsByName calls(run.names);
  Coverage sum;
  for_work_in(device, window, [&](const Work& work, int64_t ns) {
    if (work.table != WorkTable::kKernels) return;
    sum.kernels_ns += ns;
    sum.with_launch_ns += work.launch != kNoRow ? ns : 0;
    sum.with_op_ns += work.op != kNoRow ? ns : 0;
    if (work.launch != kNoRow && calls[run.spans.name[work.launch]] == HostCall::kGraphLaunch)
      sum.graph_ns += ns;
  });
  return sum;
}

}  // namespace nl::analyze
