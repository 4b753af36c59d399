#include "compare/repeats.h"

#include <algorithm>
#include <map>

#include "stats/rank_test.h"
#include "stats/sample.h"

namespace nl::compare {
namespace {

constexpr double kLeastShare = 0.001;

std::vector<double> values_of(const std::vector<RunSample>& runs, const std::vector<uint32_t>& names) {
  std::vector<double> values;
  for (const RunSample& run : runs) {
    double sum = 0;
    for (const uint32_t name : names) {
      const auto it = run.names.find(name);
      if (it != run.names.end()) sum += it->second;
    }
    values.push_back(sum);
  }
  return values;
}

template <class Get>
std::vector<double> values_of(const std::vector<RunSample>& runs, Get&& get) {
  std::vector<double> values;
  for (const RunSample& run : runs) values.push_back(get(run));
  return values;
}

double middle(const std::vector<double>& values) {
  return stats::median(stats::sorted(values));
}

/// Names that stand on both sides of one row and nowhere else.
std::map<uint32_t, int> rows_by_name(const Changes& changes) {
  std::map<uint32_t, int> rows;
  for (const Change& row : changes.rows) {
    std::vector<uint32_t> names = row.base_names;
    names.insert(names.end(), row.next_names.begin(), row.next_names.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const uint32_t name : names) rows[name]++;
  }
  return rows;
}

bool can_be_judged(const Change& row, const std::map<uint32_t, int>& rows) {
  if (row.kind == ChangeKind::kAdded || row.kind == ChangeKind::kRemoved) return false;
  const auto alone = [&](uint32_t name) { return rows.at(name) == 1; };
  return std::all_of(row.base_names.begin(), row.base_names.end(), alone) &&
         std::all_of(row.next_names.begin(), row.next_names.end(), alone);
}

class LevelMaker {
 public:
  LevelMaker(const std::vector<RunSample>& base, const std::vector<RunSample>& next)
      : base_(base), next_(next) {
    const auto window = [](const RunSample& run) { return run.window_ns; };
    window_ = {"window", values_of(base, window), values_of(next, window)};
    least_ns_ = kLeastShare * std::min(middle(window_.base), middle(window_.candidate));
  }

  stats::Level window() const { return {"window", {window_}}; }

  stats::Level parts(std::vector<Part>& kept) const {
    stats::Level level{"parts", {}};
    for (size_t i = 0; i < Part::kCount; i++) {
      const auto get = [&](const RunSample& run) { return std::max(0.0, run.parts[i]); };
      stats::Series series{std::string(Part::number(i).name()), values_of(base_, get), values_of(next_, get),
                           0};
      if (std::max(middle(series.base), middle(series.candidate)) < least_ns_) continue;
      level.series.push_back(std::move(series));
      kept.push_back(Part::number(i));
    }
    return level;
  }

  stats::Level rows(const Changes& changes, const std::vector<Part>& parts, std::vector<size_t>& kept) const {
    stats::Level level{"kernels", {}};
    const auto rows = rows_by_name(changes);
    for (size_t i = 0; i < changes.rows.size(); i++) {
      const Change& row = changes.rows[i];
      const auto part = std::find(parts.begin(), parts.end(), row.part);
      if (part == parts.end() || !can_be_judged(row, rows)) continue;
      stats::Series series{std::to_string(i), values_of(base_, row.base_names),
                           values_of(next_, row.next_names), static_cast<size_t>(part - parts.begin())};
      if (std::max(middle(series.base), middle(series.candidate)) < least_ns_) continue;
      level.series.push_back(std::move(series));
      kept.push_back(i);
    }
    return level;
  }

 private:
  const std::vector<RunSample>& base_;
  const std::vector<RunSample>& next_;
  stats::Series window_;
  double least_ns_ = 0;
};

}  // namespace

RunSample sample_of(const std::string& run_id, const Side& side) {
  RunSample sample{run_id, 0, {}, {}};
  const auto units = static_cast<double>(side.units);
  sample.window_ns = static_cast<double>(side.window_ns) / units;
  for (size_t i = 0; i < Part::kCount; i++) sample.parts[i] = static_cast<double>(side.parts[i]) / units;
  std::unordered_map<uint32_t, int64_t> sums;
  for (const Item& item : side.items) sums[item.name] += item.owned_ns;
  for (const auto& [name, ns] : sums) sample.names[name] = static_cast<double>(ns) / units;
  return sample;
}

Result<Repeats> judge_repeats(const std::vector<RunSample>& base, const std::vector<RunSample>& next,
                              const Changes& changes, const stats::JudgeOptions& options) {
  const LevelMaker levels(base, next);
  std::vector<Part> parts;
  std::vector<size_t> rows;
  const stats::Level part_level = levels.parts(parts);
  const stats::Level row_level = levels.rows(changes, parts, rows);
  NL_TRY(const auto judged, stats::judge({levels.window(), part_level, row_level}, options));
  Repeats repeats;
  repeats.window = judged[0].front();
  for (size_t i = 0; i < parts.size(); i++) repeats.parts.emplace_back(parts[i], judged[1][i]);
  for (size_t i = 0; i < rows.size(); i++) repeats.changes.emplace_back(rows[i], judged[2][i]);
  repeats.part_series = part_level.series;
  repeats.change_series = row_level.series;
  return repeats;
}

Statistics statistics_of(const stats::Judgement& judgement) {
  Statistics out;
  out.verdict = judgement.verdict;
  out.base = judgement.base;
  out.next = judgement.candidate;
  out.ratio_interval = judgement.ratio_interval;
  out.ratio = judgement.ratio;
  out.ratio_of_medians = judgement.ratio_of_medians;
  out.shift_ns = judgement.shift;
  out.cliffs_delta = judgement.cliffs_delta;
  if (judgement.p) out.p = stats::rounded_p(*judgement.p);
  if (judgement.p_adjusted) out.p_adjusted = stats::rounded_p(*judgement.p_adjusted);
  out.runs_needed = judgement.runs_needed;
  out.more_runs = judgement.more_runs;
  if (!judgement.reason.empty()) out.reason = judgement.reason;
  return out;
}

}  // namespace nl::compare
