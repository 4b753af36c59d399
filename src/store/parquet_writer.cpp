#include "store/parquet_writer.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/files.h"
#include "store/parquet_encodings.h"
#include "store/parquet_footer.h"
#include "store/thrift_writer.h"

namespace nl::store {
namespace {

using model::Batch;
using model::Rows;
using model::Type;

constexpr std::string_view kFileMagic = "PAR1";
constexpr size_t kGroupRows = 61'440;
constexpr size_t kGroupText = 32 << 20;
// Rows are added in pieces that end where rows say so: row groups do not depend on the size of the batches,
// and one is at most a piece larger than its limit.
constexpr size_t kPieceRows = 4096;
constexpr size_t kPieceText = 4 << 20;
static_assert(kGroupRows % kPieceRows == 0);
// Fewer rows with so much text are no trace. Their names alone would fill the memory of an analysis.
constexpr size_t kLeastRows = 16;

Error too_much_text(model::TableId table) {
  return Error{ErrorCode::kLimit, "fewer than 16 rows have more than 32 MiB of text: table " +
                                      std::string(model::table(table).name)};
}
constexpr size_t kMostDictionary = 2000;
constexpr int kZstdLevel = 3;
constexpr int32_t kCodec = static_cast<int32_t>(ParquetCodec::kZstd);
constexpr int32_t kMayBeNull = 1;  // repetition of a column

const model::Column& column_of(model::TableId table, size_t column) {
  return model::table(table).columns[column];
}

enum WrittenPage : int32_t { kValues = 0, kDictionary = 2 };

ThriftWriter page_head(WrittenPage type, size_t unpacked, size_t packed) {
  ThriftWriter head;
  head.i32(1, type);
  head.i32(2, static_cast<int32_t>(unpacked));
  head.i32(3, static_cast<int32_t>(packed));
  return head;
}

std::string data_page_head(size_t unpacked, size_t packed, int64_t values, ParquetEncoding encoding) {
  ThriftWriter head = page_head(kValues, unpacked, packed);
  head.begin(5);
  head.i32(1, static_cast<int32_t>(values));
  head.i32(2, static_cast<int32_t>(encoding));
  head.i32(3, static_cast<int32_t>(ParquetEncoding::kRle));
  head.i32(4, static_cast<int32_t>(ParquetEncoding::kRle));
  head.end();
  return head.take();
}

std::string dictionary_page_head(size_t unpacked, size_t packed, uint32_t values) {
  ThriftWriter head = page_head(kDictionary, unpacked, packed);
  head.begin(7);
  head.i32(1, static_cast<int32_t>(values));
  head.i32(2, static_cast<int32_t>(ParquetEncoding::kPlain));
  head.end();
  return head.take();
}

/// What older readers know a type by; -1 for none.
int32_t converted_type(ParquetType type) {
  constexpr int32_t kUtf8 = 0, kInt32 = 17, kInt64 = 18;
  switch (type) {
    case ParquetType::kBytes:
      return kUtf8;
    case ParquetType::kInt32:
      return kInt32;
    case ParquetType::kInt64:
      return kInt64;
    case ParquetType::kDouble:
      break;
  }
  return -1;
}

void put_schema_element(ThriftWriter& out, const model::Column& column) {
  const ParquetType type = ColumnEncoder::stored_type(column.type);
  out.begin_element();
  out.i32(1, static_cast<int32_t>(type));
  out.i32(3, kMayBeNull);
  out.binary(4, column.name);
  if (const int32_t converted = converted_type(type); converted >= 0) out.i32(6, converted);
  out.end();
}

}  // namespace

ParquetWriter::ParquetWriter(model::TableId table, std::string path, uint64_t always)
    : table_(table), path_(std::move(path)), always_(always), zstd_(ZSTD_createCCtx()) {
  if (zstd_ == nullptr) throw std::bad_alloc();
  for (const model::Column& column : model::table(table).columns)
    columns_.push_back(column.type == Type::row_id ? nullptr : ColumnEncoder::of(column.type));
}

ParquetWriter::~ParquetWriter() {
  ZSTD_freeCCtx(zstd_);
  if (fd_ >= 0) ::close(fd_);
}

Result<void> ParquetWriter::open() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return errno_error("cannot create", path_, errno);
  out_ = kFileMagic;
  position_ = static_cast<int64_t>(out_.size());
  return {};
}

