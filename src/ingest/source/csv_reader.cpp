#include "ingest/source/csv_reader.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace nl::ingest {
namespace {

/// Where in a row a character stands; split() reads quotes the same way.
enum class Place { kFieldStart, kPlain, kQuoted, kBehindQuote };

Place next_place(Place place, char c, char separator) {
  if (place == Place::kQuoted) return c == '"' ? Place::kBehindQuote : place;
  if (c == separator) return Place::kFieldStart;
  if (c == '"' && place != Place::kPlain) return Place::kQuoted;
  return place == Place::kFieldStart && (c == ' ' || c == '\t') ? place : Place::kPlain;
}

}  // namespace

std::vector<std::string_view> header_fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (;;) {
    const size_t comma = line.find(',');
    std::string_view field = trimmed(line.substr(0, comma));
    if (field.size() > 1 && field.starts_with('"') && field.ends_with('"'))
      field = field.substr(1, field.size() - 2);
    fields.push_back(field);
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

/// Reads on behind what is there; false at the end of the input.
Result<bool> CsvReader::more() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + limits_.chunk_bytes) buffer_.resize(end_ + limits_.chunk_bytes);
  NL_TRY(const size_t count, source_.read(buffer_.data() + end_, limits_.chunk_bytes));
  at_end_ = count == 0;
  end_ += count;
  if (!started_ && (end_ >= kByteOrderMark.size() || at_end_)) {
    started_ = true;
    if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
  }
  return !at_end_;
}

Result<std::string_view> CsvReader::peek(size_t size) {
  while (!at_end_ && (!started_ || end_ - begin_ < size)) {
    NL_CHECK(more());
  }
  return std::string_view(buffer_.data() + begin_, std::min(size, end_ - begin_));
}

Result<bool> CsvReader::measure(bool quotes, char separator, size_t& size) {
  NL_CHECK(peek(1));
  Place place = quotes ? Place::kFieldStart : Place::kPlain;
  size_t i = 0;
  for (;; i++) {
    if (begin_ + i == end_) {
      if (i > limits_.max_row_bytes) {
        return Error{ErrorCode::kLimit, "a line is longer than " + std::to_string(limits_.max_row_bytes) +
                                            " bytes: line " + std::to_string(next_line_)};
      }
      NL_TRY(const bool grown, more());
      if (!grown) break;
    }
    const char c = buffer_[begin_ + i];
    if (c == '\n' && place != Place::kQuoted) break;
    if (quotes) place = next_place(place, c, separator);
  }
  size = i;
  const bool ended = begin_ + i < end_;
  if (!ended && i == 0) return false;
  ended_ = ended;
  if (place != Place::kQuoted) return true;
  return Error{ErrorCode::kBadInput,
               "the text ends inside of a quoted field, which begins in line " + std::to_string(next_line_),
               "the file is truncated or of another format"};
}

std::string_view CsvReader::take(size_t size) {
  const std::string_view text(buffer_.data() + begin_, size);
  begin_ += size + (ended_ ? 1 : 0);
  line_ = next_line_;
  next_line_ += 1 + std::count(text.begin(), text.end(), '\n');
  return text.ends_with('\r') ? text.substr(0, text.size() - 1) : text;
}

Result<bool> CsvReader::next_line(std::string_view& line) {
  size_t size = 0;
  NL_TRY(const bool found, measure(false, ',', size));
  if (found) line = take(size);
  return found;
}

Result<bool> CsvReader::next_row(std::vector<std::string_view>& fields, char separator) {
  fields.clear();
  size_t size = 0;
  NL_TRY(const bool found, measure(true, separator, size));
  if (!found) return false;
  char* const begin = buffer_.data() + begin_;
  const std::string_view text = take(size);
  NL_CHECK(split(begin, text.size(), separator, fields));
  return true;
}

/// Fields move together where quotes go away; what stands behind a closing quote belongs to the field.
Result<void> CsvReader::split(char* text, size_t size, char separator,
                              std::vector<std::string_view>& fields) const {
  const char* const end = text + size;
  char* in = text;
  for (;;) {
    if (fields.size() == limits_.max_fields) {
      return Error{ErrorCode::kLimit, "a row has more than " + std::to_string(limits_.max_fields) +
                                          " fields: line " + std::to_string(line_)};
    }
    char* const first = in;
    char* out = in;
    bool quoted = false;
    bool was_quoted = false;
    for (; in != end && (quoted || *in != separator); in++) {
      if (*in != '"') {
        *out++ = *in;
      } else if (quoted) {
        const bool doubled = in + 1 != end && in[1] == '"';
        if (doubled) *out++ = *in++;
        quoted = doubled;
      } else if (!was_quoted && trimmed({first, static_cast<size_t>(out - first)}).empty()) {
        quoted = was_quoted = true;
        out = first;
      } else {
        *out++ = *in;
      }
    }
    fields.emplace_back(first, static_cast<size_t>(out - first));
    if (in == end) return {};
    in++;
  }
}

}  // namespace nl::ingest
