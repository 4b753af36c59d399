#include "ingest/rows/number_style.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest {
namespace {

constexpr std::string_view kAbsentWords[] = {"nan",
                                             "-nan",
                                             "+nan",
                                             "nan(ind)",
                                             "-nan(ind)",
                                             "inf",
                                             "-inf",
                                             "+inf",
                                             "infinity",
                                             "-infinity",
                                             "n/a",
                                             "na",
                                             "no data",
                                             "none",
                                             "[n/a]",
                                             "[not supported]",
                                             "-",
                                             "--",
                                             "null",
                                             "not supported",
                                             "[unknown error]",
                                             "[insufficient permissions]",
                                             "[gpu requires reset]",
                                             "[gpu is lost]"};
constexpr size_t kLongestNumber = 64;

bool are_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_digit);
}

/// A number without its group separators that are neither point nor comma: blanks, narrow or not breaking,
/// and apostrophes. They stand between a digit and three more.
std::string without_blanks(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    size_t length = 0;
    if (text[i] == ' ' || text[i] == '\'') length = 1;
    if (text.substr(i).starts_with("\xC2\xA0")) length = 2;
    if (text.substr(i).starts_with("\xE2\x80\xAF") || text.substr(i).starts_with("\xE2\x80\x99")) length = 3;
    const std::string_view group = text.substr(i + length, 3);
    const bool separates = length > 0 && !out.empty() && is_digit(out.back()) && group.size() == 3 &&
                           are_digits(group) &&
                           (i + length + 3 == text.size() || !is_digit(text[i + length + 3]));
    if (length > 0 && !separates) return std::string(text);
    if (length == 0) out += text[i];
    i += length == 0 ? 0 : length - 1;
  }
  return out;
}

/// Groups of three behind one to three digits.
bool is_grouped(std::string_view text, char separator) {
  size_t from = text.find(separator);
  if (from == 0 || from > 3 || text[0] == '0') return false;
  for (; from != std::string_view::npos; from = text.find(separator, from + 1)) {
    const size_t next = text.find(separator, from + 1);
    const size_t size = (next == std::string_view::npos ? text.size() : next) - from - 1;
    if (size != 3) return false;
  }
  return true;
}

/// What the digits alone say: which sign is decimal, or that it may be either.
struct Form {
  bool is_number = false;
  bool has_signs = false;  ///< a point or a comma
  DecimalSign sign = DecimalSign::kUnknown;
};

DecimalSign sign_of(char decimal) {
  return decimal == '.' ? DecimalSign::kPoint : DecimalSign::kComma;
}

Form form_of_both(std::string_view digits) {
  const size_t last = digits.find_last_of(".,");
  const char decimal = digits[last];
  const char group = decimal == '.' ? ',' : '.';
  if (std::count(digits.begin(), digits.end(), decimal) != 1) return {};
  return {is_grouped(digits.substr(0, last), group), true, sign_of(decimal)};
}

Form form_of(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789.,") != std::string_view::npos) return {};
  if (!is_digit(digits.front()) || !is_digit(digits.back())) return {};
  const auto points = std::count(digits.begin(), digits.end(), '.');
  const auto commas = std::count(digits.begin(), digits.end(), ',');
  if (points == 0 && commas == 0) return {true, false, DecimalSign::kUnknown};
  if (points > 0 && commas > 0) return form_of_both(digits);
  const char sign = points > 0 ? '.' : ',';
  const char other = points > 0 ? ',' : '.';
  const bool grouped = is_grouped(digits, sign);
  if (points + commas > 1) return {grouped, true, sign_of(other)};
  return {true, true, grouped ? DecimalSign::kUnknown : sign_of(sign)};
}

/// Sign, digits with separators, exponent.
struct Parts {
  std::string_view minus;
  std::string digits;
  std::string_view exponent;
  std::string_view instances;
};

bool is_exponent(std::string_view text) {
  if (text.empty()) return true;
  text.remove_prefix(1);
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.size() <= 4 && are_digits(text);
}

bool split_number(std::string_view text, Parts& parts) {
  if (const size_t open = text.find(" ("); open != std::string_view::npos && text.ends_with(')')) {
    parts.instances = text.substr(open + 2, text.size() - open - 3);
    text = text.substr(0, open);
  }
  if (text.size() > kLongestNumber) return false;
  if (text.starts_with('-')) parts.minus = text.substr(0, 1);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) parts.exponent = text.substr(e);
  if (!is_exponent(parts.exponent)) return false;
  parts.digits = without_blanks(text.substr(0, e));
  return true;
}

std::string plain(const Parts& parts, DecimalSign sign) {
  std::string out(parts.minus);
  const char decimal = sign == DecimalSign::kComma ? ',' : '.';
  for (const char c : parts.digits) {
    if (is_digit(c)) out += c;
    if (c == decimal) out += '.';
  }
  return out + std::string(parts.exponent);
}

bool is_absent(std::string_view text) {
  if (text.size() > 32) return false;
  const std::string word = lower(text);
  return std::find(std::begin(kAbsentWords), std::end(kAbsentWords), word) != std::end(kAbsentWords);
}

}  // namespace

void NumberEvidence::add(std::string_view value) {
  Parts parts;
  if (!split_number(trimmed(value), parts)) return;
  const Form form = form_of(parts.digits);
  if (!form.is_number) return;
  point_ += form.sign == DecimalSign::kPoint ? 1 : 0;
  comma_ += form.sign == DecimalSign::kComma ? 1 : 0;
}

DecimalSign NumberEvidence::sign() const {
  if (contradicts() || (point_ == 0 && comma_ == 0)) return DecimalSign::kUnknown;
  return point_ > 0 ? DecimalSign::kPoint : DecimalSign::kComma;
}

PrintedNumber read_number(std::string_view text, DecimalSign sign) {
  using Kind = PrintedNumber::Kind;
  text = trimmed(text);
  if (text.empty()) return {Kind::kAbsent, {}, "empty", {}};
  if (is_absent(text)) return {Kind::kAbsent, {}, text, {}};
  Parts parts;
  if (!split_number(text, parts)) return {};
  const Form form = form_of(parts.digits);
  if (!form.is_number) return {};
  const bool known = form.sign != DecimalSign::kUnknown || sign != DecimalSign::kUnknown;
  const bool fits = form.sign == sign || form.sign == DecimalSign::kUnknown || sign == DecimalSign::kUnknown;
  if (form.has_signs && (!known || !fits)) return {Kind::kAmbiguous, {}, {}, {}};
  return {Kind::kNumber,
          plain(parts, form.sign == DecimalSign::kUnknown ? sign : form.sign),
          {},
          parts.instances};
}

}  // namespace nl::ingest
