#include "store/run_search.h"

#include <algorithm>
#include <cmath>

#include "base/decimal.h"
#include "base/path_text.h"
#include "model/labels.h"

namespace nl::store {
namespace {

constexpr std::string_view kNumbers[] = {"imported", "kernels", "records", "dropped"};
constexpr std::string_view kTexts[] = {"format", "backend", "device", "tag", "file"};

constexpr int64_t kLookupCost = 25;  // of one run, in runs that are passed

bool is_number_field(std::string_view key) {
  return std::find(std::begin(kNumbers), std::end(kNumbers), key) != std::end(kNumbers);
}

/// A field, or a key that a label may have.
Result<void> check_key(const std::string& key) {
  const bool field =
      is_number_field(key) || std::find(std::begin(kTexts), std::end(kTexts), key) != std::end(kTexts);
  if (field) return {};
  auto fine = model::check_label_key(key);
  if (!fine) {
    fine.error().hint =
        "a label, or one of format, backend, device, tag, file, imported, dropped, records, kernels";
  }
  return fine;
}

Result<void> check_countable(const std::string& key) {
  NL_CHECK(check_key(key));
  if (!is_number_field(key)) return {};
  return Error{ErrorCode::kBadInput, "runs cannot be grouped or counted by a number: " + key,
               "filter by it: --where '" + key + ">=1'"};
}

/// Whether a value of the key meets the condition; numbers are compared if the value is one.
bool meets(const Condition& condition, std::string_view value, double bound) {
  double number = 0;
  switch (condition.comparison) {
    case Comparison::kEqual:
    case Comparison::kNotEqual:
      return value == condition.value || (condition.key == "file" && base_name(value) == condition.value);
    case Comparison::kContains:
      return value.find(condition.value) != std::string_view::npos;
    case Comparison::kAtLeast:
      return model::label_number(value, number) && number >= bound;
    case Comparison::kAtMost:
      return model::label_number(value, number) && number <= bound;
  }
  return false;
}

bool compares_numbers(Comparison comparison) {
  return comparison == Comparison::kAtLeast || comparison == Comparison::kAtMost;
}

/// Numbers before text, numbers by size, text by bytes.
bool value_before(const std::string& a, const std::string& b) {
  double x = 0;
  double y = 0;
  const bool a_number = model::label_number(a, x);
  const bool b_number = model::label_number(b, y);
  if (a_number != b_number) return a_number;
  if (a_number && x != y) return x < y;
  return a < b;
}

int64_t figure(std::string_view key, int64_t imported, int64_t kernels, int64_t records, int64_t dropped) {
  return key == "kernels" ? kernels : key == "records" ? records : key == "dropped" ? dropped : imported;
}

/// Something for each run number; numbers have few gaps.
template <class T>
class ByRun {
 public:
  explicit ByRun(T unknown) : unknown_(unknown) {}
  T& operator[](int64_t run) {
    const auto at = static_cast<size_t>(run);
    if (at >= values_.size()) values_.resize(at + 1, unknown_);
    return values_[at];
  }

