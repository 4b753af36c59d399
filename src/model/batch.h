#pragma once
// Batch: some consecutive rows of several tables, the unit that travels from an adapter to a sink. Built by
// one thread, then read-only. Cells are 8 bytes: an integer, the bits of a double, or the number of a string
// in `strings`.

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

/// Rows of one table, column by column. A new row is all NULL until set.
class Rows {
 public:
  size_t size() const { return size_; }
  const int64_t* column(int c) const { return cells_.get() + static_cast<size_t>(c) * capacity_; }
  int64_t* column(int c) { return cells_.get() + static_cast<size_t>(c) * capacity_; }
  /// False if every cell of the column is NULL.
  bool has_values(int c) const { return (used_ >> c & 1) != 0; }

  size_t add(size_t columns) {
    if (size_ == capacity_) grow(columns);
    return size_++;
  }
  void set(size_t row, int c, int64_t value) {
    used_ |= uint64_t{1} << c;
    column(c)[row] = value;
  }
  /// Keeps the first n rows.
  void truncate(size_t n) { size_ = n; }

 private:
  void grow(size_t columns);

  size_t size_ = 0;
  size_t capacity_ = 0;
  uint64_t used_ = 0;
  std::unique_ptr<int64_t[]> cells_;
};

/// Bytes that stay where they are until the arena goes.
class TextArena {
 public:
  char* reserve(size_t size);
  std::string_view keep(std::string_view text);
  /// Gives back the unused end of the last reserve.
  void shrink_last(size_t unused) { left_ += unused, next_ -= unused; }

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;
  size_t left_ = 0;
};

class Batch {
 public:
  Rows& rows(TableId id) { return rows_[static_cast<size_t>(id)]; }
  const Rows& rows(TableId id) const { return rows_[static_cast<size_t>(id)]; }

  size_t add_row(TableId id) { return rows(id).add(table(id).columns.size()); }
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

  std::vector<std::string_view> strings;
  TextArena arena;
  std::vector<int32_t> track_ids;  ///< cell of a track column -> track_id

 private:
  std::array<Rows, kTableCount> rows_;
};

}  // namespace nl::model
