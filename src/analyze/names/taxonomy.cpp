#include "analyze/names/taxonomy.h"

#include <algorithm>
#include <array>

#include "analyze/names/layer_name.h"
#include "analyze/names/stated_name.h"
#include "analyze/taxonomy_files.inc"
#include "base/text.h"

namespace nl::analyze {
namespace {

constexpr size_t kMaxNameBytes = 4096;  // what an op or one part of a layer's name is read of

Result<PatternTable> load(std::string_view name) {
  for (const auto& file : kTaxonomyFiles) {
    if (file.name == name) return PatternTable::load(file);
  }
  return Error{ErrorCode::kInternal, "not in this binary: data/taxonomy/" + std::string(name)};
}

/// Without a number at the end that counts instances: Conv_37, Conv2D__6, rmsnorm_109.
std::string_view without_count(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) end--;
  if (end == name.size() || end == 0 || name[end - 1] != '_') return name;
  while (end > 0 && name[end - 1] == '_') end--;
  return end == 0 ? name : name.substr(0, end);
}

/// Lower case letters and digits only.
std::string squashed(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c + ('a' - 'A'));
    if ((c >= 'a' && c <= 'z') || is_digit(c)) out += c;
  }
  return out;
}

/// One spelling for an op, its in-place, out=, foreach and backward forms.
std::string plain_op(std::string_view name) {
  name = without_count(name);
  if (name.ends_with("_out")) name.remove_suffix(4);
  std::string out = squashed(name);
  if (out.starts_with("foreach") && out.size() > 7) out.erase(0, 7);
  const size_t backward = out.find("backward");
  if (backward != std::string::npos && backward > 0) out.resize(backward);
  return out;
}

std::string_view scope_of(std::string_view qualified) {
  const size_t at = qualified.rfind("::");
  return at == std::string_view::npos ? std::string_view() : qualified.substr(0, at);
}

MatchSubject subject_of(const KernelName& name) {
  std::vector<std::string> functors;
  for (const auto& functor : name.functors) functors.push_back(lower(last_component(functor)));
  return {lower(std::string_view(name.short_name).substr(0, kMaxNameBytes)), lower(scope_of(name.function)),
          functors};
}

OpClass class_of(const PatternTable::Rule* rule) {
  return rule == nullptr ? OpClass::k_other : rule->op_class;
}

/// Which part of a fusion names it: the earlier in this list.
size_t rank(OpClass op_class) {
  static constexpr std::array kOrder = {OpClass::k_attention,   OpClass::k_conv,   OpClass::k_gemm,
                                        OpClass::k_recurrent,   OpClass::k_moe,    OpClass::k_norm,
                                        OpClass::k_softmax,     OpClass::k_pool,   OpClass::k_embedding,
                                        OpClass::k_sample,      OpClass::k_reduce, OpClass::k_quantize,
                                        OpClass::k_elementwise, OpClass::k_index,  OpClass::k_memory};
  return static_cast<size_t>(std::find(kOrder.begin(), kOrder.end(), op_class) - kOrder.begin());
}

bool ends_with_one_of(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return text.ends_with(end); });
}

/// Weights of the model, and shuffles that the engine put around a layer that it names.
bool is_data_only(std::string_view part) {
  if (ends_with_one_of(part, {".weight", ".bias", ".running_mean", ".running_var", " copy", "Copy]"}))
    return true;
  for (const std::string_view start : {"copied_", "reshape_", "squeeze_", "unsqueeze_", "transpose_"}) {
    if (part.starts_with(start)) {
      return part.find("after_") != std::string_view::npos || part.find("before_") != std::string_view::npos;
    }
  }
  return false;
}

/// "Shuffle" of "(Unnamed Layer* 12) [Shuffle]"; empty if it is no such name.
std::string_view unnamed_type(std::string_view part) {
  if (!part.starts_with("(Unnamed Layer* ")) return {};
  const size_t from = part.rfind('[');
  const size_t to = part.rfind(']');
  if (from == std::string_view::npos || to == std::string_view::npos || to <= from) return {};
  return part.substr(from + 1, to - from - 1);
}

