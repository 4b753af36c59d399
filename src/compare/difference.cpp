#include "compare/difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "compare/apportion.h"

namespace nl::compare {
namespace {

constexpr size_t kMostGroups = 10'000;  // ops or modules; a file may name any number of them

class Writer {
 public:
  explicit Writer(const Difference& difference)
      : base_(difference.base),
        next_(difference.next),
        texts_(difference.texts),
        changes_(difference.changes),
        repeats_(difference.repeats),
        counters_(difference.counters),
        with_figures_(difference.with_figures),
        most_changes_(difference.most_changes) {
    for (size_t i = 0; i < repeats_.changes.size(); i++) judged_[repeats_.changes[i].first] = i;
  }

  void write(Comparison& out) const {
    const auto base = parts_per_unit(base_), next = parts_per_unit(next_);
    const int64_t base_ns = per_unit(base_.window_ns, base_.units);
    const int64_t next_ns = per_unit(next_.window_ns, next_.units);
    out.delta_ns = next_ns - base_ns;
    if (base_ns != 0) out.ratio = static_cast<double>(next_ns) / static_cast<double>(base_ns);
    out.unit = next_.unit;
    out.parts = part_rows(base, next);
    put_changes(work_sum(base), work_sum(next), out);
    out.matched = {share(changes_.matched_base_ns, changes_.base_ns),
                   share(changes_.matched_next_ns, changes_.next_ns)};
    out.ops = grouped_rows(&Item::op, work_sum(base), work_sum(next), out.ops_not_shown);
    out.modules = grouped_rows(&Item::module, work_sum(base), work_sum(next), out.modules_not_shown);
  }

 private:
  static std::vector<int64_t> parts_per_unit(const Side& side) {
    std::vector<int64_t> amounts(side.parts.begin(), side.parts.end());
    return apportion(amounts, side.units, per_unit(side.window_ns, side.units));
  }

  std::vector<PartRow> part_rows(const std::vector<int64_t>& base, const std::vector<int64_t>& next) const {
    std::vector<PartRow> rows;
    for (size_t i = 0; i < Part::kCount; i++) {
      if (base[i] == 0 && next[i] == 0) continue;
      const Part part = Part::number(i);
      PartRow row{part.kind(), std::string(part.name()), part.words(), base[i],
                  next[i],     next[i] - base[i],        {},           {}};
      for (size_t j = 0; j < repeats_.parts.size(); j++) {
        if (repeats_.parts[j].first == part)
          add_statistics(row, repeats_.parts[j].second, repeats_.part_series[j]);
      }
      rows.push_back(std::move(row));
    }
    sort_by_delta(rows);
    return rows;
  }

  template <class Row>
  void add_statistics(Row& row, const stats::Judgement& judgement, const stats::Series& series) const {
    row.statistics = statistics_of(judgement);
    if (with_figures_) row.values = RunValues{series.base, series.candidate};
  }

  template <class Row>
  static void sort_by_delta(std::vector<Row>& rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return std::abs(a.delta_ns) > std::abs(b.delta_ns); });
  }

  static int64_t work_sum(const std::vector<int64_t>& parts) {
    int64_t sum = 0;
    for (size_t i = 0; i < parts.size(); i++) {
      if (Part::number(i).is_work()) sum += parts[i];
    }
    return sum;
  }

  /// Owned time and calls of both sides by the text of a key; what has none is under an empty text. Nothing
  /// if no piece has the key.
  std::map<std::string_view, std::array<int64_t, 4>> sums_by_text(uint32_t Item::*key) const {
    std::map<std::string_view, std::array<int64_t, 4>> sums;
    std::vector<std::array<int64_t, 4>*> by_id(texts_.size());  // many pieces, few texts
    std::array<int64_t, 4>* without = nullptr;
    bool any = false;
    for (size_t s = 0; s < 2; s++) {
      for (const Item& item : (s == 0 ? base_ : next_).items) {
        const uint32_t id = item.*key;
        any = any || id != kNoText;
        auto*& row = id == kNoText ? without : by_id[id];
        if (row == nullptr) row = &sums[id == kNoText ? std::string_view() : texts_[id]];
        (*row)[s] += item.owned_ns;
        (*row)[2 + s] += item.calls;
      }
    }
    if (!any) sums.clear();
    return sums;
  }

