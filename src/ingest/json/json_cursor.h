#pragma once
// JsonIndex finds the tokens of one window with simdjson's first stage, which uses SIMD and checks UTF-8.
// JsonCursor walks over them and checks the grammar of everything it passes, so the raw text that it returns
// is valid JSON. One thread each.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/json/json_array.h"
#include "model/batch.h"

namespace nl::ingest {

/// What JSON takes for a blank.
inline bool is_blank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

class JsonCursor {
 public:
  static constexpr int kMaxDepth = 128;

  JsonCursor() = default;
  JsonCursor(const char* text, const uint32_t* tokens) : text_(text), at_(tokens) {}

  /// First character of the current token; a blank at the end.
  char peek() const { return text_[*at_]; }
  void advance() { at_++; }
  bool take(char c) {
    if (peek() != c) return false;
    at_++;
    return true;
  }
  /// Text of the current string, number or literal, quotes included.
  std::string_view token() const {
    const char* const begin = text_ + *at_;
    const char* end = text_ + at_[1];
    while (end > begin && is_blank(end[-1])) end--;
    return {begin, static_cast<size_t>(end - begin)};
  }
  /// A member's key without its quotes; the cursor then stands on the value. Escapes are left as they are.
  bool take_key(std::string_view& key) {
    if (peek() != '"') return false;
    const std::string_view quoted = token();
    key = quoted.substr(1, quoted.size() - 2);
    at_++;
    return take(':');
  }
  /// Any value that nests at most `depth` deep; `raw` is its text.
  bool take_value(std::string_view& raw, int depth = kMaxDepth);
  /// The same, but a scalar's token is taken as it stands, unchecked.
  bool take_raw(std::string_view& raw);
  size_t position() const { return *at_; }

 private:
  bool skip_value(int levels);

  const char* text_ = nullptr;
  const uint32_t* at_ = nullptr;
};

struct JsonMember {
  std::string_view key;  ///< without quotes, escapes as in the source
  std::string_view raw;  ///< text of the value; scalars are not checked yet
};

/// The members of the object at the cursor, added to `members`. False if the JSON is wrong.
bool read_members(JsonCursor& cursor, std::vector<JsonMember>& members);

/// A token without its quotes, if it has any.
inline std::string_view unquoted(std::string_view token) {
  return token.size() >= 2 && token[0] == '"' ? token.substr(1, token.size() - 2) : token;
}

class JsonIndex {
 public:
  JsonIndex();
  ~JsonIndex();

  /// Tokens of the window; the cursor is valid until the next call.
  Result<JsonCursor> index(const JsonWindow& window);
  /// The string that a quoted token stands for, kept in the arena. Lone surrogates become U+FFFD. False if an
  /// escape is wrong.
  bool unescape(std::string_view quoted, model::TextArena& arena, std::string_view& out) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Number, true, false, null or a string with valid escapes.
bool is_json_scalar(std::string_view token);
/// Writes U+FFFD over escaped surrogates without a partner, which engines refuse to read. `text` is valid
/// JSON.
void replace_lone_surrogates(char* text, size_t size);
/// Text between two quotes, as the first stage passed it.
bool has_valid_escapes(std::string_view text);

}  // namespace nl::ingest
