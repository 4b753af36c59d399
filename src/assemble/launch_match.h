#pragma once
// Finds the launch in a trace that corresponds to a launch which a counter profiler replayed. The two come
// from two processes that did nearly the same work. They are matched by name, grid, block, open ranges and
// place in the order of launches. A launch without a safe match stays unmatched. Pure algorithm; any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nl::assemble {

/// What both sides know of a launch. -1: the source does not say.
struct LaunchShape {
  std::string name;
  std::array<int32_t, 3> grid = {-1, -1, -1};   ///< only the first: number of all blocks
  std::array<int32_t, 3> block = {-1, -1, -1};  ///< only the first: number of all threads
  std::string ranges = {};                      ///< outermost first, joined by /
};

/// Why two launches are taken for the same.
enum class MatchedBy : uint8_t {
  kOrder,  ///< it and its neighbours are in the same order on both sides
  kMoved,  ///< the only one of its kind near the place where it should be
};
std::string_view matched_by_name(MatchedBy by);

struct LaunchMatch {
  uint32_t traced;
  MatchedBy by;
  bool by_function;  ///< only the function's name is the same, not its template values or parameters
  bool by_ranges;    ///< the open ranges are the same, too
};

/// Both in the order of launches. One entry for each replayed launch; no traced one is taken twice.
std::vector<std::optional<LaunchMatch>> match_launches(const std::vector<LaunchShape>& replayed,
                                                       const std::vector<LaunchShape>& traced);

/// The name without blanks and in one spelling of template values: (int)128 and 128ul are 128, (bool)1 is
/// true.
std::string spelled_alike(std::string_view name);
/// The function alone: without return type, template values and parameters.
std::string function_of(std::string_view name);

}  // namespace nl::assemble
