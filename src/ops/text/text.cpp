#include "ops/text/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace nl::ops {

size_t screen_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

namespace {

/// The same of a text with colours that bold() and others gave it.
size_t styled_width(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const size_t escape = std::min(text.find('\x1b'), text.size());
    columns += screen_width(text.substr(0, escape));
    text.remove_prefix(std::min(text.find('m', escape), text.size() - 1) + 1);
  }
  return columns;
}

std::string styled(std::string_view text, const char* code, const TextStyle& style) {
  if (!style.color) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

constexpr size_t kNameInSentence = 60;

/// Offset of the character that starts at or before column `column`.
size_t offset_of_column(std::string_view text, size_t column) {
  size_t i = 0;
  for (; i < text.size(); i++) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (column-- == 0) break;
  }
  return i;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < ' ' || c == 127 ? ' ' : c;
  return out;
}

}  // namespace

std::string time_text(int64_t unix_ns) {
  const std::time_t seconds = unix_ns / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                     local.tm_hour, local.tm_min);
}

std::string quoted_name(std::string_view name) {
  std::string text = shortened(name, kNameInSentence);
  std::replace(text.begin(), text.end(), '"', '\'');
  return '"' + text + '"';
}

std::string shortened(std::string_view raw, size_t width) {
  std::string text = printable(raw);
  const size_t columns = screen_width(text);
  if (columns <= width) return text;
  const size_t tail = width / 3;
  const size_t head = width - tail - 1;
  return text.substr(0, offset_of_column(text, head)) + "…" +
         text.substr(offset_of_column(text, columns - tail));
}

std::string bar(double share, size_t width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width) * 8));
  std::string out;
  for (size_t i = 0; i < eighths / 8; i++) out += "█";
  return out + kEighths[eighths % 8];
}

std::string wrapped(std::string_view text, std::string_view indent, int width) {
  const size_t room = static_cast<size_t>(std::max(width, 40)) - indent.size();
  std::string out;
  while (!text.empty()) {
    size_t end = text.size();
    if (end > room) {
      end = text.rfind(' ', room);
      if (end == std::string_view::npos || end == 0) end = std::min(text.find(' ', room), text.size());
    }
    out += std::string(indent) + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return out;
}

std::string listed(const std::vector<std::string>& items, std::string_view between, std::string_view indent,
                   const TextStyle& style) {
  const auto room = static_cast<size_t>(std::max(style.width, 40));
  std::string out;
  size_t column = indent.size();
  for (size_t i = 0; i < items.size(); i++) {
    const std::string_view behind = i + 1 < items.size() ? between : "";
    const size_t width = styled_width(items[i]), sign = behind.find_last_not_of(' ') + 1;
    if (style.breaks_lines && i > 0 && column + width + sign > room) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n" + std::string(indent);
      column = indent.size();
    }
    out += items[i] + std::string(behind);
    column += width + behind.size();
  }
  return out;
}

std::string behind_column(std::string_view text, size_t column, const TextStyle& style) {
  if (!style.breaks_lines || text.empty()) return std::string(text);
  const std::string lines = wrapped(text, std::string(column, ' '), style.width);
  return lines.substr(column, lines.size() - column - 1);
}

std::string shell_word(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("=_.-/:+,@").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bold(std::string_view text, const TextStyle& style) {
  return styled(text, "1", style);
}
std::string dim(std::string_view text, const TextStyle& style) {
  return styled(text, "2", style);
}
std::string yellow(std::string_view text, const TextStyle& style) {
  return styled(text, "33", style);
}

std::string TextTable::text(std::string_view indent, bool has_header, const TextStyle& style) const {
  std::vector<size_t> widths(alignment_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); c++) widths[c] = std::max(widths[c], screen_width(row[c]));
  }
  std::string out;
  for (size_t r = 0; r < rows_.size(); r++) {
    std::string line;
    for (size_t c = 0; c < rows_[r].size(); c++) {
      const std::string& cell = rows_[r][c];
      const std::string padding(widths[c] - screen_width(cell), ' ');
      const bool last = c + 1 == rows_[r].size();
      if (c > 0) line += "  ";
      line += alignment_[c] == Align::kRight ? padding + cell : last ? cell : cell + padding;
    }
    out += std::string(indent) + (r == 0 && has_header ? dim(line, style) : line) + "\n";
  }
  return out;
}

}  // namespace nl::ops
