#include "analyze/roofline/device_peaks.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analyze/hardware_files.inc"
#include "base/parsed_data.h"
#include "base/yaml.h"

namespace nl::analyze {
namespace {

using Patterns = std::vector<std::shared_ptr<const re2::RE2>>;

constexpr int kBuiltInRank = 1;
constexpr int kUserRank = 0;
constexpr double kMemoryTolerance = 0.015;  // drivers keep a part of the memory for themselves
constexpr char kPeaksHint[] = "write it like data/hardware/peaks.yaml";
constexpr std::string_view kDtypes[] = {"fp64", "fp32", "tf32", "bf16", "fp16", "fp16_acc32",
                                        "fp8",  "fp6",  "fp4",  "int8", "int4"};

bool matches(const Patterns& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return re2::RE2::FullMatch(name, *pattern); });
}

/// Only what both have; `what` stands in the reason.
template <class T>
Known<T> shared(const Known<T>& a, const Known<T>& b, const std::string& what, const std::string& devices) {
  if (!a || !b) return Absent{(a ? b : a).reason()};
  if (*a == *b) return a;
  return Absent{"the " + what + " of " + devices + " differ"};
}

DevicePeaks::Rates shared(const DevicePeaks::Rates& a, const DevicePeaks::Rates& b, const std::string& what,
                          const std::string& devices) {
  DevicePeaks::Rates rates;
  for (const auto& [dtype, rate] : a) {
    const auto other = b.find(dtype);
    if (other != b.end()) rates.emplace(dtype, shared(rate, other->second, dtype + what, devices));
  }
  return rates;
}

std::string joined(const std::string& a, const std::string& b, const char* between) {
  return a == b ? a : a + between + b;
}

DevicePeaks shared(const DevicePeaks& a, const DevicePeaks& b) {
  DevicePeaks peaks;
  peaks.device = joined(a.device, b.device, " or ");
  peaks.vendor = joined(a.vendor, b.vendor, " or ");
  peaks.source = joined(a.source, b.source, "; ");
  peaks.bandwidth_source = joined(a.bandwidth_source, b.bandwidth_source, "; ");
  peaks.checked = a.checked.empty() || b.checked.empty() ? "" : joined(a.checked, b.checked, "; ");
  peaks.bandwidth = shared(a.bandwidth, b.bandwidth, "bandwidths", peaks.device);
  peaks.boost_hz = shared(a.boost_hz, b.boost_hz, "clocks", peaks.device);
  peaks.cache_bytes = shared(a.cache_bytes, b.cache_bytes, "caches", peaks.device);
  peaks.units = shared(a.units, b.units, "units", peaks.device);
  peaks.dense = shared(a.dense, b.dense, " peaks", peaks.device);
  peaks.sparse = shared(a.sparse, b.sparse, " peaks with sparsity", peaks.device);
  return peaks;
}

}  // namespace

struct PeakTable::Entry {
  int rank = kBuiltInRank;
  Patterns names;
  Patterns generic_names;
  std::optional<double> memory_bytes;
  DevicePeaks peaks;

  bool units_fit(const DeviceFacts& facts) const {
    return !facts.units || !peaks.units || *facts.units == *peaks.units;
  }
  /// A generic name says nothing alone: size and units have to be told and to fit.
  bool size_fits(const DeviceFacts& facts) const {
    if (!facts.units || !peaks.units || !facts.memory_bytes || !memory_bytes) return false;
    const double difference = std::abs(static_cast<double>(*facts.memory_bytes) - *memory_bytes);
    return units_fit(facts) && difference <= kMemoryTolerance * *memory_bytes;
  }
  bool fits(const DeviceFacts& facts) const {
    if (matches(names, facts.name)) return units_fit(facts);
    return matches(generic_names, facts.name) && size_fits(facts);
  }
};

namespace {

/// Reads one device; `name` stands in messages.
class DeviceReader {
 public:
  explicit DeviceReader(const std::string& name) : name_(name) {}

