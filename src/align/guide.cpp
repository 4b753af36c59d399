#include "align/guide.h"

#include <algorithm>

namespace nl::align {

std::vector<uint32_t> band_of(std::span<const Features> rows, std::span<const Features> columns,
                              size_t width) {
  std::vector<uint32_t> low(rows.size() + 1, 0);
  const size_t most = columns.size() + 1 - width;
  for (size_t i = 0; i <= rows.size(); i++) {
    const size_t centre = i * columns.size() / rows.size();
    low[i] = static_cast<uint32_t>(std::min(most, centre > width / 2 ? centre - width / 2 : 0));
  }
  return low;
}

}  // namespace nl::align
