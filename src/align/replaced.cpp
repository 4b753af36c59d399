#include "align/replaced.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "align/name_words.h"
#include "base/call_control.h"

namespace nl::align {
namespace {

constexpr uint32_t kMostParts = 6;
constexpr uint32_t kLargeBlock = 24;    // nodes of one side; then a proposed pair ends the block
constexpr uint32_t kLargestBlock = 64;  // then anything does
constexpr float kEnough = 2;            // points that a pair needs
constexpr float kEnoughMerged = 5;      // and several with one
constexpr float kLeftOver = 1;          // points that a node without a partner costs

/// How much speaks for a replacement, and what.
struct Verdict {
  float points = 0;
  uint16_t agreed = 0;
  void add(float more, uint16_t why = 0) {
    points += more;
    agreed |= why;
  }
};

/// Nodes of both sides, each list ascending.
struct Block {
  PagedVector<uint32_t> a, b;
  bool is_large() const { return std::max(a.size(), b.size()) >= kLargeBlock; }
  bool is_full() const { return std::max(a.size(), b.size()) >= kLargestBlock; }
};

/// Judges replacements of one block.
class Judge {
 public:
  explicit Judge(const Replaceable& sides) : sides_(sides), words_(sides.names) {
    for (const Features& f : sides.a.features) names_a_.insert(f.name);
    for (const Features& f : sides.b.features) names_b_.insert(f.name);
  }

  Verdict renamed(uint32_t a, uint32_t b, bool is_only) const {
    const Features &x = sides_.a.features[a], &y = sides_.b.features[b];
    Verdict verdict = pair(x, y);
    if (x.name == y.name) verdict.add(6, kName);
    if (is_new(x, y)) verdict.add(1);
    add_words(verdict, words_.overlap(x.name, y.name), x.name, y.name);
    if (is_only) verdict.add(2, kOnly);
    return verdict;
  }

  /// Several of one side against one of the other: the best of them, and whether the others belong to it.
  Verdict merged(std::span<const uint32_t> parts, uint32_t whole, bool is_fused, bool is_only) const {
    const Side &several = is_fused ? sides_.a : sides_.b, &single = is_fused ? sides_.b : sides_.a;
    const Features& one = single.features[whole];
    Verdict verdict{-100, 0};
    float overlap = 1;
    bool has_module = true, has_op = one.op != 0;
    for (const uint32_t part : parts) {
      const Features& f = several.features[part];
      const Verdict here = pair(f, one);
      if (here.points > verdict.points) verdict = here;
      overlap = std::min(overlap, words_.overlap(f.name, one.name));
      has_op = has_op && f.op == one.op && (part == parts.front() || f.opens == 0);
      has_module = has_module && several.module[part] == single.module[whole];
    }
    add_words(verdict, overlap, several.features[parts.front()].name, one.name);
    if (is_only) verdict.add(knows_names_alone(one) ? 5 : 2, kOnly);
    if (one.op != 0 && !has_module) verdict.add(-2);
    if (has_op) verdict.add(2);
    add_time(verdict, parts, whole, is_fused);
    verdict.add(has_new_name(parts, whole, is_fused) ? 1 : -4);
    return verdict;
  }

 private:
  static Verdict pair(const Features& x, const Features& y) {
    Verdict verdict = in_place(x, y);
    if (x.family != 0 && x.family == y.family) verdict.add(3, kFamily);
    if (x.shape != 0 && y.shape != 0) x.shape == y.shape ? verdict.add(2, kShape) : verdict.add(-1);
    return verdict;
  }

  static Verdict in_place(const Features& x, const Features& y) {
    Verdict verdict;
    if (x.op == 0 || y.op == 0) return verdict;
    if (x.place == y.place) {
      verdict.add(3, kPlace | kAround);
    } else if (x.around == y.around) {
      verdict.add(2, kAround);
    } else {
      verdict.add(x.op == y.op ? 1 : -3);
    }
    return verdict;
  }

  static bool knows_names_alone(const Features& f) { return f.family == 0 && f.shape == 0 && f.op == 0; }

  /// Neither name is on the other side.
  bool is_new(const Features& x, const Features& y) const {
    return !names_b_.contains(x.name) && !names_a_.contains(y.name);
  }

