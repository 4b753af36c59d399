#pragma once
// TableWriter: writes one table to one Parquet file while batches arrive. Its own thread writes from a
// bounded queue, so memory does not grow with the table. The file exists only after finish(), and holds only
// the columns that have a value, unless all are wanted. A table that fits into one row group is written when
// it is complete, with encodings that fit its size. Either way the same rows give the same bytes.

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/batch.h"
#include "store/engine.h"

namespace nl::store {

struct TableFile {
  std::string name;
  int64_t rows = 0;
  int64_t bytes = 0;
  std::string sha256 = {};
};

class TableWriter {
 public:
  enum class Columns { kAll, kUsed };
  /// `expected`: columns that may have values, bit n for column n; another value is an error.
  TableWriter(std::shared_ptr<Engine> engine, model::TableId table, std::string path,
              Columns columns = Columns::kUsed, uint64_t expected = UINT64_MAX);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  /// Queues the rows that the batch has for this table; blocks while the queue is full.
  Result<void> push(std::shared_ptr<const model::Batch> batch);
  /// No more rows will come: the file can be ended while the caller goes on.
  void close();
  /// Waits for the end of the file; sets name and rows of the description.
  Result<TableFile> finish();

 private:
  class Feed;
  std::unique_ptr<Feed> feed_;
};

/// COPY options of a small Parquet file of a bundle; docs/adr has the measurements behind them.
std::string parquet_options(int64_t rows, size_t text_bytes = 0);

}  // namespace nl::store
