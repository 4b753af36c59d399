#include "compare/difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compare/apportion.h"

namespace nl::compare {
namespace {

using nlohmann::json;

class Writer {
 public:
  explicit Writer(const Difference& difference)
      : base_(difference.base),
        next_(difference.next),
        texts_(difference.texts),
        changes_(difference.changes),
        repeats_(difference.repeats),
        counters_(difference.counters),
        with_figures_(difference.with_figures) {}

  json write() const {
    const auto base = parts_per_unit(base_), next = parts_per_unit(next_);
    const int64_t base_ns = per_unit(base_.window_ns, base_.units);
    const int64_t next_ns = per_unit(next_.window_ns, next_.units);
    json out = json::object();
    out["delta_ns"] = next_ns - base_ns;
    out["ratio"] =
        base_ns == 0 ? json(nullptr) : json(static_cast<double>(next_ns) / static_cast<double>(base_ns));
    out["unit"] = next_.unit;
    out["parts"] = parts_json(base, next);
    add_changes(out, work_sum(base), work_sum(next));
    out["ops"] = grouped_json(&Item::op, work_sum(base), work_sum(next));
    out["modules"] = grouped_json(&Item::module, work_sum(base), work_sum(next));
    return out;
  }

 private:
  static std::vector<int64_t> parts_per_unit(const Side& side) {
    std::vector<int64_t> amounts(side.parts.begin(), side.parts.end());
    return apportion(amounts, side.units, per_unit(side.window_ns, side.units));
  }

  json parts_json(const std::vector<int64_t>& base, const std::vector<int64_t>& next) const {
    json parts = json::array();
    for (size_t i = 0; i < Part::kCount; i++) {
      if (base[i] == 0 && next[i] == 0) continue;
      const Part part = Part::number(i);
      json row = {{"kind", part_kind_name(part.kind())},
                  {"name", part.name()},
                  {"words", part.words()},
                  {"base_ns", base[i]},
                  {"new_ns", next[i]},
                  {"delta_ns", next[i] - base[i]}};
      for (size_t j = 0; j < repeats_.parts.size(); j++) {
        if (repeats_.parts[j].first == part)
          add_statistics(row, repeats_.parts[j].second, repeats_.part_series[j]);
      }
      parts.push_back(std::move(row));
    }
    sort_by_delta(parts);
    return parts;
  }

  void add_statistics(json& row, const stats::Judgement& judgement, const stats::Series& series) const {
    row["statistics"] = to_json(judgement);
    if (with_figures_) row["values"] = {{"base", series.base}, {"new", series.candidate}};
  }

  static void sort_by_delta(json& rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const json& a, const json& b) {
      return std::abs(a["delta_ns"].get<int64_t>()) > std::abs(b["delta_ns"].get<int64_t>());
    });
  }

  static int64_t work_sum(const std::vector<int64_t>& parts) {
    int64_t sum = 0;
    for (size_t i = 0; i < parts.size(); i++) {
      if (Part::number(i).is_work()) sum += parts[i];
    }
    return sum;
  }

  /// Work by what launched it; what belongs to nothing is a row without a name.
  json grouped_json(uint32_t Item::*key, int64_t base_total, int64_t next_total) const {
    std::map<std::string, std::array<int64_t, 4>> sums;  // owned and calls of both sides
    bool any = false;
    for (size_t s = 0; s < 2; s++) {
      for (const Item& item : (s == 0 ? base_ : next_).items) {
        any = any || item.*key != kNoText;
        auto& row = sums[item.*key == kNoText ? "" : std::string(texts_[item.*key])];
        row[s] += item.owned_ns;
        row[2 + s] += item.calls;
      }
    }
    json rows = json::array();
    if (!any) return rows;
    std::vector<int64_t> amounts[2];
    for (const auto& [name, row] : sums) {
      amounts[0].push_back(row[0]);
      amounts[1].push_back(row[1]);
    }
    const auto base = apportion(amounts[0], base_.units, base_total);
    const auto next = apportion(amounts[1], next_.units, next_total);
    size_t i = 0;
    for (const auto& [name, row] : sums) {
      rows.push_back({{"name", name.empty() ? json(nullptr) : json(name)},
                      {"base_ns", base[i]},
                      {"new_ns", next[i]},
                      {"base_calls", row[2]},
                      {"new_calls", row[3]},
                      {"delta_ns", next[i] - base[i]}});
      i++;
    }
    sort_by_delta(rows);
    return rows;
  }

