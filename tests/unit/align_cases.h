#pragma once
// Models made up for tests of alignment, and edits of them with known truth. Used by align_test.cpp and
// bench/align.cpp. Numbers come from an own generator, so that every machine makes the same cases.

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "align/alignment.h"

namespace nl::align_cases {

using align::Alignment;
using align::Group;
using align::kNone;
using align::Node;
using align::Sequence;

/// splitmix64
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint32_t below(uint32_t n) { return n == 0 ? 0 : static_cast<uint32_t>(next() % n); }
  bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }

 private:
  uint64_t state_;
};

/// Texts to ids, from 1.
class Texts {
 public:
  uint32_t id(const std::string& text) {
    const auto [it, is_new] = ids_.try_emplace(text, static_cast<uint32_t>(ids_.size()) + 1);
    if (is_new) texts_.resize(ids_.size() + 1);
    texts_[it->second] = it->first;
    return it->second;
  }
  std::vector<std::string_view> views() const { return {texts_.begin(), texts_.end()}; }
  const std::string& text(uint32_t id) const { return texts_[id]; }

 private:
  std::map<std::string, uint32_t> ids_;
  std::vector<std::string> texts_ = {""};
};

/// What the two sides know beside names.
struct Knowledge {
  bool tree = true;
  bool shapes = true;
  bool families = true;
  bool words = true;  ///< texts of names
};

class Builder {
 public:
  Builder(Texts& texts, Knowledge knowledge, Dice& dice) : texts_(texts), knows_(knowledge), dice_(dice) {}

  void open(const std::string& name) {
    if (!knows_.tree) return;
    result_.groups.push_back({open_.empty() ? kNone : open_.back(), texts_.id(name)});
    open_.push_back(static_cast<uint32_t>(result_.groups.size()) - 1);
  }
  void close() {
    if (knows_.tree) open_.pop_back();
  }
  void kernel(const std::string& name, const std::string& family, const std::string& shape) {
    Node node;
    node.parent = open_.empty() ? kNone : open_.back();
    node.name = texts_.id(name);
    node.family = knows_.families ? texts_.id("family " + family) : 0;
    node.shape = knows_.shapes ? texts_.id("shape " + shape) : 0;
    node.weight_ns = 2'000 + dice_.below(60'000);
    result_.nodes.push_back(node);
  }
  /// An op with one kernel.
  void op(const std::string& op_name, const std::string& kernel_name, const std::string& family,
          const std::string& shape) {
    open(op_name);
    kernel(kernel_name, family, shape);
    close();
  }
  Sequence take() { return std::move(result_); }

 private:
  Texts& texts_;
  Knowledge knows_;
  Dice& dice_;
  Sequence result_;
  std::vector<uint32_t> open_;
};

inline void attention(Builder& b) {
  b.open("attention");
  b.op("aten::layer_norm", "vectorized_layer_norm_kernel", "norm", "8x1024");
  b.op("aten::linear", "ampere_gemm_128x64_tn", "gemm", "8x1024x3072");
  b.op("aten::add", "vectorized_elementwise_add", "elementwise", "8x3072");
  b.op("aten::transpose", "copy_transpose_kernel", "copy", "8x3072");
  b.open("aten::scaled_dot_product_attention");
  b.kernel("gemm_qk_64x64_nt", "gemm", "16x512x512");
  b.kernel("softmax_warp_forward", "softmax", "16x512x512");
  b.kernel("gemm_pv_64x64_nn", "gemm", "16x512x64");
  b.close();
  b.op("aten::linear", "ampere_gemm_64x64_tn", "gemm", "8x1024x1024");
  b.op("aten::add", "vectorized_elementwise_add", "elementwise", "8x1024");
  b.op("aten::add", "vectorized_elementwise_add", "elementwise", "8x1024");
  b.close();
}

inline void mlp(Builder& b) {
  b.open("mlp");
  b.op("aten::layer_norm", "vectorized_layer_norm_kernel", "norm", "8x1024");
  b.op("aten::linear", "ampere_gemm_128x64_tn", "gemm", "8x1024x4096");
  b.op("aten::gelu", "gelu_elementwise_kernel", "elementwise", "8x4096");
  b.op("aten::linear", "ampere_gemm_128x128_tn", "gemm", "8x4096x1024");
  b.op("aten::add", "vectorized_elementwise_add", "elementwise", "8x1024");
  b.close();
}

