// Makes the answer of an analysis in two steps. measure() computes the metrics of every device in the window;
// rules need only that. analysis_of() then adds what people read: limiters, gaps, steps and the tables.
// Tables are cut to `top` rows, and what is cut off is summed up in not_shown, so every table still adds up.

#include "analyze/analysis.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "analyze/session_metrics.h"
#include "analyze/time/host_profile.h"
#include "analyze/time/limiter.h"
#include "analyze/time/model_layers.h"
#include "analyze/time/serving.h"
#include "analyze/time/strip.h"
#include "base/call_control.h"
#include "model/batch.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr size_t kStepsShown = 200;
constexpr char kBetweenIterations[] = "between_iterations";  // of many pieces; one answer
constexpr int64_t kLeastOfPart = 10;  // a gap of a tenth of a part outside is worth naming
constexpr size_t kMemorySamples = 400;
constexpr int64_t kGapsShown = 100;
constexpr size_t kPiecesAtOnce = 1'000;  // of idle time, while the longest are looked for

std::optional<std::string> text_or_none(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

/// The devices that run.json names.
class Hardware {
 public:
  explicit Hardware(const json& document) : all_(document["hardware"]["devices"]) {
    for (const json& entry : all_) {
      if (entry["device"].is_number_integer()) by_number_[entry["device"].get<int64_t>()].push_back(&entry);
    }
  }

  /// The entry of a device: preferably that of its own rank, otherwise the first with its number; null if
  /// there is none. A device without a number gets the only entry if there is just one.
  json of(const Device& device) const {
    const json* found = nullptr;
    for (const json* entry : with_number(device)) {
      const bool own = device.rank && entry->value("rank", int64_t{-1}) == *device.rank;
      if (own || found == nullptr) found = entry;
    }
    if (found != nullptr) return *found;
    return !device.number && !device.is_host && all_.size() == 1 ? all_[0] : json(nullptr);
  }

 private:
  std::span<const json* const> with_number(const Device& device) const {
    const auto it = device.number ? by_number_.find(*device.number) : by_number_.end();
    if (it == by_number_.end()) return {};
    return it->second;
  }

  const json& all_;
  std::unordered_map<int64_t, std::vector<const json*>> by_number_;
};

std::string hardware_name(const json& entry) {
  return entry.is_object() ? entry.value("name", "") : "";
}

std::optional<int64_t> number_of(const json& entry, const char* key) {
  const auto it = entry.find(key);
  if (it == entry.end() || !it->is_number_integer()) return std::nullopt;
  return it->get<int64_t>();
}

/// Ranks of the job, as far as the sources tell; at least the devices that were seen.
int64_t world_size(const json& document, size_t devices) {
  auto world = static_cast<int64_t>(devices);
  for (const json& rank : document["hardware"].value("ranks", json::array()))
    world = std::max(world, rank.value("world_size", int64_t{0}));
  return world;
}

Known<DevicePeaks> peaks_of(const PeakTable& table, const json& entry) {
  const std::string name = hardware_name(entry);
  if (name.empty()) return Absent{"the source does not name the device"};
  return table.find(DeviceFacts{name, number_of(entry, "memory_bytes"), number_of(entry, "multiprocessors")});
}

/// By the first call of a runtime; empty if there is none.
std::string vendor_by_calls(const Timeline& run) {
  for (uint32_t id = 0; id < run.names.size(); id++) {
    if (run.names[id].starts_with("hipLaunch") || run.names[id].starts_with("hipModuleLaunch")) return "AMD";
    if (run.names[id].starts_with("cudaLaunch") || run.names[id].starts_with("cuLaunch")) return "NVIDIA";
  }
  return "";
}

/// Whose device it is: as the source says, else by the calls of its runtime.
std::string vendor_of(const json& entry, const std::string& by_calls) {
  const std::string said = entry.is_object() ? entry.value("vendor", "") + " " + hardware_name(entry) : "";
  if (said.find("NVIDIA") != std::string::npos || said.find("Tesla") != std::string::npos) return "NVIDIA";
  if (said.find("AMD") != std::string::npos || said.find("gfx") != std::string::npos) return "AMD";
  return by_calls;
}

/// "9.0" as a number.
std::optional<double> capability_of(const json& entry) {
  const std::string text = entry.is_object() ? entry.value("compute_capability", "") : "";
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void add_device_facts(MetricSet& metrics, const json& entry, const std::string& vendor_by_calls) {
  const std::string vendor = vendor_of(entry, vendor_by_calls);
  if (vendor.empty()) {
    metrics.absent(Metric::nvidia_device, "the source does not say whose device it is");
    metrics.absent(Metric::amd_device, "the source does not say whose device it is");
  } else {
    metrics.set(Metric::nvidia_device, int64_t{vendor == "NVIDIA"});
    metrics.set(Metric::amd_device, int64_t{vendor == "AMD"});
  }
  if (const auto capability = capability_of(entry); capability && vendor != "AMD") {
    metrics.set(Metric::compute_capability, Known<double>(*capability));
  } else if (!metrics.get(Metric::compute_capability)) {
    metrics.absent(Metric::compute_capability, "the source does not say the compute capability");
  }
}

void add_memory(MeasuredDevice& device, const IntervalSet& window) {
  const MemoryPeaks peaks = memory_peaks(device.memory, window);
  const auto as_double = [](int64_t bytes) { return static_cast<double>(bytes); };
  device.metrics.set(Metric::memory_peak_bytes, map(peaks.allocated, as_double));
  device.metrics.set(Metric::memory_reserved_peak_bytes, map(peaks.reserved, as_double));
  device.metrics.set(
      Metric::memory_slack,
      combine(peaks.allocated, peaks.reserved, [](int64_t used, int64_t reserved) -> Known<double> {
        if (reserved <= 0) return Absent{"nothing is reserved"};
        return 1 - static_cast<double>(used) / static_cast<double>(reserved);
      }));
  if (device.memory == nullptr) {
    device.metrics.absent(Metric::allocation_count, "no allocator events of the device");
  } else {
    device.metrics.set(Metric::allocation_count, peaks.events);
  }
}

void add_roofline(MeasuredDevice& device, const PreparedRun& run, const Sources& sources, const json& entry,
                  const IntervalSet& window) {
  const Known<DevicePeaks> peaks = peaks_of(sources.peaks, entry);
  if (device.state->device.is_host) {
    device.roofline.peaks = Absent{"no device work in the run"};
    device.roofline.without_model["no device work in the run"] = 0;
  } else {
    device.roofline = op_roofline(run, sources.arguments, device.state->device, peaks, window);
  }
  set_roofline_metrics(device.metrics, device.roofline);
}

std::map<std::string, int64_t> causes_of(const DeviceState& state, const IntervalSet& window) {
  std::map<std::string, int64_t> causes;
  const auto sums = state.idle.sums_in(window);
  for (size_t i = 0; i < kIdleCauses; i++) {
    if (sums[i] > 0) causes[std::string(idle_cause_name(static_cast<IdleCause>(i)))] = sums[i];
  }
  return causes;
}

/// The longest gaps first; equally long ones in order of time.
PagedVector<IdlePiece> longest_pieces(const DeviceState& state, const IntervalSet& window, size_t most) {
  PagedVector<IdlePiece> pieces;
  int64_t known_longer = -1;  // enough earlier ones are at least as long
  const auto keep_longest = [&] {
    const size_t kept = std::min(most, pieces.size());
    std::partial_sort(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(kept), pieces.end(),
                      [](const IdlePiece& a, const IdlePiece& b) {
                        return std::pair(-a.time.length(), a.time.begin) <
                               std::pair(-b.time.length(), b.time.begin);
                      });
    pieces.resize(kept);
    if (kept == most && most > 0) known_longer = pieces.back().time.length();
  };
  const auto skip = [&](const CauseRecord::Block& block) { return block.longest_ns <= known_longer; };
  state.idle.for_each_but(skip, [&](IdlePiece piece) {
    if (piece.time.length() <= known_longer || length_inside(window, piece.time) == 0) return;
    piece.time = {std::max(piece.time.begin, window.front().begin),
                  std::min(piece.time.end, window.back().end)};
    pieces.push_back(piece);
    if (pieces.size() > kPiecesAtOnce + most) keep_longest();
  });
  keep_longest();
  return pieces;
}

std::string table_name(WorkTable table) {
  static constexpr const char* kTables[] = {"kernels", "copies", "spans"};
  return kTables[static_cast<size_t>(table)];
}

/// The longest gaps with their cause and the work that ended them, so that they can be found in a trace
/// viewer.
std::vector<GapAnswer> longest_gaps(const Timeline& run, const DeviceState& state, const IntervalSet& window,
                                    size_t most) {
  const PagedVector<IdlePiece> pieces = longest_pieces(state, window, most);
  const PagedVector<uint32_t> spans = host_spans(run, state.device, pieces);
  std::vector<GapAnswer> list;
  for (size_t i = 0; i < pieces.size(); i++) {
    const IdlePiece& piece = pieces[i];
    GapAnswer gap{.start_ns = piece.time.begin,
                  .dur_ns = piece.time.length(),
                  .cause = std::string(idle_cause_name(piece.cause))};
    if (spans[i] != kNoRow) gap.host_span = run.names[run.spans.name[spans[i]]];
    if (piece.next != kNoRow) {
      const Work& next = state.device.work[piece.next];
      gap.next_table = table_name(next.table);
      gap.next_row = next.row;
    }
    list.push_back(std::move(gap));
  }
  return list;
}

std::map<std::string, int64_t> classes_of(const MetricSet& metrics) {
  std::map<std::string, int64_t> classes;
  for (size_t i = 0; i < kOpClasses; i++) {
    const auto op_class = static_cast<OpClass>(i);
    const auto& ns = metrics.get(class_metric(op_class));
    if (ns && *ns > 0) classes[std::string(op_class_name(op_class))] = static_cast<int64_t>(*ns);
  }
  return classes;
}

MemoryAnswer memory_of(const MemoryTimeline& memory, const IntervalSet& window) {
  MemoryAnswer answer{memory.relative, {}};
  for (const MemorySample& sample : thinned(memory.samples, window, kMemorySamples)) {
    MemoryPoint point{sample.time - window.front().begin, sample.allocated};
    if (sample.reserved != model::kNull) point.reserved_bytes = sample.reserved;
    answer.samples.push_back(point);
  }
  return answer;
}

std::vector<std::string> sorted_texts(const std::set<uint32_t>& ids, const Names& names) {
  std::vector<std::string> texts;
  texts.reserve(ids.size());
  for (const uint32_t id : ids) texts.emplace_back(names[id]);
  std::sort(texts.begin(), texts.end());
  return texts;
}

/// Which tables the work of a device is in, and which names count as communication or, for spans, as copies.
/// With this, SQL over the tables can reproduce the figures.
WorkSources work_sources(const Device& device, const Names& names) {
  std::array<int64_t, 3> rows{};
  std::set<uint32_t> communication, copies;
  for (const Work& work : device.work) {
    rows[static_cast<size_t>(work.table)]++;
    if (work.kind == WorkKind::kCommunication) communication.insert(work.name);
    if (work.kind == WorkKind::kCopy && work.table == WorkTable::kSpans) copies.insert(work.name);
  }
  return {{rows[0], rows[1], rows[2]}, sorted_texts(communication, names), sorted_texts(copies, names)};
}

DeviceAnswer device_answer(const MeasuredDevice& measured, const Timeline& run, const IntervalSet& window,
                           const AnalysisOptions& options) {
  const Device& device = measured.state->device;
  const auto gaps = static_cast<size_t>(std::min(options.top, kGapsShown));
  DeviceAnswer out{.on = device_name(device),
                   .name = text_or_none(measured.name),
                   .kind = device.is_host ? DeviceKind::kHost : DeviceKind::kDevice,
                   .time = decompose(device, window),
                   .untimed = device.untimed,
                   .idle_causes = causes_of(*measured.state, window),
                   .longest_gaps = longest_gaps(run, *measured.state, window, gaps),
                   .classes = classes_of(measured.metrics),
                   .metrics = measured.metrics,
                   .roofline = roofline_answer(measured.roofline, options.top)};
  if (options.with_figures) {
    out.work = work_sources(device, run.names);
    out.strip = strip_of(device, window);
    if (measured.memory != nullptr && !window.empty()) out.memory = memory_of(*measured.memory, window);
  }
  return out;
}

/// A limiter over the devices of all ranks.
struct LimiterOfRanks {
  LimiterAnswer answer;  ///< with the words of the device that has the most of it
  int64_t sum = 0;       ///< over all devices
  int64_t least = 0;     ///< of a device that has any of it
  int64_t most = 0;      ///< of a device
  size_t devices = 0;    ///< that have any of it
};

/// `devices` of the job, of so many ranks: a rank may have several.
std::string rank_words(const LimiterOfRanks& limiter, size_t devices, size_t ranks, int64_t window) {
  const int64_t least = limiter.devices < devices ? 0 : limiter.least;
  const auto percent = [&](int64_t ns) { return 100 * share_of(ns, window).value_or(0); };
  return fmt::format("{} (mean of {} {}, from {:.1f} % to {:.1f} %{})", limiter.answer.words, devices,
                     devices == ranks ? "ranks" : "devices", percent(least), percent(limiter.most),
                     limiter.answer.on.rank ? fmt::format(" on rank {}", *limiter.answer.on.rank) : "");
}

/// One statement for a job: the mean over its devices, so that the parts still add up to the window.
std::vector<LimiterAnswer> limiters_of_job(const Measured& measured, size_t ranks) {
  std::map<std::string, LimiterOfRanks> sums;
  for (const MeasuredDevice& device : measured.devices) {
    for (Limiter& limiter : limiters(device.metrics, false)) {
      LimiterOfRanks& all = sums[limiter.what];
      all.sum += limiter.time_ns;
      all.least = all.devices++ == 0 ? limiter.time_ns : std::min(all.least, limiter.time_ns);
      if (limiter.time_ns <= all.most) continue;
      all.most = limiter.time_ns;
      all.answer = {device_name(device.state->device), limiter.what, 0, 0, std::move(limiter.words)};
    }
  }
  const size_t devices = measured.devices.size();
  const int64_t window = total_length(measured.window);
  int64_t rest = window;
  std::vector<LimiterAnswer> out;
  for (auto& [what, all] : sums) {
    all.answer.time_ns = all.sum / static_cast<int64_t>(devices);
    all.answer.words = rank_words(all, devices, ranks, window);
    rest -= all.answer.time_ns;
    out.push_back(std::move(all.answer));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const LimiterAnswer& a, const LimiterAnswer& b) { return a.time_ns > b.time_ns; });
  if (!out.empty()) out.front().time_ns += rest;  // what the divisions leave, less than a ns a part
  for (LimiterAnswer& limiter : out) limiter.share = share_of(limiter.time_ns, window).value_or(0);
  return out;
}

/// 0 unless every device belongs to a rank.
size_t number_of_ranks(const Measured& measured) {
  std::set<int32_t> ranks;
  for (const MeasuredDevice& device : measured.devices) {
    if (device.state->device.is_host || !device.state->device.rank) return 0;
    ranks.insert(*device.state->device.rank);
  }
  return ranks.size();
}

std::vector<LimiterAnswer> limiters_of(const Measured& measured) {
  if (const size_t ranks = number_of_ranks(measured); ranks > 1) return limiters_of_job(measured, ranks);
  const MeasuredDevice* most = nullptr;
  std::vector<Limiter> best;
  for (const MeasuredDevice& device : measured.devices) {
    auto list = limiters(device.metrics, device.state->device.is_host);
    if (list.empty() || (!best.empty() && best.front().share >= list.front().share)) continue;
    most = &device;
    best = std::move(list);
  }
  std::vector<LimiterAnswer> out;
  out.reserve(best.size());
  for (Limiter& limiter : best)
    out.push_back({device_name(most->state->device), std::move(limiter.what), limiter.time_ns, limiter.share,
                   std::move(limiter.words)});
  return out;
}

/// Of a run without device work: remarks on the host with the most ops. Limiters are taken back if the file
/// cannot carry them.
void add_host_profile(Analysis& out, const PreparedRun& run, const Measured& measured) {
  const MeasuredDevice* most = nullptr;
  for (const MeasuredDevice& device : measured.devices) {
    if (!device.state->device.is_host) return;
    if (most == nullptr || device.state->device.work.size() > most->state->device.work.size()) most = &device;
  }
  if (most == nullptr) return;
  const bool shows_pool = most->metrics.get(Metric::parallel_efficiency).has_value();
  HostProfile profile = host_profile(run, most->state->device, measured.window, shows_pool);
  out.host_remarks = std::move(profile.remarks);
  if (!profile.can_judge) out.limiters.clear();
  if (!profile.compute_words) return;
  for (LimiterAnswer& limiter : out.limiters) {
    if (limiter.what == "compute") limiter.words = *profile.compute_words;
  }
}

constexpr size_t kLeastForP90 = 10, kLeastForP99 = 100;

std::optional<InferenceTimes> inference_times(const Steps& steps, const IntervalSet& window) {
  if (steps.source != "inference") return std::nullopt;
  PagedVector<int64_t> latencies;
  for (const Step& step : steps.list) {
    if (length_inside(window, step.time) == step.time.length()) latencies.push_back(step.host.length());
  }
  const int64_t window_ns = total_length(window);
  if (latencies.empty() || window_ns == 0) return std::nullopt;
  InferenceTimes out{.count = static_cast<int64_t>(latencies.size()), .p50_ns = median(latencies)};
  if (latencies.size() >= kLeastForP90) out.p90_ns = quantile(latencies, 0.9);
  if (latencies.size() >= kLeastForP99) out.p99_ns = quantile(latencies, 0.99);
  out.per_second = static_cast<double>(out.count) * 1e9 / static_cast<double>(window_ns);
  return out;
}

/// Appends the first `top` rows to the list and returns the sum of the others.
template <class Row, class Answer, class ToAnswer, class Time>
LeftOut add_top_rows(const std::vector<Row>& rows, int64_t top, std::vector<Answer>& list,
                     ToAnswer&& to_answer, Time&& time) {
  LeftOut left;
  int64_t shown = 0;
  for (const Row& row : rows) {
    if (shown < top) {
      list.push_back(to_answer(row));
      shown++;
    } else {
      left.rows++;
      left.total_ns += time(row);
    }
  }
  return left;
}

/// Rows of all devices, one device after the other, each by time.
class Tables {
 public:
  Tables(const PreparedRun& run, const Measured& measured, const Taxonomy& taxonomy, int64_t top,
         const GraphOps* graphs)
      : run_(run),
        measured_(measured),
        taxonomy_(taxonomy),
        top_(std::min(top, rows_of_a_device(measured.devices.size()))),
        graphs_(graphs) {}

  void add(Analysis& out) const {
    if (graphs_ != nullptr) out.graph_ops = graphs_->answer;
    for (const MeasuredDevice& measured : measured_.devices) {
      const Device& device = measured.state->device;
      NotShown rest{.on = device_name(device)};
      if (device.is_host) {
        rest.ops = add_host_ops(device, out.top_ops);
      } else {
        rest.kernels = add_kernels(device, out.top_kernels);
        if (device.has_records) rest.ops = add_ops(device, out.top_ops);
        rest.modules = add_modules(device, out.top_modules);
        if (graphs_ != nullptr) rest.graph_ops = add_graph_ops(device, out.graph_ops->top);
        add_phases(device, out.phases);
      }
      out.not_shown.push_back(rest);
    }
  }

 private:
  /// So that a table has no more rows than a page can hold, however many devices there are.
  static int64_t rows_of_a_device(size_t devices) {
    constexpr size_t kMostRows = 200'000, kLeastRows = 10;
    return static_cast<int64_t>(std::max(kLeastRows, kMostRows / std::max<size_t>(1, devices)));
  }

  std::string name_of(uint32_t id) const { return std::string(run_.timeline.names[id]); }
  LentOps lent() const { return graphs_ == nullptr ? LentOps{} : graphs_->lent(); }

  LeftOut add_kernels(const Device& device, std::vector<KernelAnswer>& list) const {
    const auto rows = kernel_rows(run_.timeline, device, measured_.window);
    int64_t sum = 0;
    for (const KernelRow& row : rows) sum += row.total_ns;
    return add_top_rows(
        rows, top_, list, [&](const KernelRow& row) { return kernel(row, device, sum); },
        [](const KernelRow& row) { return row.total_ns; });
  }

  KernelAnswer kernel(const KernelRow& row, const Device& device, int64_t sum) const {
    const KernelIdentity identity = taxonomy_.kernel(run_.timeline.names[row.name]);
    return {.on = device_name(device),
            .name = name_of(row.name),
            .short_name = row.is_copy ? name_of(row.name) : identity.name.short_name,
            .label = row.is_copy ? name_of(row.name) : kernel_label(identity.name),
            .op_class = row.is_copy ? OpClass::k_memory : run_.classes.kernel[row.name],
            .family = row.is_copy ? "copy" : identity.family,
            .is_copy = row.is_copy,
            .total_ns = row.total_ns,
            .calls = row.calls,
            .mean_ns = share_of(row.total_ns, row.calls),
            .share = share_of(row.total_ns, sum),
            .longest_ns = row.longest_ns,
            .longest_row = row.longest_row,
            .longest_table = table_name(row.longest_table),
            .exposed_ns = row.exposed_ns,
            .exposed_share = share_of(row.exposed_ns, row.total_ns)};
  }

  LeftOut add_ops(const Device& device, std::vector<OpAnswer>& list) const {
    const auto own = op_rows(run_.timeline, device, measured_.window, lent());
    if (graphs_ == nullptr) return add_own_ops(own, device, list);
    std::vector<OpAnswer> rows;
    for (const OpRow& row : own) rows.push_back(op(row, device));
    add_lent_ops(device, rows);
    int64_t sum = 0;
    for (const OpAnswer& row : rows) sum += row.time_ns();
    return add_top_rows(
        rows, top_, list,
        [&](OpAnswer row) {
          row.share = share_of(row.time_ns(), sum);
          return row;
        },
        [](const OpAnswer& row) { return row.time_ns(); });
  }

  LeftOut add_own_ops(const std::vector<OpRow>& rows, const Device& device,
                      std::vector<OpAnswer>& list) const {
    int64_t sum = 0;
    for (const OpRow& row : rows) sum += row.device_ns;
    return add_top_rows(
        rows, top_, list,
        [&](const OpRow& row) {
          OpAnswer answer = op(row, device);
          answer.share = share_of(row.device_ns, sum);
          return answer;
        },
        [](const OpRow& row) { return row.device_ns; });
  }

  /// Ops of graph replays by name, in their places by time.
  void add_lent_ops(const Device& device, std::vector<OpAnswer>& rows) const {
    std::map<std::string, OpAnswer> by_name;
    for (const LentRow& row : lent_rows(*graphs_, device, measured_.window)) {
      const DonorOp& op = graphs_->ops[row.op];
      const std::string name(graphs_->text(op.name));
      OpAnswer& out = by_name
                          .try_emplace(name, OpAnswer{.on = device_name(device),
                                                      .name = name,
                                                      .op_type = name,
                                                      .op_class = op.op_class,
                                                      .owner = Owner::kGraphOp,
                                                      .device_ns = 0,
                                                      .calls = 0,
                                                      .kernels = 0})
                          .first->second;
      *out.device_ns += row.device_ns;
      *out.calls += row.calls;
      *out.kernels += row.kernels;
    }
    for (auto& [name, row] : by_name) rows.push_back(std::move(row));
    std::stable_sort(rows.begin(), rows.end(),
                     [](const OpAnswer& a, const OpAnswer& b) { return a.time_ns() > b.time_ns(); });
  }

  /// The same by shapes and module, too.
  LeftOut add_graph_ops(const Device& device, std::vector<GraphOpAnswer>& list) const {
    const int64_t in_graphs = coverage_of(run_.timeline, device, measured_.window).graph_ns;
    std::vector<GraphOpAnswer> rows;
    for (const LentRow& row : lent_rows(*graphs_, device, measured_.window)) {
      const DonorOp& op = graphs_->ops[row.op];
      rows.push_back({.on = device_name(device),
                      .name = std::string(graphs_->text(op.name)),
                      .op_class = op.op_class,
                      .shapes = text_of(op.shapes),
                      .module = text_of(op.module),
                      .kernels = row.kernels,
                      .device_ns = row.device_ns,
                      .share = share_of(row.device_ns, in_graphs)});
    }
    std::stable_sort(rows.begin(), rows.end(), [](const GraphOpAnswer& a, const GraphOpAnswer& b) {
      return a.device_ns > b.device_ns;
    });
    return add_top_rows(
        rows, top_, list, [](const GraphOpAnswer& row) { return row; },
        [](const GraphOpAnswer& row) { return row.device_ns; });
  }

  std::optional<std::string> text_of(uint32_t id) const {
    return id == kNoRow ? std::nullopt : std::optional(std::string(graphs_->text(id)));
  }

  OpAnswer op(const OpRow& row, const Device& device) const {
    OpAnswer out{.on = device_name(device),
                 .name = std::string(kNoLaunchName),
                 .op_class = OpClass::k_control,
                 .owner = row.owner,
                 .device_ns = row.device_ns,
                 .kernels = row.works};
    if (row.owner == Owner::kNoLaunch) return out;
    out.name = name_of(row.name);
    out.op_type = name_of(row.op_type);
    out.calls = row.calls;
    if (row.owner == Owner::kOp) out.op_class = taxonomy_.op(*out.op_type);
    return out;
  }

  LeftOut add_host_ops(const Device& device, std::vector<OpAnswer>& list) const {
    const auto rows = host_op_rows(run_.timeline, measured_.window);
    int64_t sum = 0;
    for (const HostOpRow& row : rows) sum += row.own_ns;
    return add_top_rows(
        rows, top_, list,
        [&](const HostOpRow& row) -> OpAnswer {
          return {.on = device_name(device),
                  .name = name_of(row.name),
                  .op_type = name_of(row.op_type),
                  .op_class = taxonomy_.op(name_of(row.op_type)),
                  .owner = Owner::kOp,
                  .own_ns = row.own_ns,
                  .calls = row.calls,
                  .share = share_of(row.own_ns, sum)};
        },
        [](const HostOpRow& row) { return row.own_ns; });
  }

  LeftOut add_modules(const Device& device, std::vector<ModuleAnswer>& list) const {
    const auto rows = module_rows(run_.timeline, device, measured_.window, lent(), static_cast<size_t>(top_));
    int64_t sum = 0;
    for (const ModuleRow& row : rows) sum += row.device_ns;
    return add_top_rows(
        rows, top_, list,
        [&](const ModuleRow& row) -> ModuleAnswer {
          return {device_name(device), text_or_none(row.path), row.device_ns, row.works,
                  share_of(row.device_ns, sum)};
        },
        [](const ModuleRow& row) { return row.device_ns; });
  }

  void add_phases(const Device& device, std::vector<PhaseAnswer>& list) const {
    for (const PhaseRow& row : phase_rows(run_.timeline, run_.windows, device, measured_.window)) {
      list.push_back({.on = device_name(device),
                      .phase = std::string(phase_name(row.phase)),
                      .ranges = row.ranges,
                      .host_ns = row.host_ns,
                      .device_ns = row.device_ns,
                      .kernels = row.kernels,
                      .graph_kernels = row.graph_kernels});
    }
  }

  const PreparedRun& run_;
  const Measured& measured_;
  const Taxonomy& taxonomy_;
  int64_t top_;
  const GraphOps* graphs_;
};

std::vector<CoverageAnswer> coverage_of_devices(const PreparedRun& run, const Measured& measured) {
  std::vector<CoverageAnswer> list;
  for (const MeasuredDevice& device : measured.devices) {
    if (device.state->device.is_host) continue;
    const Coverage sum = coverage_of(run.timeline, device.state->device, measured.window);
    const auto other = static_cast<int64_t>(device.metrics.get(Metric::other_kernel_time).value_or(0));
    list.push_back({.on = device_name(device.state->device),
                    .kernel_ns = sum.kernels_ns,
                    .with_launch_ns = sum.with_launch_ns,
                    .with_launch = share_of(sum.with_launch_ns, sum.kernels_ns),
                    .with_op_ns = sum.with_op_ns,
                    .with_op = share_of(sum.with_op_ns, sum.kernels_ns),
                    .in_graphs_ns = sum.graph_ns,
                    .in_graphs = share_of(sum.graph_ns, sum.kernels_ns),
                    .classified = share_of(sum.kernels_ns - other, sum.kernels_ns),
                    .untimed = device.state->device.untimed});
  }
  return list;
}

/// For each of the first `most` steps, the sum of the work inside of it that another step launched.
std::vector<int64_t> work_of_other_steps(const Timeline& run, const Steps& steps, const Device& device,
                                         size_t most) {
  std::vector<int64_t> sums(most);
  const auto end = steps.list.begin() + static_cast<ptrdiff_t>(most);
  for (const Work& work : device.work) {
    if (work.launch == kNoRow) continue;
    const auto own = steps.launched_at(run.spans.start[work.launch]);
    if (!own) continue;
    auto it = std::partition_point(steps.list.begin(), end,
                                   [&](const Step& step) { return step.time.end <= work.start; });
    for (; it != end && it->time.begin < work.end; ++it) {
      const auto step = static_cast<size_t>(it - steps.list.begin());
      if (step != *own) sums[step] += std::min(it->time.end, work.end) - std::max(it->time.begin, work.start);
    }
  }
  return sums;
}

StepAnswer step_answer(const Step& step, size_t number) {
  StepAnswer out{.window = "step:" + std::to_string(number),
                 .label = text_or_none(step.label),
                 .start_ns = step.time.begin,
                 .dur_ns = step.time.length()};
  if (step.phase) out.phase = phase_name(*step.phase);
  if (step.host.length() > 0) {
    out.host_start_ns = step.host.begin;
    out.host_dur_ns = step.host.length();
  }
  return out;
}

StepsAnswer steps_answer(const PreparedRun& run, const Measured& measured) {
  const Steps& steps = run.windows.steps;
  StepsAnswer out{.source = steps.source, .count = static_cast<int64_t>(steps.list.size())};
  if (steps.source != "none") out.confidence = steps.confidence;
  if (steps.source == "period") out.kernels_in_period = steps.period;
  out.without_work = steps.without_work;
  for (size_t i = 0; i < std::min(steps.list.size(), kStepsShown); i++)
    out.list.push_back(step_answer(steps.list[i], i));
  for (const MeasuredDevice& measured_device : measured.devices) {
    const Device& device = measured_device.state->device;
    const std::vector<int64_t> of_others = work_of_other_steps(run.timeline, steps, device, out.list.size());
    for (size_t i = 0; i < out.list.size(); i++)
      out.list[i].devices.push_back(
          {decompose(device, union_of({steps.list[i].time})), device_name(device), of_others[i]});
  }
  return out;
}

/// The parts outside; where the host kept the main device waiting in one, with what the host did. The spans
/// of the run are looked at once for all parts.
std::vector<OutsideAnswer> outside_answers(const PreparedRun& run) {
  const std::vector<OutsidePart>& parts = run.windows.steady.outside;
  const DeviceState* state = main_device(run);
  std::vector<OutsideAnswer> out;
  PagedVector<IdlePiece> gaps;
  std::vector<size_t> places;  // of the gaps in `out`
  for (const OutsidePart& part : parts) {
    if (!out.empty() && part.what == kBetweenIterations && out.back().what == part.what) {
      out.back().dur_ns += part.time.length();
      continue;
    }
    out.push_back({part.what, part.time.begin, part.time.length(), part.why});
    if (state == nullptr || part.what == kBetweenIterations) continue;
    const auto longest = longest_pieces(*state, {part.time}, 1);
    if (longest.empty() || longest[0].time.length() * kLeastOfPart < part.time.length()) continue;
    gaps.push_back(longest[0]);
    places.push_back(out.size() - 1);
  }
  if (gaps.empty()) return out;
  const PagedVector<uint32_t> spans = host_spans(run.timeline, state->device, gaps);
  for (size_t i = 0; i < gaps.size(); i++) {
    if (spans[i] == kNoRow) continue;
    out[places[i]].longest_gap_ns = gaps[i].time.length();
    out[places[i]].host_span = run.timeline.names[run.timeline.spans.name[spans[i]]];
  }
  return out;
}

/// The device with the most kernel time stands for all that share the model.
ModelRoofAnswer model_roof_of(const PreparedRun& run, const Measured& measured, const ModelFacts& facts,
                              std::vector<ServingRow> steps) {
  const DeviceState* main = main_device(run);
  const auto on_main = std::find_if(measured.devices.begin(), measured.devices.end(),
                                    [&](const MeasuredDevice& device) { return device.state == main; });
  if (on_main == measured.devices.end() || main->device.is_host)
    return {.absent = "no device work in the run"};
  if (steps.empty()) {
    if (auto row = described_steps(run.windows.steps, measured.window, facts.steps)) steps.push_back(*row);
  }
  return model_roof(facts, steps, on_main->roofline.peaks, measured.world);
}

WindowAnswer window_answer(const PreparedRun& run, const Measured& measured, const AnalysisOptions& options) {
  WindowAnswer out{options.window, total_length(measured.window),
                   static_cast<int64_t>(measured.window.size()), measured.window, run.windows.whole.length()};
  if (!options.with_figures && out.intervals.size() > kStepsShown) out.intervals.resize(kStepsShown);
  if (options.window != "steady") return out;
  out.why = run.windows.steady.why;
  out.outside = outside_answers(run);
  return out;
}

}  // namespace

