#include "store/read_counts.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string_view>

#include "model/tables.h"

namespace nl::store {
namespace {

std::atomic<bool> is_counting = false;
std::mutex mutex;
ReadCounts counted;

template <class Change>
void count(Change change) {
  if (!is_counting) return;
  const std::lock_guard lock(mutex);
  change(counted);
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view word_at(std::string_view sql, size_t at) {
  size_t end = at;
  while (end < sql.size() && is_word(sql[end])) end++;
  return sql.substr(at, end - at);
}

/// The table that is read behind FROM or JOIN: a view, or a file that is named after its table.
std::string_view table_at(std::string_view sql, size_t at) {
  const std::string_view name = word_at(sql, at);
  if (name != "read_parquet") return name;
  const size_t end = sql.find(".parquet'", at);
  if (end == std::string_view::npos) return {};
  const size_t begin = sql.rfind('/', end);
  return begin == std::string_view::npos ? std::string_view() : sql.substr(begin + 1, end - begin - 1);
}

}  // namespace

ReadCounter::ReadCounter() {
  const std::lock_guard lock(mutex);
  counted = {};
  is_counting = true;
}

ReadCounter::~ReadCounter() {
  is_counting = false;
}

ReadCounts ReadCounter::counts() const {
  const std::lock_guard lock(mutex);
  return counted;
}

void count_document() {
  count([](ReadCounts& counts) { counts.documents++; });
}

void count_ledger() {
  count([](ReadCounts& counts) { counts.ledgers++; });
}

void count_engine() {
  count([](ReadCounts& counts) { counts.engines++; });
}

void count_lease() {
  count([](ReadCounts& counts) { counts.leases++; });
}

void count_pass(std::string_view table) {
  count([&](ReadCounts& counts) { counts.passes[std::string(table)]++; });
}

void count_passes(const std::string& sql) {
  count([&](ReadCounts& counts) {
    for (const std::string_view before : {"FROM ", "JOIN "}) {
      for (size_t at = sql.find(before); at != std::string::npos; at = sql.find(before, at + 1)) {
        const std::string_view name = table_at(sql, at + before.size());
        if (model::find_table(name) != nullptr) counts.passes[std::string(name)]++;
      }
    }
  });
}

}  // namespace nl::store
