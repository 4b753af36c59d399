#include "base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "base/text.h"

namespace nl {
namespace {

// The text of n back references can reach 3^(n/3) times the name, that of nested packs their product.
constexpr size_t kMaxMangledBytes = 4096;
constexpr size_t kMaxDemangledBytes = 64 * 1024;
constexpr int kMaxBackReferences = 30;
constexpr int kMaxPacks = 2;

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

/// The end of S_, S1A_, T_ or T0_ at `at`; `at` if there is none.
size_t end_of_reference(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && (is_digit(text[end]) || is_upper(text[end]))) end++;
  return end < text.size() && text[end] == '_' ? end + 1 : at;
}

bool is_cheap(std::string_view mangled) {
  if (mangled.size() > kMaxMangledBytes) return false;
  int references = 0;
  int packs = 0;
  for (size_t i = 0; i + 1 < mangled.size(); i++) {
    if (mangled[i] == 'S' && end_of_reference(mangled, i) != i) references++;
    if (mangled[i] == 'D' && mangled[i + 1] == 'p') packs++;
  }
  return references <= kMaxBackReferences && packs <= kMaxPacks;
}

/// Reads names, one after the other. After N, a run of them without anything between is one qualified name.
class MangledReader {
 public:
  MangledReader(std::string_view text, size_t limit) : text_(text), limit_(limit) {}

  MangledNames read() {
    while (at_ < text_.size() && names_.functors.size() < limit_) step();
    finish();
    return std::move(names_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == 'S' || c == 'T') return skip_reference();
    if (c == 'L') return skip_literal();
    if (is_digit(c)) return take_name();
    if (c == 'D') return take_float16();
    if (c != 'K') finish();
    nested_ = c == 'N' || (nested_ && c == 'K');
    at_++;
  }

  /// References and St (std) stand inside of qualified names.
  void skip_reference() {
    const size_t end = end_of_reference(text_, at_);
    at_ = end == at_ ? at_ + 2 : end;
  }

  /// Li128E, Lb1E, Lin1E: their digits are no lengths.
  void skip_literal() {
    finish();
    at_++;
    if (at_ >= text_.size() || !is_lower(text_[at_])) return;
    at_++;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == 'n')) at_++;
  }

  void take_name() {
    size_t length = 0;
    while (at_ < text_.size() && is_digit(text_[at_]) && length < text_.size()) {
      length = length * 10 + static_cast<size_t>(text_[at_++] - '0');
    }
    if (length == 0 || length > text_.size() - at_) return finish();
    const std::string_view name = text_.substr(at_, length);
    at_ += length;
    if (name == "_GLOBAL__N_1") return;
    if (!current_.empty()) current_ += "::";
    current_ += name;
    if (!nested_) finish();
  }

  /// DF16b and DF16_: the built-in types of 16 bits.
  void take_float16() {
    finish();
    const std::string_view rest = text_.substr(at_);
    const bool known = rest.starts_with("DF16b") || rest.starts_with("DF16_");
    if (known && !names_.function.empty())
      names_.functors.push_back(rest[4] == 'b' ? "bfloat16_t" : "_Float16");
    at_ += known ? 5 : 2;
  }

  void finish() {
    if (current_.empty()) return;
    if (names_.function.empty()) {
      names_.function = std::move(current_);
    } else {
      names_.functors.push_back(std::move(current_));
    }
    current_.clear();
  }

  std::string_view text_;
  size_t limit_;
  size_t at_ = 2;  // after _Z
  bool nested_ = false;
  std::string current_;
  MangledNames names_;
};

}  // namespace

bool is_mangled(std::string_view raw) {
  return raw.size() > 3 && raw.starts_with("_Z") && (is_digit(raw[2]) || is_upper(raw[2]));
}

std::optional<std::string> demangle(std::string_view mangled) {
  if (!is_cheap(mangled)) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  const std::string_view view(text.get());
  if (view.size() > kMaxDemangledBytes) return std::nullopt;
  return std::string(view);
}

MangledNames names_in_mangled(std::string_view mangled, size_t limit) {
  return MangledReader(mangled, limit).read();
}

}  // namespace nl
