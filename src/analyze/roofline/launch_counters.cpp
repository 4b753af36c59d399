// Turns the counters of replayed launches into figures by kernel. Counters are first mapped to meanings,
// because their names change with every tool and version. Shares and rates are averaged with the replayed
// time as weight; operations and bytes are summed. The roofline only uses launches that have both operations
// and bytes, so its two sides always describe the same work.

#include "analyze/roofline/launch_counters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "analyze/names/counter_names.h"
#include "analyze/names/kernel_name.h"
#include "analyze/names/taxonomy.h"
#include "analyze/roofline/evidence_sums.h"
#include "analyze/roofline/kernel_diagnosis.h"
#include "analyze/roofline/launch_values.h"
#include "analyze/roofline/roofline.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

constexpr char kLaunches[] = R"(
  SELECT launch_id, kernel_name, dur_ns, device_name, source_id, compute_capability, ranges,
    grid_x::BIGINT * coalesce(grid_y, 1) * coalesce(grid_z, 1),
    block_x::BIGINT * coalesce(block_y, 1) * coalesce(block_z, 1)
  FROM profiled_launches ORDER BY launch_id)";
constexpr char kStallRules[] = R"(
  SELECT l.kernel_name, a.text FROM kernel_advice a JOIN profiled_launches l USING (launch_id)
  WHERE a.text LIKE '%This stall type represents about%' ORDER BY l.dur_ns DESC NULLS LAST, a.advice_id)";
constexpr char kAdvice[] = R"(
  SELECT l.kernel_name, a.rule, a.kind, a.text, a.speedup_kind, a.speedup_pct, count(*)
  FROM kernel_advice a JOIN profiled_launches l USING (launch_id)
  WHERE a.speedup_pct IS NOT NULL GROUP BY ALL ORDER BY a.speedup_pct DESC, 1, 2, 3, 4, 5 LIMIT )";
constexpr double kNsInSecond = 1e9;
constexpr double kLargestWhole = 9e18;  // what fits an integer

// ---- Figures of one launch

/// A share or rate; the answer has the mean over launches, weighted by their time.
struct Figure {
  const char* key;
  const char* meaning;
  std::optional<double> CountedKernel::*member;
};

constexpr Figure kFigures[] = {
    {"achieved_occupancy_pct", "achieved_occupancy", &CountedKernel::achieved_occupancy_pct},
    {"theoretical_occupancy_pct", "theoretical_occupancy", &CountedKernel::theoretical_occupancy_pct},
    {"warp_efficiency_pct", "warp_efficiency", &CountedKernel::warp_efficiency_pct},
    {"sm_pct", "sm_throughput", &CountedKernel::sm_pct},
    {"memory_pct", "memory_throughput", &CountedKernel::memory_pct},
    {"dram_pct", "dram_throughput", &CountedKernel::dram_pct},
    {"l1_hit_pct", "l1_hit_rate", &CountedKernel::l1_hit_pct},
    {"l2_hit_pct", "l2_hit_rate", &CountedKernel::l2_hit_pct},
    {"tensor_pct", "tensor_active", &CountedKernel::tensor_pct},
    {"ipc", "ipc", &CountedKernel::ipc},
    {"registers", "registers", &CountedKernel::registers},
    {"sm_clock_hz", "sm_clock", &CountedKernel::sm_clock_hz}};
constexpr size_t kFigureCount = std::size(kFigures);

/// Operations by data type, and the types that no counter of the file counts.
struct Operations {
  std::map<std::string, double> by_type;
  std::set<std::string> not_counted;

  double total() const {
    double sum = 0;
    for (const auto& [type, count] : by_type) sum += count;
    return sum;
  }
};

/// The counter itself or, if the file only has a rate per cycle, that rate times the cycles of the launch.
std::optional<double> counted(const Values& values, const std::string& meaning,
                              const std::optional<int64_t>& ns) {
  if (const auto count = values.get(meaning)) return count;
  const auto rate = values.get(meaning + "_per_cycle");
  const auto clock = values.get("sm_clock");
  if (!rate || !clock || !ns) return std::nullopt;
  return *rate * *clock * static_cast<double>(*ns) / kNsInSecond;
}

void add_threads(const Values& values, const std::optional<int64_t>& ns, Operations& out) {
  for (const std::string type : {"fp64", "fp32", "fp16"}) {
    const auto add = counted(values, type + "_add", ns);
    const auto multiply = counted(values, type + "_mul", ns);
    const auto fused = counted(values, type + "_fma", ns);
    if (add && multiply && fused) {
      out.by_type[type] += *add + *multiply + 2 * *fused;
    } else {
      out.not_counted.insert(type);
    }
  }
}