inline void transformer(Builder& b, uint32_t layers) {
  b.op("aten::embedding", "indexSelectLargeIndex", "gather", "8x1024");
  for (uint32_t i = 0; i < layers; i++) {
    b.open("layers." + std::to_string(i));
    attention(b);
    mlp(b);
    b.close();
  }
  b.op("aten::layer_norm", "vectorized_layer_norm_kernel", "norm", "8x1024");
  b.op("aten::linear", "ampere_gemm_256x128_tn", "gemm", "8x1024x50257");
  b.op("aten::argmax", "reduce_argmax_kernel", "reduce", "8x50257");
}

inline void convolution_net(Builder& b, uint32_t blocks) {
  constexpr std::array<const char*, 4> kAlgorithms = {"implicit_gemm", "winograd", "xmma_fprop", "direct"};
  for (uint32_t i = 0; i < blocks; i++) {
    const std::string channels = std::to_string(64 << (i * 4 / std::max(blocks, 1u)));
    b.open("block." + std::to_string(i));
    for (uint32_t k = 0; k < 3; k++) {
      const std::string shape = channels + "x" + std::to_string(k == 1 ? 3 : 1);
      b.op("aten::convolution", std::string(kAlgorithms[(i / 4 + k) % 4]) + "_conv_" + channels, "conv",
           shape);
      b.op("aten::batch_norm", "bn_fw_inference_kernel", "norm", channels);
      b.op("aten::relu", "relu_elementwise_kernel", "elementwise", channels);
    }
    b.op("aten::add", "vectorized_elementwise_add", "elementwise", channels);
    b.close();
  }
}

/// Experts are called as a router likes, so layers differ.
inline void mixture(Builder& b, uint32_t layers, Dice& dice) {
  for (uint32_t i = 0; i < layers; i++) {
    b.open("layers." + std::to_string(i));
    attention(b);
    b.op("aten::topk", "radix_topk_kernel", "sort", "8x64");
    for (uint32_t e = 0; e < 8; e++) {
      if (!dice.chance(0.5)) continue;
      b.open("experts." + std::to_string(e));
      const std::string tokens = std::to_string(8u << dice.below(4));
      b.op("aten::linear", "grouped_gemm_up_" + tokens, "gemm", tokens + "x4096");
      b.op("aten::silu", "silu_elementwise_kernel", "elementwise", tokens + "x4096");
      b.op("aten::linear", "grouped_gemm_down_" + tokens, "gemm", tokens + "x1024");
      b.close();
    }
    b.op("aten::index_add", "index_add_kernel", "scatter", "8x1024");
    b.close();
  }
}

enum class Model { kTransformer, kConvolutions, kMixture, kSteps };
inline constexpr std::array kModels = {Model::kTransformer, Model::kConvolutions, Model::kMixture,
                                       Model::kSteps};
inline const char* model_name(Model model) {
  constexpr std::array kNames = {"transformer", "convolutions", "mixture", "steps"};
  return kNames[static_cast<size_t>(model)];
}

/// About `size` nodes.
inline Sequence make_model(Model model, uint32_t size, Knowledge knowledge, Texts& texts, Dice& dice) {
  Builder b(texts, knowledge, dice);
  if (model == Model::kTransformer) transformer(b, size / 15);
  if (model == Model::kConvolutions) convolution_net(b, size / 10);
  if (model == Model::kMixture) mixture(b, size / 24, dice);
  if (model == Model::kSteps) {
    for (uint32_t i = 0; i < size / 94; i++) {
      b.open("step#" + std::to_string(i));
      transformer(b, 6);
      b.close();
    }
  }
  return b.take();
}

enum class Edit { kUntouched, kDeleted, kRenamed, kReshaped, kMoved, kFused, kSplit };
inline constexpr size_t kEdits = 7;
inline const char* edit_name(Edit edit) {
  constexpr std::array kNames = {"untouched", "deleted", "renamed", "reshaped", "moved", "fused", "split"};
  return kNames[static_cast<size_t>(edit)];
}

/// The other side, and for each node of the base what became of it.
struct Case {
  Sequence base, other;
  std::vector<Edit> edit;
  std::vector<std::vector<uint32_t>> truth;  ///< indexes on the other side
};

