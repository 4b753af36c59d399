#include "ingest/sqlite/sqlite_schema.h"

#include "base/text.h"

namespace nl::ingest {
namespace {

constexpr size_t kMaxColumns = 2000;  // SQLite's own limit

struct Token {
  enum class Kind { kEnd, kWord, kQuoted, kOther } kind = Kind::kEnd;
  std::string text = {};  ///< a quoted name without its quotes
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class Tokens {
 public:
  explicit Tokens(std::string_view sql) : rest_(sql) {}

  Token next() {
    skip_blanks();
    if (rest_.empty()) return {};
    const char c = rest_[0];
    if (c == '"' || c == '`' || c == '\'' || c == '[') return quoted(c == '[' ? ']' : c);
    size_t n = 0;
    while (n < rest_.size() && is_word(rest_[n])) n++;
    if (n == 0) return {Token::Kind::kOther, take(1)};
    return {Token::Kind::kWord, take(n)};
  }

 private:
  std::string take(size_t n) {
    std::string text(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return text;
  }
  void skip_past(std::string_view mark) {
    const size_t at = rest_.find(mark);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + mark.size());
  }
  void skip_blanks() {
    for (;;) {
      const size_t n = rest_.find_first_not_of(" \t\r\n\f");
      rest_.remove_prefix(n == std::string_view::npos ? rest_.size() : n);
      if (rest_.starts_with("--")) {
        skip_past("\n");
      } else if (rest_.starts_with("/*")) {
        skip_past("*/");
      } else {
        return;
      }
    }
  }
  /// A doubled quote stands for itself.
  Token quoted(char end) {
    Token token{Token::Kind::kQuoted};
    size_t i = 1;
    for (; i < rest_.size(); i++) {
      if (rest_[i] == end && (end == ']' || i + 1 >= rest_.size() || rest_[i + 1] != end)) break;
      if (rest_[i] == end) i++;
      token.text += rest_[i];
    }
    rest_.remove_prefix(std::min(i + 1, rest_.size()));
    return token;
  }

  std::string_view rest_;
};

/// The tokens of one column or constraint, those in brackets left out but for the names of a primary key.
struct Entry {
  std::vector<Token> tokens;

  bool is_word(size_t i, std::string_view word) const {
    return i < tokens.size() && tokens[i].kind == Token::Kind::kWord && lower(tokens[i].text) == word;
  }
  bool has_word(std::string_view word) const {
    for (size_t i = 1; i < tokens.size(); i++) {
      if (is_word(i, word)) return true;
    }
    return false;
  }
  bool is_constraint() const {
    for (const std::string_view word : {"constraint", "primary", "unique", "check", "foreign"}) {
      if (is_word(0, word)) return true;
    }
    return false;
  }
  /// Only exactly this type makes a row id.
  bool is_integer() const { return is_word(1, "integer"); }
  bool is_primary_key() const {
    for (size_t i = 2; i + 1 < tokens.size(); i++) {
      if (is_word(i, "primary") && is_word(i + 1, "key")) return !is_word(i + 2, "desc");
    }
    return false;
  }
};

class Parser {
 public:
  explicit Parser(std::string_view sql) : tokens_(sql) {}

  std::optional<SqliteColumns> parse() {
    for (Token token = tokens_.next(); token.text != "(" || token.kind != Token::Kind::kOther;
         token = tokens_.next()) {
      if (token.kind == Token::Kind::kEnd) return std::nullopt;
    }
    for (bool more = true; more;) {
      Entry entry;
      if (!read_entry(entry, more) || entry.tokens.empty() || !add(entry)) return std::nullopt;
    }
    for (Token token = tokens_.next(); token.kind != Token::Kind::kEnd; token = tokens_.next()) {
      if (lower(token.text) == "without") return std::nullopt;
    }
    if (columns_.names.empty()) return std::nullopt;
    return std::move(columns_);
  }

 private:
  /// Up to the comma or the last bracket. False if the text ends before.
  bool read_entry(Entry& entry, bool& more) {
    int depth = 0;
    for (Token token = tokens_.next(); token.kind != Token::Kind::kEnd; token = tokens_.next()) {
      const bool mark = token.kind == Token::Kind::kOther;
      if (mark && depth == 0 && (token.text == "," || token.text == ")")) {
        more = token.text == ",";
        return true;
      }
      if (mark && token.text == "(") depth++;
      if (mark && token.text == ")") depth--;
      if (depth == 0 || !entry.tokens.empty()) entry.tokens.push_back(std::move(token));
    }
    return false;
  }

  bool add(const Entry& entry) {
    if (entry.is_constraint()) {
      add_constraint(entry);
      return true;
    }
    if (entry.has_word("generated") || entry.has_word("as") || columns_.names.size() >= kMaxColumns) {
      return false;
    }
    if (entry.is_integer() && entry.is_primary_key())
      columns_.rowid = static_cast<int>(columns_.names.size());
    integers_.push_back(entry.is_integer());
    columns_.names.push_back(entry.tokens[0].text);
    return true;
  }

  /// PRIMARY KEY (id) over one integer column is a row id as well.
  void add_constraint(const Entry& entry) {
    const size_t at = entry.is_word(0, "constraint") ? 2 : 0;
    const auto is_mark = [&](size_t i, const char* mark) {
      return i < entry.tokens.size() && entry.tokens[i].text == mark;
    };
    if (!entry.is_word(at, "primary") || !is_mark(at + 2, "(") || !is_mark(at + 4, ")")) return;
    for (size_t i = 0; i < columns_.names.size(); i++) {
      if (lower(columns_.names[i]) == lower(entry.tokens[at + 3].text) && integers_[i]) {
        columns_.rowid = static_cast<int>(i);
      }
    }
  }

  Tokens tokens_;
  SqliteColumns columns_;
  std::vector<bool> integers_;
};

}  // namespace

std::optional<SqliteColumns> sqlite_columns(std::string_view create_table) {
  return Parser(create_table).parse();
}

}  // namespace nl::ingest
