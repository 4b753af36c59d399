#include "model/run_info.h"

#include <algorithm>
#include <tuple>

namespace nl::model {
namespace {

int64_t total(const std::map<std::string, int64_t>& by_reason) {
  int64_t sum = 0;
  for (const auto& [reason, n] : by_reason) sum += n;
  return sum;
}

}  // namespace

namespace {

void add_counts(std::map<std::string, int64_t>& to, const std::map<std::string, int64_t>& from) {
  for (const auto& [key, n] : from) to[key] += n;
}

template <class T>
void add_new(std::vector<T>& to, const std::vector<T>& from) {
  for (const T& value : from) {
    if (std::find(to.begin(), to.end(), value) == to.end()) to.push_back(value);
  }
}

/// Ranks see their own device 0: one entry while it is the same device everywhere.
void add_device(std::vector<Device>& devices, Device other, std::optional<int32_t> rank) {
  const auto same = [&](const Device& d) {
    return d.device == other.device && (d.name.empty() || other.name.empty() || d.name == other.name);
  };
  const auto of_number = [&](const Device& d) { return d.device == other.device; };
  const auto known = std::find_if(devices.begin(), devices.end(), same);
  if (known == devices.end()) {
    if (!other.rank && std::any_of(devices.begin(), devices.end(), of_number)) other.rank = rank;
    return devices.push_back(std::move(other));
  }
  if (known->name.empty()) known->name = other.name;
  if (known->vendor.empty()) known->vendor = other.vendor;
  if (!known->memory_bytes) known->memory_bytes = other.memory_bytes;
  if (!known->compute_capability) known->compute_capability = other.compute_capability;
  if (!known->multiprocessors) known->multiprocessors = other.multiprocessors;
  known->active = known->active || other.active;
}

bool have_common_rank(const std::vector<Rank>& ranks, const std::vector<Rank>& others) {
  if (ranks.empty() || others.empty()) return true;
  return std::any_of(ranks.begin(), ranks.end(), [&](const Rank& one) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Rank& other) { return one.rank == other.rank; });
  });
}

/// Tools put the maker before the name or leave it out.
bool have_other_names(const Device& one, const Device& other) {
  if (one.name.empty() || other.name.empty()) return false;
  return one.name.find(other.name) == std::string::npos && other.name.find(one.name) == std::string::npos;
}

template <class T>
bool differ(const std::optional<T>& one, const std::optional<T>& other) {
  return one && other && *one != *other;
}

std::string described(const Device& device) {
  std::string text = device.name.empty() ? "a device without a name" : device.name;
  if (device.compute_capability) text += " (compute capability " + *device.compute_capability + ")";
  return text;
}

}  // namespace

std::optional<std::string> RunInfo::contradiction(const RunInfo& other) const {
  if (!have_common_rank(ranks, other.ranks)) return std::nullopt;
  for (const Device& theirs : other.devices) {
    const auto ours = std::find_if(devices.begin(), devices.end(), [&](const Device& d) {
      return d.device == theirs.device && (!d.rank || !theirs.rank || *d.rank == *theirs.rank);
    });
    if (ours == devices.end()) continue;
    if (have_other_names(*ours, theirs) || differ(ours->compute_capability, theirs.compute_capability))
      return "device " + std::to_string(theirs.device) + " is " + described(*ours) + " in one source and " +
             described(theirs) + " in another";
  }
  return std::nullopt;
}

void RunInfo::add(RunInfo other) {
  if (backend == "unknown") backend = other.backend;
  versions.merge(other.versions);
  labels.merge(other.labels);
  add_new(hosts, other.hosts);
  const auto rank = other.ranks.empty() ? std::nullopt : std::optional(other.ranks.front().rank);
  for (const Device& device : other.devices) add_device(devices, device, rank);
  std::sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) {
    return std::tie(a.device, a.rank) < std::tie(b.device, b.rank);
  });
  add_new(ranks, other.ranks);
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
  for (Clock& clock : other.clocks) {
    clock.clock_id = static_cast<int32_t>(clocks.size());
    clocks.push_back(std::move(clock));
  }
  add_new(flags, other.flags);
  labels.merge(other.labels);
  add_counts(records_by_phase, other.records_by_phase);
  add_counts(records_by_category, other.records_by_category);
  add_counts(health, other.health);
  for (Window& window : other.windows) {
    if (windows.size() < kMaxKeptWindows) windows.push_back(std::move(window));
  }
  windows_seen += other.windows_seen;
  counts.seen += other.counts.seen;
  counts.stored += other.counts.stored;
  add_counts(counts.folded, other.counts.folded);
  add_counts(counts.dropped, other.counts.dropped);
  extensions.update(other.extensions, true);
}

namespace {

template <class T>
std::optional<T> optional_member(const nlohmann::json& object, const char* name) {
  if (!object.contains(name)) return std::nullopt;
  return object[name].get<T>();
}

}  // namespace

Device device_of(const nlohmann::json& given) {
  Device device;
  device.device = given.at("device");
  device.rank = optional_member<int32_t>(given, "rank");
  device.name = given.value("name", "");
  device.vendor = given.value("vendor", "");
  device.memory_bytes = optional_member<int64_t>(given, "memory_bytes");
  device.compute_capability = optional_member<std::string>(given, "compute_capability");
  device.multiprocessors = optional_member<int64_t>(given, "multiprocessors");
  device.active = given.value("active", false);
  return device;
}

Rank rank_of(const nlohmann::json& given) {
  return {given.at("rank"), optional_member<int32_t>(given, "world_size")};
}

int64_t Counts::total_folded() const {
  return total(folded);
}

int64_t Counts::total_dropped() const {
  return total(dropped);
}

std::string monotonic_identity(std::string_view boot_id) {
  constexpr size_t kUuidSize = 36;
  const bool is_uuid =
      boot_id.size() == kUuidSize && boot_id.find_first_not_of("0123456789abcdef-") == std::string_view::npos;
  return is_uuid ? "monotonic:" + std::string(boot_id) : "";
}

}  // namespace nl::model
