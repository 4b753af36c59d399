#pragma once
// Counts the cost of reading runs: documents parsed, engines started, and passes over each table. A pass is
// one statement that reads a table; it reads each column at most once. Counting covers the whole process and
// happens only while a ReadCounter exists. Tests use it to limit what an operation may read.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace nl::store {

struct ReadCounts {
  int64_t documents = 0;                       ///< run.json read and parsed
  int64_t ledgers = 0;                         ///< opened: index and state
  int64_t engines = 0;                         ///< started
  int64_t leases = 0;                          ///< of engines, from the pool
  std::map<std::string, int64_t> passes = {};  ///< by table
};

class ReadCounter {
 public:
  ReadCounter();
  ~ReadCounter();
  ReadCounter(const ReadCounter&) = delete;
  ReadCounter& operator=(const ReadCounter&) = delete;
  /// Since the counter was made.
  ReadCounts counts() const;
};

void count_document();
void count_ledger();
void count_engine();
void count_lease();
void count_pass(std::string_view table);
/// Looks for the names of tables behind FROM and JOIN.
void count_passes(const std::string& sql);

}  // namespace nl::store
