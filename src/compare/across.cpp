#include "compare/across.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "compare/apportion.h"

namespace nl::compare {
namespace {

constexpr char kNoOp[] = "(no op)";
constexpr double kEnoughOps = 0.5;  // of the busy time must belong to ops on both sides

/// What one side spent on one op or class.
struct Spent {
  int64_t owned_ns = 0;
  int64_t calls = 0;
  double roof_ns = 0;       ///< least time of its calls that have a model
  int64_t modelled_ns = 0;  ///< their time
  int64_t modelled_calls = 0;
  double flops = 0, bytes = 0;  ///< of these calls

  double per_call(double amount) const { return amount / static_cast<double>(modelled_calls); }
};
using Table = std::map<std::string, std::array<Spent, 2>>;

double ratio(double part, double whole) {
  return whole == 0 ? 0 : part / whole;
}

double share_with_op(const Side& side) {
  int64_t with = 0, all = 0;
  for (const Item& item : side.items) {
    all += item.owned_ns;
    if (item.op != kNoText) with += item.owned_ns;
  }
  return ratio(static_cast<double>(with), static_cast<double>(all));
}

std::set<uint32_t> op_names(const Side& side) {
  std::set<uint32_t> names;
  for (const Group& group : side.groups) {
    if (group.is_op) names.insert(group.name);
  }
  return names;
}

/// Rows of one side: by class, or by the innermost op around the work that the other side has too, since the
/// ops inside differ between makers (cudnn_convolution, miopen_convolution).
class RowNames {
 public:
  RowNames(const Side& side, const Side& other, bool by_op, const Texts& texts)
      : by_op_(by_op), texts_(texts) {
    if (!by_op) return;
    const std::set<uint32_t> there = op_names(other);
    for (const Item& item : side.items) {
      if (item.op == kNoText) continue;
      common_.try_emplace(std::string(texts[item.op]), common_op(side, item, there));
    }
  }

  std::string of(const Item& item) const {
    if (!by_op_) return std::string(item.part.name());
    return item.op == kNoText ? kNoOp : common_.at(std::string(texts_[item.op]));
  }
  std::string of(const analyze::RooflineRow& row) const {
    if (!by_op_) return std::string(analyze::op_class_name(row.op_class));
    const auto it = common_.find(row.name);
    return it == common_.end() ? row.name : it->second;
  }

 private:
  std::string common_op(const Side& side, const Item& item, const std::set<uint32_t>& there) const {
    for (uint32_t group = item.group; group != kNoText; group = side.groups[group].parent) {
      const Group& around = side.groups[group];
      if (around.is_op && there.contains(around.name)) return std::string(texts_[around.name]);
    }
    return std::string(texts_[item.op]);
  }