/// "Conv" of "/backbone/conv1/Conv_2_clone_1".
std::string_view node_type(std::string_view part) {
  part = part.substr(part.rfind('/') + 1);
  part = without_count(part);
  if (part.ends_with("_clone")) part = without_count(part.substr(0, part.size() - 6));
  return part;
}

}  // namespace

Result<Taxonomy> Taxonomy::built_in() {
  NL_TRY(PatternTable kernels, load("kernels.yaml"));
  NL_TRY(PatternTable ops, load("ops.yaml"));
  NL_TRY(PatternTable layers, load("layers.yaml"));
  return Taxonomy(std::move(kernels), std::move(ops), std::move(layers));
}

Result<const Taxonomy*> Taxonomy::shared() {
  static const auto* const loaded = new Result<Taxonomy>(built_in());
  return *loaded ? Result<const Taxonomy*>(&**loaded) : loaded->error();
}

Result<void> Taxonomy::check() const {
  for (const PatternTable* table : {&kernels_, &ops_, &layers_}) NL_CHECK(table->check());
  return {};
}

KernelIdentity Taxonomy::kernel(std::string_view raw_name) const {
  KernelIdentity out;
  out.name = parse_kernel_name(raw_name);
  if (const auto given = stated(raw_name, "kernel")) {
    const size_t slash = std::min(given->find('/'), given->size());
    out.op_class = find_op_class(given->substr(0, slash)).value_or(OpClass::k_other);
    out.family = given->substr(std::min(slash + 1, given->size()));
    return out;
  }
  const auto* rule = kernels_.find(subject_of(out.name));
  out.op_class = class_of(rule);
  out.family = rule == nullptr ? "other" : rule->family;
  return out;
}

OpClass Taxonomy::op(std::string_view op_name_or_type) const {
  if (const auto given = stated(op_name_or_type, "op"))
    return find_op_class(*given).value_or(OpClass::k_other);
  constexpr std::string_view kEngineCall = "autograd::engine::evaluate_function: ";
  std::string_view name = op_name_or_type.substr(0, kMaxNameBytes);
  if (name.starts_with(kEngineCall)) name.remove_prefix(kEngineCall.size());
  return class_of(ops_.find({plain_op(last_component(name)), lower(scope_of(name))}));
}

OpClass Taxonomy::layer_type(std::string_view type) const {
  if (const auto given = stated(type, "layer")) return find_op_class(*given).value_or(OpClass::k_other);
  return class_of(layers_.find({squashed(type.substr(0, kMaxNameBytes))}));
}

OpClass Taxonomy::layer_part(std::string_view part) const {
  if (is_data_only(part)) return OpClass::k_memory;
  if (const auto type = unnamed_type(part); !type.empty()) return layer_type(type);
  return op(node_type(part));
}

OpClass Taxonomy::layer_by_name(std::string_view name) const {
  if (const auto given = stated(name, "layer")) return find_op_class(*given).value_or(OpClass::k_other);
  const LayerName parsed = parse_layer_name(name);
  if (parsed.fusion == LayerFusion::kEngine) return OpClass::k_control;
  if (parsed.fusion == LayerFusion::kReformat) return OpClass::k_memory;
  if (parsed.fusion == LayerFusion::kRange)
    return OpClass::k_other;  // its ends say nothing of what is between
  OpClass best = OpClass::k_other;
  for (const auto& part : parsed.parts) {
    const OpClass one = layer_part(part);
    if (rank(one) < rank(best)) best = one;
  }
  return best;
}

OpClass Taxonomy::layer(std::string_view layer_type_name, std::string_view layer_name) const {
  const OpClass by_type = layer_type(layer_type_name);
  if (by_type != OpClass::k_other && by_type != OpClass::k_elementwise) return by_type;
  const OpClass by_name = layer_by_name(layer_name);
  return by_name == OpClass::k_other ? by_type : by_name;
}

}  // namespace nl::analyze