  /// What replaces something has a name that the other side has nowhere.
  bool has_new_name(std::span<const uint32_t> parts, uint32_t whole, bool is_fused) const {
    const Side &several = is_fused ? sides_.a : sides_.b, &single = is_fused ? sides_.b : sides_.a;
    const auto &names = is_fused ? names_a_ : names_b_, &other_names = is_fused ? names_b_ : names_a_;
    return !names.contains(single.features[whole].name) ||
           std::none_of(parts.begin(), parts.end(),
                        [&](uint32_t part) { return other_names.contains(several.features[part].name); });
  }

  void add_words(Verdict& verdict, float overlap, uint32_t a, uint32_t b) const {
    if (!words_.knows(a, b)) return;
    overlap > 0.1F ? verdict.add(3 * overlap, kWords) : verdict.add(-1);
  }

  /// Fusing saves time, but not all of it; and it does not make more of it.
  void add_time(Verdict& verdict, std::span<const uint32_t> parts, uint32_t whole, bool is_fused) const {
    int64_t sum = 0, longest = 0;
    for (const uint32_t part : parts) {
      const int64_t time = is_fused ? time_a(part) : time_b(part);
      if (time < 0) return;
      sum += time;
      longest = std::max(longest, time);
    }
    const int64_t time = is_fused ? time_b(whole) : time_a(whole);
    if (time < 0 || sum <= 0) return;
    const double ratio = static_cast<double>(time) / static_cast<double>(sum);
    ratio >= 0.3 && ratio <= 1.3 ? verdict.add(1, kTime) : verdict.add(ratio < 0.05 || ratio > 3 ? -3 : -1);
  }
  int64_t time_a(uint32_t i) const { return sides_.nodes_a.nodes[sides_.a.index[i]].weight_ns; }
  int64_t time_b(uint32_t i) const { return sides_.nodes_b.nodes[sides_.b.index[i]].weight_ns; }

  const Replaceable& sides_;
  NameWords words_;
  std::unordered_set<uint32_t> names_a_, names_b_;
};

/// The best way through a block: each step takes one of a, one of b, one of each, or several and one.
class BlockWay {
 public:
  BlockWay(const Block& block, const Judge& judge) : block_(block), judge_(judge) {
    cells_.resize((block.a.size() + 1) * (block.b.size() + 1));
    for (size_t i = 0; i <= block.a.size(); i++) {
      stop_if_cancelled();
      for (size_t j = 0; j <= block.b.size(); j++) fill(i, j);
    }
  }

  void apply(Links& links) const {
    size_t i = block_.a.size(), j = block_.b.size();
    while (i > 0 || j > 0) {
      const Cell& c = cell(i, j);
      if (c.a == 1 && c.b == 1) apply_pair(links, i - 1, j - 1, c.verdict);
      if (c.a > 1) apply_merge(links, true, i, j - 1, c.a, c.verdict);
      if (c.b > 1) apply_merge(links, false, j, i - 1, c.b, c.verdict);
      i -= c.a;
      j -= c.b;
    }
  }

 private:
  struct Cell {
    float points = 0;
    uint8_t a = 0, b = 0;  ///< how many the last step took of each side
    Verdict verdict;
  };

  Cell& cell(size_t i, size_t j) { return cells_[i * (block_.b.size() + 1) + j]; }
  const Cell& cell(size_t i, size_t j) const { return cells_[i * (block_.b.size() + 1) + j]; }
  bool is_whole(size_t a, size_t b) const { return a == block_.a.size() && b == block_.b.size(); }

  void fill(size_t i, size_t j) {
    if (i > 0) offer(i, j, 1, 0, {-kLeftOver, 0});
    if (j > 0) offer(i, j, 0, 1, {-kLeftOver, 0});
    if (i == 0 || j == 0) return;
    offer(i, j, 1, 1, judge_.renamed(block_.a[i - 1], block_.b[j - 1], is_whole(1, 1)));
    for (uint8_t k = 2; k <= std::min<size_t>(kMostParts, i) && touch(block_.a, i, k); k++) {
      offer(i, j, k, 1, judge_.merged(last(block_.a, i, k), block_.b[j - 1], true, is_whole(k, 1)));
    }
    for (uint8_t k = 2; k <= std::min<size_t>(kMostParts, j) && touch(block_.b, j, k); k++) {
      offer(i, j, 1, k, judge_.merged(last(block_.b, j, k), block_.a[i - 1], false, is_whole(1, k)));
    }
  }

