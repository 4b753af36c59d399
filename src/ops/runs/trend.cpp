#include "ops/runs/trend.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "compare/comparability.h"
#include "ops/runs/figure_reader.h"
#include "ops/runs/history_parameters.h"
#include "ops/runs/trend_silence.h"
#include "stats/rank_test.h"
#include "stats/sample.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using compare::TrendChange;
using compare::TrendDifference;
using compare::TrendGroup;
using compare::TrendWork;
using nlohmann::json;
using store::RunRow;

struct Point {
  const RunRow* run;
  double value;
};

// ---- What else changed

Result<compare::RunFacts> facts_of(const store::Ledger& ledger, const RunRow& row) {
  NL_TRY(const auto document, store::shared_run_document(ledger.run_folder(row.run_id) + "/run.json"));
  return compare::RunFacts{row.run_id, *document, row.labels};
}

std::vector<compare::RunFacts> facts_of(const store::Ledger& ledger, const std::vector<Point>& points,
                                        size_t from, size_t to) {
  std::vector<compare::RunFacts> list;
  for (size_t i = from; i < to; i++) {
    if (auto facts = facts_of(ledger, *points[i].run)) list.push_back(std::move(facts).value());
  }
  return list;
}

using Differences = std::vector<compare::FactDifference>;

/// Whether all runs on one side differ from all on the other in this.
bool is_lasting(const std::string& key, const std::vector<Differences>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const Differences& differences) {
    return std::any_of(differences.begin(), differences.end(), [&](const auto& d) { return d.key == key; });
  });
}

/// Between the run where the change began and the one before; those that last for a few runs come first.
/// Empty if the runs cannot be read any more.
std::vector<TrendDifference> differences_around(const store::Ledger& ledger, const std::vector<Point>& points,
                                                size_t from, size_t at, size_t to) {
  constexpr size_t kRuns = 3;
  const auto before = facts_of(ledger, points, std::max(from, at - std::min(at, kRuns)), at);
  const auto after = facts_of(ledger, points, at, std::min(to, at + kRuns));
  std::vector<TrendDifference> lasting, passing;
  if (before.empty() || after.empty()) return lasting;
  std::vector<Differences> pairs;
  for (const auto& a : before) {
    for (const auto& b : after) pairs.push_back(compare::differences(a, b));
  }
  for (const auto& one : compare::differences(before.back(), after.front())) {
    const bool lasts = is_lasting(one.key, pairs);
    (lasts ? lasting : passing).push_back({one.text(), lasts});
  }
  lasting.insert(lasting.end(), passing.begin(), passing.end());
  return lasting;
}

/// Time a step of each kernel and class in some runs, by kind and name.
using WorkTimes = std::map<std::pair<std::string, std::string>, std::vector<double>>;

void add_work(const json& measures, size_t run, size_t runs, WorkTimes& work) {
  const double steps = steps_of(measures);
  const auto add = [&](const char* kind, const std::string& name, const json& total_ns) {
    std::vector<double>& times = work[{kind, name}];
    times.resize(runs);
    if (total_ns.is_number()) times[run] += total_ns.get<double>() / steps;
  };
  for (const json& device : measures["devices"]) {
    for (const auto& [name, total_ns] : device["classes"].items()) add("class", name, total_ns);
  }
  for (const json& kernel : measures["kernels"]) add("kernel", kernel["name"], kernel["total_ns"]);
}

WorkTimes work_of(const Context& context, const store::Ledger& ledger, const std::vector<Point>& points,
                  size_t from, size_t to) {
  WorkTimes work;
  for (size_t i = from; i < to; i++) {
    const std::string& run_id = points[i].run->run_id;
    const auto measures = run_measures(listed_run(context, ledger, run_id));
    if (measures) add_work(*measures, i - from, to - from, work);
  }
  return work;
}

double middle(const WorkTimes& work, const WorkTimes::key_type& key) {
  const auto it = work.find(key);
  return it == work.end() ? 0 : stats::median(stats::sorted(it->second));
}

/// Kernels and classes whose time moved most: medians of a few runs on both sides.
std::vector<TrendWork> moved_work(const Context& context, const store::Ledger& ledger,
                                  const std::vector<Point>& points, size_t from, size_t at, size_t to) {
  constexpr size_t kRuns = 5;
  constexpr size_t kRows = 8;
  const WorkTimes before = work_of(context, ledger, points, std::max(from, at - std::min(at, kRuns)), at);
  const WorkTimes after = work_of(context, ledger, points, at, std::min(to, at + kRuns));
  WorkTimes both = before;
  both.insert(after.begin(), after.end());
  std::vector<TrendWork> changes;
  for (const auto& [key, times] : both) {
    const int64_t was = std::llround(middle(before, key)), is = std::llround(middle(after, key));
    if (is != was) changes.push_back({key.first, key.second, was, is, is - was});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const TrendWork& a, const TrendWork& b) {
    return std::abs(a.delta_ns) > std::abs(b.delta_ns);
  });
  if (changes.size() > kRows) changes.resize(kRows);
  return changes;
}

