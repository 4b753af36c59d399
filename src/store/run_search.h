#pragma once
// RunSearch: filters, sorts, groups and counts the runs of an index. User input reaches SQLite only as bound
// values; sets of runs are intersected in memory. One RunSearch serves one thread and uses the index as it is
// at the time of each question.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/run_index.h"
#include "store/run_set.h"

namespace nl::store {

enum class Comparison { kEqual, kNotEqual, kContains, kAtLeast, kAtMost };

/// One `--where`. The key is a label, or one of the fields format, backend, device, tag, file, imported,
/// dropped, records, kernels.
struct Condition {
  std::string key;
  Comparison comparison = Comparison::kEqual;
  std::string value;
};

/// key=value, key!=value, key~part, key>=number, key<=number
Result<Condition> parse_condition(const std::string& text);

struct SortOrder {
  std::string key = "imported";
  bool reverse = false;
};

struct ValueCount {
  std::string value;
  int64_t runs = 0;
};

struct Facet {
  std::string key;
  std::vector<ValueCount> values;  ///< most runs first, then by value
  int64_t without = 0;             ///< runs that have no such value
};

struct RunGroup {
  std::optional<std::string> value;  ///< none: the runs without one
  int64_t runs = 0;
  int64_t kernels = 0;
  int64_t records = 0;
  int64_t newest_run_no = 0;
};

class RunSearch {
 public:
  static Result<RunSearch> start(RunIndex& index, const std::vector<Condition>& where);

  int64_t count() const { return found_.count(); }
  /// By the key, then newest first; runs without the key come last in either direction. Numbers sort before
  /// text.
  Result<std::vector<RunRow>> page(const SortOrder& order, int64_t limit, int64_t offset);
  Result<Facet> facet(const std::string& key);
  /// Most runs first, then by value.
  Result<std::vector<RunGroup>> groups(const std::string& key);
  /// Keys of the conditions that no run of the ledger has.
  const std::vector<std::string>& unknown_keys() const { return unknown_keys_; }
  /// Every label that a run of the ledger has.
  static Result<std::vector<std::string>> label_keys(RunIndex& index);

 private:
  struct Figures {
    int64_t run_no, imported_at_ns, kernels, records, dropped;
  };

  RunSearch(RunIndex& index, RunSet all) : index_(index), found_(std::move(all)) {}
  Result<void> narrow(const Condition& condition);
  Result<RunSet> matching(const Condition& condition);
  Result<RunSet> matching_number(const Condition& condition);
  /// Of the runs found, newest first.
  Result<std::vector<Figures>> figures();
  /// At least so many, if there are; a page is found without looking at every run.
  Result<std::vector<int64_t>> newest_of_few();
  Result<std::vector<int64_t>> newest_first(int64_t wanted = INT64_MAX);
  Result<std::vector<int64_t>> sorted_by_number(const SortOrder& order);
  Result<std::vector<int64_t>> sorted_by_value(const SortOrder& order);

  RunIndex& index_;
  RunSet found_;
  std::vector<std::string> unknown_keys_;
};

}  // namespace nl::store
