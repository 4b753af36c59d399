#pragma once
// Slices: a smaller run made from the rows of another one. Rows that touch the stretch of time are taken as
// they are, never cut. What explains them comes along: the call that launched a kernel and the kernel of a
// launch, the spans around both, and the device work next to the stretch, which bounds its gaps. Analysis
// looks at the stretch alone, so its sums close and equal those of the parent in the same window.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/import/import_file.h"
#include "store/open_run.h"

namespace nl::ops {

struct SliceChoice {
  int64_t begin_ns = 0;  ///< on the common clock of the run
  int64_t end_ns = 0;
  std::vector<int64_t> tracks = {};        ///< empty: all
  std::optional<store::Claim> claim = {};  ///< of the parent: what it only claims, its slice only claims, too
};

struct SliceReport {
  ImportReport report;
  int64_t inside = 0;    ///< rows that touch the stretch
  int64_t along = 0;     ///< rows outside of it that came along
  int64_t left_out = 0;  ///< rows of the parent that are not in the slice
};

/// The run has its derived tables. A slice that is there already is not made again.
Result<SliceReport> slice_run(Context& context, store::Ledger& ledger,
                              const std::shared_ptr<store::OpenRun>& parent, const SliceChoice& choice);

}  // namespace nl::ops
