#pragma once
// Search: finds the runs that are nearest to a given run, over all blocks. The answer is the same as
// comparing the run with every other run by distance(): absent dimensions do not count, and runs with too
// little in common are left out and counted.

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "fingerprint/distance.h"
#include "fingerprint/pivot_index.h"
#include "fingerprint/row_block.h"

namespace nl::fingerprint {

/// A block, its index if there is one, and which of its rows count.
struct SearchedBlock {
  RowBlock rows;
  std::optional<PivotIndex> index = {};
  std::vector<bool> dead = {};  ///< runs that are gone or whose row is out of date; empty: none
};

struct Neighbor {
  RowKey key;
  double distance;
  Mask shared;
};

struct SearchResult {
  std::vector<Neighbor> neighbors;  ///< by distance, then run id
  size_t searched = 0;              ///< rows that count
  size_t too_different = 0;         ///< of them, those with too few dimensions in common
};

struct SearchOptions {
  size_t top = 10;
  int threads = 1;
  bool with_index = true;
  std::optional<RowKey> without = {};  ///< the asked run itself; its stamp does not matter
};

Result<SearchResult> search(const std::vector<SearchedBlock>& blocks, const Fingerprint& asked,
                            const SearchOptions& options);

}  // namespace nl::fingerprint
