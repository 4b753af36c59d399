#pragma once
// A range of NVTX as people write it here, DOMAIN@RANGE or RANGE, and as each tool wants it. Nsight Systems
// has the domain behind the range and Nsight Compute before it; the wrong order is a clean run with an empty
// report.

#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::capture {

struct NvtxRange {
  std::string domain = {};  ///< empty: the default domain
  std::string name = {};

  bool operator==(const NvtxRange&) const = default;
};

/// bad_input if there is no name, or a control character in it.
Result<NvtxRange> parse_nvtx_range(std::string_view text);

/// RANGE@DOMAIN, of the default domain RANGE.
std::string nsys_range(const NvtxRange& range);

/// DOMAIN@RANGE/, of the default domain RANGE/: ranges that are pushed and popped, anywhere in the stack.
std::string ncu_range(const NvtxRange& range);

}  // namespace nl::capture
