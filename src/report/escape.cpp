#include "report/escape.h"

#include <fmt/core.h>

#include <cstdint>
#include <vector>

#include "base/number_text.h"
#include "base/utf8.h"

namespace nl::report {
namespace {

/// Longer names are no templates of kernels any more; that they are so long is news.
constexpr size_t kOrdinaryBytes = 2000;

/// Draws nothing, moves the cursor, or changes how the text around it reads.
bool is_hidden(uint32_t point) {
  static constexpr struct {
    uint32_t first, last;
  } kHidden[] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},       {0x34F, 0x34F},
                 {0x61C, 0x61C},   {0x115F, 0x1160}, {0x17B4, 0x17B5},   {0x180B, 0x180F},
                 {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},
                 {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},
                 {0xFFFE, 0xFFFF}, {0xE000, 0xF8FF}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF}};
  for (const auto& [first, last] : kHidden) {
    if (point >= first && point <= last) return true;
  }
  return (point & 0xFFFE) == 0xFFFE;
}

std::string shown(std::string_view text, const Character& c) {
  if (!c.valid) return fmt::format("⟨0x{:02X}⟩", c.point);
  if (is_hidden(c.point)) return fmt::format("⟨U+{:04X}⟩", c.point);
  return std::string(text.substr(c.at, c.size));
}

/// Where characters begin, at most `most` and one more.
size_t offset_after(std::string_view text, size_t characters) {
  size_t at = 0;
  for (size_t i = 0; i < characters && at < text.size(); i++) at += character_at(text, at).size;
  return at;
}

/// The last `characters` code points, without reading the whole text.
size_t offset_of_tail(std::string_view text, size_t characters) {
  size_t at = text.size();
  for (size_t i = 0; i < characters && at > 0; i++) {
    at--;
    for (int back = 0; back < 3 && at > 0 && is_continuation(text[at]); back++) at--;
  }
  return at;
}

std::string all_visible(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    out += shown(text, c);
    at += c.size;
  }
  return out;
}

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Underscores inside a word mark nothing.
bool is_inside_word(std::string_view text, size_t at) {
  const size_t before = text.find_last_not_of('_', at), after = text.find_first_not_of('_', at);
  return before != std::string_view::npos && after != std::string_view::npos &&
         is_alphanumeric(text[before]) && is_alphanumeric(text[after]);
}

/// Can the ASCII character stand in Markdown as it is? Addresses must not become links.
bool is_harmless(std::string_view text, size_t at) {
  static constexpr std::string_view kHarmless = " ,;%/()+='?\"";
  const char c = text[at];
  if (c == '_') return is_inside_word(text, at);
  if (c == ':') return !text.substr(at).starts_with(":/");
  if (c == '.') return at < 3 || (text.substr(at - 3, 3) != "www" && text.substr(at - 3, 3) != "WWW");
  return is_alphanumeric(c) || kHarmless.find(c) != std::string_view::npos;
}

}  // namespace

std::string visible(std::string_view text, size_t most) {
  if (offset_after(text, most) == text.size()) return all_visible(text);
  const size_t tail = most / 4;
  const std::string cut = all_visible(text.substr(0, offset_after(text, most - tail))) + "…" +
                          all_visible(text.substr(offset_of_tail(text, tail)));
  if (text.size() <= kOrdinaryBytes) return cut;
  return cut + " (" + grouped(static_cast<int64_t>(text.size())) + " bytes)";
}

bool is_plain(std::string_view text, size_t most) {
  return visible(text, most) == text;
}

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string html_name(std::string_view text, size_t most) {
  return html(visible(text, most));
}

std::string markdown(std::string_view raw) {
  const std::string text = visible(raw, SIZE_MAX / 2);
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    const bool ascii = static_cast<unsigned char>(text[i]) < 0x80;
    if (!ascii || is_harmless(text, i)) {
      out += text[i];
    } else {
      out += fmt::format("&#{};", static_cast<int>(text[i]));
    }
  }
  return out;
}

std::string markdown_name(std::string_view text, size_t most) {
  const std::string seen = visible(text, most);
  const bool blank = seen.find_first_not_of(' ') == std::string::npos;
  const bool simple =
      !blank && seen.find_first_of("`|\\") == std::string::npos && seen.front() != ' ' && seen.back() != ' ';
  return simple ? "`" + seen + "`" : markdown(seen);
}

}  // namespace nl::report