/// The counter of the type or, if there is none, the sum of its counters by type of the result.
std::optional<double> tensor_operations(const Values& values, const std::string& type) {
  if (const auto all = values.get("tensor_ops_" + type)) return all;
  std::optional<double> sum;
  for (const char* result : {"_to_fp16", "_to_fp32"}) {
    if (const auto part = values.get("tensor_ops_" + type + result)) sum = sum.value_or(0) + *part;
  }
  return sum;
}

enum class TensorUse { kUnknown, kNone, kLittle, kSome };

/// Up to one percent may be other work on a pipe that is shared with the tensor units.
constexpr double kLittleTensorPct = 1;

TensorUse tensor_use(const Values& values) {
  TensorUse use = TensorUse::kUnknown;
  for (const char* meaning : {"tensor_active", "tensor_active_when_active", "tensor_hmma_active",
                              "tensor_imma_active", "tensor_dmma_active", "tensor_gmma_active"}) {
    const auto pct = values.get(meaning);
    if (!pct) continue;
    use = std::max(use, *pct > kLittleTensorPct ? TensorUse::kSome
                        : *pct > 0              ? TensorUse::kLittle
                                                : TensorUse::kNone);
  }
  return use;
}

Known<Operations> operations_of(const Values& values, const std::optional<int64_t>& ns) {
  Operations out;
  add_threads(values, ns, out);
  bool has_tensor_counts = false;
  for (const char* type : {"fp64", "tf32", "bf16", "fp16", "fp8", "int8"}) {
    const auto count = tensor_operations(values, type);
    has_tensor_counts = has_tensor_counts || count;
    if (count && *count > 0) out.by_type[type] += *count;
  }
  const TensorUse use = tensor_use(values);
  // Without tensor operations the sum would be far too low, so no figure is better than a wrong one.
  if (!has_tensor_counts && use == TensorUse::kSome)
    return Absent{"tensor instructions ran, but no counter in the file counts their operations"};
  if (!has_tensor_counts && use != TensorUse::kNone) out.not_counted.insert("tensor");
  if (out.by_type.empty()) return Absent{"no counter of operations in the file"};
  return out;
}

std::optional<double> sum_of(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b ? std::optional(*a + *b) : std::nullopt;
}

Known<double> memory_bytes(const Values& values, const std::optional<int64_t>& ns) {
  if (const auto bytes = values.get("dram_bytes")) return *bytes;
  if (const auto both = sum_of(values.get("dram_read_bytes"), values.get("dram_write_bytes"))) return *both;
  auto rate = values.get("dram_bytes_per_second");
  if (!rate)
    rate = sum_of(values.get("dram_read_bytes_per_second"), values.get("dram_write_bytes_per_second"));
  if (!rate) return Absent{"no counter of device memory bytes in the file"};
  if (!ns) return Absent{"the launch has no duration"};
  return *rate * static_cast<double>(*ns) / kNsInSecond;
}

// ---- Sums over launches

/// A launch, or several of one kernel on one device.
struct Sums {
  std::string kernel = {};
  std::string device = {};
  int64_t launches = 0;
  int64_t measured = 0;  ///< launches with a duration
  int64_t replay_ns = 0;
  std::array<double, kFigureCount> weighted = {};
  std::array<double, kFigureCount> weight = {};
  double bytes = 0;
  int64_t bytes_ns = 0;
  Operations operations = {};  ///< of launches that have both operations and bytes
  double roof_bytes = 0;
  int64_t roof_ns = 0;
  int64_t roof_launches = 0;
  EvidenceSums evidence = {};
  std::map<std::string, std::string> absent = {};

  void add(const CountedLaunch& launch, const Values& values) {
    launches++;
    if (launch.ns) measured++;
    replay_ns += launch.ns.value_or(0);
    add_figures(launch, values);
    add_roof(launch, values);
    evidence.add(launch, values);
  }

