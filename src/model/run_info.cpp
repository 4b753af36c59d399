#include "model/run_info.h"

#include <algorithm>

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

void add_device(std::vector<Device>& devices, const Device& other) {
  const auto same = [&](const Device& d) { return d.device == other.device; };
  const auto known = std::find_if(devices.begin(), devices.end(), same);
  if (known == devices.end()) return devices.push_back(other);
  if (known->name.empty()) known->name = other.name;
  if (known->vendor.empty()) known->vendor = other.vendor;
  if (!known->memory_bytes) known->memory_bytes = other.memory_bytes;
  if (!known->compute_capability) known->compute_capability = other.compute_capability;
  if (!known->multiprocessors) known->multiprocessors = other.multiprocessors;
  known->active = known->active || other.active;
}

}  // namespace

void RunInfo::add(RunInfo other) {
  if (backend == "unknown") backend = other.backend;
  versions.merge(other.versions);
  labels.merge(other.labels);
  add_new(hosts, other.hosts);
  for (const Device& device : other.devices) add_device(devices, device);
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return a.device < b.device; });
  if (!rank) rank = other.rank;
  if (!world_size) world_size = other.world_size;
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

int64_t Counts::total_folded() const {
  return total(folded);
}

int64_t Counts::total_dropped() const {
  return total(dropped);
}

}  // namespace nl::model
