#include "analyze/roofline/op_roofline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "analyze/roofline/roofline.h"
#include "analyze/time/attribution.h"
#include "base/call_control.h"
#include "model/batch.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

/// Kernels of one op.
struct OpWork {
  uint32_t span = kNoRow;
  int64_t first_start = INT64_MAX;
  int64_t kernel_ns = 0;
  std::vector<uint32_t> kernels;  ///< names, each once
};

/// Puts the kernels of an op together. An op has few as a rule, which are looked through; of one with more
/// than that, the others are looked up.
class OpGathering {
 public:
  void begin(uint32_t span) {
    op_ = {span, INT64_MAX, 0, std::move(op_.kernels)};
    op_.kernels.clear();
    many_.clear();
  }
  void add(const Work& work) {
    op_.first_start = std::min(op_.first_start, work.start);
    op_.kernel_ns += work.end - work.start;
    if (is_new(work.name)) op_.kernels.push_back(work.name);
  }
  const OpWork& op() const { return op_; }

 private:
  static constexpr size_t kFew = 32;

  bool is_new(uint32_t name) {
    const auto few = op_.kernels.begin() + static_cast<ptrdiff_t>(std::min(kFew, op_.kernels.size()));
    if (std::find(op_.kernels.begin(), few, name) != few) return false;
    return op_.kernels.size() < kFew || many_.insert(name).second;
  }

  OpWork op_;
  std::set<uint32_t> many_;
};

/// Calls each(OpWork) in the order of spans, so that sums come out the same everywhere.
template <class Each>
void for_work_of_ops(const Device& device, Each&& each) {
  PagedVector<std::pair<uint32_t, uint32_t>> order;  // op and place of the work
  for (size_t i = 0; i < device.work.size(); i++) {
    const Work& work = device.work[i];
    if (work.op != kNoRow && work.kind != WorkKind::kCopy)
      order.emplace_back(work.op, static_cast<uint32_t>(i));
  }
  if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
  OpGathering gathering;
  for (size_t i = 0; i < order.size(); i++) {
    if (i == 0 || order[i].first != order[i - 1].first) gathering.begin(order[i].first);
    gathering.add(device.work[order[i].second]);
    if (i + 1 == order.size() || order[i + 1].first != order[i].first) each(gathering.op());
  }
}

std::string joined_names(const Timeline& run, const std::vector<uint32_t>& names) {
  std::string joined;
  for (const uint32_t name : names) joined += (joined.empty() ? "" : " ") + std::string(run.names[name]);
  return joined;
}

/// Models of calls with equal arguments are computed once.
class Models {
 public:
  Models(const PreparedRun& run, const OpArguments& arguments) : run_(run), arguments_(arguments) {}

  const Known<OpModel>& of(uint32_t span) {
    const uint32_t parent = parent_op(span);
    const Key key{call(span),
                  parent == kNoRow ? Call{kNoRow, kNoRow, kNoRow, kNoRow, kNoRow, kNoRow} : call(parent)};
    const auto it = known_.find(key);
    if (it != known_.end()) return it->second;
    const OpFacts facts = facts_of(span), around = parent == kNoRow ? OpFacts{} : facts_of(parent);
    return known_.emplace(key, model_op(facts, parent == kNoRow ? nullptr : &around)).first->second;
  }

 private:
  using Call = std::array<uint32_t, 6>;
  using Key = std::pair<Call, Call>;

  uint32_t parent_op(uint32_t span) const {
    const uint32_t parent = run_.timeline.spans.parent[span];
    return parent == kNoRow ? kNoRow : run_.timeline.spans.op[parent];
  }
  Call call(uint32_t span) const {
    return {run_.timeline.spans.name[span], arguments_.shapes[span], arguments_.dtypes[span],
            arguments_.strides[span],       arguments_.inputs[span], arguments_.backward_shapes[span]};
  }
  std::string_view text(uint32_t id) const {
    return id == kNoRow ? std::string_view() : arguments_.texts[id];
  }
  OpFacts facts_of(uint32_t span) const {
    OpFacts facts;
    facts.name = run_.timeline.names[run_.timeline.spans.name[span]];
    facts.op_type = run_.timeline.names[run_.timeline.spans.op_type[span]];
    facts.shapes = text(arguments_.shapes[span]);
    facts.dtypes = text(arguments_.dtypes[span]);
    facts.strides = text(arguments_.strides[span]);
    facts.inputs = text(arguments_.inputs[span]);
    facts.output_shapes = text(arguments_.backward_shapes[span]);
    return facts;
  }

  const PreparedRun& run_;
  const OpArguments& arguments_;
  std::map<Key, Known<OpModel>> known_;
};

