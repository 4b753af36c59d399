#pragma once
// Formats text for people: times, tables in columns, wrapped lines.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "ops/operation.h"

namespace nl::ops {

/// Unix time -> 2026-11-15 05:18 (local time)
std::string time_text(int64_t unix_ns);
/// Columns on the screen, taking each code point for one.
size_t screen_width(std::string_view text);
/// At most `width` characters, the middle left out; never cuts a UTF-8 character in two.
std::string shortened(std::string_view text, size_t width);
/// In quotation marks, so that a name that reads like an instruction stays a name; the middle of a long one
/// left out.
std::string quoted_name(std::string_view name);
/// Lines of at most `width` characters, broken at blanks, each behind `indent`.
std::string wrapped(std::string_view text, std::string_view indent, int width);
/// Items in one line; if the style breaks lines and they do not fit, in several, each behind `indent`.
std::string listed(const std::vector<std::string>& items, std::string_view between, std::string_view indent,
                   const TextStyle& style);
/// Text that starts in this column; if the style breaks lines, its next lines do too.
std::string behind_column(std::string_view text, size_t column, const TextStyle& style);
/// A bar of at most `width` blocks for a share of 0 to 1.
std::string bar(double share, size_t width);

/// One word as a shell takes it.
std::string shell_word(const std::string& text);

std::string bold(std::string_view text, const TextStyle& style);
std::string dim(std::string_view text, const TextStyle& style);
std::string yellow(std::string_view text, const TextStyle& style);

/// Columns padded to their widest cell, two blanks apart.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  explicit TextTable(std::vector<Align> alignment) : alignment_(std::move(alignment)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Each line starts with `indent`; the first row is dim if it is a header.
  std::string text(std::string_view indent, bool has_header, const TextStyle& style) const;

 private:
  std::vector<Align> alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nl::ops
