#pragma once
// PivotIndex: makes the search in a block faster without changing its answer. Rows are grouped around pivots,
// and the triangle inequality shows which groups, and which rows of a group, cannot be near enough. The index
// covers the rows that existed when it was built; later rows are scanned one by one. If the data has no
// natural groups, the index saves little but also costs little.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fingerprint/nearest.h"
#include "fingerprint/row_block.h"
#include "fingerprint/scan.h"

namespace nl::fingerprint {

class PivotIndex {
 public:
  /// Sorts the rows of the block's file into groups and writes the index beside it, each aside and renamed.
  /// The block has to be opened again afterwards. The same rows give the same files.
  static Result<void> build(const RowBlock& block, const std::string& rows_path);

  /// not_found if there is none; bad_input if it does not belong to the first rows of the block.
  static Result<PivotIndex> open(const RowBlock& block, const std::string& rows_path);

  size_t size() const { return distances_.size(); }  ///< rows it knows

  /// Offers all rows it knows that may be near enough, by squared distances divided by `weight`.
  void search(const RowBlock& block, const float* query, float weight, uint32_t block_number,
              const std::function<bool(uint32_t)>& is_dead, Nearest& nearest) const;

  static std::string path_of(const std::string& rows_path) { return rows_path + ".pivots"; }

 private:
  struct Group {
    uint32_t begin, end;
  };
  size_t columns_ = 0;
  std::vector<float> pivots_;     ///< one after the other
  std::vector<Group> groups_;     ///< rows of each pivot
  std::vector<float> distances_;  ///< of each row to its pivot; they grow within a group
};

}  // namespace nl::fingerprint
