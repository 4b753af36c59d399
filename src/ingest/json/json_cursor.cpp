#include "ingest/json/json_cursor.h"

#include <simdjson.h>

#include <cstring>

#include "base/text.h"

namespace nl::ingest {
namespace {

bool is_hex(char c) {
  return is_digit(c) || static_cast<unsigned char>((c | 0x20) - 'a') < 6;
}

size_t skip_digits(std::string_view t, size_t i) {
  while (i < t.size() && is_digit(t[i])) i++;
  return i;
}

bool is_number(std::string_view t) {
  size_t i = t[0] == '-' ? 1 : 0;
  const size_t whole = i;
  i = skip_digits(t, i);
  if (i == whole || (t[whole] == '0' && i > whole + 1)) return false;
  if (i < t.size() && t[i] == '.') {
    const size_t fraction = i + 1;
    i = skip_digits(t, fraction);
    if (i == fraction) return false;
  }
  if (i < t.size() && (t[i] | 0x20) == 'e') {
    i++;
    if (i < t.size() && (t[i] == '+' || t[i] == '-')) i++;
    const size_t exponent = i;
    i = skip_digits(t, i);
    if (i == exponent) return false;
  }
  return i == t.size();
}

}  // namespace

bool has_valid_escapes(std::string_view text) {
  size_t i = text.find('\\');
  while (i != std::string_view::npos) {
    const char c = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == 'u') {
      if (i + 6 > text.size()) return false;
      for (size_t k = i + 2; k < i + 6; k++) {
        if (!is_hex(text[k])) return false;
      }
    } else if (c == '\0' || std::strchr("\"\\/bfnrt", c) == nullptr) {
      return false;
    }
    i = text.find('\\', i + 2);
  }
  return true;
}

namespace {

/// Value of the escape \\uXXXX at p, or -1.
int escaped_unit(const char* p, const char* end) {
  if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return -1;
  int unit = 0;
  for (int i = 2; i < 6; i++) {
    const char c = p[i];
    if (!is_hex(c)) return -1;
    unit = unit * 16 + (is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return unit;
}

}  // namespace

void replace_lone_surrogates(char* text, size_t size) {
  const char* const end = text + size;
  for (char* p = static_cast<char*>(std::memchr(text, '\\', size)); p != nullptr && p < end;) {
    const int unit = escaped_unit(p, end);
    const bool high = unit >= 0xD800 && unit < 0xDC00;
    const int next = high ? escaped_unit(p + 6, end) : -1;
    if (high && next >= 0xDC00 && next < 0xE000) {
      p += 12;
    } else if (unit >= 0xD800 && unit < 0xE000) {
      std::memcpy(p + 2, "fffd", 4);
      p += 6;
    } else {
      p += 2;
    }
    if (p < end) p = static_cast<char*>(std::memchr(p, '\\', static_cast<size_t>(end - p)));
  }
}

bool is_json_scalar(std::string_view token) {
  if (token.empty()) return false;
  switch (token[0]) {
    case '"':
      return token.size() >= 2 && token.back() == '"' && has_valid_escapes(token);
    case 't':
      return token == "true";
    case 'f':
      return token == "false";
    case 'n':
      return token == "null";
    default:
      return is_number(token);
  }
}

bool JsonCursor::take_raw(std::string_view& raw) {
  const char first = peek();
  if (first == '{' || first == '[') return take_value(raw);
  if (first == '}' || first == ']' || first == ',' || first == ':' || first == ' ') return false;
  raw = token();
  advance();
  return true;
}

bool read_members(JsonCursor& cursor, std::vector<JsonMember>& members) {
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  for (;;) {
    JsonMember& member = members.emplace_back();
    if (!cursor.take_key(member.key) || !cursor.take_raw(member.raw)) return false;
    if (cursor.take('}')) return true;
    if (!cursor.take(',')) return false;
  }
}

bool JsonCursor::skip_value(int levels) {
  const char open = peek();
  if (open != '{' && open != '[') {
    const bool valid = is_json_scalar(token());
    at_++;
    return valid;
  }
  if (levels == 0) return false;
  at_++;
  const char close = open == '{' ? '}' : ']';
  if (take(close)) return true;
  for (;;) {
    if (open == '{') {
      if (peek() != '"' || !has_valid_escapes(token())) return false;
      at_++;
      if (!take(':')) return false;
    }
    if (!skip_value(levels - 1)) return false;
    if (take(close)) return true;
    if (!take(',')) return false;
  }
}

bool JsonCursor::take_value(std::string_view& raw, int depth) {
  const char* const begin = text_ + *at_;
  if (!skip_value(depth)) return false;
  const char* end = text_ + *at_;
  while (end > begin && is_blank(end[-1])) end--;
  raw = {begin, static_cast<size_t>(end - begin)};
  return true;
}

struct JsonIndex::Implementation {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
};

JsonIndex::JsonIndex() : implementation_(std::make_unique<Implementation>()) {}
JsonIndex::~JsonIndex() = default;

Result<JsonCursor> JsonIndex::index(const JsonWindow& window) {
  auto& parser = implementation_->parser;
  if (!parser || parser->capacity() < window.size) {
    const auto failed = simdjson::get_active_implementation()->create_dom_parser_implementation(
        std::max<size_t>(window.size, window.capacity), JsonCursor::kMaxDepth, parser);
    if (failed) return Error{ErrorCode::kInternal, "cannot set up the JSON parser"};
  }
  const auto* text = reinterpret_cast<const uint8_t*>(window.text);
  const auto failed = parser->stage1(text, window.size, simdjson::stage1_mode::regular);
  if (failed) {
    const auto last = static_cast<int64_t>(window.size) + window.offset;
    return Error{ErrorCode::kBadInput, std::string("the JSON is not valid between bytes ") +
                                           std::to_string(window.offset) + " and " + std::to_string(last) +
                                           ": " + simdjson::error_message(failed)};
  }
  return JsonCursor(window.text, parser->structural_indexes.get());
}

bool JsonIndex::unescape(std::string_view quoted, model::TextArena& arena, std::string_view& out) const {
  const std::string_view inner = quoted.substr(1, quoted.size() - 2);
  if (inner.find('\\') == std::string_view::npos) {
    out = arena.keep(inner);
    return true;
  }
  const size_t room = inner.size() + simdjson::SIMDJSON_PADDING;
  char* const to = arena.reserve(room);
  const auto* from = reinterpret_cast<const uint8_t*>(inner.data());
  const uint8_t* const end =
      implementation_->parser->parse_string(from, reinterpret_cast<uint8_t*>(to), true);
  if (end == nullptr) return false;
  const auto size = static_cast<size_t>(reinterpret_cast<const char*>(end) - to);
  arena.shrink_last(room - size);
  out = {to, size};
  return true;
}

}  // namespace nl::ingest
