#include "ingest/formats/ncu/ncu_launches.h"

#include <algorithm>
#include <limits>

#include "base/decimal.h"
#include "base/path_text.h"
#include "base/text.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest {
namespace {

using model::kNull;
using model::TableId;
namespace profiled_launches = model::profiled_launches;
namespace kernel_metrics = model::kernel_metrics;
namespace kernel_advice = model::kernel_advice;
using Kind = PrintedNumber::Kind;

struct NamedFact {
  std::string_view name;
  LaunchFact fact;
};

constexpr NamedFact kFacts[] = {
    {"# SMs", LaunchFact::kMultiprocessors},
    {"Block Size", LaunchFact::kBlockSize},
    {"Duration", LaunchFact::kDuration},
    {"Grid Size", LaunchFact::kGridSize},
    {"device__attribute_compute_capability_major", LaunchFact::kCapabilityMajor},
    {"device__attribute_compute_capability_minor", LaunchFact::kCapabilityMinor},
    {"device__attribute_display_name", LaunchFact::kDeviceName},
    {"device__attribute_multiprocessor_count", LaunchFact::kMultiprocessors},
    {"device__attribute_total_memory", LaunchFact::kMemoryBytes},
    {"gpu__time_duration.avg", LaunchFact::kDuration},
    {"gpu__time_duration.max", LaunchFact::kDuration},
    {"gpu__time_duration.sum", LaunchFact::kDuration},
    {"launch__block_dim_x", LaunchFact::kBlockX},
    {"launch__block_dim_y", LaunchFact::kBlockY},
    {"launch__block_dim_z", LaunchFact::kBlockZ},
    {"launch__block_size", LaunchFact::kBlockSize},
    {"launch__grid_dim_x", LaunchFact::kGridX},
    {"launch__grid_dim_y", LaunchFact::kGridY},
    {"launch__grid_dim_z", LaunchFact::kGridZ},
    {"launch__grid_size", LaunchFact::kGridSize},
};

constexpr int64_t kLongestNs = 1'000'000'000'000'000'000;
constexpr size_t kMaxNcuDevices = 4096;
constexpr size_t kMaxHosts = 64;

LaunchFact fact_of(std::string_view name) {
  const auto it = std::lower_bound(std::begin(kFacts), std::end(kFacts), name,
                                   [](const NamedFact& f, std::string_view n) { return f.name < n; });
  return it != std::end(kFacts) && it->name == name ? it->fact : LaunchFact::kNone;
}

bool fits(int64_t value, bool is_small) {
  return !is_small || (value >= 0 && value <= std::numeric_limits<int32_t>::max());
}

std::optional<int64_t> positive(const std::optional<int64_t>& value) {
  return value && *value > 0 ? value : std::nullopt;
}

/// Three numbers in brackets: (9, 32, 1).
bool read_triple(std::string_view text, int64_t (&out)[3]) {
  text = trimmed(text);
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  text = text.substr(1, text.size() - 2);
  for (int i = 0; i < 3; i++) {
    const size_t comma = text.find(',');
    if ((comma == std::string_view::npos) != (i == 2)) return false;
    if (!parse_int64(trimmed(text.substr(0, comma)), out[i]) || !fits(out[i], true)) return false;
    if (i < 2) text.remove_prefix(comma + 1);
  }
  return true;
}

/// The range of "domain:range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"; the domain stays if it is named.
std::string range_name(std::string_view quoted) {
  constexpr int kBehind = 6;
  size_t end = quoted.size();
  for (int i = 0; i < kBehind; i++) {
    end = end == 0 ? std::string_view::npos : quoted.rfind(':', end - 1);
    if (end == std::string_view::npos) return {};
  }
  const std::string_view both = quoted.substr(0, end);
  const size_t colon = both.find(':');
  if (colon == std::string_view::npos) return {};
  return std::string(both.starts_with("<default domain>:") ? both.substr(colon + 1) : both);
}

/// Every quoted part of a cell, outermost first.
std::string range_names(std::string_view cell, bool& all_known) {
  std::string names;
  for (size_t open = cell.find('"'); open != std::string_view::npos; open = cell.find('"', open)) {
    const size_t close = cell.find('"', open + 1);
    if (close == std::string_view::npos) {
      all_known = false;
      break;
    }
    const std::string name = range_name(cell.substr(open + 1, close - open - 1));
    all_known = all_known && !name.empty();
    if (!name.empty()) names += (names.empty() ? "" : "/") + name;
    open = close + 1;
  }
  return names;
}

}  // namespace

