#include "fingerprint/dimensions.h"

#include <algorithm>

namespace nl::fingerprint {
namespace {

constexpr std::array<DimensionInfo, kDimensions> with_places(std::array<DimensionInfo, kDimensions> list) {
  size_t column = 0;
  for (DimensionInfo& one : list) {
    one.first_column = column;
    column += one.columns;
  }
  return list;
}

constexpr std::array<DimensionInfo, kDimensions> kInfos = with_places({
{
#define NL_DIMENSION(id, columns, kind, weight, name, formula)    \
  { #id, columns, DimensionKind::kind, weight, name, formula, 0 } \
  ,
#include "fingerprint/dimensions.def"
#undef NL_DIMENSION
}
});

}  // namespace

std::span<const DimensionInfo, kDimensions> all_dimensions() {
  return kInfos;
}

const DimensionInfo& info(Dimension dimension) {
  return kInfos[static_cast<size_t>(dimension)];
}

std::optional<Dimension> find_dimension(std::string_view id) {
  const auto it = std::find_if(kInfos.begin(), kInfos.end(), [&](const auto& one) { return one.id == id; });
  if (it == kInfos.end()) return std::nullopt;
  return static_cast<Dimension>(it - kInfos.begin());
}

double weight_of(Mask mask) {
  double sum = 0;
  for (size_t i = 0; i < kDimensions; i++) {
    if (has(mask, static_cast<Dimension>(i))) sum += kInfos[i].weight;
  }
  return sum;
}

size_t columns_of(Mask mask) {
  size_t sum = 0;
  for (size_t i = 0; i < kDimensions; i++) {
    if (has(mask, static_cast<Dimension>(i))) sum += kInfos[i].columns;
  }
  return sum;
}

}  // namespace nl::fingerprint
