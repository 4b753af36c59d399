#pragma once
// What of a machine disturbs measurements: judged before it is measured on, and read around every run. What
// the machine does not show is absent with its reason, which is no fault of it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"
#include "base/environment.h"
#include "lab/machine/gpu_conditions.h"

namespace nl::lab {

/// Exit code of a program that found the machine unfit to measure on (EX_TEMPFAIL of sysexits.h): the queue
/// tries it again later.
inline constexpr int kUnfitExit = 75;

enum class CheckState { kFit, kUnfit, kAllowed, kAbsent };
std::string_view check_state_name(CheckState state);

/// One thing that was looked at: governor, turbo, smt, …
struct MachineCheck {
  std::string id;
  CheckState state = CheckState::kFit;
  std::string what;         ///< what was found, or why nothing could be
  std::string advice = {};  ///< how to mend it, where it is unfit
  std::string allowed_because = {};

  static constexpr auto fields();
};

struct Fitness {
  bool is_fit = true;  ///< nothing is unfit that is not allowed
  std::vector<MachineCheck> checks = {};

  /// "unfit: the governor is powersave; 1.3 processors are busy with other work"
  std::string sentence() const;
  static constexpr auto fields();
};

/// The names that may be allowed.
const std::vector<std::string>& check_names();

/// Counters of the machine at one moment; two of them tell what happened in between.
struct MachineReading {
  int64_t monotonic_ns = 0;
  std::optional<int64_t> busy_ns = {};             ///< of all processors
  std::optional<int64_t> stolen_ns = {};           ///< that the host of a virtual machine took away
  std::optional<int64_t> throttles = {};           ///< times that a core slowed down for its temperature
  std::optional<int64_t> group_throttled_ns = {};  ///< for which the control group stopped us
  std::optional<double> temperature_c = {};        ///< of the hottest sensor
  std::optional<int64_t> khz = {};                 ///< of the slowest allowed processor
};
/// The machine as /proc and /sys below `root` show it.
MachineReading read_machine(const std::string& root = "");

/// What a run was measured under.
struct RunConditions {
  std::optional<double> others_busy = {};  ///< processors that worked for others, on average
  std::optional<double> stolen = {};       ///< processors that the host took away, on average
  std::optional<int64_t> throttles = {};
  std::optional<double> group_throttled = {};  ///< share of the time
  std::optional<double> temperature_c = {};
  std::optional<int64_t> khz = {};
  std::vector<GpuConditions> gpus = {};
  std::map<std::string, std::string> absent = {};  ///< why, by the name of what is not there
  std::vector<std::string> marks = {};             ///< what disturbed it

  static constexpr auto fields();
};
/// `own_cpu_ns`: what the run itself used.
RunConditions conditions_between(const MachineReading& before, const MachineReading& after,
                                 int64_t own_cpu_ns);

/// Looks for half a second at what the others do.
Fitness judge_machine(const Environment& surroundings, const std::map<std::string, std::string>& allowed,
                      const std::string& root = "");

// ---- How they are written

constexpr auto MachineCheck::fields() {
  using C = MachineCheck;
  return std::tuple{field("id", &C::id, "what was looked at"), field("state", &C::state),
                    field("what", &C::what, "what was found, or why nothing could be"),
                    field("advice", &C::advice, "how to mend it"),
                    field("allowed_because", &C::allowed_because, "the reason that somebody gave")};
}

constexpr auto Fitness::fields() {
  return std::tuple{field("fit", &Fitness::is_fit, "nothing disturbs that is not allowed"),
                    field("checks", &Fitness::checks)};
}

constexpr auto RunConditions::fields() {
  using C = RunConditions;
  return std::tuple{
      field("marks", &C::marks,
            "what disturbed the run: others_busy, stolen, throttled, group_throttled, gpu_slowed"),
      field_if_any("others_busy", &C::others_busy, "processors that worked for others, on average"),
      field_if_any("stolen", &C::stolen,
                   "processors that the host of the virtual machine took away, on average"),
      field_if_any("throttles", &C::throttles, "times that a core slowed down for its temperature"),
      field_if_any("group_throttled", &C::group_throttled,
                   "share of the time for which the control group stopped us"),
      field_if_any("temperature_c", &C::temperature_c, "of the hottest sensor, after the run"),
      field_if_any("khz", &C::khz, "of the slowest allowed processor, after the run"),
      field("gpus", &C::gpus, "what GPUs did during the run"),
      field("absent", &C::absent, "why a figure is not there")};
}

}  // namespace nl::lab

template <>
struct nl::DescribedAs<nl::lab::CheckState>
    : nl::DescribedEnum<nl::lab::CheckState, nl::lab::check_state_name, 4> {};
