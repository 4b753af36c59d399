#pragma once
// Which kernel of a graph replay is which launch of a donor. Pure: works on two sequences in order. A wrong
// op is worse than none, so a match keeps the order of both sides, and a replay that does not fit as a whole
// gets no ops at all. See docs/analysis/graphs.md.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/names/op_class.h"
#include "base/result.h"

namespace nl::analyze {

/// A kernel of a replay, or a launch of a donor.
struct LaunchKey {
  uint32_t kernel = 0;                  ///< id of its name, in one table for both sides; 0 = not known
  uint32_t family = 0;                  ///< id of the library or generator that it comes from; 0 = not known
  OpClass op_class = OpClass::k_other;  ///< what the kernel does; without a name, what its op does
  uint32_t geometry = 0;                ///< grid and block, equal if and only if they are; 0 = not known
};

/// kClass: another kernel of the same family that does the same, such as a product with other tiles; if the
/// donor names no kernels, a kernel that does what the op at its place does.
enum class MatchedBy : uint8_t { kNothing, kName, kClass };

struct KernelMatch {
  uint32_t donor = UINT32_MAX;  ///< place in the donor
  MatchedBy by = MatchedBy::kNothing;
};

/// How a replay fits its donor.
struct ReplayMatch {
  std::vector<KernelMatch> kernels;  ///< of each kernel of the replay; nothing is matched if refused
  int64_t by_name = 0, by_class = 0;
  int64_t same_geometry = 0, other_geometry = 0;  ///< of those matched by name, where both are known
  std::optional<std::string> refused = {};        ///< why nothing is matched

  int64_t matched() const { return by_name + by_class; }
};

/// At least so much of the longer side must be matched, and so much of it by name if the donor has names.
inline constexpr double kLeastMatched = 0.8, kLeastByName = 0.5;

/// The donor recorded this graph: its launches are the kernels of the replay, in order. `names` are the texts
/// of the ids.
Result<ReplayMatch> match_capture(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor,
                                  std::span<const std::string_view> names);

/// The donor ran the model without graphs, maybe many times: the stretch of it that fits best is taken.
Result<ReplayMatch> match_eager(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor,
                                std::span<const std::string_view> names);

/// Whether any launch tells its kernel; a capture may know the ops alone.
bool names_kernels(std::span<const LaunchKey> launches);

/// Kernels that both sides have, in any order: how well they may fit at most.
int64_t common_kernels(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor);

}  // namespace nl::analyze