NcuMetric::NcuMetric(std::string_view given_section, std::string_view given_name,
                     std::optional<std::string_view> given_unit)
    : section(given_section), name(given_name), has_unit(given_unit.has_value()), fact(fact_of(given_name)) {
  if (!given_unit) return;
  source_unit = *given_unit;
  unit = base_unit(*given_unit);
}

Result<void> NcuLaunches::begin(NcuIdentity identity) {
  NL_CHECK(end());
  open_ = true;
  unmeasured_ = false;
  identity_ = std::move(identity);
  facts_ = {};
  args_ = identity_.other;
  return {};
}

Result<void> NcuLaunches::metric(const NcuMetric& metric, std::string_view value) {
  if (evidence_ != nullptr) evidence_->add(value);
  PrintedNumber number = read_number(value, sign_);
  if (unmeasured_ && number.kind == Kind::kNumber && trimmed(value) == "0.000000") {
    info_.health["zero_of_an_unmeasured_launch"]++;
    number = {Kind::kAbsent, {}, trimmed(value), {}};
  }
  if (metric.fact != LaunchFact::kNone) take_fact(metric, number, value);
  constexpr auto kTable = TableId::kernel_metrics;
  const size_t row = writer_.add(kTable);
  writer_.set(kTable, row, kernel_metrics::launch_id, launches_);
  writer_.set_text(kTable, row, kernel_metrics::metric, metric.name);
  writer_.set_text(kTable, row, kernel_metrics::section, metric.section);
  writer_.set_text(kTable, row, kernel_metrics::source_unit, metric.source_unit);
  set_value(row, metric, number, value);
  info_.records_by_category["metric"]++;
  return writer_.flush_if_large();
}

void NcuLaunches::set_value(size_t row, const NcuMetric& metric, const PrintedNumber& number,
                            std::string_view value) {
  constexpr auto kTable = TableId::kernel_metrics;
  const bool is_text = number.kind == Kind::kText;
  const bool has_unit = metric.has_unit && (!is_text || !metric.source_unit.empty());
  if (has_unit) writer_.set_text(kTable, row, kernel_metrics::unit, metric.unit.unit);
  if (number.kind == Kind::kNumber) {
    if (const auto scaled = scaled_double(number.decimal, metric.unit.exponent)) {
      writer_.set_double(kTable, row, kernel_metrics::value, *scaled);
      if (!number.instances.empty())
        writer_.set_args(kTable, row, kernel_metrics::args, {{"instances", std::string(number.instances)}});
      return;
    }
    info_.health["number_out_of_range"]++;
  }
  if (number.kind == Kind::kAmbiguous) info_.health["ambiguous_number"]++;
  if (number.kind == Kind::kAbsent) {
    writer_.set_text(kTable, row, kernel_metrics::absent, number.absent);
  } else {
    writer_.set_text(kTable, row, kernel_metrics::text, trimmed(value));
    if (number.kind == Kind::kAmbiguous) writer_.set_text(kTable, row, kernel_metrics::absent, "ambiguous");
    if (number.kind == Kind::kNumber) writer_.set_text(kTable, row, kernel_metrics::absent, "out of range");
  }
}

void NcuLaunches::take_fact(const NcuMetric& metric, const PrintedNumber& number, std::string_view value) {
  if (metric.fact == LaunchFact::kDeviceName) {
    if (facts_.device_name.empty() && number.kind != Kind::kAbsent) facts_.device_name = trimmed(value);
    return;
  }
  if (metric.fact == LaunchFact::kDuration) return take_duration(metric, number);
  auto& kept = facts_.numbers[static_cast<size_t>(metric.fact)];
  int64_t whole = 0;
  if (!kept && number.kind == Kind::kNumber &&
      parse_decimal(number.decimal, metric.unit.exponent, whole) == DecimalParse::kExact) {
    kept = whole;
  }
}

