#include "exports/stacks/stacks.h"

#include <algorithm>
#include <numeric>

namespace nl::exports {
namespace {

uint64_t hash_of_frame(uint32_t parent, uint32_t name) {
  return (uint64_t{parent} << 32 | name) * 0xD6E8FEB86659FD93ULL;
}

/// A tenth of the frames is kept free for those that stand for others.
bool is_nearly_full(size_t nodes, size_t limit) {
  return nodes >= limit - limit / 10;
}

/// Place of each name in the order of texts.
std::vector<uint32_t> ranks_of(const FrameNames& names) {
  std::vector<uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return names[a] < names[b]; });
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t i = 0; i < order.size(); i++) ranks[order[i]] = i;
  return ranks;
}

}  // namespace

StackTree::StackTree(size_t sums, size_t max_nodes)
    : sums_per_node_(sums), max_nodes_(max_nodes), limit_(max_nodes) {
  nodes_.push_back({kRoot, FrameNames::kOthers});
  sums_.resize(sums_per_node_);
}

StackTree::Node StackTree::find(Node parent, uint32_t name) const {
  return slots_.find(hash_of_frame(parent, name), [&](uint32_t node) {
    return nodes_[node].parent == parent && nodes_[node].name == name;
  });
}

StackTree::Node StackTree::add(Node parent, uint32_t name) {
  const auto node = static_cast<Node>(nodes_.size());
  nodes_.push_back({parent, name});
  sums_.resize(sums_.size() + sums_per_node_);
  slots_.add(node, [&](uint32_t one) { return hash_of_frame(nodes_[one].parent, nodes_[one].name); });
  return node;
}

StackTree::Node StackTree::child(Node parent, uint32_t name) {
  if (const Node found = find(parent, name); found != NumberSlots::kNone) return found;
  if (!is_nearly_full(nodes_.size(), limit_)) return add(parent, name);
  merged_++;
  // What is below others is among them.
  if (parent != kRoot && nodes_[parent].name == FrameNames::kOthers) return parent;
  if (const Node others = find(parent, FrameNames::kOthers); others != NumberSlots::kNone) return others;
  return nodes_.size() < limit_ ? add(parent, FrameNames::kOthers) : parent;
}

StackTree::Node StackTree::root(std::string_view name) {
  const uint32_t number = names.number_as_is(safe_line(name), true);
  const Node found = find(kRoot, number);
  return found != NumberSlots::kNone ? found : add(kRoot, number);
}

void StackTree::use_share(double share) {
  const size_t free = max_nodes_ - std::min(max_nodes_, nodes_.size());
  limit_ = nodes_.size() + static_cast<size_t>(share * static_cast<double>(free));
}

void StackTree::path(Node node, std::vector<Node>& frames) const {
  frames.clear();
  for (; node != kRoot; node = nodes_[node].parent) frames.push_back(node);
  std::reverse(frames.begin(), frames.end());
}

std::vector<StackTree::Node> StackTree::in_order() const {
  const std::vector<uint32_t> ranks = ranks_of(names);
  std::vector<Node> by_parent(nodes_.size() - 1);
  std::iota(by_parent.begin(), by_parent.end(), 1U);
  // The last name first: frames are taken from the end of a stack.
  std::sort(by_parent.begin(), by_parent.end(), [&](Node a, Node b) {
    if (nodes_[a].parent != nodes_[b].parent) return nodes_[a].parent < nodes_[b].parent;
    return ranks[nodes_[a].name] > ranks[nodes_[b].name];
  });
  std::vector<uint32_t> first(nodes_.size() + 1, 0);
  for (Node node = 1; node < nodes_.size(); node++) first[nodes_[node].parent + 1]++;
  std::partial_sum(first.begin(), first.end(), first.begin());

  std::vector<Node> order;
  order.reserve(nodes_.size() - 1);
  std::vector<Node> waiting(by_parent.begin() + first[kRoot], by_parent.begin() + first[kRoot + 1]);
  while (!waiting.empty()) {
    const Node node = waiting.back();
    waiting.pop_back();
    order.push_back(node);
    waiting.insert(waiting.end(), by_parent.begin() + first[node], by_parent.begin() + first[node + 1]);
  }
  return order;
}

}  // namespace nl::exports