// ---- One group

TrendChange change_of(const stats::ChangePoint& change, const std::vector<Point>& points,
                      const RunFigure& figure) {
  const RunRow& began = *points[change.at].run;
  TrendChange out;
  out.at = change.at;
  out.run_id = began.run_id;
  out.previous_run_id = points[change.at - 1].run->run_id;
  out.imported_at_ns = began.imported_at_ns;
  out.before = change.before;
  out.after = change.after;
  if (change.before != 0) out.ratio = change.after / change.before;
  out.p = stats::rounded_p(change.p);
  out.alert = change.alert;
  out.meaning = compare::trend_meaning(change.before, change.after, figure.direction());
  return out;
}

class GroupTrend {
 public:
  GroupTrend(const Context& context, const store::Ledger& ledger, const TrendQuestion& question,
             std::vector<Point> points)
      : context_(context), ledger_(ledger), question_(question), points_(std::move(points)) {
    for (const Point& point : points_) values_.push_back(point.value);
    changes_ = stats::find_change_points(values_, question.change_points);
  }

  std::optional<std::string> silent() const {
    if (!changes_.empty()) return std::nullopt;
    return why_group_is_silent(values_, question_.change_points);
  }

  std::vector<compare::TrendPoint> points() const {
    std::vector<compare::TrendPoint> list;
    list.reserve(points_.size());
    for (const Point& point : points_)
      list.push_back({point.run->run_id, point.run->imported_at_ns, point.value});
    return list;
  }
  /// `explained`: how many alerts may still be looked into.
  std::vector<TrendChange> changes(size_t& explained) const {
    std::vector<TrendChange> list;
    for (size_t i = 0; i < changes_.size(); i++) {
      TrendChange change = change_of(changes_[i], points_, question_.figure);
      const size_t at = changes_[i].at;
      change.differences = differences_around(ledger_, points_, begin(i), at, end(i));
      if (change.alert && explained > 0) {
        change.work = moved_work(context_, ledger_, points_, begin(i), at, end(i));
        explained--;
      }
      list.push_back(std::move(change));
    }
    return list;
  }

 private:
  size_t begin(size_t i) const { return i == 0 ? 0 : changes_[i - 1].at; }
  size_t end(size_t i) const { return i + 1 == changes_.size() ? points_.size() : changes_[i + 1].at; }

  const Context& context_;
  const store::Ledger& ledger_;
  const TrendQuestion& question_;
  std::vector<Point> points_;
  std::vector<double> values_;
  std::vector<stats::ChangePoint> changes_;
};

compare::TrendSummary summary_of(const std::vector<Point>& points) {
  std::vector<double> values;
  values.reserve(points.size());
  for (const Point& point : points) values.push_back(point.value);
  const stats::Summary s = stats::summary_of(stats::sorted(std::move(values)));
  return {s.n, s.min, s.median, s.max};
}

}  // namespace

Result<compare::Trend> trend_of(Context& context, store::Ledger& ledger, const TrendQuestion& question) {
  constexpr size_t kExplained = 20;  // each reads some ten tables of kernels
  NL_TRY(const History history, history_of(ledger, question.history));
  FigureReader reader(context, ledger, history, question.figure, question.figure.detail());
  compare::Trend trend;
  size_t explained = kExplained;
  for (const RunGroupHistory& group : history.groups) {
    std::vector<Point> points;
    NL_CHECK(reader.read(
        group, [&](const RunRow& row, double value, const json&) { points.push_back({&row, value}); }));
    if (points.empty()) continue;
    TrendGroup out{group_values(group, question.history.group_by), summary_of(points), {}, {}, {}};
    const GroupTrend found(context, ledger, question, std::move(points));
    out.points = found.points();
    out.change_points = found.changes(explained);
    out.silent = found.silent();
    for (const TrendChange& change : out.change_points) trend.alerts += change.alert;
    trend.groups.push_back(std::move(out));
  }
  trend.figure = {question.figure.id(), question.figure.unit(), question.figure.direction()};
  trend.order = history.order;
  trend.group_by = question.history.group_by;
  trend.matching = history.matching;
  trend.without_order = history.without_order;
  trend.left_out = reader.left_out();
  trend.silent = why_trend_is_silent(trend);
  return trend;
}

}  // namespace nl::ops