Result<Measured> measure(const PreparedRun& run, const Sources& sources, const std::string& window) {
  NL_TRY(auto pieces, window_named(window, run.timeline, run.windows));
  return measure(run, sources, std::move(pieces));
}

Measured measure(const PreparedRun& run, const Sources& sources, IntervalSet window) {
  Measured measured;
  measured.window = std::move(window);
  measured.world = world_size(sources.document, run.devices.size());
  const Hardware hardware(sources.document);
  const HostMetrics host = host_metrics(run, measured.window);
  const std::string vendor = vendor_by_calls(run.timeline);
  for (const DeviceState& state : run.devices) {
    stop_if_cancelled();
    const json entry = hardware.of(state.device);
    MeasuredDevice device{&state, hardware_name(entry), device_metrics(run, state, measured.window, host)};
    if (state.device.number) {
      const auto it = sources.memory.find(*state.device.number);
      if (it != sources.memory.end()) device.memory = &it->second;
    }
    stop_if_cancelled();
    add_memory(device, measured.window);
    if (!sources.pool.empty())
      device.metrics.set(Metric::parallel_efficiency, parallel_efficiency(sources.pool, measured.window));
    add_device_facts(device.metrics, entry, vendor);
    add_roofline(device, run, sources, entry, measured.window);
    add_session_metrics(device.metrics, run, sources, state.device, measured.window);
    measured.devices.push_back(std::move(device));
  }
  return measured;
}

Analysis analysis_of(const PreparedRun& run, const Measured& measured, const Taxonomy& taxonomy,
                     const AnalysisOptions& options, const GraphOps* graphs) {
  Analysis out;
  out.window = window_answer(run, measured, options);
  out.limiters = limiters_of(measured);
  add_host_profile(out, run, measured);
  out.inference_times = inference_times(run.windows.steps, measured.window);
  for (const MeasuredDevice& device : measured.devices) {
    stop_if_cancelled();
    out.devices.push_back(device_answer(device, run.timeline, measured.window, options));
  }
  out.steps = steps_answer(run, measured);
  out.serving = serving_rows(run, measured.window);
  out.model_roof = model_roof_of(run, measured, options.model, out.serving);
  stop_if_cancelled();
  out.coverage = coverage_of_devices(run, measured);
  Tables(run, measured, taxonomy, options.top, graphs).add(out);
  out.model_layers = model_layers(run, measured.window);
  return out;
}

}  // namespace nl::analyze
