#include "store/parquet_footer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "base/files.h"

namespace nl::store {
namespace {

constexpr std::string_view kMagic = "PAR1";
constexpr int64_t kTailBytes = 8;         // size of the footer, magic
constexpr size_t kPageHeadBytes = 1024;   // at most; those of the engine have 20 to 60
constexpr int64_t kMostSize = 1ll << 60;  // of any figure: the sum of two fits
constexpr int kMostDepth = 8;             // of structs and lists within each other; the format has 6
constexpr uint32_t kWrittenEncodings = 1u << 0 | 1u << 3 | 1u << 5 | 1u << 6 | 1u << 8 | 1u << 9;

Error damaged_parquet(const std::string& what) {
  return Error{ErrorCode::kBadInput, "damaged Parquet file: " + what};
}

// ---- Thrift

/// Types of the compact protocol. Sets and maps do not occur in Parquet.
enum ThriftType : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kStruct = 12,
};

struct ThriftField {
  int id = 0;
  uint8_t type = kStop;
};

/// Reads the compact protocol from memory. The first fault is kept; from then on numbers are 0, text and
/// lists are empty, and no field follows. Fields must ascend: of one that is given twice the engine would
/// take the last.
class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  size_t position() const { return at_; }
  int64_t items() const { return items_; }

  /// Calls `each` for the fields of a struct; it takes the value or skips it.
  template <class Each>
  void fields(Each each) {
    int last = 0;
    for (ThriftField field; next_field(last, field);) each(field);
  }

  /// 0 to INT32_MAX: no number of the format that is read here is negative.
  int32_t i32(const ThriftField& field) {
    return field.type == kI32 ? static_cast<int32_t>(unsigned_number(INT32_MAX)) : fail();
  }
  int64_t size(const ThriftField& field) { return field.type == kI64 ? unsigned_number(kMostSize) : fail(); }
  std::string_view binary(const ThriftField& field) {
    if (field.type == kBinary) return take_binary();
    fail();
    return {};
  }
  bool is_struct(const ThriftField& field) {
    if (field.type != kStruct) fail();
    return !failed_;
  }
  /// The number of elements. Each takes at least a byte.
  size_t list(const ThriftField& field, ThriftType element) {
    uint8_t found = kStop;
    const size_t count = field.type == kList ? list_head(found) : static_cast<size_t>(fail());
    if (count > 0 && found != element) fail();
    return failed_ ? 0 : count;
  }
  int32_t i32_element() { return static_cast<int32_t>(unsigned_number(INT32_MAX)); }

  void skip(const ThriftField& field) {
    if (field.type != kTrue && field.type != kFalse) skip_value(field.type, 0);
  }
  void refuse(const ThriftField&) { fail(); }

 private:
  int fail() {
    failed_ = true;
    return 0;
  }

  uint8_t byte() {
    if (failed_ || at_ == bytes_.size()) return static_cast<uint8_t>(fail());
    return static_cast<uint8_t>(bytes_[at_++]);
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      if (shift == 63 && next > 1) break;
      value |= static_cast<uint64_t>(next & 0x7f) << shift;
      if ((next & 0x80) == 0) return value;
    }
    return static_cast<uint64_t>(fail());
  }

  /// Odd numbers stand for negative ones.
  int64_t unsigned_number(int64_t most) {
    const uint64_t value = varint();
    if ((value & 1) != 0 || value / 2 > static_cast<uint64_t>(most)) fail();
    return failed_ ? 0 : static_cast<int64_t>(value / 2);
  }

  bool next_field(int& last, ThriftField& field) {
    const uint8_t head = byte();
    if (failed_ || head == kStop) return false;
    const int id = (head >> 4) != 0 ? last + (head >> 4) : static_cast<int>(unsigned_number(INT16_MAX));
    field = {id, static_cast<uint8_t>(head & 15)};
    if (id <= last || id > INT16_MAX) fail();
    last = id;
    return !failed_;
  }

  std::string_view take_binary() {
    const uint64_t count = varint();
    if (failed_ || count > bytes_.size() - at_) fail();
    if (failed_) return {};
    const std::string_view text = bytes_.substr(at_, count);
    at_ += count;
    return text;
  }

  size_t list_head(uint8_t& element) {
    const uint8_t head = byte();
    element = head & 15;
    const uint64_t count = (head >> 4) == 15 ? varint() : head >> 4;
    if (failed_ || count > bytes_.size() - at_) return static_cast<size_t>(fail());
    items_ += static_cast<int64_t>(count);
    return count;
  }

  void skip_bytes(size_t count) {
    if (failed_ || count > bytes_.size() - at_) {
      fail();
    } else {
      at_ += count;
    }
  }

  void skip_value(uint8_t type, int depth) {
    if (depth > kMostDepth) fail();
    switch (failed_ ? static_cast<uint8_t>(kStop) : type) {
      case kTrue:
      case kFalse:
      case kByte:
        return skip_bytes(1);
      case kI16:
      case kI32:
      case kI64:
        return static_cast<void>(varint());
      case kDouble:
        return skip_bytes(8);
      case kBinary:
        return static_cast<void>(take_binary());
      case kList: {
        uint8_t element = kStop;
        const size_t count = list_head(element);
        for (size_t i = 0; i < count && !failed_; i++) skip_value(element, depth + 1);
        return;
      }
      case kStruct:
        return fields([&](const ThriftField& field) {
          if (field.type != kTrue && field.type != kFalse) skip_value(field.type, depth + 1);
        });
      default:
        fail();
    }
  }

  std::string_view bytes_;
  size_t at_ = 0;
  int64_t items_ = 0;
  bool failed_ = false;
};

