#include "fingerprint/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/portable_log.h"
#include "fingerprint/pieces.h"

namespace nl::fingerprint {
namespace {

using analyze::kOpClasses;
using nlohmann::json;

constexpr double kLeastCover = 0.5;  // of the time that a mean must be about
constexpr double kMostRatio = 4;
constexpr double kGrid =
    65536;  // columns are multiples of 1 / kGrid: sums in another order end in the same number

float on_grid(double value) {
  return static_cast<float>(std::floor(std::clamp(value, 0.0, 1.0) * kGrid + 0.5) / kGrid);
}

uint64_t hash_of(std::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325U ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;  // FNV alone leaves the upper bits alike
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

size_t op_size_column(std::string_view token, size_t size) {
  return hash_of(token, size + 1) % kOpColumns;
}

/// A mean, each value as much as its time.
struct TimedMean {
  double sum = 0, time = 0;
  void add(double value, double ns) {
    sum += value * ns;
    time += ns;
  }
};

class Builder {
 public:
  explicit Builder(const json& measures) : measures_(measures), pieces_(pieces_of(measures)) {}

  Fingerprint build() {
    add_roofline();
    add_counters();
    add_window();
    add_pieces();
    add_shapes();
    add_tails();
    add_steps();
    add_layers();
    return std::move(out_);
  }

 private:
  float* columns(Dimension dimension) { return out_.columns.data() + info(dimension).first_column; }

  void absent(Dimension dimension, std::string why) { out_.absent[dimension] = std::move(why); }

  void set(Dimension dimension, double value) {
    out_.present |= bit(dimension);
    *columns(dimension) = on_grid(value);
  }

  void set(Dimension dimension, const std::vector<double>& shares) {
    out_.present |= bit(dimension);
    for (size_t i = 0; i < shares.size(); i++) columns(dimension)[i] = on_grid(shares[i]);
  }

  void set_mean(Dimension dimension, const TimedMean& mean, double whole, const char* why) {
    if (mean.time <= 0 || mean.time < whole * kLeastCover) return absent(dimension, why);
    set(dimension, mean.sum / mean.time);
  }

  // ---- Against the hardware

  static double intensity_place(double flops_per_byte) { return (portable_log2(flops_per_byte) + 4) / 16; }

  void add_roofline() {
    TimedMean roof, intensity;
    double kernels = 0;
    std::vector<std::tuple<double, double, double>> rows;  // sorted, so that devices may come in any order
    for (const json& device : measures_.at("roofline")) {
      const json& table = device.at("roofline");
      kernels += table.at("kernel_ns").get<double>();
      for (const json& op : table.at("ops")) {
        const double place = number_or(op.at("intensity"), 0);
        rows.emplace_back(op.at("kernel_ns").get<double>(), number_or(op.at("roof_share"), -1), place);
      }
    }
    std::sort(rows.begin(), rows.end());
    for (const auto& [ns, share, flops_per_byte] : rows) {
      if (share >= 0) roof.add(std::min(share, 1.0), ns);
      if (flops_per_byte > 0) intensity.add(std::clamp(intensity_place(flops_per_byte), 0.0, 1.0), ns);
    }
    set_mean(Dimension::lat_norm, roof, kernels,
             "too little of the kernel time has a model and a known peak");
    set_mean(Dimension::ai, intensity, kernels, "too little of the kernel time has a model");
  }

  static double number_or(const json& value, double other) {
    return value.is_number() ? value.get<double>() : other;
  }

  void add_counters() {
    static constexpr std::pair<Dimension, const char*> kCounters[] = {
        {Dimension::occ, "achieved_occupancy_pct"},
        {Dimension::warp_eff, "warp_efficiency_pct"},
        {Dimension::l2_hit, "l2_hit_pct"},
        {Dimension::dram_norm, "dram_pct"}};
    for (const auto& [dimension, key] : kCounters) add_counter(dimension, key);
    if (!has(out_.present, Dimension::ai)) add_counted_intensity();
  }

  /// Replayed time of each kernel, with a figure of it.
  template <class Fn>
  double each_kernel(const char* key, Fn&& fn) const {
    double replayed = 0;
    if (!measures_.at("counters").is_object()) return 0;
    for (const json& kernel : measures_.at("counters").at("kernels")) {
      const double ns = number_or(kernel.at("replay_ns"), 0);
      replayed += ns;
      if (kernel.at(key).is_number()) fn(kernel.at(key).get<double>(), ns);
    }
    return replayed;
  }

  void add_counter(Dimension dimension, const char* key) {
    TimedMean mean;
    const double whole = each_kernel(key, [&](double percent, double ns) { mean.add(percent / 100, ns); });
    set_mean(dimension, mean, whole, "no such counter in the run");
  }

  void add_counted_intensity() {
    TimedMean mean;
    const double whole = each_kernel("intensity", [&](double value, double ns) {
      if (value > 0) mean.add(std::clamp(intensity_place(value), 0.0, 1.0), ns);
    });
    if (mean.time <= 0 || mean.time < whole * kLeastCover) return;
    out_.absent.erase(Dimension::ai);
    set(Dimension::ai, mean.sum / mean.time);
  }

  // ---- Of the window

  /// What lies before the first and behind the last work says how the capture was cut, not what ran.
  static bool is_edge(analyze::IdleCause cause) {
    using enum analyze::IdleCause;
    return cause == kStart || cause == kEnd || cause == kSetup;
  }

  static int64_t cause_ns(const json& device, analyze::IdleCause cause) {
    return device.at("idle_causes").value(std::string(analyze::idle_cause_name(cause)), int64_t{0});
  }

  /// Of the causes that are edges or not.
  static int64_t causes_ns(const json& device, bool edges) {
    int64_t sum = 0;
    for (size_t i = 0; i < analyze::kIdleCauses; i++) {
      const auto cause = static_cast<analyze::IdleCause>(i);
      if (is_edge(cause) == edges) sum += cause_ns(device, cause);
    }
    return sum;
  }

  static int64_t part_ns(const json& device, const char* part) { return device.at("decomposition").at(part); }
  static int64_t window_of(const json& device) {
    return part_ns(device, "window_ns") - causes_ns(device, true);
  }

  /// Over all devices, or those of one kind.
  template <class Part>
  int64_t sum_over(std::string_view kind, Part&& part) const {
    int64_t sum = 0;
    for (const json& device : measures_.at("devices")) {
      if (kind.empty() || device.at("kind") == kind) sum += part(device);
    }
    return sum;
  }

  void add_window() {
    const int64_t whole = sum_over("", window_of);
    if (whole <= 0) {
      absent(Dimension::time, "the run has no window of time");
    } else {
      std::vector<double> shares;
      const auto add = [&](int64_t ns) {
        shares.push_back(static_cast<double>(ns) / static_cast<double>(whole));
      };
      for (const char* part : {"compute_ns", "exposed_comm_ns", "exposed_copy_ns"})
        add(sum_over("", [&](const json& device) { return part_ns(device, part); }));
      add(sum_over("", [](const json& device) { return causes_ns(device, false); }));
      set(Dimension::time, shares);
    }
    add_device_window(sum_over("device", window_of));
  }

  void add_device_window(int64_t whole) {
    if (whole <= 0) {
      absent(Dimension::idle, "no device work in the run");
      return absent(Dimension::launch, "no device work in the run");
    }
    std::vector<double> shares;
    for (size_t i = 0; i < kIdleColumns; i++) {
      const auto cause = static_cast<analyze::IdleCause>(i);
      const int64_t ns = sum_over("device", [&](const json& device) { return cause_ns(device, cause); });
      shares.push_back(is_edge(cause) ? 0 : static_cast<double>(ns) / static_cast<double>(whole));
    }
    set(Dimension::idle, shares);
    add_launch(whole);
  }

  /// Absent if any device does not show its launches: a part of them is not the sum.
  void add_launch(int64_t whole) {
    int64_t known = 0;
    const int64_t ns = sum_over("device", [&](const json& device) {
      const auto it = device.at("metrics").find("launch_api_time");
      if (it == device.at("metrics").end()) return int64_t{0};
      known += window_of(device);
      return static_cast<int64_t>(it->get<double>());
    });
    if (known != whole) return absent(Dimension::launch, "no launch calls in the capture");
    set(Dimension::launch, static_cast<double>(ns) / static_cast<double>(whole));
  }

  // ---- Of the work

  void add_pieces() {
    if (pieces_.total_ns <= 0) {
      for (const Dimension one : {Dimension::classes, Dimension::ops, Dimension::sizes, Dimension::op_sizes})
        absent(one, "no timed work in the run");
      return;
    }
    std::vector<double> classes(kOpClasses), ops(kOpColumns), sizes(analyze::kSizeSteps), both(kOpColumns);
    for (const PieceRow& row : pieces_.rows) {
      const double share = static_cast<double>(row.total_ns) / static_cast<double>(pieces_.total_ns);
      classes[static_cast<size_t>(row.op_class)] += share;
      ops[op_column(row.token)] += share;
      for (size_t i = 0; i < row.sizes.size(); i++) {
        sizes[i] += share * row.sizes[i];
        both[op_size_column(row.token, i)] += share * row.sizes[i];
      }
    }
    set(Dimension::classes, classes);
    set(Dimension::ops, ops);
    set(Dimension::sizes, sizes);
    set(Dimension::op_sizes, both);
    for (const Dimension dimension : {Dimension::ops, Dimension::op_sizes}) set_carried(dimension);
  }

  /// What was computed from the real names counts before what follows from those of a redacted run.
  void set_carried(Dimension dimension) {
    const json places = measures_.value("op_places", json::object());
    if (!places.is_object() || places.value("version", json()) != kVersion) return;
    const json values = places.value(std::string(info(dimension).id), json());
    const bool fits =
        values.is_array() && values.size() == info(dimension).columns &&
        std::all_of(values.begin(), values.end(), [](const json& one) { return one.is_number(); });
    if (fits) set(dimension, values.get<std::vector<double>>());
  }

  void add_shapes() {
    std::vector<double> shapes(kShapeColumns), widths(kWidthColumns);
    int64_t known = 0;
    for (const auto& [shape, ns] : pieces_.shapes) {
      const double share =
          static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(pieces_.total_ns, 1));
      shapes[hash_of(shape, 0) % kShapeColumns] += share;
      widths[hash_of(shape.substr(shape.rfind('x') + 1), 0) % kWidthColumns] += share;
      known += ns;
    }
    if (known <= 0 || static_cast<double>(known) < kLeastCover * static_cast<double>(pieces_.total_ns)) {
      absent(Dimension::shapes, "too little of the time is in ops with shapes");
      return absent(Dimension::widths, "too little of the time is in ops with shapes");
    }
    set(Dimension::shapes, shapes);
    set(Dimension::widths, widths);
  }

  static double tail_place(double ratio) { return (std::min(ratio, kMostRatio) - 1) / (kMostRatio - 1); }

  void add_tails() {
    TimedMean p90, p99;
    for (const PieceRow& row : pieces_.rows) {
      const auto ns = static_cast<double>(row.total_ns);
      if (row.p90_ratio > 0) p90.add(tail_place(row.p90_ratio), ns);
      if (row.p99_ratio > 0) p99.add(tail_place(row.p99_ratio), ns);
    }
    const auto whole = static_cast<double>(pieces_.total_ns);
    set_mean(Dimension::tail_p90, p90, whole, "most of the time is in op types with fewer than 10 calls");
    set_mean(Dimension::tail_p99, p99, whole, "most of the time is in op types with fewer than 100 calls");
  }

  void add_steps() {
    const json& steps = measures_.at("steps");
    const auto add = [&](Dimension dimension, const char* key, const char* why) {
      const double median = number_or(steps.at("median_ns"), 0);
      if (!steps.at(key).is_number() || median <= 0) return absent(dimension, why);
      set(dimension, tail_place(steps.at(key).get<double>() / median));
    };
    add(Dimension::step_p90, "p90_ns", "fewer than 10 steps");
    add(Dimension::step_p99, "p99_ns", "fewer than 100 steps");
  }

  // ---- Of the layers of the model

  /// Over all devices. Rows of a stack follow each other, by index.
  struct LayerSums {
    int64_t total_ns = 0, in_layers_ns = 0, self_ns = 0;
    size_t most_layers = 0;
    double uneven_ns = 0;
    std::map<std::string, int64_t> classes = {};
  };

  /// How far the times of a stack's layers are from equal, in time.
  static double uneven_ns(const std::map<std::string, std::vector<int64_t>>& stacks) {
    double sum = 0;
    for (const auto& [name, times] : stacks) {
      const double whole = static_cast<double>(std::accumulate(times.begin(), times.end(), int64_t{0}));
      for (const int64_t ns : times)
        sum += std::abs(static_cast<double>(ns) - whole / static_cast<double>(times.size())) / 2;
    }
    return sum;
  }

  static void add_device_layers(LayerSums& sums, const json& device) {
    std::map<std::string, std::vector<int64_t>> stacks;
    for (const json& layer : device.at("layers")) {
      stacks[layer.at("stack")].push_back(layer.at("device_ns"));
      sums.self_ns += layer.at("self_ns").get<int64_t>();
    }
    size_t layers = 0;
    for (const auto& [name, times] : stacks) layers += times.size();
    sums.most_layers = std::max(sums.most_layers, layers);
    sums.uneven_ns += uneven_ns(stacks);
    sums.total_ns += device.at("total_ns").get<int64_t>();
    sums.in_layers_ns += device.at("in_layers_ns").get<int64_t>();
    for (const auto& [name, ns] : device.at("classes").items()) sums.classes[name] += ns.get<int64_t>();
  }

  /// A run that does not name its layers need not be without layers.
  void add_layers() {
    LayerSums sums;
    for (const json& device : measures_.at("model_layers").at("devices")) add_device_layers(sums, device);
    if (sums.in_layers_ns <= 0) {
      for (const Dimension one : {Dimension::layer_share, Dimension::layer_count})
        absent(one, "no named layers");
      return absent_inside_layers("no named layers");
    }
    const auto whole = static_cast<double>(sums.total_ns), inside = static_cast<double>(sums.in_layers_ns);
    set(Dimension::layer_share, inside / whole);
    set(Dimension::layer_count, portable_log2(static_cast<double>(sums.most_layers)) / 10);
    if (inside < whole * kLeastCover)
      return absent_inside_layers("less than half of the time is in named layers");
    set(Dimension::layer_even, 1 - sums.uneven_ns / inside);
    set(Dimension::layer_self, static_cast<double>(sums.self_ns) / inside);
    std::vector<double> classes(kOpClasses);
    for (const auto& [name, ns] : sums.classes) {
      const auto known = analyze::find_op_class(name).value_or(analyze::OpClass::k_other);
      classes[static_cast<size_t>(known)] += static_cast<double>(ns) / inside;
    }
    set(Dimension::layer_classes, classes);
  }

  void absent_inside_layers(const char* why) {
    for (const Dimension one : {Dimension::layer_even, Dimension::layer_self, Dimension::layer_classes})
      absent(one, why);
  }

  const json& measures_;
  Pieces pieces_;
  Fingerprint out_;
};

}  // namespace

json op_places(const Fingerprint& print) {
  json places = {{"version", kVersion}};
  for (const Dimension dimension : {Dimension::ops, Dimension::op_sizes})
    places[std::string(info(dimension).id)] = print.of(dimension);
  return places;
}

size_t op_column(std::string_view token) {
  return hash_of(token, 0) % kOpColumns;
}

Result<Fingerprint> fingerprint_of(const json& measures) {
  try {
    return Builder(measures).build();
  } catch (const json::exception& e) {
    return Error{ErrorCode::kBadInput, std::string("the measures lack a member: ") + e.what()};
  }
}

}  // namespace nl::fingerprint
