#include "exports/stacks/folded_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "exports/stacks/run_stacks.h"

namespace nl::exports {
namespace {

constexpr size_t kFoldedPiece = 1 << 16;

/// The frames on the way to a node, as text. Nodes come in the order of the tree, so that most of the text
/// is there already.
class FoldedPath {
 public:
  explicit FoldedPath(const StackTree& tree) : tree_(tree) {}

  const std::string& of(StackTree::Node node) {
    const StackTree::Node above = tree_.parent(node);
    while (!frames_.empty() && frames_.back().node != above) frames_.pop_back();
    text_.resize(frames_.empty() ? 0 : frames_.back().end);
    if (!text_.empty()) text_ += ';';
    text_ += folded_frame(tree_.name(node));
    frames_.push_back({node, text_.size()});
    return text_;
  }

 private:
  struct Frame {
    StackTree::Node node;
    size_t end;
  };
  const StackTree& tree_;
  std::vector<Frame> frames_;
  std::string text_;
};

bool has_sum(const StackTree& tree, StackTree::Node node, size_t sums) {
  for (size_t i = 0; i < sums; i++) {
    if (tree.sum(node, i) != 0) return true;
  }
  return false;
}

}  // namespace

Result<void> write_folded(const StackTree& tree, size_t sums,
                          const std::function<Result<void>(std::string_view)>& write) {
  FoldedPath path(tree);
  std::string text;
  for (const StackTree::Node node : tree.in_order()) {
    const std::string& frames = path.of(node);
    if (!has_sum(tree, node, sums)) continue;
    text += frames;
    for (size_t i = 0; i < sums; i++) text.append(1, ' ').append(std::to_string(tree.sum(node, i)));
    text += '\n';
    if (text.size() < kFoldedPiece) continue;
    NL_CHECK(write(text));
    text.clear();
  }
  return text.empty() ? Result<void>() : write(text);
}

}  // namespace nl::exports
