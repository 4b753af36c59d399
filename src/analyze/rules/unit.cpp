#include "analyze/rules/unit.h"

#include <algorithm>
#include <cstdlib>

namespace nl::analyze {

void Unit::multiply_by(std::string_view name, int exponent) {
  const auto at = std::find(kBase.begin(), kBase.end(), name);
  if (at != kBase.end()) exponents_[static_cast<size_t>(at - kBase.begin())] += exponent;
}

Unit Unit::of_metric(std::string_view name) {
  if (name == "count") return Unit(Kind::kCount);
  Unit unit(Kind::kAmount);
  const size_t slash = name.find('/');
  unit.multiply_by(name.substr(0, slash), 1);
  if (slash != std::string_view::npos) unit.multiply_by(name.substr(slash + 1), -1);
  return unit;
}

std::string Unit::text() const {
  if (kind_ == Kind::kConstant) return "";
  if (kind_ == Kind::kCount) return "count";
  if (is_plain()) return "ratio";
  std::string above;
  std::string below;
  for (size_t i = 0; i < kBase.size(); i++) {
    std::string& side = exponents_[i] > 0 ? above : below;
    for (int n = std::abs(exponents_[i]); n > 0; n--)
      side += (side.empty() ? "" : "*") + std::string(kBase[i]);
  }
  if (above.empty()) above = "1";
  return below.empty() ? above : above + "/" + below;
}

std::optional<Unit> Unit::common(const Unit& a, const Unit& b) {
  if (a.is_constant()) return b;
  if (b.is_constant() || a == b) return a;
  return std::nullopt;
}

Unit operator*(const Unit& a, const Unit& b) {
  if (a.is_constant() && b.is_constant()) return a;
  Unit product(Unit::Kind::kAmount);
  for (size_t i = 0; i < Unit::kBase.size(); i++) product.exponents_[i] = a.exponents_[i] + b.exponents_[i];
  const bool counts = a.kind_ == Unit::Kind::kCount || b.kind_ == Unit::Kind::kCount;
  if (counts && product.is_plain()) product.kind_ = Unit::Kind::kCount;
  return product;
}

Unit operator/(const Unit& a, const Unit& b) {
  if (a.is_constant() && b.is_constant()) return a;
  Unit quotient(Unit::Kind::kAmount);
  for (size_t i = 0; i < Unit::kBase.size(); i++) quotient.exponents_[i] = a.exponents_[i] - b.exponents_[i];
  const bool counts = a.kind_ == Unit::Kind::kCount && b.kind_ != Unit::Kind::kCount;
  if (counts && quotient.is_plain()) quotient.kind_ = Unit::Kind::kCount;
  return quotient;
}

}  // namespace nl::analyze
