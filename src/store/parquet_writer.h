#pragma once
// ParquetWriter: writes one table as a Parquet file, row group by row group, straight from the cells of
// batches. A column that never has a value is left out of the file; this is known at the end alone, but only
// the footer, which is written last, names the columns. One thread at a time.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/column_encoder.h"

struct ZSTD_CCtx_s;

namespace nl::store {

class ThriftWriter;

class ParquetWriter {
 public:
  /// Columns of `always` are there even if they never have a value.
  ParquetWriter(model::TableId table, std::string path, uint64_t always);
  ~ParquetWriter();
  ParquetWriter(const ParquetWriter&) = delete;
  ParquetWriter& operator=(const ParquetWriter&) = delete;

  Result<void> open();
  /// Copies rows out of the batch.
  Result<void> add(const model::Batch& batch);
  /// Ends the file.
  Result<void> finish();
  int64_t rows() const { return all_rows_; }

 private:
  /// Where pages of one column and row group are.
  struct Chunk {
    bool is_written = false;
    std::vector<ParquetEncoding> encodings = {};
    int64_t values = 0, nulls = 0;
    int64_t unpacked = 0, packed = 0;
    int64_t data_page = 0, dictionary_page = 0;
    std::string least = {}, most = {};
  };
  struct Group {
    int64_t rows = 0;
    std::vector<Chunk> chunks;  ///< one for each column of the table
  };

  void add_rows(const model::Batch& batch, size_t from, size_t count);
  size_t rows_of_piece(const model::Batch& batch, size_t from);
  bool is_within_piece() const;
  bool is_full() const;
  Result<void> end_group();
  Chunk put_chunk(ColumnPages pages, int64_t rows);
  void put_null_chunks();
  bool is_in_file(size_t column) const;
  int64_t put_page(Chunk& chunk, std::string_view content, std::string_view head);
  std::string packed(std::string_view content);
  std::string footer() const;
  void put_group(ThriftWriter& out, const Group& group, const std::vector<size_t>& in_file) const;
  static void put_chunk_data(ThriftWriter& out, const Chunk& chunk, const model::Column& column);
  static void put_orders(ThriftWriter& out, size_t columns);
  Result<void> flush();

  const model::TableId table_;
  const std::string path_;
  const uint64_t always_;
  int fd_ = -1;
  ZSTD_CCtx_s* const zstd_;
  std::vector<std::unique_ptr<ColumnEncoder>> columns_;  ///< null for row ids, which are not stored
  std::vector<Group> groups_;
  std::string out_;                         ///< not written yet
  int64_t position_ = 0;                    ///< of its end in the file
  size_t rows_ = 0;                         ///< of the row group
  size_t piece_rows_ = 0, piece_text_ = 0;  ///< of the piece that is being added
  int64_t all_rows_ = 0;
  uint64_t used_ = 0;  ///< columns with a value
};

}  // namespace nl::store