// ---- The footer

/// One column of one row group. A number that is missing stays below 0.
struct ColumnChunk {
  int32_t type = -1;
  int32_t codec = -1;
  uint32_t encodings = 0;
  int64_t values = -1;
  int64_t uncompressed = -1;
  int64_t compressed = -1;
  int64_t data_page = -1;
  int64_t dictionary_page = 0;

  /// Where the engine begins to read.
  int64_t begin() const { return dictionary_page >= kMagicBytes ? dictionary_page : data_page; }
  static constexpr int64_t kMagicBytes = 4;
};

struct Element {
  std::string_view name;
  int32_t type = -1;
  int32_t children = 0;
  int32_t repetition = 0;
};

/// 1 << number, or none with the reader failed.
uint32_t bit(ThriftReader& in, int32_t number, const ThriftField& field) {
  if (number > 31) in.refuse(field);
  return number > 31 ? 0 : uint32_t{1} << number;
}

constexpr int32_t kOptional = 1, kRepeated = 2;

Element read_element(ThriftReader& in) {
  Element element;
  in.fields([&](const ThriftField& field) {
    switch (field.id) {
      case 1:
        element.type = in.i32(field);
        break;
      case 3:
        element.repetition = in.i32(field);
        break;
      case 4:
        element.name = in.binary(field);
        break;
      case 5:
        element.children = in.i32(field);
        break;
      default:
        in.skip(field);
    }
  });
  return element;
}

void read_chunk_data(ThriftReader& in, ColumnChunk& chunk) {
  in.fields([&](const ThriftField& field) {
    switch (field.id) {
      case 1:
        chunk.type = in.i32(field);
        break;
      case 2:
        for (size_t left = in.list(field, kI32); left > 0 && !in.failed(); left--) {
          chunk.encodings |= bit(in, in.i32_element(), field);
        }
        break;
      case 4:
        chunk.codec = in.i32(field);
        break;
      case 5:
        chunk.values = in.size(field);
        break;
      case 6:
        chunk.uncompressed = in.size(field);
        break;
      case 7:
        chunk.compressed = in.size(field);
        break;
      case 9:
        chunk.data_page = in.size(field);
        break;
      case 11:
        chunk.dictionary_page = in.size(field);
        break;
      default:
        in.skip(field);
    }
  });
}

ColumnChunk read_chunk(ThriftReader& in) {
  ColumnChunk chunk;
  in.fields([&](const ThriftField& field) {
    switch (field.id) {
      case 1:  // path of another file
      case 8:  // encrypted
      case 9:
        return in.refuse(field);
      case 3:
        if (in.is_struct(field)) read_chunk_data(in, chunk);
        return;
      default:
        in.skip(field);
    }
  });
  return chunk;
}

void count_chunk(const ColumnChunk& chunk, ParquetFigures& figures) {
  figures.chunks++;
  figures.compressed_bytes += chunk.compressed;
  figures.uncompressed_bytes += chunk.uncompressed;
  figures.largest_chunk_bytes = std::max(figures.largest_chunk_bytes, chunk.uncompressed);
  figures.codecs |= uint32_t{1} << chunk.codec;
  figures.encodings |= chunk.encodings;
}

