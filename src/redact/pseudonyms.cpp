#include "redact/pseudonyms.h"

#include <algorithm>
#include <cerrno>

#include "base/demangle.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "redact/letters.h"
#include "redact/mangled_name.h"

namespace nl::redact {
namespace {

// Rare ones, so that no real word comes out; without z, since names that begin with _Z are mangled.
constexpr std::string_view kConsonants = "hjkqvwxy";
constexpr std::string_view kVowels = "aeiou";
constexpr size_t kSyllables = 8;
constexpr size_t kWordLetters = 2 * kSyllables;
constexpr size_t kIdLetters = 13;
constexpr char kIdMark = 'N';

std::string syllables(std::string_view digest) {
  std::string word;
  for (size_t i = 0; i < kSyllables; i++) {
    word += kConsonants[static_cast<unsigned char>(digest[2 * i]) % kConsonants.size()];
    word += kVowels[static_cast<unsigned char>(digest[2 * i + 1]) % kVowels.size()];
  }
  return word;
}

std::string digits(std::string_view digest) {
  std::string number;
  for (size_t i = 0; i < kIdLetters - 1; i++)
    number += static_cast<char>('0' + static_cast<unsigned char>(digest[i]) % 10);
  return number.insert(1, 1, kIdMark);
}

size_t run_length(std::string_view text, size_t from, bool (*belongs)(char)) {
  size_t end = from;
  while (end < text.size() && belongs(text[end])) end++;
  return end - from;
}

}  // namespace

Pseudonyms::Pseudonyms(std::string key, KnownPseudonyms known)
    : key_(std::move(key)), known_(std::move(known)) {
  for (const auto& [pseudonym, original] : known_) by_original_[original] = pseudonym;
}

const std::string& Pseudonyms::of_word(std::string_view word) {
  return given("word ", word, syllables);
}
const std::string& Pseudonyms::of_id(std::string_view id) {
  return given("id ", id, digits);
}
std::string Pseudonyms::of_hash(std::string_view hash) const {
  return hex_of(hmac_sha256(key_, "hash " + std::string(hash)));
}

const std::string& Pseudonyms::given(std::string_view kind, std::string_view original, Spell spell) {
  used_++;
  const auto [it, is_new] = by_original_.try_emplace(std::string(original));
  if (!is_new) return it->second;
  const std::string text = std::string(kind) + it->first;
  for (int attempt = 0;;
       attempt++) {  // two words with one pseudonym are as good as impossible, but not quite
    const std::string again = attempt == 0 ? std::string() : " " + std::to_string(attempt);
    it->second = spell(hmac_sha256(key_, text + again));
    if (known_.try_emplace(it->second, original).second) break;
  }
  added_[it->second] = original;
  return it->second;
}

std::string new_redaction_key() {
  return hex_of(random_bytes(32));
}

std::string in_case_of(std::string word, std::string_view like) {
  const bool all = std::all_of(like.begin(), like.end(), is_upper);
  for (size_t i = 0; i < word.size() && (all || i == 0); i++) {
    if (is_upper(like[0]) && is_lower(word[i])) word[i] = static_cast<char>(word[i] - ('a' - 'A'));
  }
  return word;
}

namespace {

/// Behind " {nl ...}", which a redacted name states of the original, if one begins at `at`; else `at`.
size_t end_of_statement(std::string_view text, size_t at) {
  const size_t end = text.substr(at).starts_with(" {nl ") ? text.find('}', at) : std::string_view::npos;
  return end == std::string_view::npos ? at : end + 1;
}

bool is_name_part(char c) {
  return is_ascii_letter(c) || is_digit(c) || c == '_' || c == '$' || c == '.';
}

/// What stands for the pseudonym at `at`, or the one character there. How many were read.
size_t add_revealed(std::string_view text, size_t at, const KnownPseudonyms& known, std::string& out) {
  const bool is_word = run_length(text, at, is_ascii_letter) >= kWordLetters;
  const bool is_id = at + 1 < text.size() && is_digit(text[at]) && text[at + 1] == kIdMark;
  const std::string_view shown = text.substr(at, is_word ? kWordLetters : is_id ? kIdLetters : 1);
  const auto it = is_word ? known.find(lower(shown)) : is_id ? known.find(std::string(shown)) : known.end();
  if (it == known.end()) {
    out += text[at];
    return 1;
  }
  out += is_word ? in_case_of(it->second, shown) : it->second;
  return shown.size();
}

}  // namespace

std::string revealed(std::string_view text, const KnownPseudonyms& known) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool begins_name = at == 0 || !is_name_part(text[at - 1]);
    if (const size_t end = end_of_statement(text, at); end != at) {
      at = end;
    } else if (const size_t length = run_length(text, at, is_name_part);
               begins_name && is_mangled(text.substr(at, length))) {
      out +=
          with_names(text.substr(at, length), [&](std::string_view name) { return revealed(name, known); });
      at += length;
    } else {
      at += add_revealed(text, at, known, out);
    }
  }
  return out;
}

}  // namespace nl::redact
