#pragma once
// RowBlock: the packed fingerprints of all runs that have measured the same dimensions, one row each, in a
// file that is mapped into memory. Rows are only added, under a lock. A damaged file is an error, and its
// owner writes it again. An open block does not see rows that are added later.
//
//   header   64 bytes: what the rows are, and a checksum of that
//
//   row      run id (32 bytes), stamp of the bundle (8), checksum (8), columns (4 each)

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "fingerprint/dimensions.h"

namespace nl::fingerprint {

struct RowKey {
  std::array<uint8_t, 32> run_id{};
  uint64_t stamp = 0;  ///< of the bundle that the row was made from; another one: the row is out of date
  auto operator<=>(const RowKey&) const = default;
};

/// bad_input if it is no sha256 in hex.
Result<RowKey> row_key(std::string_view run_id, uint64_t stamp);
std::string run_id_text(const RowKey& key);

struct NewRow {
  RowKey key;
  std::vector<float> columns;
};

class RowBlock {
 public:
  /// bad_input if the file is damaged or of another version.
  static Result<RowBlock> open(const std::string& path);
  RowBlock(RowBlock&&) noexcept = default;
  RowBlock& operator=(RowBlock&&) noexcept = default;

  Mask mask() const { return mask_; }
  size_t size() const { return rows_; }
  size_t columns() const { return columns_; }
  size_t stride() const { return stride_; }  ///< numbers from one row to the next
  RowKey key(size_t row) const;
  const float* vector(size_t row) const { return first_ + row * stride_; }
  /// Of the first rows together: tells one content from another.
  uint64_t check_of(size_t rows) const;

 private:
  RowBlock() = default;
  Result<void> check(const std::string& path) const;

  std::shared_ptr<const MappedFile> mapped_;
  const float* first_ = nullptr;  ///< columns of the first row
  Mask mask_ = 0;
  size_t rows_ = 0, columns_ = 0, stride_ = 0;
};

/// Adds rows to the file, which is made if need be; what a killed process left half-written goes.
Result<void> append_rows(const std::string& path, Mask mask, std::span<const NewRow> rows);

/// Writes the file anew with the rows that `source` gives for 0 to count - 1, aside and renamed.
Result<void> write_rows(const std::string& path, Mask mask, size_t count,
                        const std::function<NewRow(size_t)>& source);

}  // namespace nl::fingerprint