/// In automatic units the digits end above a nanosecond.
void NcuLaunches::take_duration(const NcuMetric& metric, const PrintedNumber& number) {
  auto& kept = facts_.numbers[static_cast<size_t>(LaunchFact::kDuration)];
  if (kept || number.kind != Kind::kNumber || !metric.has_unit || metric.unit.unit != "ns") return;
  int64_t ns = 0;
  const auto parsed = parse_decimal(number.decimal, metric.unit.exponent, ns);
  if (parsed == DecimalParse::kBad || ns < 0 || ns > kLongestNs) {
    info_.health["bad_time"]++;
    return;
  }
  if (parsed == DecimalParse::kTruncated) info_.health["time_below_ns"]++;
  if (decimals_of(number.decimal) < metric.unit.exponent) info_.health["rounded_duration"]++;
  kept = ns;
}

Result<void> NcuLaunches::advice(const NcuAdvice& advice) {
  constexpr auto kTable = TableId::kernel_advice;
  const size_t row = writer_.add(kTable);
  writer_.set(kTable, row, kernel_advice::launch_id, launches_);
  writer_.set_text(kTable, row, kernel_advice::section, advice.section);
  writer_.set_text(kTable, row, kernel_advice::rule, advice.rule);
  writer_.set_text(kTable, row, kernel_advice::kind, advice.kind);
  writer_.set_text(kTable, row, kernel_advice::text, advice.text);
  writer_.set_text(kTable, row, kernel_advice::speedup_kind, advice.speedup_kind);
  const PrintedNumber speedup = number(advice.speedup);
  const auto value =
      speedup.kind == Kind::kNumber ? scaled_double(speedup.decimal, 0) : std::optional<double>();
  if (value) {
    writer_.set_double(kTable, row, kernel_advice::speedup_pct, *value);
  } else if (!trimmed(advice.speedup).empty()) {
    writer_.set_args(kTable, row, kernel_advice::args, {{"speedup", std::string(advice.speedup)}});
  }
  info_.records_by_category["advice"]++;
  return writer_.flush_if_large();
}

/// A whole number of the identity; a text that is none stays with the row.
void NcuLaunches::set_number(size_t row, int column, std::string_view text, const char* name, bool is_small) {
  if (trimmed(text).empty()) return;
  const PrintedNumber printed = number(text);
  int64_t value = 0;
  const bool is_whole =
      printed.kind == Kind::kNumber && parse_decimal(printed.decimal, 0, value) == DecimalParse::kExact;
  if (is_whole && fits(value, is_small)) {
    writer_.set(TableId::profiled_launches, row, column, value);
  } else {
    args_[name] = std::string(text);
  }
}

/// All three, as the identity or the metrics have them; nothing if one is missing.
bool NcuLaunches::read_dimensions(std::string_view text, LaunchFact x, int64_t (&out)[3]) const {
  if (read_triple(text, out)) return true;
  for (int i = 0; i < 3; i++) {
    const auto one = fact(static_cast<LaunchFact>(static_cast<int>(x) + i));
    if (!one || !fits(*one, true)) return false;
    out[i] = *one;
  }
  return true;
}

/// Where only the product is known, it stands in x.
void NcuLaunches::set_dimensions(size_t row, std::string_view text, const char* name, LaunchFact size,
                                 LaunchFact x, int first_column) {
  constexpr auto kTable = TableId::profiled_launches;
  int64_t triple[3] = {};
  if (read_dimensions(text, x, triple)) {
    for (int i = 0; i < 3; i++) writer_.set(kTable, row, first_column + i, triple[i]);
  } else if (const auto product = fact(size); product && fits(*product, true)) {
    writer_.set(kTable, row, first_column, *product);
  } else {
    set_number(row, first_column, text, name, true);
  }
}

void NcuLaunches::set_ranges(size_t row) {
  std::string names;
  for (const auto& [cell, name] : {std::pair{&identity_.push_ranges, "push_pop_ranges"},
                                   std::pair{&identity_.start_ranges, "start_stop_ranges"}}) {
    bool all_known = true;
    const std::string own = range_names(*cell, all_known);
    if (!own.empty()) names += (names.empty() ? "" : "/") + own;
    if (!all_known || (own.empty() && !trimmed(*cell).empty())) args_[name] = *cell;
  }
  writer_.set_text(TableId::profiled_launches, row, profiled_launches::ranges, names);
}

