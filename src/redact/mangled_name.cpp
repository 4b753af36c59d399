#include "redact/mangled_name.h"

#include <algorithm>

#include "base/text.h"
#include "redact/letters.h"

namespace nl::redact {
namespace {

class NamesChanger {
 public:
  NamesChanger(std::string_view text, const std::function<std::string(std::string_view)>& changed)
      : text_(text), changed_(changed) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == 'S' || c == 'T') return copy_to(end_of_reference());
    if (c == 'L' && at_ + 1 < text_.size() && is_lower(text_[at_ + 1])) return copy_to(end_of_literal());
    if (const size_t end = end_of_built_in(); end > at_) return copy_to(end);
    if (is_digit(c)) return take_name();
    copy_to(at_ + 1);
  }

  void copy_to(size_t end) {
    end = std::min(end, text_.size());
    out_ += text_.substr(at_, end - at_);
    at_ = end;
  }

  /// Behind S_, S1A_, T_ or T0_.
  size_t end_of_reference() const {
    size_t end = at_ + 1;
    while (end < text_.size() && (is_digit(text_[end]) || is_upper(text_[end]))) end++;
    return end < text_.size() && text_[end] == '_' ? end + 1 : at_ + 1;
  }

  /// Li128E, Lb1E, Lin1E: their digits are no lengths.
  size_t end_of_literal() const {
    const size_t digits = at_ + (text_.substr(at_ + 2).starts_with('n') ? 3 : 2);
    return past_digits(digits);
  }

  /// DF16b and DF16_ are types of 16 bits, A8_ an array and Dv4_ a vector; `at_` if it is none of these.
  size_t end_of_built_in() const {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("DF")) return past_digits(at_ + 2) + 1;
    const size_t digits = at_ + (rest.starts_with("A") ? 1 : rest.starts_with("Dv") ? 2 : 0);
    const size_t end = past_digits(digits);
    return digits > at_ && end > digits && end < text_.size() && text_[end] == '_' ? end + 1 : at_;
  }
  size_t past_digits(size_t at) const {
    while (at < text_.size() && is_digit(text_[at])) at++;
    return at;
  }

  void take_name() {
    size_t begin = at_, length = 0;
    while (begin < text_.size() && is_digit(text_[begin]) && length < text_.size())
      length = length * 10 + static_cast<size_t>(text_[begin++] - '0');
    if (length == 0) return copy_to(begin);
    const std::string name = changed_(text_.substr(begin, length));
    const bool is_cut = length > text_.size() - begin;  // then its length says nothing, and stays
    out_ += is_cut ? std::string(text_.substr(at_, begin - at_)) : std::to_string(name.size());
    out_ += name;
    at_ = std::min(begin + length, text_.size());
  }

  std::string_view text_;
  const std::function<std::string(std::string_view)>& changed_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string with_names(std::string_view mangled,
                       const std::function<std::string(std::string_view)>& changed) {
  return NamesChanger(mangled, changed).run();
}

}  // namespace nl::redact