/// Bytes of a file from an offset; false if they are not all there.
using ReadAt = std::function<bool(int64_t offset, char* to, size_t size)>;

// ---- Pages

ParquetPageHead read_page_head(ThriftReader& in) {
  ParquetPageHead head;
  const auto part = [&](const ThriftField& owner, ParquetPageType type, int encoding_id) {
    if (head.type != type) in.refuse(owner);
    if (!in.is_struct(owner)) return;
    in.fields([&](const ThriftField& field) {
      if (field.id == 1) {
        head.values = in.i32(field);
      } else if (field.id == encoding_id) {
        head.encodings = bit(in, in.i32(field), field);
      } else {
        in.skip(field);
      }
    });
  };
  in.fields([&](const ThriftField& field) {
    switch (field.id) {
      case 1:
        head.type = in.i32(field);
        break;
      case 2:
        head.uncompressed = in.i32(field);
        break;
      case 3:
        head.compressed = in.i32(field);
        break;
      case 5:
        part(field, kDataPage, 2);
        break;
      case 7:
        part(field, kDictionaryPage, 2);
        break;
      case 8:
        part(field, kDataPageV2, 4);
        break;
      default:
        in.skip(field);
    }
  });
  head.bytes = in.position();
  return head;
}

/// Walks the pages of a chunk as the engine does: one behind the other until all values are there. They must
/// lie within the bytes that the footer gives to the chunk.
Result<void> walk_pages(const ReadAt& read_at, const ColumnChunk& chunk, ParquetFigures& figures) {
  std::array<char, kPageHeadBytes> buffer;
  int64_t at = chunk.begin();
  const int64_t end = at + chunk.compressed;
  int64_t values = 0;
  int64_t unpacked = 0;
  while (values < chunk.values) {
    const auto size = static_cast<size_t>(std::min<int64_t>(end - at, kPageHeadBytes));
    if (size == 0 || !read_at(at, buffer.data(), size)) return damaged_parquet("values are missing");
    NL_TRY(const ParquetPageHead head, read_parquet_page_head({buffer.data(), size}));
    if (head.type != kDictionaryPage && head.values == 0) return damaged_parquet("a page without values");
    if (head.type == kDictionaryPage && at != chunk.begin())
      return damaged_parquet("a dictionary behind values");
    unpacked += static_cast<int64_t>(head.bytes) + head.uncompressed;
    at += static_cast<int64_t>(head.bytes) + head.compressed;
    if (at > end || unpacked > chunk.uncompressed)
      return damaged_parquet("pages are larger than their column");
    figures.pages++;
    figures.largest_page_bytes = std::max<int64_t>(figures.largest_page_bytes, head.uncompressed);
    figures.encodings |= head.encodings;
    if (head.type == kDictionaryPage) {
      figures.largest_dictionary_bytes =
          std::max<int64_t>(figures.largest_dictionary_bytes, head.uncompressed);
      figures.most_dictionary_values = std::max<int64_t>(figures.most_dictionary_values, head.values);
    } else {
      values += head.values;
    }
  }
  return values == chunk.values ? Result<void>()
                                : damaged_parquet("pages have other values than their column");
}

// ---- The file

class FileReader {
 public:
  FileReader(int64_t file_bytes, const ReadAt& read_at, ParquetPages pages)
      : read_at_(read_at), pages_(pages) {
    footer_.file_bytes = file_bytes;
  }

  Result<ParquetFooter> read() {
    NL_TRY(const std::string bytes, footer_text());
    ThriftReader in(bytes);
    NL_CHECK(read_file_data(in));
    if (in.failed()) return damaged_parquet("its footer cannot be understood");
    if (in.position() != bytes.size()) return damaged_parquet("its footer is longer than its content");
    if (rows_in_groups_ != footer_.rows)
      return damaged_parquet("its row groups have other rows than it says");
    footer_.footer_items = in.items();
    for (const ParquetColumn& column : footer_.columns) add_to_all(column.figures);
    return std::move(footer_);
  }