 private:
  /// A launch without a duration has weight zero.
  void add_figures(const CountedLaunch& launch, const Values& values) {
    for (size_t i = 0; i < kFigureCount; i++) {
      const auto value = values.get(kFigures[i].meaning);
      if (!value) continue;
      const double share = launch.ns ? static_cast<double>(*launch.ns) : 0;
      weighted[i] += *value * share;
      weight[i] += share;
    }
  }
  void add_roof(const CountedLaunch& launch, const Values& values) {
    const Known<double> moved = memory_bytes(values, launch.ns);
    const Known<Operations> done = operations_of(values, launch.ns);
    if (moved && launch.ns) {
      bytes += *moved;
      bytes_ns += *launch.ns;
    } else {
      absent.emplace("dram_bytes", launch.ns ? moved.reason() : "the launch has no duration");
    }
    if (!done) absent.emplace("flops", done.reason());
    if (!done || !moved || !launch.ns) return;
    for (const auto& [type, count] : done->by_type) operations.by_type[type] += count;
    operations.not_counted.insert(done->not_counted.begin(), done->not_counted.end());
    roof_bytes += *moved;
    roof_ns += *launch.ns;
    roof_launches++;
  }
};

// ---- What the answer says

Known<double> known(const std::optional<double>& value, const char* reason) {
  return value ? Known<double>(*value) : Known<double>(Absent{reason});
}

Known<int64_t> whole(double value) {
  if (!(value >= 0 && value < kLargestWhole)) return Absent{"a count is out of range"};
  return static_cast<int64_t>(std::llround(value));
}

/// The type with the most operations. Its peak is used as the roof for all of them.
std::string main_type(const Operations& operations) {
  std::string type;
  double most = 0;
  for (const auto& [name, count] : operations.by_type) {
    if (count <= most) continue;
    type = name;
    most = count;
  }
  return type;
}

class Rows {
 public:
  Rows(std::map<std::string, Known<DevicePeaks>> peaks, int64_t replay_ns)
      : peaks_(std::move(peaks)), replay_ns_(replay_ns) {}

  CountedKernel row(const Sums& sums) const {
    CountedKernel out{.kernel = sums.kernel,
                      .label = kernel_label(parse_kernel_name(sums.kernel)),
                      .launches = sums.launches,
                      .measured = sums.measured,
                      .evidence = sums.evidence.evidence(),
                      .absent = sums.absent};
    if (!sums.device.empty()) out.device = sums.device;
    if (sums.measured > 0) out.replay_ns = sums.replay_ns;
    if (sums.measured > 0 && replay_ns_ > 0)
      out.share = static_cast<double>(sums.replay_ns) / static_cast<double>(replay_ns_);
    add_figures(sums, out);
    add_memory(sums, out);
    add_roof(sums, out);
    return out;
  }

 private:
  static void add_figures(const Sums& sums, CountedKernel& out) {
    std::optional<double> sm, memory;  // even if not finite, unlike the members of `out`
    for (size_t i = 0; i < kFigureCount; i++) {
      const Figure& figure = kFigures[i];
      if (sums.weight[i] <= 0) {
        out.absent[figure.key] = sums.measured == 0 ? "no launch has a duration" : "not in the file";
        continue;
      }
      const double mean = sums.weighted[i] / sums.weight[i];
      if (figure.member == &CountedKernel::sm_pct) sm = mean;
      if (figure.member == &CountedKernel::memory_pct) memory = mean;
      if (std::isfinite(mean)) out.*figure.member = mean;
    }
    const auto bound = speed_of_light(known(sm, "no throughput of the multiprocessors"),
                                      known(memory, "no throughput of the memory"));
    if (bound) {
      out.bound = speed_of_light_name(*bound);
    } else {
      out.absent["bound"] = bound.reason();
    }
  }

  static void add_memory(const Sums& sums, CountedKernel& out) {
    if (sums.bytes_ns <= 0) return;
    out.dram_bytes = sums.bytes;
    out.dram_bytes_per_s = sums.bytes / static_cast<double>(sums.bytes_ns) * kNsInSecond;
  }

  /// Operations, intensity and the share of the roof, over the launches that have operations, bytes and a
  /// time.
  void add_roof(const Sums& sums, CountedKernel& out) const {
    const auto& not_counted = sums.operations.not_counted;
    out.not_counted = {not_counted.begin(), not_counted.end()};
    out.roof_launches = sums.roof_launches;
    if (sums.roof_launches == 0) return;
    const double flops = sums.operations.total();
    out.flops = flops;
    if (sums.roof_ns != 0) out.flops_per_s = flops / static_cast<double>(sums.roof_ns) * kNsInSecond;
    if (sums.roof_bytes > 0) out.intensity = flops / sums.roof_bytes;
    const std::string type = main_type(sums.operations);
    if (!type.empty()) out.dtype = type;
    const Known<Roofline> roof = roof_of(sums, flops, type);
    if (!roof) {
      out.absent["roof_share"] = roof.reason();
      return;
    }
    out.roof_share = roof->share.value;
    out.roof_bound = bound_name(roof->bound);
  }