Result<void> ParquetWriter::add(const Batch& batch) {
  const size_t rows = batch.rows(table_).size();
  for (size_t at = 0; at < rows;) {
    const size_t here = rows_of_piece(batch, at);
    add_rows(batch, at, here);
    at += here;
    if (is_within_piece()) continue;
    piece_rows_ = piece_text_ = 0;
    if (!is_full()) continue;
    if (rows_ < kLeastRows) return too_much_text(table_);
    NL_CHECK(end_group());
  }
  return {};
}

bool ParquetWriter::is_within_piece() const {
  return piece_rows_ < kPieceRows && piece_text_ <= kPieceText;
}

/// How many rows from `from` on belong to the piece that is being added.
size_t ParquetWriter::rows_of_piece(const Batch& batch, size_t from) {
  const Rows& rows = batch.rows(table_);
  std::vector<const int64_t*> texts;
  for (size_t c = 0; c < columns_.size(); c++) {
    const auto number = static_cast<int>(c);
    if (columns_[c] != nullptr && columns_[c]->is_text() && rows.has_values(number))
      texts.push_back(rows.column(number));
  }
  size_t row = from;
  for (; row < rows.size() && is_within_piece(); row++) {
    piece_rows_++;
    for (const int64_t* cells : texts)
      piece_text_ += cells[row] == model::kNull ? 0 : batch.strings[static_cast<size_t>(cells[row])].size();
  }
  return row - from;
}

void ParquetWriter::add_rows(const Batch& batch, size_t from, size_t count) {
  const Rows& rows = batch.rows(table_);
  for (size_t c = 0; c < columns_.size(); c++) {
    if (columns_[c] == nullptr) continue;
    const auto number = static_cast<int>(c);
    if (rows.has_values(number)) {
      columns_[c]->add(batch, rows.column(number) + from, count);
    } else {
      columns_[c]->add_nulls(count);
    }
  }
  rows_ += count;
}

bool ParquetWriter::is_full() const {
  size_t text = 0;
  for (const auto& column : columns_) text += column == nullptr ? 0 : column->text_bytes();
  return rows_ + kPieceRows > kGroupRows || text > kGroupText;
}

Result<void> ParquetWriter::end_group() {
  Group group;
  group.rows = static_cast<int64_t>(rows_);
  group.chunks.resize(columns_.size());
  for (size_t c = 0; c < columns_.size(); c++) {
    if (columns_[c] == nullptr) continue;
    const bool has_values = columns_[c]->has_values();
    ColumnPages pages = columns_[c]->take(kMostDictionary);
    if (!has_values) continue;
    used_ |= uint64_t{1} << c;
    group.chunks[c] = put_chunk(std::move(pages), group.rows);
  }
  groups_.push_back(std::move(group));
  all_rows_ += static_cast<int64_t>(rows_);
  rows_ = 0;
  return flush();
}

ParquetWriter::Chunk ParquetWriter::put_chunk(ColumnPages pages, int64_t rows) {
  Chunk chunk;
  chunk.is_written = true;
  chunk.values = rows;
  chunk.nulls = static_cast<int64_t>(pages.nulls);
  chunk.least = std::move(pages.least);
  chunk.most = std::move(pages.most);
  chunk.encodings = {ParquetEncoding::kRle};
  if (pages.dictionary_values > 0) {
    const std::string content = packed(pages.dictionary);
    chunk.encodings.push_back(ParquetEncoding::kPlain);
    chunk.unpacked += static_cast<int64_t>(pages.dictionary.size());
    chunk.dictionary_page =
        put_page(chunk, content,
                 dictionary_page_head(pages.dictionary.size(), content.size(), pages.dictionary_values));
  }
  const std::string content = packed(pages.data);
  chunk.encodings.push_back(pages.encoding);
  chunk.unpacked += static_cast<int64_t>(pages.data.size());
  chunk.data_page =
      put_page(chunk, content, data_page_head(pages.data.size(), content.size(), rows, pages.encoding));
  return chunk;
}

/// Returns where the page begins.
int64_t ParquetWriter::put_page(Chunk& chunk, std::string_view content, std::string_view head) {
  const int64_t begin = position_;
  out_ += head;
  out_ += content;
  const auto head_bytes = static_cast<int64_t>(head.size());
  chunk.unpacked += head_bytes;
  chunk.packed += head_bytes + static_cast<int64_t>(content.size());
  position_ += head_bytes + static_cast<int64_t>(content.size());
  return begin;
}

std::string ParquetWriter::packed(std::string_view content) {
  std::string to(ZSTD_compressBound(content.size()), '\0');
  to.resize(ZSTD_compressCCtx(zstd_, to.data(), to.size(), content.data(), content.size(), kZstdLevel));
  return to;
}

