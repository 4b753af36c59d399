#include "ingest/sqlite/sqlite_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "ingest/sqlite/sqlite_schema.h"

namespace nl::ingest {
namespace {

constexpr uint32_t kHeaderBytes = 100;
constexpr size_t kMaxDepth = 20;  // SQLite's own limit
constexpr size_t kMaxTables = 10'000;
constexpr uint8_t kInterior = 5;
constexpr uint8_t kLeaf = 13;

Error bad(std::string message, std::string hint = {}) {
  return Error{ErrorCode::kBadInput, std::move(message), std::move(hint)};
}

uint32_t big16(const uint8_t* p) {
  return static_cast<uint32_t>(p[0] << 8 | p[1]);
}

uint32_t big32(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 |
         static_cast<uint32_t>(p[2]) << 8 | p[3];
}

/// A variable-length number of at most nine bytes; nullptr if it passes the end.
inline const uint8_t* varint(const uint8_t* p, const uint8_t* end, uint64_t& out) {
  if (p < end && *p < 0x80) {
    out = *p;
    return p + 1;
  }
  out = 0;
  for (int i = 0; i < 9; i++, p++) {
    if (p >= end) return nullptr;
    if (i == 8) {
      out = out << 8 | *p;
      return p + 1;
    }
    out = out << 7 | (*p & 0x7f);
    if (*p < 0x80) return p + 1;
  }
  return nullptr;
}

/// Bytes that a value of a serial type takes; types 10 and 11 are reserved and take none.
inline uint64_t size_of(uint64_t type) {
  static constexpr uint8_t kSizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  return type < 12 ? kSizes[type] : (type - 12) / 2;
}

inline int64_t signed32(const uint8_t* p) {
  return static_cast<int32_t>(big32(p));
}

inline int64_t signed64(const uint8_t* p) {
  return static_cast<int64_t>(uint64_t{big32(p)} << 32 | big32(p + 4));
}

/// The value of a serial type; the bytes are there. False for a type that the format reserves.
inline bool decode_value(uint64_t type, const uint8_t* p, SqliteCell& out) {
  out.kind = SqliteKind::kInteger;
  switch (type) {
    case 0:
      out.kind = SqliteKind::kNull;
      return true;
    case 1:
      out.integer = static_cast<int8_t>(p[0]);
      return true;
    case 2:
      out.integer = static_cast<int16_t>(big16(p));
      return true;
    case 3:
      out.integer = int64_t{static_cast<int8_t>(p[0])} * 65536 + big16(p + 1);
      return true;
    case 4:
      out.integer = signed32(p);
      return true;
    case 5:
      out.integer = static_cast<int64_t>(static_cast<int16_t>(big16(p))) * (int64_t{1} << 32) + big32(p + 2);
      return true;
    case 6:
      out.integer = signed64(p);
      return true;
    case 7:
      out.kind = SqliteKind::kReal;
      out.integer = signed64(p);
      return true;
    case 8:
    case 9:
      out.integer = static_cast<int64_t>(type - 8);
      return true;
    case 10:
    case 11:
      return false;
    default:
      out.kind = type % 2 == 0 ? SqliteKind::kBlob : SqliteKind::kText;
      out.bytes = {reinterpret_cast<const char*>(p), size_of(type)};
      return true;
  }
}

/// Where the cells of a page are listed: page 1 begins with the header of the file.
uint32_t page_begin(uint32_t page) {
  return page == 1 ? kHeaderBytes : 0;
}

}  // namespace

int SqliteTable::column(std::string_view wanted) const {
  const std::string folded = lower(wanted);
  for (size_t i = 0; i < columns.size(); i++) {
    if (lower(columns[i]) == folded) return static_cast<int>(i);
  }
  return -1;
}

// ---- Pages

Result<SqlitePages> SqlitePages::open(RandomAccess bytes) {
  SqlitePages pages(std::move(bytes));
  NL_CHECK(pages.read_header());
  return pages;
}

Result<void> SqlitePages::read_header() {
  constexpr char kTruncated[] = "the file is truncated: copy or export it again";
  uint8_t header[kHeaderBytes];
  if (bytes_.size() < kHeaderBytes) return bad("the database ends in its header", kTruncated);
  NL_CHECK(bytes_.read(0, reinterpret_cast<char*>(header), sizeof header));
  if (std::memcmp(header, kSqliteMagic.data(), kSqliteMagic.size()) != 0)
    return bad("not an SQLite database");
  page_size_ = big16(header + 16) == 1 ? 65536 : big16(header + 16);
  usable_ = page_size_ - std::min<uint32_t>(page_size_, header[20]);
  if (page_size_ < 512 || !std::has_single_bit(page_size_) || usable_ < 480) {
    return bad("the header of the database is damaged");
  }
  if (header[18] > 1 || header[19] > 1) {
    return Error{ErrorCode::kUnsupported,
                 "the database is in WAL mode, so a part of it may be in another file",
                 "close the program that writes it, or run: sqlite3 FILE 'PRAGMA journal_mode=DELETE'"};
  }
  if (big32(header + 56) > 1) return Error{ErrorCode::kUnsupported, "the text of the database is not UTF-8"};
  const int64_t whole = bytes_.size() / page_size_;
  const bool counted = big32(header + 24) == big32(header + 92) && big32(header + 28) != 0;
  count_ = counted ? big32(header + 28) : static_cast<uint32_t>(std::min<int64_t>(whole, UINT32_MAX - 1));
  if (whole < count_ || bytes_.size() % page_size_ != 0 || count_ == 0) {
    return bad("the database has " + std::to_string(count_) + " pages but the file only " +
                   std::to_string(bytes_.size()) + " bytes",
               kTruncated);
  }
  return {};
}

Result<const SqlitePages::Block*> SqlitePages::block(uint64_t number) {
  for (const Block& block : blocks_) {
    if (block.number == number) return &block;
  }
  Block& block = blocks_[next_block_];
  next_block_ = (next_block_ + 1) % kBlocks;
  block.number = UINT64_MAX;
  const int64_t offset = static_cast<int64_t>(number * kBlockBytes);
  block.bytes.resize(kBlockBytes);
  const auto size = static_cast<size_t>(std::min<int64_t>(kBlockBytes, bytes_.size() - offset));
  NL_CHECK(bytes_.read(offset, reinterpret_cast<char*>(block.bytes.data()), size));
  block.number = number;
  return &block;
}

Result<const uint8_t*> SqlitePages::page(uint32_t number) {
  if (number == 0 || number > count_) {
    return bad("the database is damaged: it refers to page " + std::to_string(number));
  }
  const uint64_t offset = uint64_t{number - 1} * page_size_;
  NL_TRY(const Block* const found, block(offset / kBlockBytes));
  return found->bytes.data() + offset % kBlockBytes;
}

// ---- Tables

Result<SqliteFile> SqliteFile::open(RandomAccess bytes) {
  NL_TRY(SqlitePages pages, SqlitePages::open(std::move(bytes)));
  SqliteFile file(std::move(pages));
  NL_CHECK(file.read_tables());
  return file;
}

Result<void> SqliteFile::read_tables() {
  const SqliteTable master{"sqlite_schema", 1, {"type", "name", "tbl_name", "rootpage", "sql"}};
  SqliteScan rows(pages_, master, {0, 1, 3, 4});
  for (;;) {
    NL_TRY(const bool more, rows.next());
    if (!more) return {};
    if (rows.too_long() || rows[0].bytes != "table" || rows[1].kind != SqliteKind::kText ||
        rows[2].kind != SqliteKind::kInteger || rows[3].kind != SqliteKind::kText) {
      continue;
    }
    const int64_t root = rows[2].integer;
    auto columns = sqlite_columns(rows[3].bytes);
    if (root <= 0) continue;  // of a virtual table
    if (root > pages_.count() || !columns) {
      not_understood_++;
      continue;
    }
    if (tables_.size() >= kMaxTables) return Error{ErrorCode::kLimit, "the database has too many tables"};
    SqliteTable table{std::string(rows[1].bytes), static_cast<uint32_t>(root), std::move(columns->names),
                      columns->rowid};
    std::string name = table.name;
    tables_.emplace(std::move(name), std::move(table));
  }
}

const SqliteTable* SqliteFile::table(std::string_view name) const {
  const auto it = tables_.find(name);
  return it == tables_.end() ? nullptr : &it->second;
}

// ---- Rows

SqliteScan::SqliteScan(SqlitePages& pages, const SqliteTable& table, const std::vector<int>& columns)
    : pages_(pages), table_(table), cells_(columns.size()) {
  const int last = columns.empty() ? -1 : *std::max_element(columns.begin(), columns.end());
  slots_.assign(static_cast<size_t>(last + 1), -1);
  for (size_t i = 0; i < columns.size(); i++) {
    if (columns[i] < 0) continue;
    slots_[static_cast<size_t>(columns[i])] = static_cast<int>(i);
    if (columns[i] == table.rowid_column) rowid_slot_ = static_cast<int>(i);
  }
}

Error SqliteScan::damaged(const char* what, uint32_t page) const {
  return bad("the database is damaged: table " + table_.name.substr(0, 100) + ", page " +
                 std::to_string(page) + ": " + what,
             "copy or export it again");
}

Result<bool> SqliteScan::next() {
  if (!started_) {
    started_ = true;
    NL_CHECK(enter(table_.root));
  } else {
    leaf_cell_++;
  }
  while (leaf_cell_ >= leaf_cells_) {
    NL_TRY(const bool more, next_leaf());
    if (!more) return false;
  }
  const int64_t before = rowid_;
  NL_CHECK(read_cell(leaf_cell_));
  // The law of a table; a file that uses a page twice breaks it.
  if (has_row_ && rowid_ <= before) return damaged("rows out of order", leaf_page_);
  has_row_ = true;
  return true;
}

/// Goes down to the first leaf below the page.
Result<void> SqliteScan::enter(uint32_t page) {
  for (;;) {
    if (++pages_seen_ > pages_.count()) return damaged("a page is used twice", page);
    if (path_.size() > kMaxDepth) return damaged("too deep", page);
    NL_TRY(const uint8_t* const bytes, pages_.page(page));
    const uint8_t* const header = bytes + page_begin(page);
    if (header[0] == kLeaf) return load_leaf(page);
    if (header[0] != kInterior) return damaged("neither a leaf nor an inner page of a table", page);
    path_.push_back({page, 0});
    const uint32_t cells = big16(header + 3);
    const uint8_t* const list = header + 12;
    if (page_begin(page) + 12 + cells * 2 > pages_.usable()) return damaged("too many cells", page);
    const uint32_t at = cells == 0 ? 0 : big16(list);
    if (cells > 0 && at + 4 > pages_.usable()) return damaged("a cell outside of the page", page);
    page = cells == 0 ? big32(header + 8) : big32(bytes + at);
    path_.back().next = 1;
  }
}

Result<bool> SqliteScan::next_leaf() {
  while (!path_.empty()) {
    Level& level = path_.back();
    NL_TRY(const uint8_t* const bytes, pages_.page(level.page));
    const uint8_t* const header = bytes + page_begin(level.page);
    const uint32_t cells = big16(header + 3);
    if (level.next > cells) {
      path_.pop_back();
      continue;
    }
    if (page_begin(level.page) + 14 + level.next * 2 > pages_.usable() + (level.next == cells ? 2 : 0)) {
      return damaged("too many cells", level.page);
    }
    const uint32_t at = level.next == cells ? 0 : big16(header + 12 + level.next * 2);
    if (at + 4 > pages_.usable()) return damaged("a cell outside of the page", level.page);
    const uint32_t child = level.next == cells ? big32(header + 8) : big32(bytes + at);
    level.next++;
    NL_CHECK(enter(child));
    return true;
  }
  return false;
}

Result<void> SqliteScan::load_leaf(uint32_t page) {
  NL_TRY(const uint8_t* const bytes, pages_.page(page));
  leaf_.assign(bytes, bytes + pages_.page_size());
  leaf_page_ = page;
  leaf_cell_ = 0;
  leaf_cells_ = big16(leaf_.data() + page_begin(page) + 3);
  if (page_begin(page) + 8 + leaf_cells_ * 2 > pages_.usable()) return damaged("too many cells", page);
  return {};
}

Result<void> SqliteScan::read(SqlitePlace place) {
  if (place.page != leaf_page_ || leaf_.empty()) NL_CHECK(load_leaf(place.page));
  if (place.cell >= leaf_cells_) return damaged("no such cell", place.page);
  leaf_cell_ = place.cell;
  return read_cell(place.cell);
}

Result<void> SqliteScan::read_cell(uint32_t cell) {
  const uint32_t usable = pages_.usable();
  const uint32_t at = big16(leaf_.data() + page_begin(leaf_page_) + 8 + cell * 2);
  const uint8_t* const end = leaf_.data() + usable;
  const uint8_t* p = leaf_.data() + std::min(at, usable);
  uint64_t size = 0, rowid = 0;
  p = varint(p, end, size);
  if (p != nullptr) p = varint(p, end, rowid);
  if (p == nullptr) return damaged("a cell outside of the page", leaf_page_);
  rowid_ = static_cast<int64_t>(rowid);
  too_long_ = size > kMaxRecordBytes;
  if (too_long_) return {};
  uint64_t local = size;
  if (size > usable - 35) {  // the part that stays in the page, by the rule of the format
    const uint64_t least = (usable - 12) * 32 / 255 - 23;
    const uint64_t fits = least + (size - least) % (usable - 4);
    local = fits <= usable - 35 ? fits : least;
  }
  if (local + (local < size ? 4 : 0) > static_cast<uint64_t>(end - p)) {
    return damaged("a cell outside of the page", leaf_page_);
  }
  std::string_view record(reinterpret_cast<const char*>(p), local);
  if (local < size && !cells_.empty()) {
    NL_CHECK(read_overflow(record, size, big32(p + local)));
    record = overflow_;
  }
  if (!cells_.empty() && !decode(record)) return damaged("a record outside of its cell", leaf_page_);
  return {};
}

Result<void> SqliteScan::read_overflow(std::string_view local, uint64_t size, uint32_t page) {
  overflow_.assign(local);
  while (overflow_.size() < size) {
    if (++overflow_pages_seen_ > pages_.count()) return damaged("a page is used twice", page);
    NL_TRY(const uint8_t* const bytes, pages_.page(page));
    const auto n = std::min<uint64_t>(size - overflow_.size(), pages_.usable() - 4);
    overflow_.append(reinterpret_cast<const char*>(bytes) + 4, n);
    page = big32(bytes);
  }
  return {};
}

bool SqliteScan::decode(std::string_view record) {
  const auto* const begin = reinterpret_cast<const uint8_t*>(record.data());
  const uint8_t* const end = begin + record.size();
  uint64_t header = 0;
  const uint8_t* p = varint(begin, end, header);
  if (p == nullptr || header > record.size()) return false;
  const uint8_t* const types_end = begin + header;
  const uint8_t* body = types_end;
  size_t c = 0;
  for (; c < slots_.size() && p < types_end; c++) {
    uint64_t type = 0;
    p = varint(p, types_end, type);
    if (p == nullptr) return false;
    const uint64_t size = size_of(type);
    if (size > static_cast<uint64_t>(end - body)) return false;
    if (slots_[c] >= 0 && !decode_value(type, body, cells_[static_cast<size_t>(slots_[c])])) return false;
    body += size;
  }
  for (; c < slots_.size(); c++) {  // columns that were added after the row was written
    if (slots_[c] >= 0) cells_[static_cast<size_t>(slots_[c])].kind = SqliteKind::kNull;
  }
  if (rowid_slot_ >= 0 && cells_[static_cast<size_t>(rowid_slot_)].kind == SqliteKind::kNull) {
    cells_[static_cast<size_t>(rowid_slot_)] = {SqliteKind::kInteger, rowid_, {}};
  }
  return true;
}

}  // namespace nl::ingest
