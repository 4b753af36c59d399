#pragma once
// Rows as a stream of Apache Arrow's IPC format (version 5, little endian): a schema, then batches of rows,
// column by column. What readers need is written by hand: four tables of flatbuffers and the buffers of four
// types. One object writes one stream.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/user_query.h"

namespace nl::store {

class ArrowStream {
 public:
  using Write = std::function<Result<void>(std::string_view)>;
  explicit ArrowStream(Write write) : write_(std::move(write)) {}

  Result<void> begin(const std::vector<ResultColumn>& columns);
  Result<void> row(std::span<const Cell> cells);
  Result<void> finish();

 private:
  struct Column {
    CellKind kind = CellKind::kText;
    int64_t nulls = 0;
    std::string validity, values, offsets;
  };
  Result<void> flush();
  Result<void> send(const std::string& metadata, std::string_view body);

  Write write_;
  std::vector<Column> columns_;
  int64_t rows_ = 0;
  size_t bytes_ = 0;
};

}  // namespace nl::store