  template <class Entry>
  Result<void> read(const YamlNode& node, Entry& entry) {
    if (!node.is_map()) return fault(node.line, "a device must be a mapping");
    DevicePeaks& peaks = entry.peaks;
    NL_CHECK(text(node, "device", true, peaks.device));
    NL_CHECK(text(node, "vendor", true, peaks.vendor));
    NL_CHECK(text(node, "source", true, peaks.source));
    peaks.bandwidth_source = peaks.source;
    NL_CHECK(text(node, "bandwidth_source", false, peaks.bandwidth_source));
    NL_CHECK(text(node, "checked", false, peaks.checked));
    NL_CHECK(patterns(node, "names", true, entry.names));
    NL_CHECK(patterns(node, "generic_names", false, entry.generic_names));
    NL_CHECK(number(node, "memory_bytes", entry.memory_bytes));
    NL_CHECK(figures(node, peaks));
    return known_keys(node);
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what, kPeaksHint); }

  Result<void> known_keys(const YamlNode& node) const {
    constexpr std::string_view kKeys[] = {
        "device", "note",     "vendor",    "names", "generic_names", "memory_bytes", "cache_bytes",
        "units",  "boost_hz", "bandwidth", "dense", "sparse",        "source",       "bandwidth_source",
        "checked"};
    for (const auto& member : node.members) {
      if (std::find(std::begin(kKeys), std::end(kKeys), member.key) == std::end(kKeys)) {
        return fault(member.line, "unknown key: " + member.key.substr(0, 64));
      }
    }
    return {};
  }

  Result<void> text(const YamlNode& node, const char* key, bool required, std::string& out) const {
    const YamlNode* value = node.find(key);
    if (value == nullptr && !required) return {};
    if (value == nullptr) return fault(node.line, "a device needs " + std::string(key));
    if (!value->is_text() || value->text.empty())
      return fault(value->line, key + std::string(" must be a text"));
    out = value->text;
    return {};
  }

  Result<void> patterns(const YamlNode& node, const char* key, bool required, Patterns& out) const {
    const YamlNode* list = node.find(key);
    if (list == nullptr && !required) return {};
    if (list == nullptr) return fault(node.line, "a device needs " + std::string(key));
    if (!list->is_list()) return fault(list->line, std::string(key) + " must be a list");
    re2::RE2::Options options;
    options.set_log_errors(false);
    for (const auto& item : list->items) {
      if (!item.is_text()) return fault(item.line, "a name must be a text");
      out.push_back(std::make_shared<const re2::RE2>(item.text, options));
      if (!out.back()->ok()) return fault(item.line, "not a regular expression: " + item.text.substr(0, 64));
    }
    return {};
  }

  Result<double> positive(const YamlNode& value, const std::string& key) const {
    const char* end = value.text.data() + value.text.size();
    double out = 0;
    const auto [stop, failed] = std::from_chars(value.text.data(), end, out);
    const bool fine =
        value.is_text() && failed == std::errc() && stop == end && std::isfinite(out) && out > 0;
    if (!fine) return fault(value.line, key.substr(0, 64) + " must be a number above 0");
    return out;
  }

  Result<void> number(const YamlNode& node, const char* key, std::optional<double>& out) const {
    const YamlNode* value = node.find(key);
    if (value == nullptr) return {};
    NL_TRY(out, positive(*value, key));
    return {};
  }

  Result<void> figure(const YamlNode& node, const DevicePeaks& peaks, const char* key,
                      Known<double>& out) const {
    std::optional<double> value;
    NL_CHECK(number(node, key, value));
    out = value ? Known<double>(*value) : Absent{"no " + std::string(key) + " known of " + peaks.device};
    return {};
  }

  Result<void> figures(const YamlNode& node, DevicePeaks& peaks) const {
    NL_CHECK(figure(node, peaks, "bandwidth", peaks.bandwidth));
    NL_CHECK(figure(node, peaks, "boost_hz", peaks.boost_hz));
    NL_CHECK(figure(node, peaks, "cache_bytes", peaks.cache_bytes));
    NL_CHECK(units(node, peaks));
    NL_CHECK(rates(node, "dense", peaks.dense));
    NL_CHECK(rates(node, "sparse", peaks.sparse));
    return plausible(node, peaks);
  }

  Result<void> units(const YamlNode& node, DevicePeaks& peaks) const {
    Known<double> count = Absent{};
    NL_CHECK(figure(node, peaks, "units", count));
    if (count && (*count > 1e6 || *count != std::floor(*count))) {
      return fault(node.find("units")->line, "units must be a whole number");
    }
    peaks.units = map(count, [](double units) { return static_cast<int64_t>(units); });
    return {};
  }