Result<void> ParquetWriter::flush() {
  std::string_view left = out_;
  while (!left.empty()) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno != EINTR) return errno_error("cannot write", path_, errno);
    if (n > 0) left.remove_prefix(static_cast<size_t>(n));
  }
  out_.clear();
  return {};
}

bool ParquetWriter::is_in_file(size_t column) const {
  return columns_[column] != nullptr && ((used_ | always_) >> column & 1) != 0;
}

/// For the row groups in which a column has no value although it has some in others. A chunk may lie anywhere
/// in the file.
void ParquetWriter::put_null_chunks() {
  for (Group& group : groups_) {
    for (size_t c = 0; c < columns_.size(); c++) {
      if (!is_in_file(c) || group.chunks[c].is_written) continue;
      const auto rows = static_cast<size_t>(group.rows);
      ColumnPages pages;
      pages.data = null_levels(rows);
      pages.nulls = rows;
      group.chunks[c] = put_chunk(std::move(pages), group.rows);
    }
  }
}

Result<void> ParquetWriter::finish() {
  if (rows_ > 0) NL_CHECK(end_group());
  put_null_chunks();
  const std::string text = footer();
  const auto size = static_cast<uint32_t>(text.size());
  out_ += text;
  out_.append(reinterpret_cast<const char*>(&size), sizeof size);
  out_ += kFileMagic;
  NL_CHECK(flush());
  const int fd = std::exchange(fd_, -1);
  return ::close(fd) == 0 ? Result<void>() : errno_error("cannot write", path_, errno);
}

std::string ParquetWriter::footer() const {
  std::vector<size_t> in_file;
  for (size_t c = 0; c < columns_.size(); c++) {
    if (is_in_file(c)) in_file.push_back(c);
  }
  ThriftWriter out;
  out.i32(1, 1);
  out.list(2, ThriftWriter::kStruct, in_file.size() + 1);
  out.begin_element();
  out.binary(4, "schema");
  out.i32(5, static_cast<int32_t>(in_file.size()));
  out.end();
  for (const size_t c : in_file) put_schema_element(out, column_of(table_, c));
  out.i64(3, all_rows_);
  out.list(4, ThriftWriter::kStruct, groups_.size());
  for (const Group& group : groups_) put_group(out, group, in_file);
  out.binary(6, "NeuroLens");
  put_orders(out, in_file.size());
  return out.take();
}

void ParquetWriter::put_group(ThriftWriter& out, const Group& group,
                              const std::vector<size_t>& in_file) const {
  int64_t unpacked = 0, packed = 0;
  out.begin_element();
  out.list(1, ThriftWriter::kStruct, in_file.size());
  for (const size_t c : in_file) {
    const Chunk& chunk = group.chunks[c];
    out.begin_element();
    out.i64(2, 0);  // deprecated
    put_chunk_data(out, chunk, column_of(table_, c));
    out.end();
    unpacked += chunk.unpacked;
    packed += chunk.packed;
  }
  out.i64(2, unpacked);
  out.i64(3, group.rows);
  out.i64(6, packed);
  out.end();
}

void ParquetWriter::put_chunk_data(ThriftWriter& out, const Chunk& chunk, const model::Column& column) {
  out.begin(3);
  out.i32(1, static_cast<int32_t>(ColumnEncoder::stored_type(column.type)));
  out.list(2, ThriftWriter::kI32, chunk.encodings.size());
  for (const ParquetEncoding encoding : chunk.encodings) out.element(static_cast<int32_t>(encoding));
  out.list(3, ThriftWriter::kBinary, 1);
  out.element(column.name);
  out.i32(4, kCodec);
  out.i64(5, chunk.values);
  out.i64(6, chunk.unpacked);
  out.i64(7, chunk.packed);
  out.i64(9, chunk.data_page);
  if (chunk.dictionary_page > 0) out.i64(11, chunk.dictionary_page);
  out.begin(12);
  out.i64(3, chunk.nulls);
  if (!chunk.least.empty()) {
    out.binary(5, chunk.most);
    out.binary(6, chunk.least);
  }
  out.end();
  out.end();
}

/// Statistics count only if the footer says that they are in the usual order.
void ParquetWriter::put_orders(ThriftWriter& out, size_t columns) {
  out.list(7, ThriftWriter::kStruct, columns);
  for (size_t c = 0; c < columns; c++) {
    out.begin_element();
    out.begin(1);
    out.end();
    out.end();
  }
}

}  // namespace nl::store
