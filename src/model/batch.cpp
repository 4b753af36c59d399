#include "model/batch.h"

#include <algorithm>
#include <mutex>

namespace nl::model {

#define NL_TABLE(table, kind, doc) static_assert(size_t{table::kColumns} <= Rows::kMaxColumns);
#define NL_COLUMN(column, type, unit, doc)
#define NL_END(table)
#include "model/tables.def"
#undef NL_TABLE
#undef NL_COLUMN
#undef NL_END

void Rows::start_column(int c) {
  auto& cells = columns_[static_cast<size_t>(c)];
  if (cells == nullptr) cells = std::make_unique_for_overwrite<int64_t[]>(capacity_);
  std::fill_n(cells.get(), capacity_, kNull);
  used_ |= uint64_t{1} << c;
}

void Rows::grow() {
  const size_t capacity = capacity_ == 0 ? 512 : capacity_ * 2;
  for (size_t c = 0; c < kMaxColumns; c++) {
    if (!has_values(static_cast<int>(c))) {
      columns_[c] = nullptr;
      continue;
    }
    auto cells = std::make_unique_for_overwrite<int64_t[]>(capacity);
    std::copy_n(columns_[c].get(), size_, cells.get());
    std::fill(cells.get() + size_, cells.get() + capacity, kNull);
    columns_[c] = std::move(cells);
  }
  capacity_ = capacity;
}

void Rows::reserve(size_t rows) {
  if (rows <= capacity_) return;
  for (Cells& cells : columns_) cells = nullptr;
  capacity_ = rows;
}

void Rows::filter(const std::vector<bool>& keep) {
  size_t kept = 0;
  for (size_t row = 0; row < size_; row++) {
    if (!keep[row]) continue;
    for (size_t c = 0; c < kMaxColumns; c++) {
      if (has_values(static_cast<int>(c))) columns_[c][kept] = columns_[c][row];
    }
    kept++;
  }
  size_ = kept;
}

char* TextArena::reserve(size_t size) {
  if (size > left_) {
    const size_t chunk = std::max<size_t>(size, kChunk);
    if (chunks_.empty()) first_chunk_ = chunk;
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
  if (text.empty()) return "";  // an arena that holds nothing yet has no memory to point at
  char* const out = reserve(text.size());
  std::memcpy(out, text.data(), text.size());
  return {out, text.size()};
}

void TextArena::clear() {
  if (chunks_.size() > 1) chunks_.resize(1);
  next_ = nullptr;
  left_ = 0;
  if (!chunks_.empty() && first_chunk_ <= kChunk) {
    next_ = chunks_[0].get();
    left_ = first_chunk_;
  } else {
    chunks_.clear();
  }
}

void Batch::clear() {
  for (Rows& rows : rows_) rows.clear();
  strings.clear();
  arena.clear();
  track_ids.clear();
}

struct BatchPool::Shelf {
  static constexpr size_t kMaxKept = 8;
  std::mutex mutex;
  std::vector<std::unique_ptr<Batch>> batches;
  std::array<size_t, kTableCount> most_rows{};

  void put(std::unique_ptr<Batch> batch) {
    const std::lock_guard lock(mutex);
    if (batches.size() < kMaxKept) batches.push_back(std::move(batch));
  }
};

void BatchPool::expect_like(const Batch& batch) {
  const std::lock_guard lock(shelf_->mutex);
  for (size_t t = 0; t < kTableCount; t++) {
    const size_t rows = batch.rows(static_cast<TableId>(t)).size();
    shelf_->most_rows[t] = std::max(shelf_->most_rows[t], rows + rows / 16);
  }
}

std::shared_ptr<BatchPool::Shelf> BatchPool::make_shelf() {
  return std::make_shared<Shelf>();
}

std::shared_ptr<Batch> BatchPool::take() {
  std::unique_ptr<Batch> batch;
  std::array<size_t, kTableCount> room{};
  {
    const std::lock_guard lock(shelf_->mutex);
    if (!shelf_->batches.empty()) {
      batch = std::move(shelf_->batches.back());
      shelf_->batches.pop_back();
    }
    room = shelf_->most_rows;
  }
  if (batch == nullptr) batch = std::make_unique<Batch>();
  for (size_t t = 0; t < kTableCount; t++) batch->rows(static_cast<TableId>(t)).reserve(room[t]);
  return {batch.release(), [shelf = shelf_](Batch* done) {
            std::unique_ptr<Batch> owned(done);
            owned->clear();
            shelf->put(std::move(owned));
          }};
}

}  // namespace nl::model
