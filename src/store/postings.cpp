#include "store/postings.h"

#include <algorithm>
#include <cstring>

namespace nl::store {
namespace {

constexpr int64_t kBlockRuns = 4096;
constexpr size_t kBitmapBytes = kBlockRuns / 8;
constexpr char kPut[] = "INSERT OR REPLACE INTO postings VALUES (?,?,?,?)";

uint64_t word_of(std::string_view bitmap, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bitmap.data() + at * 8, 8);
  return word;
}

/// Runs of a blob, in order; `out` is used again for every blob.
void decode(std::string_view blob, int64_t block, std::vector<int64_t>& out) {
  out.clear();
  const int64_t first = block * kBlockRuns;
  if (blob.size() == kBitmapBytes) {
    for (size_t i = 0; i < kBitmapBytes / 8; i++) {
      for (uint64_t word = word_of(blob, i); word != 0; word &= word - 1)
        out.push_back(first + static_cast<int64_t>(i) * 64 + std::countr_zero(word));
    }
    return;
  }
  for (size_t at = 0; at + 2 <= blob.size(); at += 2) {
    uint16_t number = 0;
    std::memcpy(&number, blob.data() + at, 2);
    out.push_back(first + number);
  }
}

SqliteBlob encode(const std::vector<int64_t>& runs) {
  std::string bytes;
  if (runs.size() * 2 < kBitmapBytes) {
    for (const int64_t run : runs) {
      const auto number = static_cast<uint16_t>(run % kBlockRuns);
      bytes.append(reinterpret_cast<const char*>(&number), 2);
    }
    return {bytes};
  }
  bytes.assign(kBitmapBytes, '\0');
  for (const int64_t run : runs) {
    const auto at = static_cast<size_t>(run % kBlockRuns);
    bytes[at / 8] = static_cast<char>(bytes[at / 8] | 1 << at % 8);
  }
  return {bytes};
}

Result<std::vector<int64_t>> read_block(Sqlite& db, const std::string& key, const std::string& value,
                                        int64_t block) {
  std::vector<int64_t> runs;
  NL_CHECK(db.each("SELECT runs FROM postings WHERE key = ? AND value = ? AND block = ?", {key, value, block},
                   [&](const SqliteRow& r) { decode(r.bytes(0), block, runs); }));
  return runs;
}

}  // namespace

const char* const kPostingsTable =
    "CREATE TABLE postings(key TEXT, value TEXT, block INTEGER, runs BLOB NOT NULL, "
    "PRIMARY KEY(key, value, block)) WITHOUT ROWID";

Result<void> add_posting(Sqlite& db, const std::string& key, const std::string& value, int64_t run) {
  const int64_t block = run / kBlockRuns;
  NL_TRY(auto runs, read_block(db, key, value, block));
  const auto place = std::lower_bound(runs.begin(), runs.end(), run);
  if (place != runs.end() && *place == run) return {};
  runs.insert(place, run);
  return db.run(kPut, {key, value, block, encode(runs)});
}

Result<void> remove_posting(Sqlite& db, const std::string& key, const std::string& value, int64_t run) {
  const int64_t block = run / kBlockRuns;
  NL_TRY(auto runs, read_block(db, key, value, block));
  std::erase(runs, run);
  if (!runs.empty()) return db.run(kPut, {key, value, block, encode(runs)});
  return db.run("DELETE FROM postings WHERE key = ? AND value = ? AND block = ?", {key, value, block});
}

Result<void> read_posting(Sqlite& db, const std::string& key, const std::string& value, RunSet& into) {
  std::vector<int64_t> runs;
  return db.each("SELECT block, runs FROM postings WHERE key = ? AND value = ?", {key, value},
                 [&](const SqliteRow& r) {
                   const std::string_view blob = r.bytes(1);
                   const int64_t block = r.integer(0);
                   if (blob.size() == kBitmapBytes) {
                     for (size_t i = 0; i < kBitmapBytes / 8; i++)
                       into.insert_64(block * kBlockRuns + static_cast<int64_t>(i) * 64, word_of(blob, i));
                     return;
                   }
                   decode(blob, block, runs);
                   for (const int64_t run : runs) into.insert(run);
                 });
}

Result<void> each_posting(Sqlite& db, const std::string& key, const PostingVisit& visit) {
  std::vector<int64_t> runs;
  return db.each("SELECT value, block, runs FROM postings WHERE key = ? ORDER BY value, block", {key},
                 [&](const SqliteRow& r) {
                   decode(r.bytes(2), r.integer(1), runs);
                   visit(r.bytes(0), runs);
                 });
}

Result<void> PostingsBuilder::write(Sqlite& db) const {
  for (const auto& [name, runs] : runs_) {
    for (auto from = runs.begin(); from != runs.end();) {
      const int64_t block = *from / kBlockRuns;
      const auto to = std::lower_bound(from, runs.end(), (block + 1) * kBlockRuns);
      NL_CHECK(db.run(kPut, {name.first, name.second, block, encode({from, to})}));
      from = to;
    }
  }
  return {};
}

}  // namespace nl::store
