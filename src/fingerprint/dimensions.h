#pragma once
// The dimensions of a fingerprint: the meaning, number of columns and weight of each. This is version 2; any
// change here needs a new version, because stored fingerprints would no longer be comparable. See
// docs/analysis/fingerprint.md.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "analyze/names/op_class.h"
#include "analyze/time/idle.h"
#include "analyze/work_pattern.h"

namespace nl::fingerprint {

inline constexpr int kVersion = 2;

/// The idle causes of version 1 and 2. Later ones are those of hosts, which have no idle dimension.
inline constexpr size_t kIdleColumns = static_cast<size_t>(analyze::IdleCause::kOutsideOps) + 1;

enum class Dimension : uint8_t {
#define NL_DIMENSION(id, columns, kind, weight, name, formula) id,
#include "fingerprint/dimensions.def"
#undef NL_DIMENSION
  kCount
};
inline constexpr size_t kDimensions = static_cast<size_t>(Dimension::kCount);

/// A number from 0 to 1, or shares that add up to at most 1.
enum class DimensionKind : uint8_t { kNumber, kShares };

struct DimensionInfo {
  std::string_view id;
  size_t columns;
  DimensionKind kind;
  double weight;
  std::string_view name;
  std::string_view formula;
  size_t first_column;
};

/// A set of dimensions, one bit each.
using Mask = uint32_t;
static_assert(kDimensions <= 32);

std::span<const DimensionInfo, kDimensions> all_dimensions();
const DimensionInfo& info(Dimension dimension);
std::optional<Dimension> find_dimension(std::string_view id);

inline constexpr Mask bit(Dimension dimension) {
  return Mask{1} << static_cast<unsigned>(dimension);
}
inline constexpr bool has(Mask mask, Dimension dimension) {
  return (mask & bit(dimension)) != 0;
}
/// Sum of the weights.
double weight_of(Mask mask);
/// Columns of all dimensions of the mask together.
size_t columns_of(Mask mask);

inline constexpr size_t kOpColumns = 32;
inline constexpr size_t kShapeColumns = 64;
inline constexpr size_t kWidthColumns = 32;
inline constexpr size_t kColumns = [] {
  size_t sum = 0;
#define NL_DIMENSION(id, columns, kind, weight, name, formula) sum += (columns);
#include "fingerprint/dimensions.def"
#undef NL_DIMENSION
  return sum;
}();

}  // namespace nl::fingerprint
