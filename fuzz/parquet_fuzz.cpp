// Fuzz harness over the reader of Parquet footers: what it accepts must keep the bounds that its figures
// promise, with and without the pages. A broken promise is printed and traps.

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "store/parquet_footer.h"

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

}  // namespace
}  // namespace nl::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nl::store;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto quick = parse_parquet_footer(file, ParquetPages::kSkip);
  const auto walked = parse_parquet_footer(file, ParquetPages::kWalk);
  if (quick) check_footer(*quick);
  if (walked) check_footer(*walked);
  if (walked) require(quick && quick->rows == walked->rows, "pages take nothing from what is accepted");
  return 0;
}
