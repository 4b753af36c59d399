#include "redact/text_redactor.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "base/demangle.h"
#include "base/json.h"
#include "base/text.h"
#include "redact/letters.h"
#include "redact/mangled_name.h"
#include "redact/public_words.h"

namespace nl::redact {
namespace {

constexpr size_t kMostCrumbs = 4;       // single letters and digits in a row that tell nothing
constexpr size_t kLongestNumber = 6;    // beside letters: larger ones are ids, addresses and times
constexpr size_t kMostFunctors = 1000;  // names that are compared in a mangled name

/// Parts of UTF-8 characters are letters of some language.
bool is_foreign(char c) {
  return (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_letter(char c) {
  return is_ascii_letter(c) || is_foreign(c);
}
bool is_wordlike(char c) {
  return is_letter(c) || is_digit(c);
}

/// End of the word that begins at `at`: "gemm", "Gemm", or "GEMM" of "GEMMKernel".
size_t end_of_word(std::string_view text, size_t at) {
  const auto past = [&](size_t from, bool (*belongs)(char)) {
    while (from < text.size() && belongs(text[from])) from++;
    return from;
  };
  if (is_foreign(text[at])) return past(at, is_foreign);
  const size_t capitals = past(at, is_upper), end = past(capitals, is_lower);
  const bool last_begins_another = capitals > at + 1 && end > capitals;
  return last_begins_another ? capitals - 1 : end;
}

/// 128x64, m16n8k16, s16816, f16f32, 16f32, a16w16, 0d1d2d: what names of kernels say of tiles and types.
bool is_kernel_figure(std::string_view crumbs) {
  static const re2::RE2 pattern(
      "(?i)[a-z]?\\d{1,6}(x\\d{1,5})*[a-z]?|m\\d{1,4}n\\d{1,4}k\\d{1,4}"
      "|0d1[0-9dec]*|(4|8|16|32|64)?([fsubiaw](4|8|16|32|64)){1,3}|e[1-8]m[0-7]");
  return re2::RE2::FullMatch({crumbs.data(), crumbs.size()}, pattern);
}

/// Addresses of machines and of memory, and universal ids.
const re2::RE2& identifying_forms() {
  static const re2::RE2 pattern(
      "(\\b\\d{1,3}(?:\\.\\d{1,3}){3}\\b"
      "|\\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\\b"
      "|\\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\\b"
      "|\\b0x[0-9a-fA-F]{4,}\\b"
      "|\\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\\b)");
  return pattern;
}

bool has_letters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_letter);
}

/// Numbers and nothing else: "[2, 1e-05]".
bool is_figures(std::string_view text) {
  static const re2::RE2 pattern("(?:[-+]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][-+]?\\d+)?|[\\s,;()\\[\\]])*");
  return re2::RE2::FullMatch({text.data(), text.size()}, pattern);
}

/// The text of a JSON string without its quotes; nothing if it is none.
std::optional<std::string> decoded(std::string_view quoted) {
  const auto value = nlohmann::json::parse(quoted.begin(), quoted.end(), nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::string encoded(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Behind the quote that ends the string which begins at `at`; npos if none does.
size_t end_of_string(std::string_view text, size_t at) {
  for (size_t i = at + 1; i < text.size(); i++) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') i++;
  }
  return std::string_view::npos;
}

}  // namespace

bool TextRedactor::is_public(std::string_view lower_word) const {
  if (rules_.also_private.contains(lower_word)) return false;
  return rules_.also_public.contains(lower_word) || is_public_word(lower_word);
}

std::string TextRedactor::text(std::string_view given) {
  return is_mangled(given) ? mangled(given) : plain(given);
}

std::string TextRedactor::plain(std::string_view given) {
  const bool is_figure =
      is_figures(given) && !re2::RE2::PartialMatch({given.data(), given.size()}, identifying_forms());
  if (is_figure) return std::string(given);
  std::string out;
  const bool hides_numbers = has_letters(given);
  re2::StringPiece form;
  for (std::string_view rest = given; !rest.empty();) {
    if (!re2::RE2::PartialMatch({rest.data(), rest.size()}, identifying_forms(), &form)) {
      out += words(rest, {.numbers = hides_numbers, .crumbs = true});
      break;
    }
    const auto before = static_cast<size_t>(form.data() - rest.data());
    out += words(rest.substr(0, before), {.numbers = hides_numbers, .crumbs = true});
    out += pseudonyms_.of_id({form.data(), form.size()});
    rest.remove_prefix(before + form.size());
  }
  return out;
}

std::string TextRedactor::words(std::string_view given, Hide hide) {
  std::string out;
  out.reserve(given.size());
  for (size_t at = 0; at < given.size();) {
    size_t end = at;
    while (end < given.size() && is_wordlike(given[end])) end++;
    if (end > at) add_run(given.substr(at, end - at), hide, out);
    if (end < given.size()) out += given[end++];
    at = end;
  }
  return out;
}

/// Letters and digits without anything between.
void TextRedactor::add_run(std::string_view run, Hide hide, std::string& out) {
  size_t crumbs = 0;  // where those begin that were not written yet
  for (size_t at = 0; at < run.size();) {
    if (is_digit(run[at])) {
      at++;
      continue;
    }
    const size_t end = end_of_word(run, at);
    if (end - at == 1) {
      at = end;
      continue;
    }
    add_crumbs(run.substr(crumbs, at - crumbs), hide, out);
    const std::string_view word = run.substr(at, end - at);
    const std::string plain_word = lower(word);
    out += is_public(plain_word) ? std::string(word) : in_case_of(pseudonyms_.of_word(plain_word), word);
    crumbs = at = end;
  }
  add_crumbs(run.substr(crumbs), hide, out);
}

/// Digits and single letters.
void TextRedactor::add_crumbs(std::string_view crumbs, Hide hide, std::string& out) {
  const bool tells = has_letters(crumbs)
                         ? hide.crumbs && crumbs.size() > kMostCrumbs && !is_kernel_figure(crumbs)
                         : hide.numbers && crumbs.size() > kLongestNumber;
  out += tells ? std::string_view(pseudonyms_.of_id(crumbs)) : crumbs;
}

std::string TextRedactor::json(std::string_view given) {
  std::string out;
  for (size_t at = 0; at < given.size();) {
    const size_t quote = std::min(given.find('"', at), given.size());
    out += words(given.substr(at, quote - at), {.numbers = false, .crumbs = false});
    if (quote == given.size()) break;
    const size_t end = end_of_string(given, quote);
    const auto inside =
        end == std::string_view::npos ? std::nullopt : decoded(given.substr(quote, end - quote));
    if (!inside) return plain(given);
    out += encoded(text(*inside));
    at = end;
  }
  return out;
}

/// Each name in it is redacted and gets its new length. What comes out must say what the readable form says;
/// if it does not, the readable form takes its place.
std::string TextRedactor::mangled(std::string_view given) {
  const std::string out = with_names(given, [this](std::string_view name) { return plain(name); });
  if (const auto readable = demangle(given)) {
    const std::string wanted = plain(*readable);
    return demangle(out) == wanted ? out : wanted;
  }
  const MangledNames before = names_in_mangled(given, kMostFunctors),
                     after = names_in_mangled(out, kMostFunctors);
  bool agrees = plain(before.function) == after.function && before.functors.size() == after.functors.size();
  for (size_t i = 0; agrees && i < before.functors.size(); i++)
    agrees = plain(before.functors[i]) == after.functors[i];
  return agrees ? out : plain(given);
}

}  // namespace nl::redact
