#include "ingest/formats/nsys/nsys_strings.h"

#include <algorithm>

#include "ingest/source/utf8.h"

namespace nl::ingest {

Result<void> NsysStrings::open() {
  const SqliteTable* const table = file_.table("StringIds");
  if (table == nullptr) return {};
  const int id = table->column("id");
  const int value = table->column("value");
  if (id < 0 || value < 0) return {};
  const bool is_rowid = id == table->rowid_column;
  SqliteScan scan(file_.pages(), *table, is_rowid ? std::vector<int>{} : std::vector<int>{id});
  for (;;) {
    NL_TRY(const bool more, scan.next());
    if (!more) break;
    if (entries_.size() >= kMaxStrings) return Error{ErrorCode::kLimit, "StringIds has too many rows"};
    if (!is_rowid && (scan.too_long() || scan[0].kind != SqliteKind::kInteger)) continue;
    entries_.push_back({is_rowid ? scan.rowid() : scan[0].integer, scan.place()});
  }
  reader_.emplace(file_.pages(), *table, std::vector<int>{value});
  index();
  return {};
}

void NsysStrings::index() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.id < b.id; });
  const auto same = [](const Entry& a, const Entry& b) { return a.id == b.id; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  constexpr int64_t kSpare = 1 << 20;
  const auto count = static_cast<int64_t>(entries_.size());
  if (count == 0 || entries_[0].id < 0 || entries_.back().id > count * 8 + kSpare || count > INT32_MAX)
    return;
  dense_.assign(static_cast<size_t>(entries_.back().id) + 1, -1);
  for (size_t i = 0; i < entries_.size(); i++) {
    dense_[static_cast<size_t>(entries_[i].id)] = static_cast<int32_t>(i);
  }
}

NsysStrings::Entry* NsysStrings::find_sorted(int64_t id) {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), id,
                                   [](const Entry& entry, int64_t wanted) { return entry.id < wanted; });
  return it == entries_.end() || it->id != id ? nullptr : &*it;
}

std::string_view NsysStrings::text(int64_t id) {
  Entry* const entry = find(id);
  return entry == nullptr ? std::string_view() : read(*entry);
}

int64_t NsysStrings::add_to_batch(Entry& entry) {
  const std::string_view text = read(entry);
  entry.batch = batch_number_;
  batch_bytes_ += text.size();
  entry.cell = entry.text < 0 ? model::kNull : batch_->add_string(batch_->arena.keep(text));
  return entry.cell;
}

std::string_view NsysStrings::read(Entry& entry) {
  if (entry.text == kUnread) {
    entry.text = kRefused;
    const auto loaded = failed_ ? Result<void>() : load(entry);
    if (!loaded) failed_ = loaded.error();
  }
  return entry.text < 0 ? std::string_view() : std::string_view(texts_[static_cast<size_t>(entry.text)]);
}

Result<void> NsysStrings::load(Entry& entry) {
  NL_CHECK(reader_->read(entry.place));
  const SqliteCell& value = (*reader_)[0];
  const bool is_name = !reader_->too_long() && value.kind == SqliteKind::kText &&
                       value.bytes.size() <= kMaxNameBytes &&
                       value.bytes.find('\0') == std::string_view::npos;
  if (!is_name) {
    refused_++;
    return {};
  }
  text_bytes_ += value.bytes.size();
  if (text_bytes_ > kMaxKeptBytes) {
    return Error{ErrorCode::kLimit,
                 "the names take more than " + std::to_string(kMaxKeptBytes >> 20) + " MB"};
  }
  texts_.push_back(is_utf8(value.bytes) ? std::string(value.bytes) : repaired_utf8(value.bytes));
  entry.text = static_cast<int32_t>(texts_.size() - 1);
  return {};
}

}  // namespace nl::ingest