  Known<Roofline> roof_of(const Sums& sums, double flops, const std::string& type) const {
    const auto peaks = peaks_.find(sums.device);
    if (peaks == peaks_.end()) return Absent{"the source does not name the device"};
    if (!peaks->second) return Absent{peaks->second.reason()};
    const DevicePeaks& device = *peaks->second;
    const RoofWork counters{whole(flops), whole(sums.roof_bytes)};
    const RoofWork model{Absent{"no model of a single kernel"}, Absent{"no model of a single kernel"}};
    const Known<double> peak = type.empty() ? Known<double>(Absent{"no operations"}) : device.peak(type);
    return compare_rooflines(model, counters, sums.roof_ns, peak, device.bandwidth).by_counter;
  }

  std::map<std::string, Known<DevicePeaks>> peaks_;
  int64_t replay_ns_;
};

DeviceFacts facts_of(const std::string& name, const json& hardware) {
  DeviceFacts facts{name};
  for (const json& device : hardware.value("devices", json::array())) {
    if (device.value("name", "") != name) continue;
    if (device.contains("memory_bytes") && device["memory_bytes"].is_number_integer())
      facts.memory_bytes = device["memory_bytes"];
    if (device.contains("multiprocessors") && device["multiprocessors"].is_number_integer())
      facts.units = device["multiprocessors"];
  }
  return facts;
}

// ---- Reading

std::string text_of(const store::Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? std::string() : std::string(chunk.text(column, row));
}

std::optional<int64_t> integer_of(const store::Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? std::nullopt : std::optional(chunk.int64s(column)[row]);
}

using Texts = std::set<std::string, std::less<>>;

/// `texts` owns the texts of the launches.
Result<std::vector<CountedLaunch>> read_launches(store::Connection& connection, Texts& texts) {
  std::vector<CountedLaunch> launches;
  NL_CHECK(connection.stream(kLaunches, [&](const store::Chunk& chunk) -> Result<void> {
    const auto text = [&](size_t column, size_t row) {
      if (chunk.is_null(column, row)) return std::string_view();
      const auto known = texts.find(chunk.text(column, row));
      return std::string_view(known != texts.end() ? *known : *texts.emplace(chunk.text(column, row)).first);
    };
    for (size_t i = 0; i < chunk.size(); i++) {
      launches.push_back({chunk.int64s(0)[i], text(1, i), integer_of(chunk, 2, i), text(3, i),
                          integer_of(chunk, 4, i), text(5, i), text(6, i), integer_of(chunk, 7, i),
                          integer_of(chunk, 8, i)});
    }
    return {};
  }));
  return launches;
}

/// Reads only counters that the table of names knows, ordered by launch.
std::string metrics_sql(const CounterNames& names) {
  std::set<std::string> wanted;
  for (const CounterName& name : names.names()) wanted.insert(name.name);
  std::string list;
  for (const std::string& name : wanted) list += (list.empty() ? "" : ", ") + store::sql_quoted(name);
  return "SELECT launch_id, metric, coalesce(unit, ''), value FROM kernel_metrics WHERE value IS NOT NULL "
         "AND "
         "launch_id IS NOT NULL AND kernel_id IS NULL AND metric IN (" +
         list + ") ORDER BY launch_id, metric_id";
}

/// A kernel on a device.
using KernelKey = std::pair<std::string_view, std::string_view>;

KernelKey key_of(const CountedLaunch& launch) {
  return {launch.kernel, launch.device};
}

/// The kernels whose counters are summed up. A file may name any number of them: of more than kMost, those
/// with the longest replayed time, which a table shows first.
class KeptKernels {
 public:
  KeptKernels(const std::vector<CountedLaunch>& launches, ReplayLeftOut& not_shown) {
    std::map<KernelKey, int64_t> times;
    for (const CountedLaunch& launch : launches) times[key_of(launch)] += launch.ns.value_or(0);
    if (times.size() <= kMost) return;
    std::vector<std::pair<int64_t, KernelKey>> by_time;
    by_time.reserve(times.size());
    for (const auto& [key, ns] : times) by_time.emplace_back(-ns, key);
    std::sort(by_time.begin(), by_time.end());
    for (size_t i = 0; i < kMost; i++) kept_.insert(by_time[i].second);
    for (size_t i = kMost; i < by_time.size(); i++) {
      not_shown.rows++;
      not_shown.replay_ns -= by_time[i].first;
    }
  }