  /// Work by what launched it; what belongs to nothing is a row without a name.
  std::vector<GroupRow> grouped_rows(uint32_t Item::*key, int64_t base_total, int64_t next_total,
                                     std::optional<NotShown>& not_shown) const {
    const auto sums = sums_by_text(key);
    std::vector<GroupRow> rows;
    if (sums.empty()) return rows;
    std::vector<int64_t> amounts[2];
    for (const auto& [name, row] : sums) {
      amounts[0].push_back(row[0]);
      amounts[1].push_back(row[1]);
    }
    const auto base = apportion(amounts[0], base_.units, base_total);
    const auto next = apportion(amounts[1], next_.units, next_total);
    size_t i = 0;
    for (const auto& [name, row] : sums) {
      rows.push_back({name.empty() ? std::nullopt : std::optional(std::string(name)), base[i], next[i],
                      row[2], row[3], next[i] - base[i]});
      i++;
    }
    sort_by_delta(rows);
    if (rows.size() > kMostGroups) not_shown = NotShown{};
    for (; rows.size() > kMostGroups; rows.pop_back()) {
      not_shown->rows++;
      not_shown->delta_ns += rows.back().delta_ns;
    }
    return rows;
  }

  std::optional<WorkAmount> amount_of(const Amount& amount, const std::vector<uint32_t>& names, int64_t owned,
                                      const Side& side) const {
    if (amount.calls == 0) return std::nullopt;
    WorkAmount out;
    for (const uint32_t name : names) out.names.emplace_back(texts_[name]);
    const double calls = static_cast<double>(amount.calls);
    out.calls = amount.calls;
    out.calls_per_unit = calls / static_cast<double>(side.units);
    out.time_ns = owned;
    out.mean_ns = static_cast<double>(amount.time_ns) / calls;
    return out;
  }

  /// How much of a difference comes from more or fewer calls, at the time that one took before.
  static int64_t by_calls(const Change& row, const Side& base, const Side& next) {
    if (row.base.calls == 0 || row.next.calls == 0) return 0;
    const double before = static_cast<double>(row.base.calls) / static_cast<double>(base.units);
    const double after = static_cast<double>(row.next.calls) / static_cast<double>(next.units);
    return std::llround((after - before) * static_cast<double>(row.base.owned_ns) /
                        static_cast<double>(row.base.calls));
  }

  ChangeRow change_row(size_t index, int64_t base_ns, int64_t next_ns) const {
    const Change& row = changes_.rows[index];
    ChangeRow out;
    out.kind = row.kind;
    if (row.label != kNoText) out.name = texts_[row.label];
    out.op_class = row.part.name();
    if (row.op != kNoText) out.op = texts_[row.op];
    out.base = amount_of(row.base, row.base_names, base_ns, base_);
    out.next = amount_of(row.next, row.next_names, next_ns, next_);
    out.delta_ns = next_ns - base_ns;
    out.by_calls_ns = by_calls(row, base_, next_);
    out.by_duration_ns = out.delta_ns - out.by_calls_ns;
    out.moved = row.moved;
    out.reshaped = row.reshaped;
    if (row.matched > 0) out.match_confidence = row.confidence;
    out.metrics = counters_.beside(row.base_names, row.next_names);
    if (const auto it = judged_.find(index); it != judged_.end()) {
      const stats::Judgement& judgement = repeats_.changes[it->second].second;
      add_statistics(out, judgement, repeats_.change_series[it->second]);
      out.p_adjusted = judgement.p_adjusted;
    }
    return out;
  }

  /// Rows with all their texts are made for those that are shown.
  void put_changes(int64_t base_total, int64_t next_total, Comparison& out) const {
    std::vector<int64_t> amounts[2];
    for (const Change& row : changes_.rows) {
      amounts[0].push_back(row.base.owned_ns);
      amounts[1].push_back(row.next.owned_ns);
    }
    const auto base = apportion(amounts[0], base_.units, base_total);
    const auto next = apportion(amounts[1], next_.units, next_total);
    std::vector<size_t> order(changes_.rows.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::abs(next[a] - base[a]) > std::abs(next[b] - base[b]);
    });
    for (size_t n = 0; n < order.size(); n++) {
      const size_t i = order[n];
      if (static_cast<int64_t>(n) < most_changes_) {
        out.changes.push_back(change_row(i, base[i], next[i]));
      } else {
        out.not_shown.rows++;
        out.not_shown.delta_ns += next[i] - base[i];
      }
    }
  }

  static std::optional<double> share(int64_t part, int64_t whole) {
    if (whole == 0) return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
  }

  const Side& base_;
  const Side& next_;
  const Texts& texts_;
  const Changes& changes_;
  const Repeats& repeats_;
  const KernelCounters& counters_;
  const bool with_figures_;
  const int64_t most_changes_;
  std::unordered_map<size_t, size_t> judged_;  ///< place of a row in the judgements
};

}  // namespace

void put_difference(const Difference& difference, Comparison& out) {
  Writer(difference).write(out);
}

}  // namespace nl::compare