std::string NcuLaunches::capability() const {
  if (!trimmed(identity_.capability).empty()) return std::string(trimmed(identity_.capability));
  const auto major = fact(LaunchFact::kCapabilityMajor);
  const auto minor = fact(LaunchFact::kCapabilityMinor);
  return major && minor ? std::to_string(*major) + "." + std::to_string(*minor) : "";
}

/// Devices are told apart by number, if there is one, and by what is known of them.
void NcuLaunches::note_device() {
  int64_t number = -1;
  if (!parse_int64(trimmed(identity_.device), number) || !fits(number, true)) number = -1;
  const std::string name = repaired_utf8(facts_.device_name);
  const std::string capability = repaired_utf8(this->capability());
  if (number < 0 && name.empty() && capability.empty()) return;
  for (const model::Device& device : info_.devices) {
    const bool same_number = number < 0 || device.device == number;
    if (same_number && device.name == name && device.compute_capability.value_or("") == capability) return;
  }
  if (info_.devices.size() >= kMaxNcuDevices) return;
  model::Device device;
  device.device = static_cast<int32_t>(number < 0 ? static_cast<int64_t>(info_.devices.size()) : number);
  device.name = name;
  device.vendor = "NVIDIA";
  if (!capability.empty()) device.compute_capability = capability;
  device.multiprocessors = positive(fact(LaunchFact::kMultiprocessors));
  device.memory_bytes = positive(fact(LaunchFact::kMemoryBytes));
  device.active = true;
  info_.devices.push_back(std::move(device));
}

void NcuLaunches::note_host() {
  const std::string host = repaired_utf8(trimmed(identity_.host));
  if (host.empty() || host == "127.0.0.1" || host == "localhost" || info_.hosts.size() >= kMaxHosts) return;
  if (std::find(info_.hosts.begin(), info_.hosts.end(), host) == info_.hosts.end())
    info_.hosts.push_back(host);
}

Result<void> NcuLaunches::end() {
  if (!open_) return {};
  open_ = false;
  constexpr auto kTable = TableId::profiled_launches;
  const size_t row = writer_.add(kTable);
  set_number(row, profiled_launches::source_id, identity_.id, "id", false);
  set_number(row, profiled_launches::process_id, identity_.process_id, "process_id", false);
  set_number(row, profiled_launches::device, identity_.device, "device", true);
  set_number(row, profiled_launches::context_id, identity_.context, "context", true);
  set_number(row, profiled_launches::stream, identity_.stream, "stream", false);
  writer_.set_text(kTable, row, profiled_launches::kernel_name, identity_.kernel);
  writer_.set_text(kTable, row, profiled_launches::process_name, foreign_base_name(identity_.process_name));
  writer_.set_text(kTable, row, profiled_launches::device_name, facts_.device_name);
  writer_.set_text(kTable, row, profiled_launches::compute_capability, capability());
  set_dimensions(row, identity_.grid, "grid_size", LaunchFact::kGridSize, LaunchFact::kGridX,
                 profiled_launches::grid_x);
  set_dimensions(row, identity_.block, "block_size", LaunchFact::kBlockSize, LaunchFact::kBlockX,
                 profiled_launches::block_x);
  set_ranges(row);
  writer_.set(kTable, row, profiled_launches::dur_ns, fact(LaunchFact::kDuration).value_or(kNull));
  if (!fact(LaunchFact::kDuration)) info_.health["launch_without_duration"]++;
  if (!identity_.time.empty()) args_["kernel_time"] = identity_.time;
  writer_.set_args(kTable, row, profiled_launches::args, args_);
  note_device();
  note_host();
  launches_++;
  info_.records_by_category["launch"]++;
  return writer_.flush_if_large();
}

Result<void> NcuLaunches::finish() {
  NL_CHECK(end());
  info_.backend = "cuda";
  info_.tool = "ncu";
  if (launches_ == 0) {
    return Error{ErrorCode::kBadInput, "the file has no launch of a kernel",
                 "write the tables with: ncu --import REPORT --csv --page raw --print-units base"};
  }
  return writer_.flush();
}

}  // namespace nl::ingest