/// Edits one node after the other: a share of `rate` of them.
class Editor {
 public:
  Editor(const Sequence& base, Texts& texts, Dice& dice) : texts_(texts), dice_(dice) {
    result_.base = base;
    result_.other.groups = base.groups;
    result_.edit.assign(base.nodes.size(), Edit::kUntouched);
  }

  Case edit(double rate) {
    const auto size = static_cast<uint32_t>(result_.base.nodes.size());
    for (uint32_t i = 0; i < size;) i += dice_.chance(rate) ? change(i) : keep(i);
    return finish();
  }

  /// Another library: no kernel has its old name, and one in ten ops has more kernels.
  Case port(bool keeps_families) {
    const auto size = static_cast<uint32_t>(result_.base.nodes.size());
    for (uint32_t i = 0; i < size; i++) {
      const uint32_t kernels = dice_.chance(0.1) ? 2 : 1;
      result_.edit[i] = kernels == 1 ? Edit::kRenamed : Edit::kSplit;
      for (uint32_t k = 0; k < kernels; k++) {
        Node node = result_.base.nodes[i];
        node.name = texts_.id("Cijk_" + std::to_string(node.name) + "_" + std::to_string(k));
        if (!keeps_families) node.family = 0;
        node.weight_ns /= kernels;
        put(node, {i});
      }
    }
    return finish();
  }

  /// One more copy of the group (with what is in it) behind itself.
  Case repeat_group(uint32_t group) {
    const auto size = static_cast<uint32_t>(result_.base.nodes.size());
    std::vector<uint32_t> inside;
    for (uint32_t i = 0; i < size; i++) {
      if (is_inside(i, group)) inside.push_back(i);
    }
    for (uint32_t i = 0; i < size; i++) {
      keep(i);
      if (i != inside.back()) continue;
      std::map<uint32_t, uint32_t> copies;
      for (const uint32_t k : inside) {
        Node node = result_.base.nodes[k];
        node.parent = copy_of(node.parent, group, copies);
        put(node, {});
      }
    }
    return finish();
  }

 private:
  struct Placed {
    Node node;
    std::vector<uint32_t> from;  ///< of the base; none if it is new
    double place;
  };

  bool is_inside(uint32_t node, uint32_t group) const {
    uint32_t g = result_.base.nodes[node].parent;
    while (g != kNone && g != group) g = result_.base.groups[g].parent;
    return g == group;
  }

  uint32_t copy_of(uint32_t group, uint32_t top, std::map<uint32_t, uint32_t>& copies) {
    if (const auto known = copies.find(group); known != copies.end()) return known->second;
    Group copy = result_.base.groups[group];
    copy.parent = group == top ? copy.parent : copy_of(copy.parent, top, copies);
    result_.other.groups.push_back(copy);
    return copies[group] = static_cast<uint32_t>(result_.other.groups.size()) - 1;
  }

  void put(Node node, std::vector<uint32_t> from, double shift = 0) {
    node.weight_ns += static_cast<int64_t>(dice_.below(static_cast<uint32_t>(node.weight_ns / 5) + 1));
    placed_.push_back({node, std::move(from), static_cast<double>(placed_.size()) + shift});
  }

  uint32_t keep(uint32_t i) {
    put(result_.base.nodes[i], {i});
    return 1;
  }

  /// One edit at node i; how many nodes it used up.
  uint32_t change(uint32_t i) {
    switch (dice_.below(7)) {
      case 0:
        return insert(i);
      case 1:
        return result_.edit[i] = Edit::kDeleted, 1;
      case 2:
        return rename(i);
      case 3:
        return reshape(i);
      case 4:
        return move(i);
      case 5:
        return fuse(i);
      default:
        return split(i);
    }
  }

  /// Half of the new ops look like others of the model.
  uint32_t insert(uint32_t i) {
    Node node = result_.base.nodes[dice_.below(static_cast<uint32_t>(result_.base.nodes.size()))];
    if (dice_.chance(0.5)) node.name = texts_.id("inserted_kernel_" + std::to_string(dice_.below(9)));
    node.parent = result_.base.nodes[i].parent;
    put(node, {});
    return keep(i);
  }