 private:
  Result<std::string> footer_text() {
    std::array<char, kTailBytes> tail;
    const int64_t least = kTailBytes + static_cast<int64_t>(kMagic.size());
    const auto file = footer_.file_bytes;
    if (file < least || !read_at_(file - kTailBytes, tail.data(), tail.size()))
      return damaged_parquet("too short");
    if (std::string_view(tail.data() + 4, 4) != kMagic) return damaged_parquet("it does not end like one");
    std::array<unsigned char, 4> size;
    std::memcpy(size.data(), tail.data(), size.size());
    footer_.footer_bytes =
        int64_t{size[0]} | int64_t{size[1]} << 8 | int64_t{size[2]} << 16 | int64_t{size[3]} << 24;
    if (footer_.footer_bytes == 0 || footer_.footer_bytes > file - least)
      return damaged_parquet("its footer is not there");
    if (footer_.footer_bytes > kMostFooterBytes) {
      return Error{ErrorCode::kLimit,
                   "the footer of a Parquet file has " + std::to_string(footer_.footer_bytes) + " bytes"};
    }
    std::string bytes(static_cast<size_t>(footer_.footer_bytes), '\0');
    if (!read_at_(footer_begin(), bytes.data(), bytes.size()))
      return damaged_parquet("its footer is not there");
    return bytes;
  }

  int64_t footer_begin() const { return footer_.file_bytes - kTailBytes - footer_.footer_bytes; }

  /// Fields ascend, so the schema is known when the row groups come.
  Result<void> read_file_data(ThriftReader& in) {
    Result<void> done;
    std::set<int> given;
    in.fields([&](const ThriftField& field) {
      given.insert(field.id);
      switch (field.id) {
        case 2:
          keep_first(done, read_schema(in, in.list(field, kStruct)), in, field);
          break;
        case 3:
          footer_.rows = in.size(field);
          break;
        case 4:
          for (size_t left = in.list(field, kStruct); left > 0 && !in.failed(); left--) {
            keep_first(done, read_group(in), in, field);
          }
          break;
        case 8:  // encrypted
        case 9:
          in.refuse(field);
          break;
        default:
          in.skip(field);
      }
    });
    const bool all = given.contains(2) && given.contains(3) && given.contains(4);
    return done && !all ? damaged_parquet("it has no schema, rows or row groups") : std::move(done);
  }

  /// After an error nothing more is read.
  static void keep_first(Result<void>& done, Result<void> next, ThriftReader& in, const ThriftField& field) {
    if (next) return;
    if (done) done = std::move(next);
    in.refuse(field);
  }

  Result<void> read_schema(ThriftReader& in, size_t elements) {
    if (in.failed() || elements == 0) return damaged_parquet("it has no schema");
    const Element root = read_element(in);
    if (elements - 1 > kMostParquetColumns) {
      return Error{ErrorCode::kLimit, "a Parquet file has " + std::to_string(elements - 1) + " columns"};
    }
    if (static_cast<size_t>(root.children) != elements - 1)
      return damaged_parquet("its columns lie in each other");
    while (--elements > 0) {
      const Element column = read_element(in);
      if (in.failed()) return damaged_parquet("its schema cannot be understood");
      if (column.children != 0 || column.repetition >= kRepeated || column.type < 0)
        return damaged_parquet("its columns lie in each other");
      footer_.columns.push_back(
          {std::string(column.name), column.type, column.repetition == kOptional, {}, {}});
    }
    return {};
  }

  Result<void> read_group(ThriftReader& in) {
    std::vector<ColumnChunk> chunks;
    int64_t rows = -1;
    in.fields([&](const ThriftField& field) {
      switch (field.id) {
        case 1: {
          const size_t count = in.list(field, kStruct);
          if (count != footer_.columns.size()) return in.refuse(field);
          while (chunks.size() < count && !in.failed()) chunks.push_back(read_chunk(in));
          break;
        }
        case 3:
          rows = in.size(field);
          break;
        default:
          in.skip(field);
      }
    });
    if (in.failed() || rows < 0 || chunks.size() != footer_.columns.size())
      return damaged_parquet("a row group cannot be understood");
    for (size_t c = 0; c < chunks.size(); c++) NL_CHECK(add_chunk(chunks[c], rows, footer_.columns[c]));
    footer_.row_groups++;
    footer_.most_rows_in_group = std::max(footer_.most_rows_in_group, rows);
    rows_in_groups_ += rows;
    return rows_in_groups_ > kMostSize ? damaged_parquet("too many rows") : Result<void>();
  }

