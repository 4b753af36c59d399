// Fuzz harness over the readers of Parquet: what the reader of footers accepts must keep the bounds that its
// figures promise, with and without the pages, and pages of any content give as many values as rows or an
// error. A broken promise is printed and traps.

#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "store/page_reader.h"
#include "store/parquet_footer.h"
#include "store/thrift_writer.h"

namespace nl::store {
namespace {

void require(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  __builtin_trap();
}

void check_figures(const ParquetFigures& figures, const ParquetFooter& footer) {
  require(figures.compressed_bytes <= footer.file_bytes, "columns lie in the file");
  require(figures.largest_chunk_bytes <= figures.uncompressed_bytes, "a chunk is part of the sum");
  require(figures.largest_page_bytes <= figures.largest_chunk_bytes, "a page is part of a chunk");
  require(figures.largest_dictionary_bytes <= figures.largest_page_bytes, "a dictionary is a page");
  require(figures.pages <= footer.file_bytes, "a page takes space");
}

void check_footer(const ParquetFooter& footer) {
  const auto columns = static_cast<int64_t>(footer.columns.size());
  require(columns <= kMostParquetColumns, "columns are bounded");
  require(footer.footer_bytes <= kMostFooterBytes && footer.footer_bytes < footer.file_bytes, "footer bytes");
  require(footer.footer_items <= footer.footer_bytes, "an item takes space");
  require(footer.all.chunks == footer.row_groups * columns, "each group has all columns");
  require(footer.most_rows_in_group <= footer.rows, "a group is part of the file");
  for (const ParquetColumn& column : footer.columns) check_figures(column.figures, footer);
  check_figures(footer.all, footer);
  (void)check_parquet_codecs(footer);
}

std::string packed(std::string_view content) {
  std::string to(ZSTD_compressBound(content.size()), '\0');
  to.resize(ZSTD_compress(to.data(), to.size(), content.data(), content.size(), 1));
  return to;
}

/// A page with a head that fits it: mutations of packed bytes would seldom come past the decompression.
std::string page(ParquetPageType type, int32_t values, int32_t encoding, std::string_view content) {
  const std::string bytes = packed(content);
  ThriftWriter head;
  head.i32(1, type);
  head.i32(2, static_cast<int32_t>(content.size()));
  head.i32(3, static_cast<int32_t>(bytes.size()));
  head.begin(type == kDataPage ? 5 : 7);
  head.i32(1, values);
  head.i32(2, encoding);
  head.end();
  return head.take() + bytes;
}

/// The first bytes say what the pages are, the rest is their content.
void read_pages(std::string_view data) {
  constexpr int32_t kTypes[] = {1, 2, 5, 6}, kEncodings[] = {0, 2, 5, 6, 8, 9};
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(data[at]); };
  ParquetColumn column;
  column.type = kTypes[byte(0) % 4];
  column.optional = (byte(0) & 4) != 0;
  const int32_t rows = byte(1) | byte(2) << 8, in_dictionary = byte(3);
  const size_t dictionary = std::min<size_t>(byte(4), data.size() - 6);
  std::string bytes;
  if (in_dictionary > 0) bytes = page(kDictionaryPage, in_dictionary, 0, data.substr(6, dictionary));
  bytes += page(kDataPage, rows, kEncodings[byte(5) % 6], data.substr(6 + dictionary));
  PageReader reader;
  Unpacker unpacker = make_unpacker();
  const ParquetChunk chunk{0, static_cast<int64_t>(bytes.size()), rows};
  if (!reader.read(column, chunk, bytes, unpacker)) return;
  const bool is_text = column.type == 6;
  const size_t read = is_text ? reader.texts().rows.size() : reader.numbers().size();
  require(read == static_cast<size_t>(rows), "each row has a value or NULL");
  for (const uint32_t place : reader.texts().rows)
    require(place == ColumnTexts::kNone || place < reader.texts().texts.size(), "a row has a text");
  volatile char seen = 0;  // the sanitizer watches that all of each text is there
  for (const std::string_view text : reader.texts().texts) {
    for (const char c : text) seen = c;
  }
  (void)seen;
}

}  // namespace
}  // namespace nl::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nl::store;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  if (size > 6 && file.substr(0, 4) != "PAR1") {
    read_pages(file);
    return 0;
  }
  const auto quick = parse_parquet_footer(file, ParquetPages::kSkip);
  const auto walked = parse_parquet_footer(file, ParquetPages::kWalk);
  if (quick) check_footer(*quick);
  if (walked) check_footer(*walked);
  if (walked) require(quick && quick->rows == walked->rows, "pages take nothing from what is accepted");
  return 0;
}