  Result<void> rates(const YamlNode& node, const char* key, DevicePeaks::Rates& out) const {
    const YamlNode* map = node.find(key);
    if (map == nullptr) return {};
    if (!map->is_map()) return fault(map->line, std::string(key) + " must be a mapping of data types");
    for (const auto& [dtype, line, value] : map->members) {
      if (!has_published_rates(dtype)) {
        return fault(line, "unknown data type: " + dtype.substr(0, 64));
      }
      NL_TRY(const double rate, positive(value, dtype));
      out.emplace(dtype, rate);
    }
    return {};
  }

  /// The two are taken for each other easily; then every share is wrong by two.
  Result<void> plausible(const YamlNode& node, const DevicePeaks& peaks) const {
    for (const auto& [dtype, rate] : peaks.sparse) {
      const auto dense = peaks.dense.find(dtype);
      if (dense != peaks.dense.end() && *dense->second > *rate) {
        return fault(node.find("sparse")->line, dtype + " is slower with sparsity than dense");
      }
    }
    return {};
  }

  const std::string& name_;
};

}  // namespace

bool has_published_rates(std::string_view dtype) {
  return std::find(std::begin(kDtypes), std::end(kDtypes), dtype) != std::end(kDtypes);
}

Known<double> DevicePeaks::peak(std::string_view dtype, bool is_dense) const {
  const Rates& rates = is_dense ? dense : sparse;
  const auto found = rates.find(dtype);
  if (found != rates.end()) return found->second;
  return Absent{"no " + std::string(dtype) + (is_dense ? " peak" : " peak with sparsity") + " known of " +
                device};
}

Result<void> PeakTable::add(std::string_view text, const std::string& name, int rank) {
  NL_TRY(const YamlNode root, parse_data(std::string(text), name));
  const YamlNode* devices = root.find("devices");
  if (!root.is_map() || devices == nullptr || !devices->is_list()) {
    return yaml_error(name, root.line, "a list of devices is expected", kPeaksHint);
  }
  for (const auto& device : devices->items) {
    auto entry = std::make_shared<Entry>();
    entry->rank = rank;
    NL_CHECK(DeviceReader(name).read(device, *entry));
    entries_.push_back(std::move(entry));
  }
  return {};
}

/// Read once a process; copies share the entries.
Result<PeakTable> PeakTable::built_in() {
  static const auto* const loaded = new Result<PeakTable>([]() -> Result<PeakTable> {
    PeakTable table;
    for (const auto& file : kHardwareFiles) {
      NL_CHECK(table.add(file.text, std::string(file.name), kBuiltInRank));
    }
    return table;
  }());
  return *loaded;
}

Result<PeakTable> PeakTable::with_file(const std::string& text, const std::string& name) {
  NL_TRY(PeakTable table, built_in());
  NL_CHECK(table.add(text, name, kUserRank));
  return table;
}

bool PeakTable::has_name(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return matches(entry->names, name) || matches(entry->generic_names, name);
  });
}

Known<DevicePeaks> PeakTable::find(const DeviceFacts& facts) const {
  if (facts.name.empty()) return Absent{"the source does not name the device"};
  if (!has_name(facts.name)) return Absent{"no peaks known for " + facts.name};
  std::optional<DevicePeaks> peaks;
  int rank = kBuiltInRank;
  for (const auto& entry : entries_) {
    if (!entry->fits(facts) || (peaks && entry->rank > rank)) continue;
    peaks = peaks && entry->rank == rank ? shared(*peaks, entry->peaks) : entry->peaks;
    rank = entry->rank;
  }
  if (!peaks)
    return Absent{"the name " + facts.name + " with this memory and these units matches no known device"};
  return *peaks;
}

Known<DevicePeaks> PeakTable::find(std::string_view device_name) const {
  return find(DeviceFacts{std::string(device_name)});
}

Known<PeaksAnswer> peaks_answer(const Known<DevicePeaks>& peaks) {
  return map(peaks, [](const DevicePeaks& known) {
    PeaksAnswer answer{known.device, known.source, known.bandwidth.optional(), {}};
    for (const auto& [dtype, rate] : known.dense) {
      if (rate) answer.dense[dtype] = *rate;
    }
    return answer;
  });
}

}  // namespace nl::analyze