  Result<void> add_chunk(const ColumnChunk& chunk, int64_t rows, ParquetColumn& column) {
    if (chunk.type != column.type) return damaged_parquet("a column has two types");
    if (chunk.values != rows) return damaged_parquet("a column has other values than rows");
    if (chunk.codec < 0 || chunk.codec > 31 || chunk.uncompressed < 0 || chunk.compressed < 0)
      return damaged_parquet("a column without codec or size");
    const int64_t begin = chunk.begin();
    if (begin < ColumnChunk::kMagicBytes || begin > chunk.data_page ||
        begin + chunk.compressed > footer_begin())
      return damaged_parquet("a column lies outside of the file");
    compressed_ += chunk.compressed;
    unpacked_ += chunk.uncompressed;
    if (compressed_ > footer_begin()) return damaged_parquet("columns overlap");
    if (unpacked_ > kMostSize) return damaged_parquet("columns are too large");
    count_chunk(chunk, column.figures);
    column.chunks.push_back({begin, chunk.compressed, rows});
    return pages_ == ParquetPages::kWalk ? walk_pages(read_at_, chunk, column.figures) : Result<void>();
  }

  void add_to_all(const ParquetFigures& one) {
    ParquetFigures& all = footer_.all;
    all.chunks += one.chunks;
    all.compressed_bytes += one.compressed_bytes;
    all.uncompressed_bytes += one.uncompressed_bytes;
    all.largest_chunk_bytes = std::max(all.largest_chunk_bytes, one.largest_chunk_bytes);
    all.pages += one.pages;
    all.largest_page_bytes = std::max(all.largest_page_bytes, one.largest_page_bytes);
    all.largest_dictionary_bytes = std::max(all.largest_dictionary_bytes, one.largest_dictionary_bytes);
    all.most_dictionary_values = std::max(all.most_dictionary_values, one.most_dictionary_values);
    all.codecs |= one.codecs;
    all.encodings |= one.encodings;
  }

  const ReadAt& read_at_;
  const ParquetPages pages_;
  ParquetFooter footer_;
  int64_t rows_in_groups_ = 0;
  int64_t compressed_ = 0;
  int64_t unpacked_ = 0;
};

}  // namespace

bool read_fully(int fd, int64_t offset, char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(fd, to, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

Result<ParquetFooter> read_parquet_footer(const std::string& path, ParquetPages pages) {
  NL_TRY(const File file, File::open_without_waiting(path));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return errno_error("cannot read", path, errno);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kBadInput, "not a file: " + path};
  const ReadAt read_at = [&](int64_t offset, char* to, size_t size) {
    return read_fully(file.fd(), offset, to, size);
  };
  auto footer = FileReader(info.st_size, read_at, pages).read();
  if (!footer) footer.error().message += ": " + path;
  return footer;
}

Result<ParquetFooter> parse_parquet_footer(std::string_view file, ParquetPages pages) {
  const ReadAt read_at = [&](int64_t offset, char* to, size_t size) {
    const auto begin = static_cast<size_t>(offset);
    if (begin > file.size() || size > file.size() - begin) return false;
    std::memcpy(to, file.data() + begin, size);
    return true;
  };
  return FileReader(static_cast<int64_t>(file.size()), read_at, pages).read();
}

Result<ParquetPageHead> read_parquet_page_head(std::string_view bytes) {
  ThriftReader in(bytes);
  const ParquetPageHead head = read_page_head(in);
  if (in.failed() || head.values < 0 || head.uncompressed < 0 || head.compressed < 0)
    return damaged_parquet("a page without a head");
  return head;
}

Result<void> check_parquet_codecs(const ParquetFooter& footer) {
  constexpr uint32_t kWrittenCodecs = uint32_t{1} << static_cast<int>(ParquetCodec::kZstd);
  if ((footer.all.codecs & ~kWrittenCodecs) == 0 && (footer.all.encodings & ~kWrittenEncodings) == 0)
    return {};
  return Error{ErrorCode::kUnsupported,
               "a Parquet file is packed in a way that NeuroLens never writes (codecs " +
                   std::to_string(footer.all.codecs) + ", encodings " + std::to_string(footer.all.encodings) +
                   ", as bits)"};
}

Result<void> check_parquet_file(const std::string& path) {
  NL_TRY(const ParquetFooter footer, read_parquet_footer(path, ParquetPages::kSkip));
  auto checked = check_parquet_codecs(footer);
  if (!checked) checked.error().message += ": " + path;
  return checked;
}

}  // namespace nl::store
