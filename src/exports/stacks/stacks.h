#pragma once
// StackTree: many call stacks as one tree. A node is a frame under the frames around it, and carries sums, a
// few int64 each. The number of nodes is limited: beyond it the deepest frames merge into one frame
// "(others)" per place, so that sums stay whole while detail is lost. For one thread.

#include <cstdint>
#include <string_view>
#include <vector>

#include "exports/stacks/frame_names.h"
#include "exports/stacks/number_slots.h"

namespace nl::exports {

class StackTree {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr size_t kMaxNodes = 1'000'000;

  /// `sums`: how many values a node has.
  explicit StackTree(size_t sums = 1, size_t max_nodes = kMaxNodes);

  /// The frame of this name below another one. Once there is no room for another frame, it is the frame
  /// "(others)" there, and at last the frame above.
  Node child(Node parent, uint32_t name);
  Node child(Node parent, std::string_view name) { return child(parent, names.number(name)); }

  /// A frame at the bottom, for which there is always room.
  Node root(std::string_view name);
  /// Lets frames take only this share of the nodes that are free, so that others find room later.
  void use_share(double share);
  void use_all() { limit_ = max_nodes_; }

  Node parent(Node node) const { return nodes_[node].parent; }
  std::string_view name(Node node) const { return names[nodes_[node].name]; }
  uint32_t name_number(Node node) const { return nodes_[node].name; }
  size_t size() const { return nodes_.size(); }
  int64_t& sum(Node node, size_t which = 0) { return sums_[node * sums_per_node_ + which]; }
  int64_t sum(Node node, size_t which = 0) const { return sums_[node * sums_per_node_ + which]; }
  /// Calls of child() that had no room.
  int64_t merged() const { return merged_ + names.without_room(); }

  /// From the outermost frame to the node, without the root.
  void path(Node node, std::vector<Node>& frames) const;
  /// All but the root: a frame before what is below it, frames beside each other by name.
  std::vector<Node> in_order() const;

  FrameNames names;

 private:
  struct Frame {
    Node parent;
    uint32_t name;
  };

  Node add(Node parent, uint32_t name);
  Node find(Node parent, uint32_t name) const;

  const size_t sums_per_node_;
  const size_t max_nodes_;
  size_t limit_;
  std::vector<Frame> nodes_;
  std::vector<int64_t> sums_;
  NumberSlots slots_;
  int64_t merged_ = 0;
};

}  // namespace nl::exports
