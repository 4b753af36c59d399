#pragma once
// A sample: what one process run of one side of a target measured. The process run is what is repeated;
// iterations inside of it are not. Samples are kept in a file of JSON lines as soon as they are measured, so
// that what was measured survives whatever ends the lab.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/machine/conditions.h"

namespace nl::lab {

enum class Phase { kCold, kWarmUp, kCounted };
std::string_view phase_name(Phase phase);

struct Sample {
  std::string target;
  std::string side;
  Phase phase = Phase::kCounted;
  int64_t block = 0;     ///< of counted ones
  int64_t place = 0;     ///< in the block
  int64_t value_ns = 0;  ///< what counts: the whole time, the time it printed, or the median iteration
  std::vector<int64_t> iterations_ns = {};  ///< of models and functions
  std::optional<int64_t> first_ns = {};     ///< until the first result
  int64_t cpu_ns = 0;
  std::optional<int64_t> peak_memory_bytes = {};
  int64_t started_unix_ns = 0;
  RunConditions conditions = {};
  std::string folder = {};  ///< its artefacts, below the session's folder

  static constexpr auto fields() {
    using S = Sample;
    return std::tuple{field("target", &S::target),
                      field("side", &S::side),
                      field("phase", &S::phase),
                      field("block", &S::block),
                      field("place", &S::place, "in its block"),
                      field("value_ns", &S::value_ns),
                      field("iterations_ns", &S::iterations_ns),
                      field_if_any("first_ns", &S::first_ns, "until the first result"),
                      field("cpu_ns", &S::cpu_ns),
                      field_if_any("peak_memory_bytes", &S::peak_memory_bytes),
                      field("started_unix_ns", &S::started_unix_ns),
                      field("conditions", &S::conditions),
                      field("folder", &S::folder)};
  }
};

/// Lines of JSON that are appended and flushed to the disk one by one.
class LinesFile {
 public:
  explicit LinesFile(std::string path) : path_(std::move(path)) {}
  Result<void> append(const nlohmann::json& line) const;
  /// A last line that was cut short by a crash is left out, and so is the fault of it.
  Result<std::vector<nlohmann::json>> read() const;

 private:
  std::string path_;
};

Result<Sample> sample_of(const nlohmann::json& line);

}  // namespace nl::lab

template <>
struct nl::DescribedAs<nl::lab::Phase> : nl::DescribedEnum<nl::lab::Phase, nl::lab::phase_name, 3> {};
