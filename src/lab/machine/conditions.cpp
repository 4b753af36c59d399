#include "lab/machine/conditions.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/decimal.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "wire/clock_pair.h"

namespace nl::lab {
namespace {

constexpr int64_t kMostBytes = 1 << 20;
constexpr auto kLook = std::chrono::milliseconds(500);
constexpr double kBusyOthers = 0.2;           ///< processors; more of it disturbs
constexpr int64_t kLeastBusyNs = 50'000'000;  ///< the kernel counts in ticks of 10 ms, a processor each
constexpr double kStolen = 0.02;
constexpr double kGroupThrottled = 0.01;
constexpr const char* kHidden = "this system does not show it";

// ---- Files of the kernel

std::optional<std::string> text_of(const std::string& path) {
  auto read = read_small_file(path, kMostBytes);
  if (!read) return std::nullopt;
  return std::string(trimmed(*read));
}

std::optional<int64_t> number_of(const std::string& path) {
  const auto text = text_of(path);
  int64_t value = 0;
  return text && parse_int64(*text, value) ? std::optional(value) : std::nullopt;
}

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

std::string processor_folder(const std::string& root, int processor) {
  return fmt::format("{}/sys/devices/system/cpu/cpu{}", root, processor);
}

/// The first line of /proc/stat: user nice system idle iowait irq softirq steal, in ticks.
void read_busy(const std::string& root, MachineReading& reading) {
  const auto stat = text_of(root + "/proc/stat");
  if (!stat) return;
  std::istringstream line(stat->substr(0, stat->find('\n')));
  std::string name;
  int64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0, stolen = 0;
  if (!(line >> name >> user >> nice >> system >> idle >> waiting >> irq >> soft >> stolen)) return;
  const int64_t tick_ns = 1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK));
  reading.busy_ns = (user + nice + system + irq + soft) * tick_ns;
  reading.stolen_ns = stolen * tick_ns;
}

void read_throttles(const std::string& root, MachineReading& reading) {
  for (const int processor : allowed_processors()) {
    const std::string folder = processor_folder(root, processor);
    if (const auto count = number_of(folder + "/thermal_throttle/core_throttle_count"))
      reading.throttles = reading.throttles.value_or(0) + *count;
    if (const auto khz = number_of(folder + "/cpufreq/scaling_cur_freq"))
      reading.khz = std::min(reading.khz.value_or(*khz), *khz);
  }
}

/// cpu.stat of the own group: version 2 counts microseconds, version 1 nanoseconds.
void read_group(const std::string& root, MachineReading& reading) {
  for (const auto& [path, name, unit] :
       {std::tuple{"/sys/fs/cgroup/cpu.stat", "throttled_usec", int64_t{1000}},
        std::tuple{"/sys/fs/cgroup/cpu/cpu.stat", "throttled_time", int64_t{1}}}) {
    const auto text = text_of(root + path);
    if (!text) continue;
    std::istringstream lines(*text);
    std::string key;
    for (int64_t value = 0; lines >> key >> value;) {
      if (key == name) reading.group_throttled_ns = value * unit;
    }
  }
}

void read_temperature(const std::string& root, MachineReading& reading) {
  const std::string folder = root + "/sys/class/thermal";
  for (const std::string& zone : list_folder(folder)) {
    if (!zone.starts_with("thermal_zone")) continue;
    if (const auto thousandths = number_of(folder + "/" + zone + "/temp")) {
      const double celsius = static_cast<double>(*thousandths) / 1000;
      reading.temperature_c = std::max(reading.temperature_c.value_or(celsius), celsius);
    }
  }
}

// ---- Judging

MachineCheck fit(const char* id, std::string what) {
  return {id, CheckState::kFit, std::move(what)};
}
MachineCheck unfit(const char* id, std::string what, std::string advice) {
  return {id, CheckState::kUnfit, std::move(what), std::move(advice)};
}
MachineCheck absent(const char* id, std::string why) {
  return {id, CheckState::kAbsent, std::move(why)};
}

MachineCheck check_governor(const std::string& root) {
  std::optional<std::string> worst;
  for (const int processor : allowed_processors()) {
    const auto governor = text_of(processor_folder(root, processor) + "/cpufreq/scaling_governor");
    if (governor && (!worst || *worst == "performance")) worst = governor;
  }
  if (!worst)
    return absent("governor", "no cpufreq in /sys: this system can neither see nor choose the frequency");
  if (*worst == "performance") return fit("governor", "the governor is performance");
  return unfit("governor", "the governor is " + *worst, "cpupower frequency-set -g performance");
}

