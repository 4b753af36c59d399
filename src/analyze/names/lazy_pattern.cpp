#include "analyze/names/lazy_pattern.h"

#include <re2/re2.h>

#include <algorithm>

namespace nl::analyze {
namespace {

using Literals = std::vector<std::string>;

/// Bytes, not UTF-8: names are untrusted.
RE2::Options options() {
  RE2::Options out;
  out.set_encoding(RE2::Options::EncodingLatin1);
  out.set_never_capture(true);
  out.set_dot_nl(true);
  out.set_log_errors(false);
  return out;
}

size_t pair_of(std::string_view text, size_t at) {
  return (static_cast<unsigned char>(text[at]) * 31u + static_cast<unsigned char>(text[at + 1])) % 1024;
}

size_t shortest(const Literals& literals) {
  size_t bytes = literals.empty() ? 0 : literals[0].size();
  for (const auto& literal : literals) bytes = std::min(bytes, literal.size());
  return bytes;
}

/// Walks a pattern. Of a sequence the part with the longest literals counts, of alternatives all.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view pattern) : pattern_(pattern) {}

  Literals read() {
    Literals found = alternatives(0);
    return at_ == pattern_.size() ? found : Literals();
  }

 private:
  static constexpr int kMaxDepth = 16;

  bool more() const { return at_ < pattern_.size(); }
  char peek() const { return pattern_[at_]; }

  Literals alternatives(int depth) {
    Literals all = sequence(depth);
    bool known = !all.empty();
    while (more() && peek() == '|') {
      at_++;
      const Literals one = sequence(depth);
      known = known && !one.empty();
      all.insert(all.end(), one.begin(), one.end());
    }
    return known ? all : Literals();
  }

  Literals sequence(int depth) {
    Literals best;
    std::string run;
    while (more() && peek() != '|' && peek() != ')') step(depth, best, run);
    keep(best, {run});
    return best;
  }

  void step(int depth, Literals& best, std::string& run) {
    if (peek() == '(') return group(depth, best, run);
    std::string literal = atom();
    const bool optional = quantified();
    if (!optional && !literal.empty()) {
      run += literal;
      return;
    }
    keep(best, {run});
    run.clear();
  }

  void group(int depth, Literals& best, std::string& run) {
    keep(best, {run});
    run.clear();
    at_++;
    if (depth == kMaxDepth || (more() && peek() == '?')) {  // flags and such: not worth reading
      at_ = pattern_.size() + 1;
      return;
    }
    const Literals inner = alternatives(depth + 1);
    if (more()) at_++;  // )
    if (!quantified()) keep(best, inner);
  }

  /// The character that stands for itself; "" for a class or a dot.
  std::string atom() {
    const char c = pattern_[at_++];
    if (c == '[') {
      while (more() && peek() != ']') at_++;
      at_ = std::min(at_ + 1, pattern_.size());
      return {};
    }
    if (c == '\\' && more()) {
      const char escaped = pattern_[at_++];
      const bool is_class = (escaped >= 'a' && escaped <= 'z') || (escaped >= 'A' && escaped <= 'Z');
      return is_class ? std::string() : std::string(1, escaped);
    }
    return c == '.' || c == '^' || c == '$' ? std::string() : std::string(1, c);
  }

  /// Takes what follows an atom; true if the atom may be missing or come more than once.
  bool quantified() {
    bool any = false;
    while (more() && (peek() == '*' || peek() == '?' || peek() == '+' || peek() == '{')) {
      any = true;
      if (peek() == '{') at_ = std::min(pattern_.find('}', at_), pattern_.size() - 1);
      at_++;
    }
    return any;
  }

  static void keep(Literals& best, const Literals& candidate) {
    if (shortest(candidate) > shortest(best)) best = candidate;
  }

  std::string_view pattern_;
  size_t at_ = 0;
};

}  // namespace

PatternText::PatternText(std::string text) : text_(std::move(text)) {
  for (size_t i = 0; i + 1 < text_.size(); i++) pairs_.set(pair_of(text_, i));
}

bool PatternText::contains(std::string_view literal) const {
  for (size_t i = 0; i + 1 < literal.size(); i++) {
    if (!pairs_.test(pair_of(literal, i))) return false;
  }
  return text_.find(literal) != std::string::npos;
}

LazyPattern::LazyPattern(std::string text) : text_(std::move(text)), literals_(required_literals(text_)) {}
LazyPattern::~LazyPattern() = default;

const RE2& LazyPattern::compiled() const {
  std::call_once(once_, [this] { pattern_ = std::make_unique<RE2>(text_, options()); });
  return *pattern_;
}

bool LazyPattern::fits(const PatternText& text) const {
  const bool possible =
      literals_.empty() || std::any_of(literals_.begin(), literals_.end(),
                                       [&](const std::string& literal) { return text.contains(literal); });
  return possible && RE2::FullMatch(text.text(), compiled());
}

bool LazyPattern::is_valid() const {
  return compiled().ok();
}

std::vector<std::string> required_literals(std::string_view pattern) {
  return LiteralReader(pattern).read();
}

}  // namespace nl::analyze
