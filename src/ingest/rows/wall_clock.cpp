#include "ingest/rows/wall_clock.h"

#include <algorithm>

#include "base/decimal.h"
#include "base/text.h"

namespace nl::ingest {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

/// Takes parts off the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// Exactly so many digits.
  bool number(size_t digits, int64_t& out) {
    if (text_.size() < digits || text_.find_first_not_of("0123456789") < digits) return false;
    if (!parse_int64(text_.substr(0, digits), out)) return false;
    text_.remove_prefix(digits);
    return true;
  }
  bool one_of(std::string_view characters) {
    if (text_.empty() || characters.find(text_[0]) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::string_view digits() {
    const size_t end = std::min(text_.find_first_not_of("0123456789"), text_.size());
    const std::string_view taken = text_.substr(0, end);
    text_.remove_prefix(end);
    return taken;
  }
  void blanks() {
    while (one_of(" \t")) {
    }
  }
  bool at_end() const { return text_.empty(); }
  char next() const { return text_.empty() ? '\0' : text_[0]; }

 private:
  std::string_view text_;
};

bool is_leap(int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/// Days since 1970 of a day that exists.
std::optional<int64_t> days_since_1970(int64_t year, int64_t month, int64_t day) {
  constexpr int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1) return std::nullopt;
  const auto length = [&](int64_t m) { return kDays[m - 1] + (m == 2 && is_leap(year) ? 1 : 0); };
  if (day > length(month)) return std::nullopt;
  int64_t days = day - 1;
  for (int64_t y = 1970; y < year; y++) days += is_leap(y) ? 366 : 365;
  for (int64_t m = 1; m < month; m++) days += length(m);
  return days;
}

std::optional<int64_t> take_date(Scanner& scanner) {
  int64_t year = 0, month = 0, day = 0;
  if (!scanner.number(4, year)) return std::nullopt;
  const bool separated = scanner.one_of("/-");
  if (!scanner.number(2, month)) return std::nullopt;
  if (separated && !scanner.one_of("/-")) return std::nullopt;
  if (!scanner.number(2, day)) return std::nullopt;
  return days_since_1970(year, month, day);
}

/// Behind the point: at most nine digits count.
bool take_fraction(Scanner& scanner, WallTime& time) {
  if (!scanner.one_of(".,")) return true;
  std::string_view digits = scanner.digits();
  if (digits.empty()) return false;
  digits = digits.substr(0, 9);
  int64_t value = 0;
  if (!parse_int64(digits, value)) return false;
  for (size_t i = 0; i < 9; i++) {
    if (i < digits.size()) time.resolution_ns /= 10;
    if (i >= digits.size()) value *= 10;
  }
  time.ns += value;
  return true;
}

/// Z, +08:00, +0800, +08, or nothing.
bool take_zone(Scanner& scanner, WallTime& time) {
  scanner.blanks();
  if (scanner.at_end()) return true;
  time.has_zone = true;
  if (scanner.one_of("Zz")) return scanner.at_end();
  const bool behind = scanner.next() == '-';
  int64_t hours = 0, minutes = 0;
  if (!scanner.one_of("+-") || !scanner.number(2, hours) || hours > 14) return false;
  scanner.one_of(":");
  if (!scanner.at_end() && (!scanner.number(2, minutes) || minutes > 59)) return false;
  const int64_t offset = (hours * 60 + minutes) * 60 * kSecond;
  time.ns += behind ? offset : -offset;
  return scanner.at_end();
}

std::optional<WallTime> parse_unix(std::string_view text) {
  int64_t whole = 0;
  if (!parse_int64(text.substr(0, text.find('.')), whole)) return std::nullopt;
  struct Size {
    int64_t from;
    int scale;
  };
  constexpr Size kSizes[] = {
      {100'000'000'000'000'000, 0}, {100'000'000'000'000, 3}, {100'000'000'000, 6}, {100'000'000, 9}};
  for (const Size& size : kSizes) {
    if (whole < size.from) continue;
    WallTime time{0, true, 1};
    if (parse_decimal(text, size.scale, time.ns) == DecimalParse::kBad) return std::nullopt;
    const size_t point = text.find('.');
    const size_t decimals = point == std::string_view::npos ? 0 : text.size() - point - 1;
    for (int i = static_cast<int>(decimals); i < size.scale; i++) time.resolution_ns *= 10;
    return time;
  }
  return std::nullopt;
}

}  // namespace

std::optional<WallTime> parse_wall_time(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 40) return std::nullopt;
  Scanner scanner(text);
  const auto days = take_date(scanner);
  if (!days || !(scanner.one_of("T") || scanner.next() == ' ')) return parse_unix(text);
  scanner.blanks();
  int64_t hours = 0, minutes = 0, seconds = 0;
  if (!scanner.number(2, hours) || !scanner.one_of(":") || !scanner.number(2, minutes) ||
      !scanner.one_of(":") || !scanner.number(2, seconds)) {
    return std::nullopt;
  }
  if (hours > 23 || minutes > 59 || seconds > 60) return std::nullopt;
  WallTime time;
  time.ns = (((*days * 24 + hours) * 60 + minutes) * 60 + seconds) * kSecond;
  if (!take_fraction(scanner, time) || !take_zone(scanner, time)) return std::nullopt;
  return time;
}

}  // namespace nl::ingest