  bool contains(const CountedLaunch& launch) const { return kept_.empty() || kept_.contains(key_of(launch)); }

 private:
  static constexpr size_t kMost = 10'000;
  std::set<KernelKey> kept_;  ///< empty: all
};

class Reader {
 public:
  Reader(const CounterNames& names, const std::vector<CountedLaunch>& launches, const KeptKernels& kept,
         int64_t top)
      : names_(names),
        launches_(launches),
        kept_(kept),
        top_(static_cast<size_t>(std::max<int64_t>(top, 0))),
        values_(names) {}

  Result<void> read(store::Connection& connection) {
    NL_CHECK(connection.stream(metrics_sql(names_), [&](const store::Chunk& chunk) -> Result<void> {
      for (size_t i = 0; i < chunk.size(); i++) {
        finish_until(chunk.int64s(0)[i]);
        if (const CounterName* name = names_.find(chunk.text(1, i), chunk.text(2, i)))
          values_.add(*name, chunk.doubles(3)[i]);
      }
      return {};
    }));
    finish_until(std::numeric_limits<int64_t>::max());
    return {};
  }

  /// By time, then by name.
  std::vector<const Sums*> kernels() const {
    std::vector<const Sums*> sorted;
    sorted.reserve(kernels_.size());
    for (const auto& [key, sums] : kernels_) sorted.push_back(&sums);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Sums* a, const Sums* b) { return a->replay_ns > b->replay_ns; });
    return sorted;
  }
  /// The launches with the longest replayed time.
  const std::vector<std::pair<CountedLaunch, Sums>>& top_launches() const { return longest_; }

 private:
  /// Counters come ordered by launch, so all launches before this one are complete. Launches without any
  /// counter are counted, too.
  void finish_until(int64_t launch_id) {
    while (next_ < launches_.size() && launches_[next_].id < launch_id) {
      const CountedLaunch& launch = launches_[next_];
      if (kept_.contains(launch)) {
        Sums& sums = kernels_[key_of(launch)];
        sums.kernel = launch.kernel;
        sums.device = launch.device;
        sums.add(launch, values_);
      }
      keep_if_long(launch);
      values_.clear();
      next_++;
    }
  }
  void keep_if_long(const CountedLaunch& launch) {
    const auto longer = [](const std::pair<CountedLaunch, Sums>& a, const std::pair<CountedLaunch, Sums>& b) {
      return a.second.replay_ns > b.second.replay_ns;
    };
    if (longest_.size() == top_ && (top_ == 0 || longest_.back().second.replay_ns >= launch.ns.value_or(0)))
      return;
    Sums sums;
    sums.kernel = launch.kernel;
    sums.device = launch.device;
    sums.add(launch, values_);
    std::pair<CountedLaunch, Sums> entry{launch, std::move(sums)};
    longest_.insert(std::upper_bound(longest_.begin(), longest_.end(), entry, longer), std::move(entry));
    if (longest_.size() > top_) longest_.pop_back();
  }

  const CounterNames& names_;
  const std::vector<CountedLaunch>& launches_;
  const KeptKernels& kept_;
  size_t top_;
  Values values_;
  size_t next_ = 0;
  std::map<KernelKey, Sums> kernels_;
  std::vector<std::pair<CountedLaunch, Sums>> longest_;
};

Result<std::vector<AdviceAnswer>> read_advice(store::Connection& connection, const store::RunFiles& files,
                                              int64_t top) {
  std::vector<AdviceAnswer> advice;
  if (!files.tables.contains("kernel_advice")) return advice;
  const std::string sql = kAdvice + std::to_string(std::clamp<int64_t>(top, 0, 1000));
  NL_CHECK(connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      advice.push_back({.kernel = text_of(chunk, 0, i),
                        .label = kernel_label(parse_kernel_name(text_of(chunk, 0, i))),
                        .rule = chunk.is_null(1, i) ? std::nullopt : std::optional(text_of(chunk, 1, i)),
                        .kind = text_of(chunk, 2, i),
                        .text = text_of(chunk, 3, i),
                        .speedup_kind = text_of(chunk, 4, i),
                        .speedup_pct = chunk.doubles(5)[i],
                        .times = chunk.int64s(6)[i]});
    }
    return {};
  }));
  return advice;
}

