#include "redact/public_words.h"

#include <unordered_set>

#include "redact/public_files.inc"

namespace nl::redact {
namespace {

std::unordered_set<std::string_view> lines_of(std::string_view text) {
  std::unordered_set<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

bool is_public_word(std::string_view word) {
  static const std::unordered_set<std::string_view> words = lines_of(kPublicFiles[0].text);
  return words.contains(word);
}

}  // namespace nl::redact
