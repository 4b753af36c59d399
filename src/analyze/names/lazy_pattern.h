#pragma once
// LazyPattern: a regular expression (RE2) that must match a whole text. Compiling is expensive and a table
// has many patterns, so a pattern is compiled only when a text contains one of the literals that it requires.
// Thread-safe.

#include <bitset>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace nl::analyze {

/// A text to be matched with many patterns: knows at once that a literal is not in it.
class PatternText {
 public:
  PatternText(std::string text);
  std::string_view text() const { return text_; }
  bool contains(std::string_view literal) const;

 private:
  std::string text_;
  std::bitset<1024> pairs_;  ///< of neighbouring characters, by hash
};

class LazyPattern {
 public:
  explicit LazyPattern(std::string text);
  ~LazyPattern();

  bool fits(const PatternText& text) const;
  /// Compiles it now; false if it is no valid pattern.
  bool is_valid() const;

 private:
  const re2::RE2& compiled() const;

  std::string text_;
  std::vector<std::string> literals_;  ///< a text that fits has one of them; empty: unknown
  mutable std::once_flag once_;
  mutable std::unique_ptr<re2::RE2> pattern_;
};

/// Literals of which any text that fits has at least one; empty where the pattern does not tell.
std::vector<std::string> required_literals(std::string_view pattern);

}  // namespace nl::analyze
