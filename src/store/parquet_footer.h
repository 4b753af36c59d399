#pragma once
// What a Parquet file claims to hold, read from its footer and the heads of its pages before the engine opens
// it. Nothing is unpacked, and memory is bounded by the size of the footer, so that a file of strangers can
// be refused by its figures. Only flat tables are read, which is what NeuroLens writes; what the engine might
// read differently (fields twice, columns in other files, encryption) is an error. For any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::store {

inline constexpr int64_t kMostFooterBytes = 64 << 20;
inline constexpr int64_t kMostParquetColumns = 4096;

/// Numbers of the format; those of codecs and encodings are also bits of the sets below.
enum class ParquetCodec { kNone = 0, kSnappy, kGzip, kLzo, kBrotli, kLz4, kZstd, kLz4Raw };

/// Figures of one column or, summed up, of the file. Those of pages are 0 unless they were asked for.
struct ParquetFigures {
  int64_t chunks = 0;
  int64_t compressed_bytes = 0;
  int64_t uncompressed_bytes = 0;        ///< as claimed; pages that are larger together are an error
  int64_t largest_chunk_bytes = 0;       ///< uncompressed
  int64_t pages = 0;                     ///< with those of dictionaries
  int64_t largest_page_bytes = 0;        ///< uncompressed: what the engine allocates for a page
  int64_t largest_dictionary_bytes = 0;  ///< uncompressed, of one chunk: no value in it is larger
  int64_t most_dictionary_values = 0;    ///< of one chunk
  uint32_t codecs = 0;                   ///< set of 1 << ParquetCodec
  uint32_t encodings = 0;                ///< set of 1 << Encoding of the format

  bool uses(ParquetCodec codec) const { return (codecs >> static_cast<int>(codec) & 1) != 0; }
};

/// The values of a column in one row group.
struct ParquetChunk {
  int64_t begin = 0;
  int64_t bytes = 0;  ///< of its pages, with their heads
  int64_t rows = 0;
};

struct ParquetColumn {
  std::string name;
  int32_t type = 0;  ///< Type of the format: 1 is INT32, 2 INT64, 5 DOUBLE, 6 BYTE_ARRAY
  bool optional = false;
  ParquetFigures figures;
  std::vector<ParquetChunk> chunks;  ///< one for each row group
};

struct ParquetFooter {
  int64_t file_bytes = 0;
  int64_t footer_bytes = 0;
  int64_t footer_items =
      0;             ///< elements of all lists in the footer: the engine takes some 100 bytes for each
  int64_t rows = 0;  ///< each column has as many values, counting those that are null
  int64_t row_groups = 0;
  int64_t most_rows_in_group = 0;
  ParquetFigures all;
  std::vector<ParquetColumn> columns;
};

/// kWalk reads the head of every page, too: some 20 bytes for each, wherever it lies.
enum class ParquetPages { kSkip, kWalk };

/// bad_input: damaged or not what NeuroLens writes; limit: a footer or a schema that is too large.
Result<ParquetFooter> read_parquet_footer(const std::string& path, ParquetPages pages = ParquetPages::kWalk);
/// The same for a file in memory.
Result<ParquetFooter> parse_parquet_footer(std::string_view file, ParquetPages pages = ParquetPages::kWalk);

enum ParquetPageType : int32_t { kDataPage = 0, kDictionaryPage = 2, kDataPageV2 = 3 };

struct ParquetPageHead {
  int32_t type = -1;
  int32_t uncompressed = -1;
  int32_t compressed = -1;
  int32_t values = -1;
  uint32_t encodings = 0;  ///< 1 << Encoding of its values
  size_t bytes = 0;        ///< of the head itself
};
/// The head that the bytes begin with; bad_input if there is none. It may claim any sizes from 0 on.
Result<ParquetPageHead> read_parquet_page_head(std::string_view bytes);

/// Bytes of a file from an offset on; false if they are not all there.
bool read_fully(int fd, int64_t offset, char* to, size_t size);

/// unsupported if the file is packed by a codec or uses an encoding that NeuroLens never writes. Decoders of
/// others are reached by nobody, so that their weaknesses do not matter.
Result<void> check_parquet_codecs(const ParquetFooter& footer);
/// For a file that the engine is about to open: its footer, without the pages, and its codecs.
Result<void> check_parquet_file(const std::string& path);

}  // namespace nl::store
