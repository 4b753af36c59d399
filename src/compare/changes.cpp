#include "compare/changes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "align/alignment.h"

namespace nl::compare {
namespace {

uint32_t known_or_zero(uint32_t text) {
  return text == kNoText ? 0 : text + 1;
}

align::Sequence sequence_of(const Side& side) {
  align::Sequence sequence;
  sequence.groups.reserve(side.groups.size());
  sequence.nodes.reserve(side.items.size());
  for (const Group& group : side.groups) sequence.groups.push_back({group.parent, group.name});
  for (const Item& item : side.items)
    sequence.nodes.push_back(
        {item.group, item.name, known_or_zero(item.family), known_or_zero(item.shape), item.time_ns});
  return sequence;
}

std::vector<std::string_view> views_of(const Texts& texts) {
  std::vector<std::string_view> views;
  for (uint32_t i = 0; i < texts.size(); i++) views.push_back(texts[i]);
  return views;
}

bool is_group_match(align::Kind kind) {
  return kind == align::Kind::kFused || kind == align::Kind::kSplit;
}

/// Rows by what is on both sides of them. Nearly all pieces keep their name: those are found by number.
class ChangeRows {
 public:
  ChangeRows(const Side& base, const Side& next, size_t texts)
      : base_(base), next_(next), by_name_(texts, SIZE_MAX) {}

  void add(const align::Alignment& alignment) {
    // Room that is not used takes no memory; moving a million rows would take twice theirs.
    changes_.rows.reserve(alignment.matches.size() + alignment.unmatched_base.size() +
                          alignment.unmatched_other.size());
    for (const align::Match& match : alignment.matches) add(alignment, match);
    for (const uint32_t i : alignment.unmatched_base) take(row_of(base_.items[i].name), base_.items[i], true);
    for (const uint32_t i : alignment.unmatched_other)
      take(row_of(next_.items[i].name), next_.items[i], false);
  }

  Changes take_all() {
    for (Change& row : changes_.rows) finish(row);
    return std::move(changes_);
  }

 private:
  using Names = std::vector<uint32_t>;

  Change& row_of(uint32_t name) {
    size_t& place = by_name_[name];
    if (place == SIZE_MAX) place = new_row(ChangeKind::kChanged, {name}, {name});
    return changes_.rows[place];
  }

  Change& row_of(ChangeKind kind, const Names& base, const Names& next) {
    const auto [it, added] = by_names_.try_emplace({kind, base, next}, 0);
    if (added) it->second = new_row(kind, base, next);
    return changes_.rows[it->second];
  }

  size_t new_row(ChangeKind kind, Names base, Names next) {
    Change row;
    row.kind = kind;
    row.base_names = std::move(base);
    row.next_names = std::move(next);
    changes_.rows.push_back(std::move(row));
    return changes_.rows.size() - 1;
  }

  static Names names_of(const Side& side, std::span<const uint32_t> items) {
    std::set<uint32_t> names;
    for (const uint32_t i : items) names.insert(side.items[i].name);
    return {names.begin(), names.end()};
  }

  Change& row_of(const align::Alignment& alignment, const align::Match& match) {
    const uint32_t base = base_.items[match.base].name, next = next_.items[match.other].name;
    if (is_group_match(match.kind)) {
      const auto kind = match.kind == align::Kind::kFused ? ChangeKind::kFused : ChangeKind::kSplit;
      return row_of(kind, names_of(base_, alignment.base_of(match)),
                    names_of(next_, alignment.other_of(match)));
    }
    return base == next ? row_of(base) : row_of(ChangeKind::kRenamed, {base}, {next});
  }

  void add(const align::Alignment& alignment, const align::Match& match) {
    Change& row = row_of(alignment, match);
    double weight = 1;
    for (const uint32_t i : alignment.base_of(match)) {
      weight += static_cast<double>(base_.items[i].time_ns);
      changes_.matched_base_ns += base_.items[i].owned_ns;
      take(row, base_.items[i], true);
      row.matched++;
    }
    for (const uint32_t i : alignment.other_of(match)) {
      weight += static_cast<double>(next_.items[i].time_ns);
      changes_.matched_next_ns += next_.items[i].owned_ns;
      take(row, next_.items[i], false);
    }
    row.moved += match.kind == align::Kind::kMoved;
    row.reshaped += match.kind == align::Kind::kReshaped;
    row.confidence += weight * static_cast<double>(match.confidence);
    weights_.resize(changes_.rows.size());
    weights_[static_cast<size_t>(&row - changes_.rows.data())] += weight;
  }

  void take(Change& row, const Item& item, bool is_base) {
    (is_base ? row.base : row.next).add(item);
    (is_base ? changes_.base_ns : changes_.next_ns) += item.owned_ns;
    if (row.label == kNoText || (!is_base && row.kind != ChangeKind::kChanged)) row.label = item.label;
    if (row.op == kNoText) row.op = item.op;
    row.part = item.part;
  }

  void finish(Change& row) {
    const size_t place = static_cast<size_t>(&row - changes_.rows.data());
    const double weight = place < weights_.size() ? weights_[place] : 0;
    row.confidence = weight > 0 ? row.confidence / weight : 0;
    if (row.kind != ChangeKind::kChanged) return;
    if (row.base.calls == 0) row.kind = ChangeKind::kAdded;
    if (row.next.calls == 0) row.kind = ChangeKind::kRemoved;
    if (row.moved > 0 && row.moved == row.matched) row.kind = ChangeKind::kMoved;
  }

  const Side& base_;
  const Side& next_;
  std::vector<size_t> by_name_;
  std::map<std::tuple<ChangeKind, Names, Names>, size_t> by_names_;
  std::vector<double> weights_;
  Changes changes_;
};

}  // namespace

Result<Changes> find_changes(const Side& base, const Side& next, const Texts& texts) {
  const auto names = views_of(texts);
  NL_TRY(const auto alignment, align::align(sequence_of(base), sequence_of(next), {names}));
  ChangeRows rows(base, next, texts.size());
  rows.add(alignment);
  return rows.take_all();
}

}  // namespace nl::compare
