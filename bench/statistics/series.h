#pragma once
// Series with known breaks.

#include <string_view>
#include <vector>

#include "noise.h"

namespace nl::bench {

struct KnownSeries {
  std::vector<double> values;
  std::vector<size_t> breaks;  ///< the first value of each new level
};

struct Shape {
  std::string_view name;
  KnownSeries (*make)(Noise& noise);
};

/// All kinds, in the order of the table.
const std::vector<Shape>& shapes();

}  // namespace nl::bench
