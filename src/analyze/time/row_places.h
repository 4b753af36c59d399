#pragma once
// RowPlaces: where the row of a name or of a span stands in a list that grows. A device with little work in a
// large run asks for few of them, and then nothing of the size of the run is filled.

#include <unordered_map>
#include <vector>

#include "analyze/load/timeline.h"

namespace nl::analyze {

class RowPlaces {
 public:
  /// `keys`: how many there are; `asked`: how many are asked for, at most.
  RowPlaces(size_t keys, size_t asked) : dense_(asked >= keys / kSparse ? keys : 0, kNoRow) {}

  /// kNoRow until the caller sets it.
  uint32_t& operator[](size_t key) {
    return dense_.empty() ? sparse_.try_emplace(key, kNoRow).first->second : dense_[key];
  }

 private:
  static constexpr size_t kSparse = 16;  // a place in the map costs as much as some in the list

  PagedVector<uint32_t> dense_;
  std::unordered_map<size_t, uint32_t> sparse_;
};

}  // namespace nl::analyze
