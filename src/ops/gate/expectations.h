#pragma once
// Expectations: what a repository expects of a run, in a file beside its code. The file says how to compare
// and which limits the new side must keep:
//
//   base: "@baseline:main"
//   window: steps
//   threshold: 3%
//   limits:
//     - window: total
//       at_most: 120 ms
//     - part: idle host_data
//       at_most: 5%
//     - kernel: flash_fwd
//       at_most: 1.3 ms

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "compare/answer.h"

namespace nl::ops {

struct Limit {
  std::string kind;      ///< window, part or kernel
  std::string what;      ///< of a part its kind, or kind and name; of a kernel a piece of its name
  std::string text;      ///< the limit as written
  double share = -1;     ///< of the window; negative if the limit is a time
  int64_t most_ns = -1;  ///< negative if the limit is a share
};

struct Expectations {
  std::map<std::string, std::string> options;  ///< base, window, threshold, allow_untested
  std::vector<Limit> limits;
};

Result<Expectations> parse_expectations(const std::string& text, const std::string& name);
Result<Expectations> read_expectations(const std::string& path);

/// Of a comparison with all its changes. Unmet too where nothing of that name is there: an expectation that
/// checks nothing is a mistake.
std::vector<compare::LimitCheck> check_limits(const compare::Comparison& comparison,
                                              const std::vector<Limit>& limits);

}  // namespace nl::ops
