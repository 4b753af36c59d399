#include "model/batch.h"

#include <algorithm>

namespace nl::model {

void Rows::grow(size_t columns) {
  const size_t capacity = capacity_ == 0 ? 512 : capacity_ * 2;
  auto cells = std::make_unique_for_overwrite<int64_t[]>(capacity * columns);
  for (size_t c = 0; c < columns; c++) {
    int64_t* to = cells.get() + c * capacity;
    if (size_ > 0) std::memcpy(to, cells_.get() + c * capacity_, size_ * sizeof(int64_t));
    std::fill(to + size_, to + capacity, kNull);
  }
  cells_ = std::move(cells);
  capacity_ = capacity;
}

char* TextArena::reserve(size_t size) {
  if (size > left_) {
    const size_t chunk = std::max<size_t>(size, 64 << 10);
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk));
    next_ = chunks_.back().get();
    left_ = chunk;
  }
  char* const out = next_;
  next_ += size;
  left_ -= size;
  return out;
}

std::string_view TextArena::keep(std::string_view text) {
  char* const out = reserve(text.size());
  std::memcpy(out, text.data(), text.size());
  return {out, text.size()};
}

}  // namespace nl::model