 private:
  T unknown_;
  std::vector<T> values_;
};

template <class T>
void most_runs_first(std::vector<T>& list) {
  std::stable_sort(list.begin(), list.end(), [](const T& a, const T& b) { return a.runs > b.runs; });
}

}  // namespace

Result<Condition> parse_condition(const std::string& text) {
  const size_t at = text.find_first_of("=!~<>");
  const auto bad = [&] {
    return Error{ErrorCode::kBadInput, "not a condition: " + text.substr(0, 80),
                 "write key=value, key!=value, key~part, key>=number or key<=number"};
  };
  if (at == std::string::npos) return bad();
  const bool two = text[at] != '=' && text[at] != '~';
  if (two && (at + 1 >= text.size() || text[at + 1] != '=')) return bad();
  Condition condition;
  condition.key = text.substr(0, at);
  condition.value = text.substr(at + (two ? 2 : 1));
  condition.comparison = text[at] == '='   ? Comparison::kEqual
                         : text[at] == '!' ? Comparison::kNotEqual
                         : text[at] == '~' ? Comparison::kContains
                         : text[at] == '>' ? Comparison::kAtLeast
                                           : Comparison::kAtMost;
  NL_CHECK(check_key(condition.key));
  double number = 0;
  const bool needs_number = compares_numbers(condition.comparison) || is_number_field(condition.key);
  if (needs_number && !model::label_number(condition.value, number)) {
    return Error{ErrorCode::kBadInput, "not a number: " + text.substr(0, 80), "write for example batch>=8"};
  }
  if (is_number_field(condition.key) && condition.comparison == Comparison::kContains) return bad();
  return condition;
}

Result<RunSearch> RunSearch::start(RunIndex& index, const std::vector<Condition>& where) {
  RunSet all;
  NL_CHECK(read_posting(index.db(), kEveryRun, "", all));
  RunSearch search(index, std::move(all));
  for (const auto& condition : where) NL_CHECK(search.narrow(condition));
  return search;
}

Result<void> RunSearch::narrow(const Condition& condition) {
  NL_TRY(const RunSet met, is_number_field(condition.key) ? matching_number(condition) : matching(condition));
  if (condition.comparison == Comparison::kNotEqual) {
    found_.remove(met);
  } else {
    found_.keep_only(met);
  }
  return {};
}

/// Runs that have such a value; for != those that must go.
Result<RunSet> RunSearch::matching(const Condition& condition) {
  RunSet met;
  NL_TRY(const int64_t known,
         index_.db().integer("SELECT 1 FROM postings WHERE key = ? LIMIT 1", {condition.key}));
  if (known == 0) unknown_keys_.push_back(condition.key);
  const bool exact =
      condition.comparison == Comparison::kEqual || condition.comparison == Comparison::kNotEqual;
  if (exact && condition.key != "file") {
    NL_CHECK(read_posting(index_.db(), condition.key, condition.value, met));
    return met;
  }
  double bound = 0;
  (void)model::label_number(condition.value, bound);
  NL_CHECK(
      each_posting(index_.db(), condition.key, [&](std::string_view value, const std::vector<int64_t>& runs) {
        if (!meets(condition, value, bound)) return;
        for (const int64_t run : runs) met.insert(run);
      }));
  return met;
}

Result<RunSet> RunSearch::matching_number(const Condition& condition) {
  NL_TRY(const auto all, figures());
  int64_t bound = 0;
  if (!parse_int64(condition.value, bound)) {
    double number = 0;
    (void)model::label_number(condition.value, number);
    const double whole =
        condition.comparison == Comparison::kAtLeast ? std::ceil(number) : std::floor(number);
    bound = static_cast<int64_t>(std::clamp(whole, -9e18, 9e18));
    if (whole != number && !compares_numbers(condition.comparison)) return RunSet();
  }
  RunSet met;
  for (const auto& f : all) {
    const int64_t value = figure(condition.key, f.imported_at_ns, f.kernels, f.records, f.dropped);
    const bool fits = condition.comparison == Comparison::kAtLeast  ? value >= bound
                      : condition.comparison == Comparison::kAtMost ? value <= bound
                                                                    : value == bound;
    if (fits) met.insert(f.run_no);
  }
  return met;
}

Result<std::vector<RunSearch::Figures>> RunSearch::figures() {
  std::vector<Figures> all;
  NL_CHECK(index_.db().each(
      "SELECT run_no, imported_at_ns, kernels, records, dropped FROM runs INDEXED BY runs_by_time "
      "ORDER BY imported_at_ns DESC, run_id",
      {}, [&](const SqliteRow& r) {
        if (!found_.contains(r.integer(0))) return;
        all.push_back({r.integer(0), r.integer(1), r.integer(2), r.integer(3), r.integer(4)});
      }));
  return all;
}

/// Each looked up by itself.
Result<std::vector<int64_t>> RunSearch::newest_of_few() {
  struct Run {
    int64_t number, imported_at_ns;
    std::string id;
  };
  std::vector<int64_t> numbers;
  found_.each([&](int64_t run) { numbers.push_back(run); });
  std::vector<Run> all;
  all.reserve(numbers.size());
  for (const int64_t number : numbers) {
    NL_CHECK(index_.db().each("SELECT imported_at_ns, run_id FROM runs WHERE run_no = ?", {number},
                              [&](const SqliteRow& r) { all.push_back({number, r.integer(0), r.text(1)}); }));
  }
  std::sort(all.begin(), all.end(), [](const Run& a, const Run& b) {
    return a.imported_at_ns != b.imported_at_ns ? a.imported_at_ns > b.imported_at_ns : a.id < b.id;
  });
  std::vector<int64_t> runs;
  runs.reserve(all.size());
  for (const Run& run : all) runs.push_back(run.number);
  return runs;
}

Result<std::vector<int64_t>> RunSearch::newest_first(int64_t wanted) {
  // Among many runs the newest are soon met from the newest end; of few, most of the others would be passed.
  const int64_t few = found_.count();
  NL_TRY(const int64_t all, index_.count());
  if (kLookupCost * few * few < std::min(wanted, few) * all) return newest_of_few();
  std::vector<int64_t> runs;
  int64_t seen = 0;
  for (int64_t chunk = 1024; std::ssize(runs) < wanted; chunk *= 4) {
    int64_t read = 0;
    NL_CHECK(
        index_.db().each("SELECT run_no FROM runs INDEXED BY runs_by_time ORDER BY imported_at_ns DESC, "
                         "run_id LIMIT ? OFFSET ?",
                         {chunk, seen}, [&](const SqliteRow& r) {
                           read++;
                           if (found_.contains(r.integer(0))) runs.push_back(r.integer(0));
                         }));
    seen += read;
    if (read < chunk) break;
  }
  return runs;
}

Result<std::vector<int64_t>> RunSearch::sorted_by_number(const SortOrder& order) {
  NL_TRY(auto all, figures());
  const auto value = [&](const Figures& f) {
    return figure(order.key, f.imported_at_ns, f.kernels, f.records, f.dropped);
  };
  std::stable_sort(all.begin(), all.end(), [&](const Figures& a, const Figures& b) {
    return order.reverse ? value(a) > value(b) : value(a) < value(b);
  });
  std::vector<int64_t> runs;
  runs.reserve(all.size());
  for (const auto& f : all) runs.push_back(f.run_no);
  return runs;
}

Result<std::vector<int64_t>> RunSearch::sorted_by_value(const SortOrder& order) {
  std::map<std::string, std::vector<int64_t>> by_value;
  NL_CHECK(
      each_posting(index_.db(), order.key, [&](std::string_view value, const std::vector<int64_t>& runs) {
        auto& list = by_value[std::string(value)];
        list.insert(list.end(), runs.begin(), runs.end());
      }));
  std::vector<std::string> values;
  values.reserve(by_value.size());
  for (const auto& [value, runs] : by_value) values.push_back(value);
  std::sort(values.begin(), values.end(), value_before);
  if (order.reverse) std::reverse(values.begin(), values.end());
  NL_TRY(auto runs, newest_first());
  ByRun<size_t> place(values.size());
  for (size_t i = values.size(); i-- > 0;) {  // of several tags the first counts
    for (const int64_t run : by_value[values[i]]) place[run] = i;
  }
  std::stable_sort(runs.begin(), runs.end(), [&](int64_t a, int64_t b) { return place[a] < place[b]; });
  return runs;
}

Result<std::vector<RunRow>> RunSearch::page(const SortOrder& order, int64_t limit, int64_t offset) {
  NL_CHECK(check_key(order.key));
  const bool by_time = order.key == "imported";
  NL_TRY(auto runs, by_time                      ? newest_first(order.reverse ? INT64_MAX : offset + limit)
                    : is_number_field(order.key) ? sorted_by_number(order)
                                                 : sorted_by_value(order));
  if (by_time && order.reverse) std::reverse(runs.begin(), runs.end());
  std::vector<RunRow> rows;
  for (auto i = static_cast<size_t>(offset); i < runs.size() && rows.size() < static_cast<size_t>(limit);
       i++) {
    NL_TRY(auto row, index_.row(runs[i]));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<Facet> RunSearch::facet(const std::string& key) {
  NL_CHECK(check_countable(key));
  Facet facet{key, {}, 0};
  RunSet with;
  NL_CHECK(each_posting(index_.db(), key, [&](std::string_view value, const std::vector<int64_t>& runs) {
    int64_t n = 0;
    for (const int64_t run : runs) {
      if (!found_.contains(run)) continue;
      with.insert(run);
      n++;
    }
    if (n == 0) return;
    if (facet.values.empty() || facet.values.back().value != value)
      facet.values.push_back({std::string(value), 0});
    facet.values.back().runs += n;
  }));
  facet.without = found_.count() - with.count();
  most_runs_first(facet.values);
  return facet;
}

Result<std::vector<RunGroup>> RunSearch::groups(const std::string& key) {
  NL_CHECK(check_countable(key));
  NL_TRY(const auto all, figures());
  ByRun<const Figures*> by_run(nullptr);
  for (const auto& f : all) by_run[f.run_no] = &f;
  std::vector<RunGroup> groups;
  RunSet rest = found_;
  const auto add = [&](const Figures& f) {
    RunGroup& group = groups.back();
    group.runs++;
    group.kernels += f.kernels;
    group.records += f.records;
    if (group.newest_run_no == 0 || f.imported_at_ns > by_run[group.newest_run_no]->imported_at_ns)
      group.newest_run_no = f.run_no;
  };
  NL_CHECK(each_posting(index_.db(), key, [&](std::string_view value, const std::vector<int64_t>& runs) {
    for (const int64_t run : runs) {
      if (!found_.contains(run)) continue;
      if (groups.empty() || groups.back().value != value) groups.push_back({std::string(value)});
      add(*by_run[run]);
      rest.erase(run);
    }
  }));
  most_runs_first(groups);
  if (!rest.empty()) groups.push_back({std::nullopt});
  rest.each([&](int64_t run) { add(*by_run[run]); });
  return groups;
}

Result<std::vector<std::string>> RunSearch::label_keys(RunIndex& index) {
  std::vector<std::string> keys;
  std::string last;
  for (;;) {  // one jump to each key, however many values it has
    std::string next;
    NL_CHECK(index.db().each("SELECT key FROM postings WHERE key > ? ORDER BY key LIMIT 1", {last},
                             [&](const SqliteRow& r) { next = r.text(0); }));
    if (next.empty()) return keys;
    const bool field = std::find(std::begin(kTexts), std::end(kTexts), next) != std::end(kTexts);
    if (!field) keys.push_back(next);
    last = next;
  }
}

}  // namespace nl::store
