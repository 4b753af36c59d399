#pragma once
// What bench.yaml says, as plain data: targets, each with a baseline and variants whose speed is claimed.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nl::lab {

enum class SideKind { kCommand, kModel, kPython };

/// One way to do the work.
struct Side {
  std::string name;  ///< "baseline", or that of the variant
  int line = 0;
  SideKind kind = SideKind::kCommand;
  std::vector<std::string> command = {};
  std::string workload = {};  ///< a model or a function
  std::string folder = {};    ///< absolute
  std::map<std::string, std::string> environment = {};
  std::map<std::string, std::string> options = {};  ///< of a model: threads, optimize, …
  std::map<std::string, std::string> sizes = {};    ///< of a model
};

enum class Figure { kSpeedup, kMedianMs, kP90Ms, kP99Ms, kFirstMs, kMemoryMb, kPerSecond };

/// "p99_ms <= 40"
struct Expectation {
  Figure figure = Figure::kSpeedup;
  bool at_least = true;  ///< else at most
  double bound = 0;
  std::string text = {};
  int line = 0;
};

struct StopRule {
  int64_t least = 6;
  int64_t runs = 20;
  std::optional<double> width = {};  ///< of the interval, as a share of the speed-up
  std::optional<double> minutes = {};
};

enum class ProfileLevel { kNone, kLight, kDeep };

struct Target {
  std::string name;            ///< with its parameters: attention[batch=8]
  std::string base_name = {};  ///< without them
  std::string about = {};
  int line = 0;
  std::map<std::string, std::string> parameters = {};
  std::optional<Side> baseline = {};
  std::vector<Side> variants = {};
  std::vector<std::string> inputs = {};  ///< absolute
  std::vector<Expectation> expectations = {};
  std::vector<std::string> check = {};
  std::string printed = {};  ///< name of the time that a command prints; empty: its whole time
  int64_t warm_up = 1;
  int64_t iterations = 0;  ///< 0: as many as fit
  StopRule stop = {};
  ProfileLevel profile = ProfileLevel::kNone;
  std::optional<int64_t> seed = {};
  int64_t time_limit_seconds = 600;
  std::string pin = {};
  std::string device = "machine";
  std::map<std::string, std::string> labels = {};
  std::vector<std::string> tags = {};
  std::vector<Target> larger = {};  ///< the same at larger sizes, for claims that are not met

  uint64_t seed_or_default() const { return static_cast<uint64_t>(seed.value_or(1)); }
};

struct BenchFile {
  std::string path;
  std::string folder;  ///< that it lies in
  std::string suite = {};
  std::string sha256 = {};
  std::map<std::string, std::string> allowed = {};  ///< reason by check of the environment
  std::vector<Target> targets = {};                 ///< one for each combination of parameters
};

const char* figure_name(Figure figure);

}  // namespace nl::lab
