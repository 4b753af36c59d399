#pragma once
// ColumnEncoder: the values of one column of a row group, on their way from batches to pages. Text comes from
// a batch by the number of its string, so each string of a batch is looked up once and not once a row. One
// thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/batch.h"

namespace nl::store {

/// Numbers of the format.
enum class ParquetType : int32_t { kInt32 = 1, kInt64 = 2, kDouble = 5, kBytes = 6 };
enum class ParquetEncoding : int32_t {
  kPlain = 0,
  kRle = 3,
  kDeltas = 5,
  kDeltaLengths = 6,
  kDictionary = 8,
  kSplitBytes = 9
};

/// Values as the pages of a row group hold them, not packed yet.
struct ColumnPages {
  std::string dictionary = {};  ///< empty: there is none
  uint32_t dictionary_values = 0;
  std::string data = {};
  ParquetEncoding encoding = ParquetEncoding::kPlain;
  size_t nulls = 0;
  std::string least = {}, most = {};  ///< of whole numbers: little-endian, as statistics have them
};

class ColumnEncoder {
 public:
  static std::unique_ptr<ColumnEncoder> of(model::Type type);
  static ParquetType stored_type(model::Type type);
  virtual ~ColumnEncoder() = default;

  void add(const model::Batch& batch, const int64_t* cells, size_t count);
  void add_nulls(size_t count);
  bool has_values() const { return values_ > 0; }
  virtual bool is_text() const { return false; }
  /// Bytes of text that are held.
  virtual size_t text_bytes() const { return 0; }
  /// Ends the row group: the column is empty afterwards. No dictionary has more values than this.
  ColumnPages take(size_t most_dictionary);

 protected:
  virtual void add_values(const model::Batch& batch, const int64_t* cells, size_t count) = 0;
  virtual void put_values(ColumnPages& pages, size_t most_dictionary) = 0;
  virtual void clear() = 0;

 private:
  void put_levels(std::string& out) const;

  std::vector<uint64_t> is_there_;  ///< a bit for each row
  size_t rows_ = 0;
  size_t values_ = 0;
};

/// The levels of rows that are all NULL: a page of these alone.
std::string null_levels(size_t rows);

}  // namespace nl::store