void add_to_row(RooflineRow& row, const OpModel& model, const OpWork& work, const Known<DevicePeaks>& peaks,
                std::string_view kernel) {
  row.calls++;
  row.flops = __builtin_add_overflow(row.flops, model.flops, &row.flops) ? INT64_MAX : row.flops;
  row.bytes = __builtin_add_overflow(row.bytes, model.bytes_min, &row.bytes) ? INT64_MAX : row.bytes;
  row.kernel_ns += work.kernel_ns;
  if (!peaks) return;
  const Known<Roofline> roof = roofline(model, work.kernel_ns, *peaks, kernel);
  if (!roof) return;
  row.has_roof = true;
  row.roof_ns += roof->roof_time_ns;
  if (roof->bound == Bound::kMemory) row.memory_bound_ns += static_cast<double>(work.kernel_ns);
}

Known<double> share(double part, double whole, const char* empty) {
  if (whole <= 0) return Absent{empty};
  return part / whole;
}

/// Whether the last size of one of the shapes, a JSON list of lists, is no multiple of 8: tiles of matrix
/// units are then not full, or slower kernels are taken.
bool has_ragged_size(std::string_view shapes) {
  int64_t size = 0;
  bool in_number = false;
  for (const char c : shapes) {
    if (c >= '0' && c <= '9') {
      size = std::min<int64_t>((in_number ? size : 0) * 10 + (c - '0'), INT32_MAX);
      in_number = true;
      continue;
    }
    if (c == ']' && size > 8 && size % 8 != 0) return true;
    if (c == ']' || c == '[') size = 0;
    in_number = false;
  }
  return false;
}

struct Totals {
  double ragged_ns = 0, flops = 0, bytes = 0, roof_ns = 0, roofed_ns = 0, memory_bound_ns = 0, fp32_ns = 0,
         at_peak_ns = 0;
  std::string no_peak;  ///< why a dtype has none
};

Totals totals_of(const RooflineTable& table) {
  Totals sum;
  for (const RooflineRow& row : table.rows) {
    sum.flops += static_cast<double>(row.flops);
    sum.bytes += static_cast<double>(row.bytes);
    const bool matrix = row.op_class == OpClass::k_gemm || row.op_class == OpClass::k_conv;
    if (row.op_class == OpClass::k_gemm) sum.ragged_ns += static_cast<double>(row.ragged_ns);
    if (matrix && row.dtype == "fp32") sum.fp32_ns += static_cast<double>(row.kernel_ns);
    if (row.has_roof) {
      sum.roof_ns += row.roof_ns;
      sum.roofed_ns += static_cast<double>(row.kernel_ns);
      sum.memory_bound_ns += row.memory_bound_ns;
    }
    if (row.flops == 0 || !table.peaks) continue;
    const Known<double> peak = table.peaks->peak(row.dtype);
    if (peak) {
      sum.at_peak_ns += static_cast<double>(row.flops) / *peak * 1e9;
    } else if (matrix) {
      sum.no_peak = peak.reason();
    }
  }
  return sum;
}

RooflineOp answer_of(const RooflineRow& row, const Known<DevicePeaks>& peaks) {
  const auto time = static_cast<double>(row.kernel_ns);
  const auto flops = static_cast<double>(row.flops), bytes = static_cast<double>(row.bytes);
  RooflineOp out{.name = row.name,
                 .op_class = row.op_class,
                 .dtype = row.dtype,
                 .calls = row.calls,
                 .flops = row.flops,
                 .bytes = row.bytes,
                 .kernel_ns = row.kernel_ns};
  if (row.bytes != 0) out.intensity = flops / bytes;
  if (time != 0) {
    out.flops_per_s = flops / time * 1e9;
    out.bytes_per_s = bytes / time * 1e9;
  }
  if (!row.has_roof || time == 0) {
    out.absent = peaks ? peaks->peak(row.dtype).reason() : peaks.reason();
    return out;
  }
  out.roof_share = row.roof_ns / time;
  out.bound = row.memory_bound_ns * 2 > time ? "memory" : "compute";
  out.model_or_peak_error = row.roof_ns > time;
  return out;
}

/// Ops that launched device work, and the ops around them; of a run without device work all ops.
std::vector<bool> ops_with_work(const PreparedRun& run) {
  const Spans& spans = run.timeline.spans;
  std::vector<bool> wanted(spans.size());
  for (const DeviceState& state : run.devices) {
    for (const Work& work : state.device.work) {
      if (state.device.is_host) wanted[work.row] = true;
      if (work.op == kNoRow || state.device.is_host) continue;
      wanted[work.op] = true;
      const uint32_t parent = spans.parent[work.op];
      if (parent != kNoRow && spans.op[parent] != kNoRow) wanted[spans.op[parent]] = true;
    }
  }
  return wanted;
}

