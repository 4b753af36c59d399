#pragma once
// Postings: for each (key, value), the set of runs that have it. Facets and filters over 100,000 runs then
// read a few hundred small blobs instead of one row for each run and key.
//
// A blob holds the runs of one block of 4096 numbers: up to 255 of them as 16-bit numbers in order, more as
// 512 bytes of bits. Both forms are little-endian; the index is a cache of one machine.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/run_set.h"
#include "store/sqlite.h"

namespace nl::store {

/// The table that the functions below work on.
extern const char* const kPostingsTable;

Result<void> add_posting(Sqlite& db, const std::string& key, const std::string& value, int64_t run);
Result<void> remove_posting(Sqlite& db, const std::string& key, const std::string& value, int64_t run);

/// Runs that have this value; `into` grows.
Result<void> read_posting(Sqlite& db, const std::string& key, const std::string& value, RunSet& into);

/// All values of a key in byte order, each with its runs in order, block by block: a value may come several
/// times in a row.
using PostingVisit = std::function<void(std::string_view value, const std::vector<int64_t>& runs)>;
Result<void> each_posting(Sqlite& db, const std::string& key, const PostingVisit& visit);

/// Collects postings in memory, to write many runs at once into an empty table. Runs come in rising order.
class PostingsBuilder {
 public:
  void add(const std::string& key, const std::string& value, int64_t run) {
    runs_[{key, value}].push_back(run);
  }
  Result<void> write(Sqlite& db) const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<int64_t>> runs_;
};

}  // namespace nl::store
