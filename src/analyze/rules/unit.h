#pragma once
// Unit: the unit of a figure in a rule, and the unit that results from sums, products and quotients. Pure
// values, any thread.
//
// A constant fits any unit. A count is not a ratio, so the two cannot be added or compared. But multiplying
// or dividing by a count does not change the unit: 12 launches x 5 us are 60 us. ns and s are different
// units: nothing is converted silently.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace nl::analyze {

class Unit {
 public:
  /// Of a number that stands in an expression.
  static Unit constant() { return Unit(Kind::kConstant); }
  /// From the spelling of the registry of metrics: ns, B, count, ratio, FLOP, FLOP/s or B/s.
  static Unit of_metric(std::string_view name);

  bool is_constant() const { return kind_ == Kind::kConstant; }
  /// ns, B/s, count, ratio; "" for a constant.
  std::string text() const;
  bool operator==(const Unit&) const = default;

  /// Of a sum, a difference, or the smaller of two; none if they cannot be compared.
  static std::optional<Unit> common(const Unit& a, const Unit& b);
  friend Unit operator*(const Unit& a, const Unit& b);
  friend Unit operator/(const Unit& a, const Unit& b);

 private:
  enum class Kind { kConstant, kCount, kAmount };  // an amount without exponents is a ratio
  static constexpr std::array<std::string_view, 4> kBase = {"ns", "s", "B", "FLOP"};

  explicit Unit(Kind kind) : kind_(kind) {}
  bool is_plain() const { return exponents_ == std::array<int, kBase.size()>{}; }
  void multiply_by(std::string_view name, int exponent);

  Kind kind_;
  std::array<int, kBase.size()> exponents_ = {};
};

}  // namespace nl::analyze
