#pragma once
// Finds in bench files what cannot be right before anything is run: claims without a counterpart, names that
// are there twice, expectations that nothing can keep, files that are not there.

#include <string>
#include <vector>

#include "base/environment.h"
#include "lab/targets/target.h"

namespace nl::lab {

struct TargetFault {
  std::string file;
  int line = 0;
  std::string target;
  std::string what;
  bool is_error = true;  ///< else the file can be run, but its claims are weaker than they look

  /// "bench.yaml:12: resnet: …"
  std::string text() const;
};

/// Of all files together; a program is looked for where its caller would find it.
std::vector<TargetFault> check_targets(const std::vector<BenchFile>& files, const Environment& surroundings);

}  // namespace nl::lab