MachineCheck check_turbo(const std::string& root) {
  const std::string cpu = root + "/sys/devices/system/cpu/";
  const auto no_turbo = number_of(cpu + "intel_pstate/no_turbo");
  const auto boost = number_of(cpu + "cpufreq/boost");
  if (!no_turbo && !boost) return absent("turbo", kHidden);
  if (no_turbo.value_or(1) == 1 && boost.value_or(0) == 0) return fit("turbo", "turbo is off");
  return unfit("turbo", "turbo is on: clocks change with temperature and neighbours",
               no_turbo ? "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"
                        : "echo 0 > /sys/devices/system/cpu/cpufreq/boost");
}

MachineCheck check_smt(const std::string& root) {
  const auto active = number_of(root + "/sys/devices/system/cpu/smt/active");
  if (!active) return absent("smt", kHidden);
  if (*active == 0) return fit("smt", "no two processors share a core");
  return unfit(
      "smt", "two processors share a core: a neighbour takes part of it",
      "echo off > /sys/devices/system/cpu/smt/control, or run on one processor of each core with pin");
}

MachineCheck check_memory(const std::string& root) {
  const auto meminfo = text_of(root + "/proc/meminfo");
  if (!meminfo) return absent("memory", kHidden);
  int64_t total = 0, available = -1;
  std::istringstream lines(*meminfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    int64_t kilobytes = 0;
    if (!(words >> name >> kilobytes)) continue;
    if (name == "MemTotal:") total = kilobytes;
    if (name == "MemAvailable:") available = kilobytes;
  }
  if (total <= 0 || available < 0) return absent("memory", kHidden);
  const std::string free = fmt::format("{} of {} MB of memory are free", available / 1000, total / 1000);
  if (available * 20 >= total) return fit("memory", free);
  return unfit("memory", free, "end what uses it: a system without free memory swaps or drops its caches");
}

MachineCheck check_group(const std::string& root) {
  double limit = 0;
  if (const auto unified = text_of(root + "/sys/fs/cgroup/cpu.max");
      unified && !unified->starts_with("max")) {
    double quota = 0, period = 0;
    if (std::istringstream(*unified) >> quota >> period && period > 0) limit = quota / period;
  }
  const auto quota = number_of(root + "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const auto period = number_of(root + "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota && period && *quota > 0 && *period > 0)
    limit = static_cast<double>(*quota) / static_cast<double>(*period);
  const auto processors = static_cast<double>(allowed_processors().size());
  if (limit == 0 || limit >= processors) return fit("cgroup", "no control group limits the processors");
  return unfit(
      "cgroup",
      fmt::format("a control group allows {:.2f} of {:.0f} processors: it stops programs that use more",
                  limit, processors),
      "give the group whole processors (cpuset) instead of a share of time");
}

MachineCheck check_battery(const std::string& root) {
  const std::string folder = root + "/sys/class/power_supply";
  for (const std::string& supply : list_folder(folder)) {
    if (number_of(folder + "/" + supply + "/online") == 0)
      return unfit("battery", "the machine runs on its battery", "connect it");
  }
  return fit("battery", "the machine does not run on a battery");
}

/// One line of nvidia-smi a GPU: name, current and largest clock of the SMs, reasons to slow down.
MachineCheck check_gpus(const Environment& surroundings) {
  const auto lines =
      output_of(surroundings, "nvidia-smi",
                {"--query-gpu=index,clocks.sm,clocks.max.sm,clocks_throttle_reasons.hw_slowdown",
                 "--format=csv,noheader,nounits"});
  if (!lines) return absent("gpus", "nvidia-smi names none");
  std::string slowed;
  for (const std::string& line : split(*lines, '\n')) {
    const auto cells = split(line, ',');
    if (cells.size() == 4 && has_part(cells[3], "Active") && !has_part(cells[3], "Not"))
      slowed += (slowed.empty() ? "" : ", ") + std::string(trimmed(cells[0]));
  }
  if (slowed.empty()) return fit("gpus", "no GPU slows down");
  return unfit("gpus", "GPUs slow down: " + slowed, "nvidia-smi -q -d PERFORMANCE names the reason");
}

void judge_look(const RunConditions& look, std::vector<MachineCheck>& checks) {
  const auto busy = look.others_busy;
  if (!busy) {
    checks.push_back(absent("others", look.absent.at("others_busy")));
  } else if (*busy <= kBusyOthers) {
    checks.push_back(fit("others", "the machine has nothing else to do"));
  } else {
    checks.push_back(unfit("others", fmt::format("{:.1f} processors are busy with other work", *busy),
                           "wait, or end what runs beside"));
  }
  const auto stolen = look.stolen;
  if (!stolen) {
    checks.push_back(absent("stolen", look.absent.at("stolen")));
  } else if (*stolen <= kStolen) {
    checks.push_back(fit("stolen", "the host takes no time away"));
  } else {
    checks.push_back(
        unfit("stolen", fmt::format("the host of this virtual machine takes {:.2f} processors away", *stolen),
              "measure on a machine without neighbours"));
  }
  if (!look.throttles) {
    checks.push_back(absent("throttled", look.absent.at("throttles")));
  } else {
    checks.push_back(*look.throttles == 0
                         ? fit("throttled", "no core slows down for its temperature")
                         : unfit("throttled", "cores slow down for their temperature", "cool the machine"));
  }
}

}  // namespace

