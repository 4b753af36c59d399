#include "model/labels.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace nl::model {
namespace {

constexpr std::string_view kFields[] = {"backend",  "device",  "dropped", "file", "format",
                                        "imported", "kernels", "records", "run",  "tag"};

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_mark(char c) {
  return c == '_' || c == '.' || c == '-';
}
bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == 127;
}

/// Bytes of the character at the front, 0 if it is not UTF-8 (too long, a surrogate, cut off).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Error bad(const std::string& message, const std::string& hint) {
  return Error{ErrorCode::kBadInput, message, hint};
}

/// For a message: short, and without what could disturb a terminal.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 40)) out += is_control(c) || (c & 0x80) != 0 ? '?' : c;
  return out + (text.size() > 40 ? "…\"" : "\"");
}

}  // namespace

Result<void> check_label_key(std::string_view key) {
  const bool fine =
      !key.empty() && key.size() <= kMaxLabelKeyBytes && is_lower(key[0]) &&
      std::all_of(key.begin(), key.end(), [](char c) { return is_lower(c) || is_digit(c) || is_mark(c); });
  if (!fine) {
    return bad("not a valid key for a label: " + quoted(key),
               "a key has 1 to 64 characters of a-z 0-9 _ . - and starts with a letter");
  }
  if (std::find(std::begin(kFields), std::end(kFields), key) != std::end(kFields)) {
    return bad("not a valid key for a label, because every run has a field of this name: " + std::string(key),
               "choose another key");
  }
  return {};
}

Result<void> check_label_value(std::string_view key, std::string_view value) {
  const std::string of = "the value of " + std::string(key);
  if (value.empty()) return bad(of + " is empty", "write key=value");
  if (value.size() > kMaxLabelValueBytes) {
    return Error{ErrorCode::kLimit, of + " has " + std::to_string(value.size()) + " bytes",
                 "at most 1024; a longer text is a note: neurolens note RUN \"text\""};
  }
  if (!is_utf8(value) || std::any_of(value.begin(), value.end(), is_control)) {
    return bad(of + " is not plain UTF-8 text: " + quoted(value), "no control characters, no line breaks");
  }
  return {};
}

Result<void> check_name(std::string_view what, std::string_view name) {
  const auto plain = [](char c) { return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c); };
  const bool fine = !name.empty() && name.size() <= kMaxLabelKeyBytes && plain(name[0]) &&
                    std::all_of(name.begin(), name.end(), [&](char c) { return plain(c) || is_mark(c); });
  if (fine) return {};
  return bad("not a valid name for a " + std::string(what) + ": " + quoted(name),
             "a name has 1 to 64 characters of A-Z a-z 0-9 _ . - and starts with a letter or a digit");
}

Result<void> check_note(std::string_view text) {
  if (text.empty()) return bad("the note is empty", "neurolens note RUN \"text\"");
  if (text.size() > kMaxNoteBytes) {
    return Error{ErrorCode::kLimit, "the note has " + std::to_string(text.size()) + " bytes",
                 "at most 16384"};
  }
  const bool plain =
      std::none_of(text.begin(), text.end(), [](char c) { return is_control(c) && c != '\n' && c != '\t'; });
  if (!plain || !is_utf8(text)) return bad("the note is not plain UTF-8 text", "no control characters");
  return {};
}

bool label_number(std::string_view text, double& out) {
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, out);
  return fault == std::errc() && stop == end && std::isfinite(out);
}

}  // namespace nl::model