  uint32_t rename(uint32_t i) {
    Node node = result_.base.nodes[i];
    node.name = texts_.id(texts_.text(node.name) + "_v2");
    if (dice_.chance(0.2)) node.family = 0;
    result_.edit[i] = Edit::kRenamed;
    put(node, {i});
    return 1;
  }

  uint32_t reshape(uint32_t i) {
    if (result_.base.nodes[i].shape == 0) return rename(i);
    Node node = result_.base.nodes[i];
    node.shape = texts_.id("other shape " + std::to_string(dice_.below(50)));
    result_.edit[i] = Edit::kReshaped;
    put(node, {i});
    return 1;
  }

  /// Mostly by a few places, sometimes far.
  uint32_t move(uint32_t i) {
    const uint32_t reach = dice_.chance(0.8) ? 12 : 400;
    const double shift = (2.5 + dice_.below(reach)) * (dice_.chance(0.5) ? 1 : -1);
    result_.edit[i] = Edit::kMoved;
    put(result_.base.nodes[i], {i}, shift);
    return 1;
  }

  uint32_t fuse(uint32_t i) {
    const auto size = static_cast<uint32_t>(result_.base.nodes.size());
    const uint32_t count = std::min(2 + dice_.below(2), size - i);
    if (count < 2) return keep(i);
    Node node = result_.base.nodes[i];
    node.weight_ns = 0;
    std::string name = "fused";
    std::vector<uint32_t> from;
    for (uint32_t k = i; k < i + count; k++) {
      result_.edit[k] = Edit::kFused;
      name += "_" + texts_.text(result_.base.nodes[k].name);
      node.weight_ns += result_.base.nodes[k].weight_ns * 6 / 10;
      from.push_back(k);
    }
    node.name = texts_.id(name);
    put(node, from);
    return count;
  }

  uint32_t split(uint32_t i) {
    const uint32_t count = 2 + dice_.below(2);
    result_.edit[i] = Edit::kSplit;
    for (uint32_t k = 0; k < count; k++) {
      Node node = result_.base.nodes[i];
      node.name = texts_.id(texts_.text(node.name) + "_part" + std::to_string(k));
      node.weight_ns /= count;
      put(node, {i});
    }
    return 1;
  }

  /// A moved op stands in the module where it is now, under an own copy of its op.
  void adopt_moved() {
    for (size_t i = 1; i < placed_.size(); i++) {
      Placed& moved = placed_[i];
      const uint32_t op = moved.node.parent, beside = placed_[i - 1].node.parent;
      if (moved.from.empty() || result_.edit[moved.from[0]] != Edit::kMoved || op == kNone) continue;
      const uint32_t module = beside == kNone ? kNone : result_.other.groups[beside].parent;
      result_.other.groups.push_back({module, result_.other.groups[op].name});
      moved.node.parent = static_cast<uint32_t>(result_.other.groups.size()) - 1;
    }
  }

  Case finish() {
    std::stable_sort(placed_.begin(), placed_.end(),
                     [](const Placed& x, const Placed& y) { return x.place < y.place; });
    adopt_moved();
    result_.truth.resize(result_.base.nodes.size());
    for (const Placed& placed : placed_) {
      const auto at = static_cast<uint32_t>(result_.other.nodes.size());
      result_.other.nodes.push_back(placed.node);
      for (const uint32_t from : placed.from) result_.truth[from].push_back(at);
    }
    return std::move(result_);
  }

  Texts& texts_;
  Dice& dice_;
  Case result_;
  std::vector<Placed> placed_;
};

/// Of nodes with one kind of edit.
struct Tally {
  uint64_t total = 0;
  uint64_t ambiguous = 0;   ///< untouched ones whose stretch has another explanation that keeps as many nodes
  uint64_t right = 0;       ///< matched to exactly what it became; deleted: unmatched
  uint64_t recognised = 0;  ///< and with the kind of match that belongs to the edit
  double share() const { return total > 0 ? static_cast<double>(right) / static_cast<double>(total) : 1; }
  /// Without those that cannot be told.
  double known_share() const {
    return total > ambiguous ? static_cast<double>(right) / static_cast<double>(total - ambiguous) : 1;
  }
};

/// How often matches of a confidence are right.
struct Bin {
  uint64_t total = 0, right = 0;
};

struct Score {
  std::array<Tally, kEdits> edits;
  std::array<Bin, 20> bins;  ///< by confidence, in steps of 0.05
};

