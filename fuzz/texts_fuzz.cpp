// Fuzz harness over the code that writes texts of profiles for others: redaction, and arguments and names in
// exports. Whatever the bytes are, a redacted text shows no word that is not public, what was redacted can be
// mapped back, and what goes into an export is UTF-8. A broken promise is printed and traps.

#include <cstdint>
#include <string>

#include "base/demangle.h"
#include "base/utf8.h"
#include "exports/safe_utf8.h"
#include "exports/timeline/json_annotations.h"
#include "promise.h"
#include "redact/letters.h"
#include "redact/public_words.h"
#include "redact/text_redactor.h"

namespace nl {
namespace {

/// Letters in a row that hold no capital behind a small letter, the shortest way to cut words.
bool shows_only_public_words(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && redact::is_lower(text[end])) end++;
    const bool is_whole = at == 0 || !redact::is_upper(text[at - 1]);
    const std::string_view word = text.substr(at, end - at);
    const bool is_made_up =
        word.size() >= 16 || word.find_first_not_of("hjkqvwxyaeiou") == std::string_view::npos;
    if (is_whole && word.size() > 1 && !is_made_up && !redact::is_public_word(word)) return false;
    at = end + 1;
  }
  return true;
}

void check_redaction(std::string_view given) {
  redact::Pseudonyms pseudonyms("key", {});
  redact::TextRedactor redactor(pseudonyms, {});
  const std::string shown = redactor.text(given);
  if (!is_mangled(given)) {
    require(shows_only_public_words(shown), "a redacted text shows public words alone", shown);
    const bool is_plain =
        given.find("{nl") == std::string_view::npos && given.find("_Z") == std::string_view::npos;
    if (is_plain)
      require(redact::revealed(shown, pseudonyms.known()) == given, "a redacted text can be mapped back",
              given);
  }
  (void)redactor.json(given);
  (void)redactor.version(given);
  (void)redact::revealed(given, pseudonyms.known());
}

void check_exports(std::string_view given) {
  std::string scratch;
  require(is_utf8(exports::safe_utf8(given, scratch)), "a text in an export is UTF-8", given);
  exports::ProtoWriter out;
  const bool written =
      exports::write_json_annotations(out, 4, given, [&](std::string_view name) { out.bytes(10, name); });
  require(written || out.size() == 0, "nothing is written of what is no object", given);
}

}  // namespace
}  // namespace nl

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  nl::check_redaction(given);
  nl::check_exports(given);
  return 0;
}