std::vector<bool> names_with(const Timeline& run, std::string_view part) {
  std::vector<bool> has(run.names.size());
  for (uint32_t id = 0; id < run.names.size(); id++)
    has[id] = run.names[id].find(part) != std::string_view::npos;
  return has;
}

/// Reasons name ops, and a file may name any number of them. Those with the most time, and the others as one.
std::map<std::string, int64_t> largest_reasons(const std::map<std::string, int64_t>& all) {
  constexpr size_t kMostReasons = 1000;
  if (all.size() <= kMostReasons) return all;
  std::vector<std::pair<int64_t, std::string_view>> by_time;
  by_time.reserve(all.size());
  for (const auto& [reason, ns] : all) by_time.emplace_back(-ns, reason);
  std::sort(by_time.begin(), by_time.end());
  std::map<std::string, int64_t> out;
  int64_t rest = 0;
  for (size_t i = 0; i < by_time.size(); i++) {
    if (i < kMostReasons) {
      out.emplace(by_time[i].second, -by_time[i].first);
    } else {
      rest -= by_time[i].first;
    }
  }
  out["no model for " + std::to_string(all.size() - kMostReasons) + " other ops"] += rest;
  return out;
}

constexpr double kLeastModelled = 0.5;  // of the kernel time; a mean over less would mislead

void set_roof_metrics(MetricSet& metrics, const Totals& sum) {
  if (sum.roofed_ns == 0) {
    for (const Metric metric : {Metric::roof_time, Metric::roof_share, Metric::memory_bound_time})
      metrics.absent(metric, sum.no_peak.empty() ? "no peak for the ops that have a model" : sum.no_peak);
    return;
  }
  metrics.set(Metric::roof_time, Known<double>(std::round(sum.roof_ns)));
  metrics.set(Metric::roof_share, Known<double>(sum.roof_ns / sum.roofed_ns));
  metrics.set(Metric::memory_bound_time, Known<double>(sum.memory_bound_ns));
}

Result<bool> has_shapes(store::OpenRun& open) {
  bool any = false;
  NL_TRY(store::ColumnScan scan, open.scan(model::TableId::spans, {"shapes"}));
  while (!any) {
    NL_TRY(const bool more, scan.next());
    if (!more) break;
    any = !scan.texts(0).texts.empty();
  }
  return any;
}

}  // namespace

Result<OpArguments> load_op_arguments(store::OpenRun& open, const PreparedRun& run) {
  const Spans& spans = run.timeline.spans;
  OpArguments arguments;
  PagedVector<uint32_t>* columns[] = {&arguments.shapes, &arguments.dtypes, &arguments.strides,
                                      &arguments.inputs};
  NL_TRY(const bool any, has_shapes(open));
  if (!any) return arguments;
  const std::vector<bool> wanted = ops_with_work(run),
                          backward = names_with(run.timeline, "ConvolutionBackward");
  for (auto* column : columns) column->assign(spans.size(), kNoRow);
  arguments.backward_shapes.assign(spans.size(), kNoRow);
  PagedVector<std::pair<int64_t, uint32_t>> backward_of;  // sequence numbers and shapes
  PagedVector<std::pair<uint32_t, int64_t>> forward;      // spans and their sequence numbers
  uint32_t row = 0;
  NL_TRY(store::ColumnScan scan,
         open.scan(model::TableId::spans, {"shapes", "dtypes", "strides", "inputs", "sequence_number"}));
  NL_CHECK(scan.for_pieces([&] {
    const auto& numbers = scan.numbers(4);
    for (size_t i = 0; i < scan.size() && row < spans.size(); i++, row++) {
      const bool is_numbered = numbers[i] != model::kNull;
      if (backward[spans.name[row]] && is_numbered && scan.has_text(0, i))
        backward_of.emplace_back(numbers[i], arguments.texts.add(scan.text(0, i)));
      if (!wanted[row]) continue;
      for (size_t c = 0; c < 4; c++) {
        if (scan.has_text(c, i)) (*columns[c])[row] = arguments.texts.add(scan.text(c, i));
      }
      if (is_numbered) forward.emplace_back(row, numbers[i]);
    }
  }));
  const auto by_number = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(backward_of.begin(), backward_of.end(), by_number))
    std::stable_sort(backward_of.begin(), backward_of.end(), by_number);  // the first of a number counts
  for (const auto& [span, number] : forward) {
    const std::pair<int64_t, uint32_t> first{number, 0};
    const auto it = std::lower_bound(backward_of.begin(), backward_of.end(), first, by_number);
    if (it != backward_of.end() && it->first == number) arguments.backward_shapes[span] = it->second;
  }
  return arguments;
}

