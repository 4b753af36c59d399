#include "align/features.h"

namespace nl::align {
namespace {

constexpr uint32_t kMost = 1u << 31;

Result<void> check(const Sequence& sequence) {
  const size_t groups = sequence.groups.size();
  if (groups + sequence.nodes.size() > kMost) return Error{ErrorCode::kLimit, "too many nodes to align"};
  const auto fine = [groups](uint32_t parent) { return parent == kNone || parent < groups; };
  for (const Group& group : sequence.groups) {
    if (!fine(group.parent)) return Error{ErrorCode::kBadInput, "a group has a parent that is not there"};
  }
  for (const Node& node : sequence.nodes) {
    if (!fine(node.parent)) return Error{ErrorCode::kBadInput, "a node has a parent that is not there"};
  }
  return {};
}

uint32_t folded(uint64_t hash) {
  const auto half = static_cast<uint32_t>(hash ^ (hash >> 32));
  return half == 0 ? 1 : half;
}

/// Depth and path of each group.
struct Paths {
  std::vector<uint32_t> depth;  ///< 1 at the top
  std::vector<uint64_t> place;
};

/// Parents first, whatever their order; fails on a circle.
Result<Paths> paths_of(const std::vector<Group>& groups) {
  Paths paths{std::vector<uint32_t>(groups.size(), 0), std::vector<uint64_t>(groups.size(), 0)};
  std::vector<uint32_t> chain;
  for (uint32_t start = 0; start < groups.size(); start++) {
    chain.clear();
    for (uint32_t g = start; g != kNone && paths.depth[g] == 0; g = groups[g].parent) {
      chain.push_back(g);
      if (chain.size() > groups.size()) return Error{ErrorCode::kBadInput, "groups form a circle"};
    }
    for (; !chain.empty(); chain.pop_back()) {
      const uint32_t g = chain.back(), parent = groups[g].parent;
      paths.depth[g] = parent == kNone ? 1 : paths.depth[parent] + 1;
      paths.place[g] = mix(parent == kNone ? 0 : paths.place[parent], groups[g].name);
    }
  }
  return paths;
}

/// Children of each group in the order of their first node, as linked lists. Items: nodes, then groups.
class TreeOrder {
 public:
  explicit TreeOrder(const Sequence& sequence)
      : sequence_(sequence), nodes_(static_cast<uint32_t>(sequence.nodes.size())) {
    const size_t groups = sequence.groups.size();
    next_.assign(nodes_ + groups, kNone);
    first_.assign(groups + 1, kNone);
    last_.assign(groups + 1, kNone);
    for (uint32_t i = 0; i < nodes_; i++) link(i);
  }

  std::vector<uint32_t> walk() const {
    std::vector<uint32_t> order, open;
    order.reserve(nodes_);
    for (uint32_t item = first_.back();;) {
      while (item == kNone) {
        if (open.empty()) return order;
        item = next_[open.back()];
        open.pop_back();
      }
      if (item < nodes_) {
        order.push_back(item);
        item = next_[item];
      } else {
        open.push_back(item);
        item = first_[item - nodes_];
      }
    }
  }

 private:
  /// Appends the item to its parent, and the parent to its own the first time.
  void link(uint32_t item) {
    for (;;) {
      const uint32_t parent =
          item < nodes_ ? sequence_.nodes[item].parent : sequence_.groups[item - nodes_].parent;
      const size_t list = parent == kNone ? first_.size() - 1 : parent;
      const bool is_first = first_[list] == kNone;
      (is_first ? first_[list] : next_[last_[list]]) = item;
      last_[list] = item;
      if (!is_first || parent == kNone) return;
      item = nodes_ + parent;
    }
  }

  const Sequence& sequence_;
  uint32_t nodes_;
  std::vector<uint32_t> next_, first_, last_;
};

/// How many groups around `now` are not around `before`.
uint32_t opened(const Sequence& sequence, const Paths& paths, uint32_t before, uint32_t now) {
  const auto depth = [&](uint32_t g) { return g == kNone ? 0 : paths.depth[g]; };
  uint32_t count = 0;
  while (before != now) {
    if (depth(now) >= depth(before)) {
      now = sequence.groups[now].parent;
      count++;
    } else {
      before = sequence.groups[before].parent;
    }
  }
  return count;
}

Features features_of(const Sequence& sequence, const Paths& paths, const Node& node) {
  Features f{node.name, node.family, node.shape, 0, 0, 0};
  if (node.parent == kNone) return f;
  const Group& inner = sequence.groups[node.parent];
  const uint64_t outer = inner.parent == kNone ? kNone : sequence.groups[inner.parent].name;
  f.place = folded(paths.place[node.parent]);
  f.around = folded(mix(outer, inner.name));
  return f;
}

}  // namespace

Result<Side> side_of(const Sequence& sequence) {
  NL_CHECK(check(sequence));
  NL_TRY(const Paths paths, paths_of(sequence.groups));
  Side side;
  side.index = TreeOrder(sequence).walk();
  side.features.reserve(side.index.size());
  side.group.reserve(side.index.size());
  uint32_t before = kNone;
  for (const uint32_t i : side.index) {
    const Node& node = sequence.nodes[i];
    Features f = features_of(sequence, paths, node);
    f.opens = opened(sequence, paths, before, node.parent);
    side.features.push_back(f);
    side.group.push_back(node.parent);
    before = node.parent;
  }
  return side;
}

int similarity(const Features& a, const Features& b) {
  const bool has_place = a.around != 0 && b.around != 0;
  int s = a.name == b.name ? 8 : a.family == b.family && a.family != 0 ? 1 : -6;
  if (a.shape != 0 && b.shape != 0) s += a.shape == b.shape ? 3 : -1;
  if (has_place) s += a.place == b.place ? 5 : a.around == b.around ? 4 : -2;
  if (a.opens == b.opens && a.opens > 0) s += 1;
  return s;
}

}  // namespace nl::align
