#include "align/features.h"

#include <algorithm>

namespace nl::align {
namespace {

constexpr uint32_t kMost = 1u << 31;

Result<void> check(const Sequence& sequence) {
  const size_t groups = sequence.groups.size();
  if (groups + sequence.nodes.size() > kMost) return Error{ErrorCode::kLimit, "too many nodes to align"};
  const auto fine = [groups](uint32_t parent) { return parent == kNone || parent < groups; };
  for (const Group& group : sequence.groups) {
    if (!fine(group.parent)) return Error{ErrorCode::kBadInput, "a group has a parent that does not exist"};
  }
  for (const Node& node : sequence.nodes) {
    if (!fine(node.parent)) return Error{ErrorCode::kBadInput, "a node has a parent that does not exist"};
  }
  return {};
}

uint32_t folded(uint64_t hash) {
  const auto half = static_cast<uint32_t>(hash ^ (hash >> 32));
  return half == 0 ? 1 : half;
}

/// Depth and path of each group.
struct Paths {
  PagedVector<uint32_t> depth;  ///< 1 at the top
  PagedVector<uint64_t> place;
};

/// Parents first, whatever their order; fails on a circle.
Result<Paths> paths_of(const PagedVector<Group>& groups) {
  Paths paths{PagedVector<uint32_t>(groups.size(), 0), PagedVector<uint64_t>(groups.size(), 0)};
  PagedVector<uint32_t> chain;
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

/// Children of each group as linked lists, in the order of where most of their nodes stand: one node that was
/// launched early does not pull its group along. Items: nodes, then groups.
class TreeOrder {
 public:
  TreeOrder(const Sequence& sequence, const Paths& paths)
      : sequence_(sequence),
        nodes_(static_cast<uint32_t>(sequence.nodes.size())),
        position_(sequence.groups.size()) {
    const size_t groups = sequence.groups.size();
    next_.assign(nodes_ + groups, kNone);
    first_.assign(groups + 1, kNone);
    count_.assign(groups + 1, 0);
    for (uint32_t i = nodes_; i-- > 0;) link(i);
    for (const uint32_t group : deepest_first(paths)) sort_children(group);
    sort_children(static_cast<uint32_t>(groups));
  }

  PagedVector<uint32_t> walk() const {
    PagedVector<uint32_t> order, open;
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
  struct Child {
    uint32_t position, item, nodes;
  };

  /// Puts the item before the others of its parent, and the parent into its own the first time.
  void link(uint32_t item) {
    for (;;) {
      const uint32_t parent =
          item < nodes_ ? sequence_.nodes[item].parent : sequence_.groups[item - nodes_].parent;
      const size_t list = parent == kNone ? first_.size() - 1 : parent;
      const bool is_first = first_[list] == kNone;
      next_[item] = first_[list];
      first_[list] = item;
      if (!is_first || parent == kNone) return;
      item = nodes_ + parent;
    }
  }

  PagedVector<uint32_t> deepest_first(const Paths& paths) const {
    PagedVector<uint32_t> groups;
    for (uint32_t g = 0; g < sequence_.groups.size(); g++) {
      if (first_[g] != kNone) groups.push_back(g);
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [&](uint32_t x, uint32_t y) { return paths.depth[x] > paths.depth[y]; });
    return groups;
  }

  void sort_children(uint32_t group) {
    children_.clear();
    for (uint32_t item = first_[group]; item != kNone; item = next_[item]) {
      const bool is_node = item < nodes_;
      children_.push_back(
          {is_node ? item : position_[item - nodes_], item, is_node ? 1 : count_[item - nodes_]});
      count_[group] += children_.back().nodes;
    }
    std::sort(children_.begin(), children_.end(), [](const Child& x, const Child& y) {
      return x.position != y.position ? x.position < y.position : x.item < y.item;
    });
    uint32_t* place = &first_[group];
    for (const Child& child : children_) {
      *place = child.item;
      place = &next_[child.item];
    }
    *place = kNone;
    if (group < position_.size()) position_[group] = middle(count_[group]);
  }

  /// The median position of the nodes below, about.
  uint32_t middle(uint32_t nodes) const {
    uint32_t passed = 0;
    for (const Child& child : children_) {
      passed += child.nodes;
      if (passed * 2 >= nodes) return child.position;
    }
    return 0;
  }

  const Sequence& sequence_;
  uint32_t nodes_;
  PagedVector<uint32_t> next_, first_, count_, position_;
  PagedVector<Child> children_;
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
  Features f{node.name, node.family, node.shape, 0, 0, 0, 0};
  if (node.parent == kNone) return f;
  const Group& inner = sequence.groups[node.parent];
  const uint64_t outer = inner.parent == kNone ? kNone : sequence.groups[inner.parent].name;
  f.place = folded(paths.place[node.parent]);
  f.around = folded(mix(outer, inner.name));
  f.op = folded(mix(1, inner.name));
  return f;
}

uint32_t module_of(const Sequence& sequence, const Paths& paths, const Node& node) {
  const uint32_t module = node.parent == kNone ? kNone : sequence.groups[node.parent].parent;
  return module == kNone ? 0 : folded(paths.place[module]);
}

}  // namespace

Result<Side> side_of(const Sequence& sequence) {
  NL_CHECK(check(sequence));
  NL_TRY(const Paths paths, paths_of(sequence.groups));
  Side side;
  side.index = TreeOrder(sequence, paths).walk();
  side.features.reserve(side.index.size());
  side.module.reserve(side.index.size());
  uint32_t before = kNone;
  for (const uint32_t i : side.index) {
    const Node& node = sequence.nodes[i];
    Features f = features_of(sequence, paths, node);
    f.opens = opened(sequence, paths, before, node.parent);
    side.features.push_back(f);
    side.module.push_back(module_of(sequence, paths, node));
    before = node.parent;
  }
  return side;
}

int similarity(const Features& a, const Features& b) {
  const bool same_family = a.family == b.family && a.family != 0;
  const bool known = a.family != 0 && b.family != 0;
  int fit = a.name == b.name ? kFitName : same_family ? kFitFamily : known ? kFitNothing : kFitUnknown;
  if (a.shape != 0 && b.shape != 0) fit += a.shape == b.shape ? kFitShape : kFitOtherShape;
  if (a.op != 0 && b.op != 0) {
    const int by_op = a.op == b.op ? kFitOp : kFitOtherPlace;
    fit += a.place == b.place ? kFitPlace : a.around == b.around ? kFitAround : by_op;
  }
  return a.opens == b.opens && a.opens > 0 ? fit + kFitOpens : fit;
}

}  // namespace nl::align