std::string_view check_state_name(CheckState state) {
  static constexpr std::string_view kNames[] = {"fit", "unfit", "allowed", "absent"};
  return kNames[static_cast<size_t>(state)];
}

const std::vector<std::string>& check_names() {
  static const std::vector<std::string> kNames = {"governor", "turbo", "smt",    "memory", "cgroup",
                                                  "battery",  "gpus",  "others", "stolen", "throttled"};
  return kNames;
}

std::string Fitness::sentence() const {
  std::string reasons;
  for (const MachineCheck& check : checks) {
    if (check.state == CheckState::kUnfit) reasons += (reasons.empty() ? "" : "; ") + check.what;
  }
  return reasons.empty() ? "fit" : "unfit: " + reasons;
}

MachineReading read_machine(const std::string& root) {
  MachineReading reading;
  reading.monotonic_ns = wire::clock_ns(CLOCK_MONOTONIC);
  read_busy(root, reading);
  read_throttles(root, reading);
  read_group(root, reading);
  read_temperature(root, reading);
  return reading;
}

RunConditions conditions_between(const MachineReading& before, const MachineReading& after,
                                 int64_t own_cpu_ns) {
  RunConditions conditions;
  const auto elapsed = static_cast<double>(std::max<int64_t>(after.monotonic_ns - before.monotonic_ns, 1));
  const auto mark = [&](bool disturbed, const char* name) {
    if (disturbed) conditions.marks.emplace_back(name);
  };
  const auto grown = [](const std::optional<int64_t>& from,
                        const std::optional<int64_t>& to) -> std::optional<int64_t> {
    if (!from || !to) return std::nullopt;
    return std::max<int64_t>(*to - *from, 0);
  };
  if (const auto busy = grown(before.busy_ns, after.busy_ns)) {
    const int64_t others = std::max<int64_t>(*busy - own_cpu_ns, 0);
    conditions.others_busy = static_cast<double>(others) / elapsed;
    mark(*conditions.others_busy > kBusyOthers && others > kLeastBusyNs, "others_busy");
  } else {
    conditions.absent["others_busy"] = "no /proc/stat";
  }
  if (const auto stolen = grown(before.stolen_ns, after.stolen_ns)) {
    conditions.stolen = static_cast<double>(*stolen) / elapsed;
    mark(*conditions.stolen > kStolen && *stolen > kLeastBusyNs, "stolen");
  } else {
    conditions.absent["stolen"] = "no /proc/stat";
  }
  conditions.throttles = grown(before.throttles, after.throttles);
  if (!conditions.throttles) conditions.absent["throttles"] = "no thermal_throttle in /sys";
  mark(conditions.throttles.value_or(0) > 0, "throttled");
  if (const auto stopped = grown(before.group_throttled_ns, after.group_throttled_ns)) {
    conditions.group_throttled = static_cast<double>(*stopped) / elapsed;
    mark(*conditions.group_throttled > kGroupThrottled, "group_throttled");
  } else {
    conditions.absent["group_throttled"] = "no cpu.stat of a control group";
  }
  conditions.temperature_c = after.temperature_c;
  if (!after.temperature_c) conditions.absent["temperature_c"] = "no sensor in /sys/class/thermal";
  conditions.khz = after.khz;
  if (!after.khz) conditions.absent["khz"] = "no cpufreq in /sys";
  return conditions;
}

Fitness judge_machine(const Environment& surroundings, const std::map<std::string, std::string>& allowed,
                      const std::string& root) {
  Fitness fitness;
  fitness.checks = {check_governor(root), check_turbo(root),   check_smt(root),         check_memory(root),
                    check_group(root),    check_battery(root), check_gpus(surroundings)};
  const MachineReading before = read_machine(root);
  std::this_thread::sleep_for(kLook);
  judge_look(conditions_between(before, read_machine(root), 0), fitness.checks);
  for (MachineCheck& check : fitness.checks) {
    const auto reason = allowed.find(check.id);
    if (check.state == CheckState::kUnfit && reason != allowed.end()) {
      check.state = CheckState::kAllowed;
      check.allowed_because = reason->second;
    }
    fitness.is_fit = fitness.is_fit && check.state != CheckState::kUnfit;
  }
  return fitness;
}

}  // namespace nl::lab
