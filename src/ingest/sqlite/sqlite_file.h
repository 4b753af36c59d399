#pragma once
// SqliteFile: reads the tables of an SQLite database directly from its pages. No SQL engine is involved, so
// nothing in a hostile file is ever executed: no views, triggers, indexes or virtual tables, only the records
// of plain tables in the order of their row ids. Work and memory are bounded by the size of the file. One
// thread. File format: https://www.sqlite.org/fileformat2.html

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/sqlite/random_access.h"

namespace nl::ingest {

inline constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};

struct SqliteTable {
  std::string name;
  uint32_t root = 0;
  std::vector<std::string> columns = {};
  int rowid_column = -1;

  /// -1 if the table has no such column.
  int column(std::string_view name) const;
};

/// A page, by its number; the bytes stay until some other pages have been read.
class SqlitePages {
 public:
  static Result<SqlitePages> open(RandomAccess bytes);

  Result<const uint8_t*> page(uint32_t number);
  uint32_t count() const { return count_; }
  uint32_t page_size() const { return page_size_; }
  uint32_t usable() const { return usable_; }
  int64_t bytes() const { return bytes_.size(); }

 private:
  static constexpr size_t kBlocks = 16;
  static constexpr size_t kBlockBytes = 64 << 10;
  struct Block {
    uint64_t number = UINT64_MAX;
    std::vector<uint8_t> bytes;
  };

  explicit SqlitePages(RandomAccess bytes) : bytes_(std::move(bytes)), blocks_(kBlocks) {}
  Result<void> read_header();
  Result<const Block*> block(uint64_t number);

  RandomAccess bytes_;
  std::vector<Block> blocks_;
  size_t next_block_ = 0;
  uint32_t page_size_ = 0;
  uint32_t usable_ = 0;
  uint32_t count_ = 0;
};

class SqliteFile {
 public:
  /// An error if the file is truncated, in WAL mode, not UTF-8 or damaged where the tables are listed.
  static Result<SqliteFile> open(RandomAccess bytes);

  const SqliteTable* table(std::string_view name) const;
  /// In the order of their names.
  const std::map<std::string, SqliteTable, std::less<>>& tables() const { return tables_; }
  SqlitePages& pages() { return pages_; }
  /// Tables that are there but cannot be read, e.g. WITHOUT ROWID.
  int64_t not_understood() const { return not_understood_; }

 private:
  explicit SqliteFile(SqlitePages pages) : pages_(std::move(pages)) {}
  Result<void> read_tables();

  SqlitePages pages_;
  std::map<std::string, SqliteTable, std::less<>> tables_;
  int64_t not_understood_ = 0;
};

/// Where a record is.
struct SqlitePlace {
  uint32_t page;
  uint32_t cell;
};

enum class SqliteKind : uint8_t { kNull, kInteger, kReal, kText, kBlob };

struct SqliteCell {
  SqliteKind kind = SqliteKind::kNull;
  int64_t integer = 0;     ///< also the bits of a real
  std::string_view bytes;  ///< of a text or blob; valid until the next row
};

/// The rows of one table, with the wanted columns.
class SqliteScan {
 public:
  static constexpr size_t kMaxRecordBytes = 16 << 20;

  /// `columns` are numbers in the table; -1 gives NULL.
  SqliteScan(SqlitePages& pages, const SqliteTable& table, const std::vector<int>& columns);

  /// The next row; false at the end. A damaged page is an error.
  Result<bool> next();
  /// A row that was seen before.
  Result<void> read(SqlitePlace place);

  const SqliteCell& operator[](size_t column) const { return cells_[column]; }
  int64_t rowid() const { return rowid_; }
  SqlitePlace place() const { return {leaf_page_, leaf_cell_}; }
  /// The row was longer than kMaxRecordBytes and has no cells.
  bool too_long() const { return too_long_; }

 private:
  struct Level {
    uint32_t page;
    uint32_t next;  ///< child to visit next
  };
  Result<bool> next_leaf();
  Result<void> enter(uint32_t page);
  Result<void> load_leaf(uint32_t page);
  Result<void> read_cell(uint32_t cell);
  Result<void> read_overflow(std::string_view local, uint64_t size, uint32_t page);
  bool decode(std::string_view record);
  Error damaged(const char* what, uint32_t page) const;

  SqlitePages& pages_;
  const SqliteTable& table_;
  std::vector<int> slots_;  // column of the table -> cell, or -1
  int rowid_slot_ = -1;
  std::vector<SqliteCell> cells_;
  std::vector<Level> path_;
  std::vector<uint8_t> leaf_;  // a copy: other pages are read meanwhile
  uint32_t leaf_page_ = 0;
  uint32_t leaf_cell_ = 0;
  uint32_t leaf_cells_ = 0;
  std::string overflow_;
  uint64_t pages_seen_ = 0;
  uint64_t overflow_pages_seen_ = 0;
  int64_t rowid_ = 0;
  bool started_ = false;
  bool has_row_ = false;
  bool too_long_ = false;
};

}  // namespace nl::ingest