  bool by_op_;
  const Texts& texts_;
  std::map<std::string, std::string> common_;  // by innermost op, of its first piece
};

void add_times(Table& table, const Side& side, size_t which, const RowNames& names) {
  for (const Item& item : side.items) {
    Spent& spent = table[names.of(item)][which];
    spent.owned_ns += item.owned_ns;
    spent.calls += item.calls;
  }
}

void add_roofs(Table& table, const analyze::RooflineTable& roofline, size_t which, const RowNames& names) {
  for (const analyze::RooflineRow& row : roofline.rows) {
    if (!row.has_roof) continue;
    Spent& spent = table[names.of(row)][which];
    spent.roof_ns += row.roof_ns;
    spent.modelled_ns += row.kernel_ns;
    spent.modelled_calls += row.calls;
    spent.flops += static_cast<double>(row.flops);
    spent.bytes += static_cast<double>(row.bytes);
  }
}

std::optional<double> roof_share(const Spent& spent) {
  if (spent.modelled_ns == 0) return std::nullopt;
  return spent.roof_ns / static_cast<double>(spent.modelled_ns);
}

AcrossAmount amount_of(const Spent& spent, const Side& side, int64_t busy_ns) {
  return {per_unit(spent.owned_ns, side.units), spent.calls,
          ratio(static_cast<double>(spent.owned_ns), static_cast<double>(busy_ns)), roof_share(spent)};
}

int64_t busy_of(const Side& side) {
  int64_t busy = 0;
  for (const Item& item : side.items) busy += item.owned_ns;
  return busy;
}

bool about_equal(double a, double b) {
  return std::abs(a - b) <= 0.02 * std::max(a, b);
}

/// The calls of both sides compute the same, on average.
bool same_calls(const Spent& base, const Spent& next) {
  return base.modelled_calls > 0 && next.modelled_calls > 0 && base.roof_ns > 0 && next.roof_ns > 0 &&
         about_equal(base.per_call(base.flops), next.per_call(next.flops)) &&
         about_equal(base.per_call(base.bytes), next.per_call(next.bytes));
}

/// A call there over a call here: as measured, and what the peaks alone would make of it.
struct CallRatios {
  double time, hardware;
};
std::optional<CallRatios> call_ratios(const Spent& base, const Spent& next) {
  if (!same_calls(base, next) || base.modelled_ns == 0) return std::nullopt;
  const auto ns = [](const Spent& spent) { return spent.per_call(static_cast<double>(spent.modelled_ns)); };
  return CallRatios{ns(next) / ns(base), next.per_call(next.roof_ns) / base.per_call(base.roof_ns)};
}

AcrossRow row_of(const std::string& name, const std::array<Spent, 2>& spent, const AcrossSide& base,
                 const AcrossSide& next, const std::array<int64_t, 2>& busy) {
  AcrossRow row;
  row.name = name;
  row.base = amount_of(spent[0], base.side, busy[0]);
  row.next = amount_of(spent[1], next.side, busy[1]);
  const auto before = static_cast<double>(row.base.time_ns), after = static_cast<double>(row.next.time_ns);
  if (before > 0 && after > 0) row.time_ratio = after / before;
  if (const auto ratios = call_ratios(spent[0], spent[1])) {
    row.call_time_ratio = ratios->time;
    row.hardware_ratio = ratios->hardware;
    row.lost_ns = std::llround(after * (1 - ratios->hardware / ratios->time));
  }
  const auto &here = row.base.roof_share, &there = row.next.roof_share;
  if (here && there && *here > 0) row.efficiency_ratio = *there / *here;
  return row;
}

PartShares shares_of(const Side& side) {
  std::array<double, kPartKinds> sums{};
  for (size_t i = 0; i < Part::kCount; i++)
    sums[static_cast<size_t>(Part::number(i).kind())] +=
        ratio(static_cast<double>(side.parts[i]), static_cast<double>(side.window_ns));
  return {sums[0], sums[1], sums[2], sums[3], sums[4]};
}

AcrossFigures figures_of(const Side& side) {
  return {per_unit(side.window_ns, side.units),
          per_unit(busy_of(side), side.units),
          shares_of(side),
          static_cast<int64_t>(side.items.size()),
          {}};
}

/// What the source and the table of peaks say of the device.
AcrossDevice device_of(const analyze::MeasuredDevice& device) {
  AcrossDevice out;
  if (!device.name.empty()) out.device = device.name;
  if (const auto& peaks = device.roofline.peaks) {
    out.bandwidth_bytes_per_s = peaks->bandwidth.optional();
    out.bf16_flops_per_s = peaks->peak("bf16").optional();
    out.peaks_source = peaks->source;
  }
  const auto metric = [&](analyze::Metric id) { return device.metrics.get(id).optional(); };
  out.roof_share = metric(analyze::Metric::roof_share);
  out.modelled_share = metric(analyze::Metric::modelled_share);
  out.mfu = metric(analyze::Metric::mfu);
  out.mbu = metric(analyze::Metric::mbu);
  return out;
}

std::string words_of(bool by_op, Mode mode) {
  const std::string level = by_op ? "by op, because kernels of different makers have nothing in common"
                                  : "by class, because the backends share neither kernels nor ops";
  return (mode == Mode::kOtherBackend ? "another backend: compared " : "other hardware: compared ") + level;
}

}  // namespace

Across compare_across(const AcrossSide& base, const AcrossSide& next, Mode mode, const Texts& texts) {
  const bool by_op = mode == Mode::kOtherHardware && share_with_op(base.side) >= kEnoughOps &&
                     share_with_op(next.side) >= kEnoughOps;
  Across out;
  out.level = by_op ? AcrossLevel::kOp : AcrossLevel::kClass;
  out.words = words_of(by_op, mode);
  Table table;
  std::array<int64_t, 2> busy{}, common{};
  const AcrossSide* both[] = {&base, &next};
  for (size_t i = 0; i < 2; i++) {
    const RowNames names(both[i]->side, both[1 - i]->side, by_op, texts);
    add_times(table, both[i]->side, i, names);
    busy[i] = busy_of(both[i]->side);
    out.sides[i] = figures_of(both[i]->side);
    if (!has_devices(both[i]->run)) continue;
    const auto measured = analyze::measure(both[i]->run.run, both[i]->run.sources, both[i]->window);
    add_roofs(table, measured.devices[both[i]->device].roofline, i, names);
    out.sides[i].device = device_of(measured.devices[both[i]->device]);
  }
  for (const auto& [name, spent] : table) {
    if (spent[0].calls > 0 && spent[1].calls > 0 && name != kNoOp) {
      common[0] += spent[0].owned_ns;
      common[1] += spent[1].owned_ns;
    }
    if (spent[0].calls + spent[1].calls > 0) out.rows.push_back(row_of(name, spent, base, next, busy));
  }
  const auto most = [](const AcrossRow& row) { return std::max(row.base.time_ns, row.next.time_ns); };
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [&](const AcrossRow& a, const AcrossRow& b) { return most(a) > most(b); });
  out.covered = {ratio(static_cast<double>(common[0]), static_cast<double>(busy[0])),
                 ratio(static_cast<double>(common[1]), static_cast<double>(busy[1]))};
  return out;
}

}  // namespace nl::compare
