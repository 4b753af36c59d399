#pragma once
// Pseudonyms: what stands in a redacted run for a word that may not be shown. The same word has the same
// pseudonym under the same key, so redacted runs can be compared with each other. Whoever has the key and the
// list can map a pseudonym back; nobody else can tell more than which words are equal.
//
// A pseudonym of a word is eight syllables that no name has: "hukoyijewavuxoqi". Code that looks for words
// in names takes it for one word. Ids and long numbers become "4N81253307716", which
// is neither a word nor a number for such code.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nl::redact {

/// Pseudonym to what it stands for.
using KnownPseudonyms = std::map<std::string, std::string>;

class Pseudonyms {
 public:
  /// `known`: those that were given out before.
  Pseudonyms(std::string key, KnownPseudonyms known);

  /// Of a word in lower case.
  const std::string& of_word(std::string_view word);
  /// Of another text that must not be shown, such as a long number or an address.
  const std::string& of_id(std::string_view id);
  /// 64 hex digits in the place of a hash.
  std::string of_hash(std::string_view hash) const;

  const KnownPseudonyms& known() const { return known_; }
  /// How often one was put in the place of something.
  int64_t used() const { return used_; }
  /// Those that were not known before.
  const KnownPseudonyms& added() const { return added_; }

 private:
  using Spell = std::string (*)(std::string_view digest);
  const std::string& given(std::string_view kind, std::string_view original, Spell spell);

  std::string key_;
  KnownPseudonyms known_, added_;
  int64_t used_ = 0;
  std::unordered_map<std::string, std::string> by_original_;
};

/// 32 random bytes in hex.
std::string new_redaction_key();

/// The text with what the pseudonyms in it stand for.
std::string revealed(std::string_view text, const KnownPseudonyms& known);

/// The word with its first letter, or all of them, in upper case where `like` has them so.
std::string in_case_of(std::string word, std::string_view like);

}  // namespace nl::redact