RooflineTable op_roofline(const PreparedRun& run, const OpArguments& arguments, const Device& device,
                          const Known<DevicePeaks>& peaks, const IntervalSet& window) {
  RooflineTable table;
  table.peaks = peaks;
  table.kernel_ns = coverage_of(run.timeline, device, window).kernels_ns;
  const bool no_shapes = arguments.texts.size() == 0;
  Models models(run, arguments);
  std::map<std::pair<uint32_t, std::string>, RooflineRow> rows;
  CancelPoll poll;
  for_work_of_ops(device, [&](const OpWork& work) {
    poll();
    const uint32_t span = work.span;
    if (!contains(window, work.first_start)) return;
    if (no_shapes) {
      table.without_model["no shapes in the source"] += work.kernel_ns;
      return;
    }
    const uint32_t name = run.timeline.spans.name[span];
    const Known<OpModel>& model = models.of(span);
    if (!model) {
      table.without_model[model.reason()] += work.kernel_ns;
      return;
    }
    const std::string kernel = joined_names(run.timeline, work.kernels);
    const std::string dtype = compute_dtype(model->dtype, kernel);
    RooflineRow& row = rows[{name, dtype}];
    row.name = run.timeline.names[name];
    row.dtype = dtype;
    row.op_class = run.classes.op[run.timeline.spans.op_type[span]];
    add_to_row(row, *model, work, peaks, kernel);
    const uint32_t shapes = arguments.shapes[span];
    if (shapes != kNoRow && has_ragged_size(arguments.texts[shapes])) row.ragged_ns += work.kernel_ns;
    table.modelled_ns += work.kernel_ns;
  });
  for (auto& [key, row] : rows) table.rows.push_back(std::move(row));
  std::sort(table.rows.begin(), table.rows.end(), [](const RooflineRow& a, const RooflineRow& b) {
    return std::tie(b.kernel_ns, a.name, a.dtype) < std::tie(a.kernel_ns, b.name, b.dtype);
  });
  return table;
}

void set_roofline_metrics(MetricSet& metrics, const RooflineTable& table) {
  static constexpr Metric kAll[] = {Metric::model_flops,
                                    Metric::model_bytes,
                                    Metric::mfu,
                                    Metric::mbu,
                                    Metric::roof_time,
                                    Metric::roof_share,
                                    Metric::memory_bound_time,
                                    Metric::ragged_matrix_time};
  metrics.set(Metric::modelled_share,
              share(static_cast<double>(table.modelled_ns), static_cast<double>(table.kernel_ns),
                    "no kernels in the window"));
  if (table.rows.empty()) {
    const std::string why = table.without_model.empty() ? "no op with device work in the window"
                                                        : table.without_model.begin()->first;
    for (const Metric metric : kAll) metrics.absent(metric, why);
    return;
  }
  const Totals sum = totals_of(table);
  const double total = metrics.get(Metric::total_time).value_or(0);
  metrics.set(Metric::model_flops, Known<double>(sum.flops));
  metrics.set(Metric::model_bytes, Known<double>(sum.bytes));
  metrics.set(Metric::fp32_matrix_time, Known<double>(sum.fp32_ns));
  metrics.set(Metric::ragged_matrix_time, Known<double>(sum.ragged_ns));
  if (!table.peaks) {
    for (const Metric metric :
         {Metric::mfu, Metric::mbu, Metric::roof_time, Metric::roof_share, Metric::memory_bound_time})
      metrics.absent(metric, table.peaks.reason());
    return;
  }
  set_roof_metrics(metrics, sum);
  if (metrics.get(Metric::modelled_share).value_or(0) < kLeastModelled) {
    for (const Metric metric : {Metric::mfu, Metric::mbu})
      metrics.absent(metric, "the ops with a model are less than half of the kernel time");
    return;
  }
  metrics.set(Metric::mfu, sum.no_peak.empty() ? share(sum.at_peak_ns, total, "total_time is 0")
                                               : Known<double>::absent(sum.no_peak));
  metrics.set(Metric::mbu, map(table.peaks->bandwidth, [&](double bandwidth) {
                return share(sum.bytes / bandwidth * 1e9, total, "total_time is 0");
              }));
}

RooflineAnswer roofline_answer(const RooflineTable& table, int64_t top) {
  RooflineAnswer answer{.modelled_ns = table.modelled_ns,
                        .kernel_ns = table.kernel_ns,
                        .without_model = largest_reasons(table.without_model),
                        .peaks = peaks_answer(table.peaks)};
  for (const RooflineRow& row : table.rows) {
    if (static_cast<int64_t>(answer.ops.size()) == top) break;
    answer.ops.push_back(answer_of(row, table.peaks));
  }
  return answer;
}

}  // namespace nl::analyze
