#pragma once
// Makes the points of a bisection ready and runs them: a folder for the good one and a folder for the
// candidate, a build command run there by the shell, and a measuring command whose wall time, or a time that
// it prints, is the value. The point is given to both as NEUROLENS_POINT, and stands for {} in the words of
// the measuring command. One thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/known.h"
#include "base/result.h"
#include "lab/bisect/bisect.h"

namespace nl::lab {

/// The variable by which a build and a workload know their point.
inline constexpr const char* kPointVariable = "NEUROLENS_POINT";

struct PointRunsOptions {
  const Environment* surroundings = &Environment::of_process();
  std::string folder = {};                ///< where points are built; ours alone
  std::string build = {};                 ///< for sh -c; empty: nothing to build
  std::vector<std::string> command = {};  ///< measured; without a shell
  std::string printed = {};  ///< a key NAME: the time stands on a line NAME=VALUE of standard output
  std::string pattern = {};  ///< else a regular expression; its first group is the time
  int64_t build_seconds = 3600;
  int64_t run_seconds = 3600;
  /// Puts the files of a point into a folder; without it the folder is empty when the build begins.
  std::function<Result<void>(const BisectPoint&, const std::string& folder)> fill = {};
};

class PointRuns {
 public:
  /// bad_input: no command, or a pattern that cannot be used.
  static Result<PointRuns> make(PointRunsOptions options, const BisectPoint& good);
  Result<Known<bool>> prepare(const BisectPoint& point) const;
  Result<Known<double>> measure(const BisectPoint& point) const;

  /// Where a point lies that was prepared, and what measures it there.
  std::string folder_of(const BisectPoint& point) const;
  std::vector<std::string> command_of(const BisectPoint& point) const;

 private:
  PointRuns(PointRunsOptions options, std::string good)
      : options_(std::move(options)), good_(std::move(good)) {}

  PointRunsOptions options_;
  std::string good_;
};

/// The last value that the text gives for the key, or to the first group of the pattern; absent, with the
/// reason, if there is none that is finite and above 0.
Known<double> printed_time(const std::string& text, const std::string& key, const std::string& pattern);

}  // namespace nl::lab
