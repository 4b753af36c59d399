#pragma once
// The values of one column in one row group, from the bytes of its pages. Reads what NeuroLens writes: pages
// packed by zstd, in the encodings that the engine chooses. Whatever the bytes are, nothing outside of them
// is read, and memory is bounded by the rows of the chunk and by what its pages claim to unpack to. Buffers
// are kept from one row group to the next. For one thread at a time.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/parquet_footer.h"

struct ZSTD_DCtx_s;

namespace nl::store {

/// Texts of the rows of a column. Rows with the same text share it where the file has a dictionary.
struct ColumnTexts {
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<std::string_view> texts;
  std::vector<uint32_t> rows;  ///< places in `texts`; kNone: NULL
};

/// Some 100 KB, so that columns share one.
using Unpacker = std::unique_ptr<ZSTD_DCtx_s, size_t (*)(ZSTD_DCtx_s*)>;
Unpacker make_unpacker();

class PageReader {
 public:
  /// `bytes`: those of the chunk. What is read stays valid until the next call. bad_input: they are damaged.
  Result<void> read(const ParquetColumn& column, const ParquetChunk& chunk, std::string_view bytes,
                    Unpacker& unpacker);
  /// For a column that the file does not have.
  void set_null(size_t rows);
  /// After a column of numbers. NULL is model::kNull; floating-point numbers are here as their bits.
  std::vector<int64_t>& numbers() { return numbers_; }
  /// After a column of texts.
  ColumnTexts& texts() { return texts_; }

 private:
  struct Page {
    int32_t encoding;
    size_t values;
    std::string_view bytes;
  };

  void clear();
  Result<std::string_view> unpack(const ParquetPageHead& head, std::string_view packed, Unpacker& unpacker);
  bool read_dictionary(const ParquetColumn& column, const Page& page);
  bool read_values(const ParquetColumn& column, Page page);
  bool read_levels(const ParquetColumn& column, Page& page);
  bool read_numbers(const ParquetColumn& column, const Page& page);
  bool add_numbers(int32_t type, const Page& page);
  bool read_texts(const Page& page);
  bool add_texts(const Page& page);
  bool read_places(const Page& page, size_t dictionary);

  std::vector<std::vector<char>> buffers_;  ///< texts point into them
  size_t buffers_used_ = 0;
  std::vector<int64_t> dictionary_;  ///< of numbers; that of texts begins `texts_`
  size_t dictionary_texts_ = 0;
  std::vector<uint32_t> levels_;  ///< of a page: 1 where a row has a value; empty: all have
  std::vector<uint32_t> places_;  ///< of the values of a page in the dictionary
  std::vector<int64_t> numbers_;
  ColumnTexts texts_;
};

}  // namespace nl::store
