#pragma once
// TextRedactor: replaces the words of a text that are not public by pseudonyms, and leaves everything between
// them as it is. So "acme::router_gemm<128>" becomes "hukoyijewavuxoqi::router_gemm<128>", and code that
// reads names (classes, layers, tiles) finds in it what it found before.
//
// Words are letters, cut as people cut names: fusedGEMMKernel has three. Single letters and short numbers
// stay, unless they stand so close together that they may be a key or an id. Addresses of machines and UUIDs
// go as a whole, and so does a number of seven digits or more beside letters. Not for use from several
// threads at once.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "redact/pseudonyms.h"

namespace nl::redact {

/// In lower case.
struct WordRules {
  std::set<std::string, std::less<>> also_public = {};
  std::set<std::string, std::less<>> also_private = {};
};

class TextRedactor {
 public:
  TextRedactor(Pseudonyms& pseudonyms, WordRules rules) : pseudonyms_(pseudonyms), rules_(std::move(rules)) {}

  /// Of a name, a path or a sentence. A mangled name stays one.
  std::string text(std::string_view given);
  /// Of JSON: the texts in it; its numbers stay. What is not JSON is redacted as a text.
  std::string json(std::string_view given);
  /// Of the number of a version: only its words.
  std::string version(std::string_view given) { return words(given, {.numbers = false, .crumbs = true}); }

 private:
  struct Hide {
    bool numbers = true;  ///< long ones
    bool crumbs = true;   ///< letters and digits that may be an id
  };
  bool is_public(std::string_view lower_word) const;
  std::string plain(std::string_view given);
  std::string words(std::string_view given, Hide hide);
  void add_run(std::string_view run, Hide hide, std::string& out);
  void add_crumbs(std::string_view crumbs, Hide hide, std::string& out);
  std::string mangled(std::string_view given);

  Pseudonyms& pseudonyms_;
  WordRules rules_;
};

}  // namespace nl::redact