/// What the profiler's own rule says of the largest stall, by kernel; of several launches, the longest
/// counts.
Result<std::map<std::string, std::string>> read_stall_rules(store::Connection& connection,
                                                            const store::RunFiles& files,
                                                            const std::vector<CountedKernel>& kernels) {
  std::map<std::string, std::string> rules;
  if (!files.tables.contains("kernel_advice")) return rules;
  std::set<std::string_view> asked;
  for (const CountedKernel& kernel : kernels) asked.insert(kernel.kernel);
  NL_CHECK(connection.stream(kStallRules, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      std::string kernel = text_of(chunk, 0, i);
      if (asked.contains(kernel)) rules.emplace(std::move(kernel), text_of(chunk, 1, i));
    }
    return {};
  }));
  return rules;
}

constexpr size_t kMaxLaunchRows = 1000;

using PeaksByDevice = std::map<std::string, Known<DevicePeaks>>;

std::vector<CountedDevice> devices_of(const PeaksByDevice& by_device) {
  std::vector<CountedDevice> devices;
  for (const auto& [name, known] : by_device)
    devices.push_back({name.empty() ? std::nullopt : std::optional(name), peaks_answer(known)});
  return devices;
}

std::vector<CountedKernel> rows_of(const std::vector<const Sums*>& kernels, const Rows& rows) {
  std::vector<CountedKernel> out;
  out.reserve(kernels.size());
  for (const Sums* sums : kernels) out.push_back(rows.row(*sums));
  return out;
}

/// Keeps the first `top` kernels, and the sum of the others as `not_shown`.
void set_kernels(std::vector<CountedKernel> kernels, int64_t top, CountersAnswer& answer) {
  const auto kept = std::min(kernels.size(), static_cast<size_t>(std::max<int64_t>(top, 0)));
  for (size_t i = kept; i < kernels.size(); i++) {
    answer.not_shown.rows++;
    answer.not_shown.replay_ns += kernels[i].replay_ns.value_or(0);
  }
  kernels.resize(kept);
  answer.kernels = std::move(kernels);
}

}  // namespace

Result<std::optional<CountersAnswer>> launch_counters(store::OpenRun& open, const json& hardware,
                                                      const PeakTable& peaks, int64_t top) {
  if (!open.has("profiled_launches")) return std::optional<CountersAnswer>();
  NL_TRY(store::Connection * asked, open.ask({"profiled_launches", "kernel_metrics", "kernel_advice"}));
  store::Connection& connection = *asked;
  NL_TRY(const CounterNames* const built_in, CounterNames::shared());
  const CounterNames& names = *built_in;
  NL_TRY(const Taxonomy* const taxonomy, Taxonomy::shared());
  Texts texts;
  NL_TRY(const std::vector<CountedLaunch> launches, read_launches(connection, texts));
  PeaksByDevice by_device;
  CountersAnswer answer{.launches = static_cast<int64_t>(launches.size())};
  for (const CountedLaunch& launch : launches) {
    answer.replay_ns += launch.ns.value_or(0);
    answer.measured += launch.ns ? 1 : 0;
    if (const std::string device(launch.device); !by_device.contains(device))
      by_device.emplace(device, peaks.find(facts_of(device, hardware)));
  }
  answer.devices = devices_of(by_device);
  const std::optional<FusedRanges> fused = slower_fusion(launches);
  const KeptKernels kept(launches, answer.not_shown);
  Reader reader(names, launches, kept, std::min<int64_t>(top, kMaxLaunchRows));
  NL_CHECK(reader.read(connection));
  const Rows rows(std::move(by_device), answer.replay_ns);
  std::vector<CountedKernel> kernels = rows_of(reader.kernels(), rows);
  NL_TRY(const auto stall_rules, read_stall_rules(connection, open.files(), kernels));
  answer.diagnosis = diagnose_kernels(kernels, {*taxonomy, stall_rules, fused});
  set_kernels(std::move(kernels), top, answer);
  for (const auto& [launch, sums] : reader.top_launches())
    answer.top_launches.push_back({rows.row(sums), launch.id, launch.source_id});
  NL_TRY(answer.advice, read_advice(connection, open.files(), top));
  return std::optional(std::move(answer));
}

}  // namespace nl::analyze
