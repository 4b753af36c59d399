#pragma once
// The runs of a ledger in order of time, in groups whose runs may be compared with each other.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/ledger.h"
#include "store/run_search.h"

namespace nl::ops {

struct HistoryQuestion {
  std::vector<store::Condition> where;
  std::vector<std::string> group_by;  ///< labels, or device, backend, format
  std::string order = "auto";  ///< imported, a label, or auto: a date of the commit if all runs have one
  int64_t limit = 10'000;      ///< the newest imports
};

struct RunGroupHistory {
  std::vector<std::string> values;  ///< of group_by; empty text if a run has none
  std::vector<store::RunRow> runs;  ///< oldest first
};

struct History {
  std::string order;  ///< imported or the label
  int64_t matching = 0;
  int64_t without_order = 0;            ///< runs left out, since they have no value to be ordered by
  std::vector<RunGroupHistory> groups;  ///< most runs first, then by values
  std::vector<std::string> unknown_keys;
};

Result<History> history_of(store::Ledger& ledger, const HistoryQuestion& question);

}  // namespace nl::ops
