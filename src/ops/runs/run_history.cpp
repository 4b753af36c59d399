#include "ops/runs/run_history.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "model/labels.h"

namespace nl::ops {
namespace {

using store::RunRow;

constexpr char kImported[] = "imported";
/// Labels that tell when what was measured was made, the first that all runs have.
constexpr const char* kDates[] = {"commit_date", "commit_time", "date"};

std::string value_of(const RunRow& row, const std::string& key) {
  if (key == "device") return row.device;
  if (key == "backend") return row.backend;
  if (key == "format") return row.format;
  const auto it = row.labels.find(key);
  return it == row.labels.end() ? "" : it->second;
}

bool all_have(const std::vector<RunRow>& rows, const std::string& label) {
  return !rows.empty() &&
         std::all_of(rows.begin(), rows.end(), [&](const RunRow& r) { return r.labels.contains(label); });
}

std::string chosen_order(const std::vector<RunRow>& rows, const std::string& asked) {
  if (asked != "auto") return asked;
  for (const char* label : kDates) {
    if (all_have(rows, label)) return label;
  }
  return kImported;
}

/// Numbers come before text, as in `runs --sort`; imports decide between equals.
auto sort_key(const RunRow& row, const std::string& label) {
  const std::string text = label == kImported ? "" : value_of(row, label);
  double number = 0;
  const bool is_number = model::label_number(text, number);
  return std::tuple(!is_number, is_number ? number : 0, is_number ? "" : text, row.imported_at_ns,
                    row.run_id);
}

std::vector<RunGroupHistory> grouped_by(std::vector<RunRow> rows, const std::vector<std::string>& keys) {
  std::map<std::vector<std::string>, RunGroupHistory> groups;
  for (RunRow& row : rows) {
    std::vector<std::string> values;
    for (const std::string& key : keys) values.push_back(value_of(row, key));
    RunGroupHistory& group = groups[values];
    group.values = values;
    group.runs.push_back(std::move(row));
  }
  std::vector<RunGroupHistory> list;
  for (auto& [values, group] : groups) list.push_back(std::move(group));
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.runs.size() > b.runs.size(); });
  return list;
}

}  // namespace

Result<History> history_of(store::Ledger& ledger, const HistoryQuestion& question) {
  NL_TRY(auto search, store::RunSearch::start(ledger.index(), question.where));
  NL_TRY(auto rows, search.page({}, question.limit, 0));
  History history;
  history.matching = search.count();
  history.unknown_keys = search.unknown_keys();
  history.order = chosen_order(rows, question.order);
  if (history.order != kImported) {
    history.without_order = static_cast<int64_t>(
        std::erase_if(rows, [&](const RunRow& row) { return value_of(row, history.order).empty(); }));
  }
  std::sort(rows.begin(), rows.end(), [&](const RunRow& a, const RunRow& b) {
    return sort_key(a, history.order) < sort_key(b, history.order);
  });
  history.groups = grouped_by(std::move(rows), question.group_by);
  return history;
}

}  // namespace nl::ops