inline bool fits(Edit edit, align::Kind kind) {
  constexpr std::array kWanted = {align::Kind::kSame,     align::Kind::kSame,  align::Kind::kRenamed,
                                  align::Kind::kReshaped, align::Kind::kMoved, align::Kind::kFused,
                                  align::Kind::kSplit};
  return kind == kWanted[static_cast<size_t>(edit)];
}

/// Judges an alignment by the truth of its case.
class Referee {
 public:
  Referee(const Case& c, const Alignment& alignment) : case_(c), alignment_(alignment) {
    found_.assign(c.base.nodes.size(), nullptr);
    for (const auto& match : alignment.matches) {
      for (const uint32_t base : alignment.base_of(match)) found_[base] = &match;
    }
  }

  void judge(Score& score) const {
    const std::vector<bool> ambiguous = ambiguous_nodes();
    for (uint32_t i = 0; i < found_.size(); i++) {
      Tally& tally = score.edits[static_cast<size_t>(case_.edit[i])];
      const bool right = is_right(i);
      tally.total++;
      tally.ambiguous += ambiguous[i];
      tally.right += right;
      tally.recognised += right && (found_[i] == nullptr || fits(case_.edit[i], found_[i]->kind));
    }
    for (const auto& match : alignment_.matches) {
      Bin& bin = score.bins[std::min<size_t>(19, static_cast<size_t>(match.confidence * 20))];
      bin.total++;
      bin.right += is_right(match.base);
    }
  }

 private:
  bool is_right(uint32_t i) const {
    const auto& truth = case_.truth[i];
    if (found_[i] == nullptr) return truth.empty();
    const auto other = alignment_.other_of(*found_[i]);
    if (!std::equal(other.begin(), other.end(), truth.begin(), truth.end())) return false;
    const auto base = alignment_.base_of(*found_[i]);
    return base.size() == parts_of(truth);
  }
  size_t parts_of(const std::vector<uint32_t>& truth) const {
    size_t count = 0;
    for (uint32_t i = first_from(truth.front()); i < case_.truth.size() && case_.truth[i] == truth; i++)
      count++;
    return count;
  }
  uint32_t first_from(uint32_t other) const {
    if (owner_.empty()) fill_owners();
    return owner_[other];
  }
  void fill_owners() const {
    owner_.assign(case_.other.nodes.size(), kNone);
    for (uint32_t i = static_cast<uint32_t>(case_.truth.size()); i-- > 0;) {
      for (const uint32_t other : case_.truth[i]) owner_[other] = i;
    }
  }

  /// Between two untouched nodes that are matched right, an alignment that keeps at least as many nodes as
  /// they were as the truth does is as good an explanation: nobody could tell.
  std::vector<bool> ambiguous_nodes() const {
    std::vector<bool> ambiguous(found_.size(), false);
    uint32_t begin = 0;
    for (uint32_t i = 0; i <= found_.size(); i++) {
      const bool is_end = i == found_.size() || (case_.edit[i] == Edit::kUntouched && is_right(i));
      if (!is_end) continue;
      uint32_t kept = 0, explained = 0;
      for (uint32_t k = begin; k < i; k++) {
        kept += case_.edit[k] == Edit::kUntouched;
        explained += found_[k] != nullptr && is_equal(k, *found_[k]);
      }
      for (uint32_t k = begin; k < i; k++) {
        ambiguous[k] = case_.edit[k] == Edit::kUntouched && explained >= kept;
      }
      begin = i + 1;
    }
    return ambiguous;
  }
  bool is_equal(uint32_t i, const align::Match& match) const {
    if (match.kind != align::Kind::kSame) return false;
    const Node &a = case_.base.nodes[i], &b = case_.other.nodes[match.other];
    return a.name == b.name && a.shape == b.shape &&
           path(case_.base, a.parent) == path(case_.other, b.parent);
  }
  static std::vector<uint32_t> path(const Sequence& side, uint32_t group) {
    std::vector<uint32_t> names;
    for (; group != kNone; group = side.groups[group].parent) names.push_back(side.groups[group].name);
    return names;
  }

  const Case& case_;
  const Alignment& alignment_;
  std::vector<const align::Match*> found_;
  mutable std::vector<uint32_t> owner_;
};

}  // namespace nl::align_cases
