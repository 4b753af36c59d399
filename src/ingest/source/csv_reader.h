#pragma once
// CsvReader: reads a text that contains tables, as lines or as rows, without loading it whole. Fields may be
// quoted, with doubled quotes and line breaks inside; lines end with LF or CRLF; a byte order mark is
// skipped. The caller decides what a row means, how many fields it must have and which lines are not rows.
// One thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/source/byte_source.h"

namespace nl::ingest {

struct CsvLimits {
  size_t max_row_bytes = 8 << 20;
  size_t max_fields = 1 << 16;
  size_t chunk_bytes = 256 << 10;  ///< read at once; never changes the rows
};

/// The fields of a header line; names of columns hold no quotes and commas of their own.
std::vector<std::string_view> header_fields(std::string_view line);

/// Editors on Windows put the mark in front of a text. It is no part of the first line.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

class CsvReader {
 public:
  explicit CsvReader(ByteSource& source, CsvLimits limits = {}) : source_(source), limits_(limits) {
    if (limits_.chunk_bytes == 0) limits_.chunk_bytes = 1;
  }

  /// The first bytes of what comes next, fewer at the end: enough to tell a row from a line.
  Result<std::string_view> peek(size_t size);
  /// The next line without its end, quotes being ordinary characters; false at the end of the input. The
  /// text is valid until the next call.
  Result<bool> next_line(std::string_view& line);
  /// The next row; false at the end of the input. A quote that stays open is an error. The fields are valid
  /// until the next call.
  Result<bool> next_row(std::vector<std::string_view>& fields, char separator = ',');

  int64_t line() const { return line_; }  ///< number of the last line or row's first line, from 1
  /// False if the last line or row was ended by the end of the input: it may be cut off.
  bool was_ended() const { return ended_; }

 private:
  /// The length of the line or row from here, without its line break; false at the end of the input.
  Result<bool> measure(bool quotes, char separator, size_t& size);
  Result<bool> more();
  std::string_view take(size_t size);
  Result<void> split(char* text, size_t size, char separator, std::vector<std::string_view>& fields) const;

  ByteSource& source_;
  CsvLimits limits_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is not taken yet
  size_t end_ = 0;
  int64_t line_ = 0;
  int64_t next_line_ = 1;
  bool started_ = false;
  bool at_end_ = false;
  bool ended_ = true;
};

}  // namespace nl::ingest
