#include "ingest/rows/metric_unit.h"

#include <charconv>

#include "base/decimal.h"
#include "base/text.h"

namespace nl::ingest {
namespace {

struct Part {
  std::string unit;
  int exponent = 0;
};

struct Word {
  std::string_view name;
  std::string_view unit;
  int exponent;
};

constexpr Word kWords[] = {
    {"nsecond", "ns", 0},     {"ns", "ns", 0},    {"usecond", "ns", 3}, {"us", "ns", 3},
    {"msecond", "ns", 6},     {"ms", "ns", 6},    {"second", "ns", 9},  {"s", "ns", 9},
    {"byte", "B", 0},         {"bytes", "B", 0},  {"kbyte", "B", 3},    {"mbyte", "B", 6},
    {"gbyte", "B", 9},        {"tbyte", "B", 12}, {"pbyte", "B", 15},   {"hz", "Hz", 0},
    {"khz", "Hz", 3},         {"mhz", "Hz", 6},   {"ghz", "Hz", 9},     {"thz", "Hz", 12},
    {"sectors", "sector", 0},
};

Part part_of(std::string_view text) {
  const std::string name = lower(text);
  for (const Word& word : kWords) {
    if (word.name == name) return {std::string(word.unit), word.exponent};
  }
  return {std::string(text), 0};
}

}  // namespace

BaseUnit base_unit(std::string_view source) {
  if (source.empty()) return {"1", 0};
  const size_t slash = source.find('/');
  const Part top = part_of(source.substr(0, slash));
  if (slash == std::string_view::npos) return {top.unit, top.exponent};
  Part bottom = part_of(source.substr(slash + 1));
  if (bottom.unit == "ns") bottom = {"s", bottom.exponent - 9};
  const int exponent = top.exponent - bottom.exponent;
  if (top.unit == "cycle" && bottom.unit == "s") return {"Hz", exponent};
  return {top.unit + "/" + bottom.unit, exponent};
}

std::optional<double> scaled_double(std::string_view decimal, int exponent) {
  const size_t e = decimal.find_first_of("eE");
  int64_t own = 0;
  if (e != std::string_view::npos) {
    std::string_view digits = decimal.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (!parse_int64(digits, own) || own > 1000 || own < -1000) return std::nullopt;
  }
  const std::string text = std::string(decimal.substr(0, e)) + "e" + std::to_string(own + exponent);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int decimals_of(std::string_view decimal) {
  const size_t point = decimal.find('.');
  if (point == std::string_view::npos) return 0;
  const size_t end = decimal.find_first_not_of("0123456789", point + 1);
  return static_cast<int>((end == std::string_view::npos ? decimal.size() : end) - point - 1);
}

}  // namespace nl::ingest
