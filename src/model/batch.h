#pragma once
// Batch: consecutive rows of several tables. It is the unit that an adapter passes to a sink. One thread
// builds it; after that it is read-only. Each cell has 8 bytes: an integer, the bits of a double, or the
// number of a string in `strings`.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "model/tables.h"

namespace nl::model {

inline constexpr int64_t kNull = std::numeric_limits<int64_t>::min();

/// Rows of one table, column by column. A new row is all NULL; a column takes memory from its first value on.
class Rows {
 public:
  static constexpr size_t kMaxColumns = 32;

  size_t size() const { return size_; }
  /// Bit n: column n has a value.
  uint64_t used() const { return used_; }
  /// False if every cell of the column is NULL.
  bool has_values(int c) const { return (used_ >> c & 1) != 0; }
  /// Cells of a column that has values.
  const int64_t* column(int c) const { return columns_[static_cast<size_t>(c)].get(); }
  int64_t cell(size_t row, int c) const { return has_values(c) ? column(c)[row] : kNull; }

  size_t add() {
    if (size_ == capacity_) grow();
    return size_++;
  }
  void set(size_t row, int c, int64_t value) {
    if (!has_values(c)) start_column(c);
    columns_[static_cast<size_t>(c)][row] = value;
  }
  /// No rows, but the memory stays.
  void clear() { size_ = used_ = 0; }
  /// Room for so many rows; only for empty ones.
  void reserve(size_t rows);
  /// Drops the rows that `keep` says no to.
  void filter(const std::vector<bool>& keep);

 private:
  using Cells = std::unique_ptr<int64_t[]>;
  void grow();
  void start_column(int c);

  size_t size_ = 0;
  size_t capacity_ = 0;
  uint64_t used_ = 0;
  std::array<Cells, kMaxColumns> columns_;  // of capacity_ cells, or none
};

/// Bytes that stay where they are until the arena goes.
class TextArena {
 public:
  char* reserve(size_t size);
  std::string_view keep(std::string_view text);
  /// Forgets all text, but keeps some memory.
  void clear();
  /// Gives back the unused end of the last reserve.
  void shrink_last(size_t unused) { left_ += unused, next_ -= unused; }

 private:
  static constexpr size_t kChunk = 64 << 10;
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t first_chunk_ = 0;
  char* next_ = nullptr;
  size_t left_ = 0;
};

class Batch {
 public:
  Rows& rows(TableId id) { return rows_[static_cast<size_t>(id)]; }
  const Rows& rows(TableId id) const { return rows_[static_cast<size_t>(id)]; }

  size_t add_row(TableId id) { return rows(id).add(); }
  void set(TableId id, size_t row, int column, int64_t value) { rows(id).set(row, column, value); }
  void set_double(TableId id, size_t row, int column, double value) {
    rows(id).set(row, column, std::bit_cast<int64_t>(value));
  }
  /// A string of this batch; its number is what a text cell holds.
  int64_t add_string(std::string_view stable) {
    strings.push_back(stable);
    return static_cast<int64_t>(strings.size() - 1);
  }
  void set_text(TableId id, size_t row, int column, std::string_view text) {
    set(id, row, column, add_string(arena.keep(text)));
  }

  /// Empty again, with the memory it had.
  void clear();

  std::vector<std::string_view> strings;
  TextArena arena;
  std::vector<int32_t> track_ids;  ///< cell of a track column -> track_id

 private:
  std::array<Rows, kTableCount> rows_;
};

/// Batches that return when their last user lets go of them, so that a long import does not ask for new
/// memory all the time. Any thread may take or return; batches may outlive the pool.
class BatchPool {
 public:
  /// An empty batch, with room for as many rows as expected.
  std::shared_ptr<Batch> take();
  /// Batches to come will be about as large as this one.
  void expect_like(const Batch& batch);

 private:
  struct Shelf;
  std::shared_ptr<Shelf> shelf_ = make_shelf();
  static std::shared_ptr<Shelf> make_shelf();
};

}  // namespace nl::model
