#pragma once
// An NVTX range as users write it here (DOMAIN@RANGE or RANGE) and as each tool expects it. Nsight Systems
// wants the domain after the range, Nsight Compute before it. With the wrong order the tool runs without an
// error but its report is empty.

#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::capture {

struct NvtxRange {
  std::string domain = {};  ///< empty: the default domain
  std::string name = {};

  bool operator==(const NvtxRange&) const = default;
};

/// @RANGE is of the default domain, too, for names with an @. bad_input if there is no name, or a control
/// character in it.
Result<NvtxRange> parse_nvtx_range(std::string_view text);

/// RANGE@DOMAIN, of the default domain RANGE.
std::string nsys_range(const NvtxRange& range);

/// DOMAIN@RANGE/, of the default domain RANGE/: ranges that are pushed and popped, anywhere in the stack.
std::string ncu_range(const NvtxRange& range);

}  // namespace nl::capture