  /// The k nodes before `end` stand side by side.
  static bool touch(const PagedVector<uint32_t>& nodes, size_t end, size_t k) {
    return nodes[end - 1] - nodes[end - k] == k - 1;
  }
  static std::span<const uint32_t> last(const PagedVector<uint32_t>& nodes, size_t end, size_t k) {
    return std::span(nodes).subspan(end - k, k);
  }

  void offer(size_t i, size_t j, uint8_t a, uint8_t b, const Verdict& verdict) {
    if (a > 0 && b > 0 && verdict.points < (a + b > 2 ? kEnoughMerged : kEnough)) return;
    const float points = cell(i - a, j - b).points + verdict.points;
    Cell& here = cell(i, j);
    if (here.a + here.b == 0 || points > here.points) here = {points, a, b, verdict};
  }

  void apply_pair(Links& links, size_t i, size_t j, const Verdict& verdict) const {
    links.link(block_.a[i], block_.b[j]);
    links.points[block_.a[i]] = verdict.points;
    links.agreed[block_.a[i]] = verdict.agreed;
  }

  void apply_merge(Links& links, bool is_fused, size_t end, size_t one, size_t count,
                   const Verdict& verdict) const {
    const auto parts = last(is_fused ? block_.a : block_.b, end, count);
    const uint32_t whole = is_fused ? block_.b[one] : block_.a[one];
    for (const uint32_t part : parts) (is_fused ? links.merged_a : links.merged_b)[part] = true;
    (is_fused ? links.merged_b : links.merged_a)[whole] = true;
    links.merges.push_back({is_fused, {parts.begin(), parts.end()}, whole, verdict.agreed, verdict.points});
  }

  const Block& block_;
  const Judge& judge_;
  PagedVector<Cell> cells_;
};

/// Walks both sides from one sure pair to the next and collects what is between.
class Replacer {
 public:
  Replacer(const Replaceable& sides, Links& links) : sides_(sides), links_(links), proposed_(links.to) {
    links_.points.assign(sides.a.size(), 0);
    links_.agreed.assign(sides.a.size(), 0);
  }

  void run() {
    uint32_t b = 0;
    for (uint32_t a = 0; a < sides_.a.size(); a++) {
      const uint32_t partner = links_.to[a];
      if (partner == kNone) {
        block_.a.push_back(a);
      } else if (!links_.is_moved[a]) {
        collect_b(b, partner);
        b = partner + 1;
        propose_or_finish(a, partner);
      }
      if (block_.is_full()) finish();
    }
    collect_b(b, static_cast<uint32_t>(sides_.b.size()));
    finish();
  }

 private:
  bool is_sure(uint32_t a, uint32_t b) const {
    return sides_.a.features[a].name == sides_.b.features[b].name;
  }

  void collect_b(uint32_t from, uint32_t to) {
    for (uint32_t b = from; b < to; b++) {
      if (links_.is_free_b(b)) block_.b.push_back(b);
      if (block_.is_full()) finish();
    }
  }

  void propose_or_finish(uint32_t a, uint32_t b) {
    if (is_sure(a, b)) return finish();
    const bool is_alone = is_linked_beside(a, b, -2) && is_linked_beside(a, b, -1) &&
                          is_linked_beside(a, b, 1) && is_linked_beside(a, b, 2);
    if (is_alone || block_.is_large()) finish();
    links_.unlink(a);
    block_.a.push_back(a);
    block_.b.push_back(b);
    if (is_alone) finish();
  }

  /// The nodes so many steps further are each other's partners at the start; or there are none.
  bool is_linked_beside(uint32_t a, uint32_t b, int step) const {
    const int64_t i = static_cast<int64_t>(a) + step, j = static_cast<int64_t>(b) + step;
    const bool no_a = i < 0 || i >= static_cast<int64_t>(sides_.a.size());
    const bool no_b = j < 0 || j >= static_cast<int64_t>(sides_.b.size());
    return no_a || no_b ? no_a && no_b : proposed_[static_cast<size_t>(i)] == j;
  }

  void finish() {
    if (!block_.a.empty() && !block_.b.empty()) BlockWay(block_, judge()).apply(links_);
    block_.a.clear();
    block_.b.clear();
  }

  const Judge& judge() {
    if (!judge_) judge_.emplace(sides_);
    return *judge_;
  }

  const Replaceable& sides_;
  Links& links_;
  PagedVector<uint32_t> proposed_;
  Block block_;
  std::optional<Judge> judge_;
};

}  // namespace

void match_replaced(const Replaceable& sides, Links& links) {
  Replacer(sides, links).run();
}

}  // namespace nl::align
