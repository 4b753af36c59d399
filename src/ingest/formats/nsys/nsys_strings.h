#pragma once
// NsysStrings: the table StringIds of an nsys export. That table also holds whole environments and the output
// of programs, so only strings that a stored row refers to are ever read. One thread.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/sqlite/sqlite_file.h"
#include "model/batch.h"

namespace nl::ingest {

class NsysStrings {
 public:
  static constexpr size_t kMaxKeptBytes = 256 << 20;
  static constexpr size_t kMaxNameBytes = 1 << 20;
  static constexpr size_t kMaxStrings = 16 << 20;

  /// The file must outlive this.
  explicit NsysStrings(SqliteFile& file) : file_(file) {}
  /// Notes where the strings are.
  Result<void> open();

  /// The string as one of the batch of the last begin_batch; kNull if there is none that is a name.
  int64_t cell(int64_t id) {
    Entry* const entry = find(id);
    if (entry == nullptr) return model::kNull;
    if (entry->batch == batch_number_) return entry->cell;
    return add_to_batch(*entry);
  }
  /// Empty if there is none; valid as long as this.
  std::string_view text(int64_t id);
  void begin_batch(model::Batch& batch) {
    batch_ = &batch;
    batch_number_++;
    batch_bytes_ = 0;
  }
  /// Text that the batch got from here.
  size_t batch_bytes() const { return batch_bytes_; }
  /// The first error of reading a string; the strings from there on are empty.
  const std::optional<Error>& failed() const { return failed_; }
  /// Strings that are no names: environments, bytes that are not text, or longer than kMaxNameBytes.
  int64_t refused() const { return refused_; }

 private:
  struct Entry {
    int64_t id = 0;
    SqlitePlace place = {};
    int32_t text = kUnread;
    uint32_t batch = 0;
    int64_t cell = 0;
  };
  static constexpr int32_t kUnread = -1;
  static constexpr int32_t kRefused = -2;

  Entry* find(int64_t id) {
    if (id >= 0 && static_cast<size_t>(id) < dense_.size()) {
      const int32_t at = dense_[static_cast<size_t>(id)];
      return at < 0 ? nullptr : &entries_[static_cast<size_t>(at)];
    }
    return dense_.empty() ? find_sorted(id) : nullptr;
  }
  Entry* find_sorted(int64_t id);
  int64_t add_to_batch(Entry& entry);
  std::string_view read(Entry& entry);
  Result<void> load(Entry& entry);
  void index();

  SqliteFile& file_;
  std::optional<SqliteScan> reader_;
  std::vector<Entry> entries_;     // in the order of ids
  std::vector<int32_t> dense_;     // id -> entry, if the ids are close together
  std::deque<std::string> texts_;  // stay where they are
  size_t text_bytes_ = 0;
  model::Batch* batch_ = nullptr;
  uint32_t batch_number_ = 0;
  size_t batch_bytes_ = 0;
  std::optional<Error> failed_;
  int64_t refused_ = 0;
};

}  // namespace nl::ingest