  json amount_json(const Amount& amount, const std::vector<uint32_t>& names, int64_t owned,
                   const Side& side) const {
    if (amount.calls == 0) return nullptr;
    json texts = json::array();
    for (const uint32_t name : names) texts.push_back(std::string(texts_[name]));
    const double calls = static_cast<double>(amount.calls);
    return {{"names", texts},
            {"calls", amount.calls},
            {"calls_per_unit", calls / static_cast<double>(side.units)},
            {"time_ns", owned},
            {"mean_ns", static_cast<double>(amount.time_ns) / calls}};
  }

  /// How much of a difference comes from more or fewer calls, at the time that one took before.
  static int64_t by_calls(const Change& row, const Side& base, const Side& next) {
    if (row.base.calls == 0 || row.next.calls == 0) return 0;
    const double before = static_cast<double>(row.base.calls) / static_cast<double>(base.units);
    const double after = static_cast<double>(row.next.calls) / static_cast<double>(next.units);
    return std::llround((after - before) * static_cast<double>(row.base.owned_ns) /
                        static_cast<double>(row.base.calls));
  }

  json change_json(size_t index, int64_t base_ns, int64_t next_ns) const {
    const Change& row = changes_.rows[index];
    const int64_t delta = next_ns - base_ns, calls = by_calls(row, base_, next_);
    json out = {{"kind", change_kind_name(row.kind)},
                {"name", row.label == kNoText ? "" : std::string(texts_[row.label])},
                {"class", row.part.name()},
                {"op", row.op == kNoText ? json(nullptr) : json(std::string(texts_[row.op]))},
                {"base", amount_json(row.base, row.base_names, base_ns, base_)},
                {"new", amount_json(row.next, row.next_names, next_ns, next_)},
                {"delta_ns", delta},
                {"by_calls_ns", calls},
                {"by_duration_ns", delta - calls},
                {"moved", row.moved},
                {"reshaped", row.reshaped},
                {"match_confidence", row.matched > 0 ? json(row.confidence) : json(nullptr)},
                {"metrics", counters_.beside(row.base_names, row.next_names)}};
    for (size_t j = 0; j < repeats_.changes.size(); j++) {
      const auto& [judged, judgement] = repeats_.changes[j];
      if (judged != index) continue;
      add_statistics(out, judgement, repeats_.change_series[j]);
      if (judgement.p_adjusted) out["p_adjusted"] = *judgement.p_adjusted;
    }
    return out;
  }

  void add_changes(json& out, int64_t base_total, int64_t next_total) const {
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
    json rows = json::array();
    for (const size_t i : order) rows.push_back(change_json(i, base[i], next[i]));
    out["changes"] = rows;
    out["matched"] = {{"base", share(changes_.matched_base_ns, changes_.base_ns)},
                      {"new", share(changes_.matched_next_ns, changes_.next_ns)}};
  }

  static json share(int64_t part, int64_t whole) {
    return whole == 0 ? json(nullptr) : json(static_cast<double>(part) / static_cast<double>(whole));
  }

  const Side& base_;
  const Side& next_;
  const Texts& texts_;
  const Changes& changes_;
  const Repeats& repeats_;
  const KernelCounters& counters_;
  const bool with_figures_;
};

}  // namespace

json to_json(const Difference& difference) {
  return Writer(difference).write();
}

}  // namespace nl::compare
