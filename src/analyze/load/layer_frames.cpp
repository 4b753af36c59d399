#include "analyze/load/layer_frames.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "analyze/load/module_paths.h"
#include "analyze/names/layer_place.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

constexpr size_t kLeastInstances = 2;
constexpr size_t kMostWrappers = 64;  // around one module; no model has as many

/// 37 of "nn.Module: Linear_37"; nothing if it has no number.
std::optional<int64_t> instance_of(std::string_view name) {
  const size_t place = name.rfind('_');
  if (place == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(name.data() + place + 1, name.data() + name.size(), number);
  if (failed != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

/// The instances of modules with what is around and inside of them. PyTorch numbers the instances of a class,
/// so a name is an instance; its first call tells where it lies.
class ModuleTree {
 public:
  explicit ModuleTree(const Timeline& run)
      : run_(run), around_(run.names.size(), kNoRow), frames_(run.spans) {
    const Spans& spans = run.spans;
    std::vector<bool> seen(run.names.size());
    for (uint32_t i = 0; i < spans.size(); i++) {
      const uint32_t name = spans.name[i];
      if (seen[name]) continue;
      seen[name] = true;
      if (is_module_frame(run.names[name])) place(i);
    }
  }

  /// The groups of instances that are layers: of one class, inside of one module.
  std::vector<std::vector<uint32_t>> layer_groups() const {
    std::map<std::pair<uint32_t, std::string_view>, std::vector<uint32_t>> groups;
    for (const uint32_t name : modules_)
      groups[{around_[name], module_class(run_.names[name])}].push_back(name);
    std::vector<std::vector<uint32_t>> layers;
    for (auto& [key, names] : groups) {
      if (are_layers(key.first, key.second, names)) layers.push_back(std::move(names));
    }
    return layers;
  }

  /// The module around an instance, without wrappers.
  uint32_t around(uint32_t name) const { return around_[name]; }
  const std::vector<uint32_t>& modules() const { return modules_; }

 private:
  ModuleRole role_of(uint32_t name) const { return module_role(module_class(run_.names[name])); }

  void place(uint32_t span) {
    const uint32_t name = run_.spans.name[span];
    modules_.push_back(name);
    size_t wrappers = 0;
    for (uint32_t at = frame_around(span); at != kNoRow; at = frame_around(at)) {
      const uint32_t outer = run_.spans.name[at];
      if (outer == name) continue;
      containers_.insert(outer);
      around_[name] = outer;
      if (role_of(outer) != ModuleRole::kWrapper || ++wrappers == kMostWrappers) return;
    }
  }

  /// The module frame around a span. Other frames may lie between, as deep as the program.
  uint32_t frame_around(uint32_t span) {
    return frames_.around(run_.spans.parent[span], kNoRow, [this](uint32_t outside, uint32_t inner) {
      return is_module_frame(run_.names[run_.spans.name[inner]]) ? inner : outside;
    });
  }

  bool are_layers(uint32_t outer, std::string_view class_name, const std::vector<uint32_t>& names) const {
    const ModuleRole role = module_role(class_name);
    if (role == ModuleRole::kOther || role == ModuleRole::kWrapper) return false;
    if (outer == kNoRow && role != ModuleRole::kLayer) return false;
    const auto holds_others = [&](uint32_t name) { return containers_.contains(name); };
    return std::count_if(names.begin(), names.end(), holds_others) >= static_cast<int64_t>(kLeastInstances);
  }

  const Timeline& run_;
  std::vector<uint32_t> around_;  ///< by name; kNoRow at the top
  std::vector<uint32_t> modules_;
  std::set<uint32_t> containers_;
  SpanMemo<uint32_t> frames_;  ///< the innermost module frame at or around a span
};

/// Names for the groups: the class, with the module around it where several groups have the class.
std::vector<std::string> stack_names(const Timeline& run, const ModuleTree& tree,
                                     const std::vector<std::vector<uint32_t>>& groups) {
  std::map<std::string_view, int> count;
  for (const auto& group : groups) count[module_class(run.names[group[0]])]++;
  std::vector<std::string> names;
  for (const auto& group : groups) {
    const std::string_view class_name = module_class(run.names[group[0]]);
    const uint32_t outer = tree.around(group[0]);
    const bool is_only = count[class_name] == 1 || outer == kNoRow;
    names.push_back(is_only
                        ? std::string(class_name)
                        : std::string(module_instance(run.names[outer])) + " / " + std::string(class_name));
  }
  return names;
}

bool may_name_a_layer(SpanKind kind) {
  return kind == SpanKind::op || kind == SpanKind::annotation || kind == SpanKind::device;
}

/// What is around an op is its path but for the last element.
bool is_own(const LayerPlace& place, SpanKind kind) {
  return place.depth <= (kind == SpanKind::annotation ? 0 : 1);
}

}  // namespace

LayerFrames::LayerFrames(const Timeline& run) : run_(run), facts_(run.names.size()), known_(run.spans) {}

void LayerFrames::add(uint32_t name, LayerId layer, bool is_self) {
  facts_[name].layer = static_cast<uint32_t>(layers_.size());
  facts_[name].is_self = is_self;
  layers_.push_back(std::move(layer));
}

LayerFrames LayerFrames::by_modules(const Timeline& run) {
  LayerFrames frames(run);
  const ModuleTree tree(run);
  for (const uint32_t name : tree.modules()) frames.facts_[name].is_scope = true;
  const auto groups = tree.layer_groups();
  const auto names = stack_names(run, tree, groups);
  for (size_t i = 0; i < groups.size(); i++) {
    for (const uint32_t name : groups[i]) {
      if (const auto index = instance_of(run.names[name])) frames.add(name, {names[i], *index}, true);
    }
  }
  return frames;
}

LayerFrames LayerFrames::by_names(const Timeline& run) {
  LayerFrames frames(run);
  std::vector<bool> seen(run.names.size());
  std::map<LayerId, uint32_t> ids;
  for (size_t i = 0; i < run.spans.size(); i++) {
    const uint32_t name = run.spans.name[i];
    const SpanKind kind = run.spans.kind[i];
    if (seen[name] || !may_name_a_layer(kind)) continue;
    seen[name] = true;
    NameFacts& facts = frames.facts_[name];
    facts.is_scope = kind == SpanKind::annotation;
    const auto place = layer_place_of(run.names[name]);
    if (!place) continue;
    LayerId id{place->stack, place->index};
    const auto [it, added] = ids.try_emplace(id, static_cast<uint32_t>(frames.layers_.size()));
    if (added) frames.layers_.push_back(std::move(id));
    facts.layer = it->second;
    facts.is_self = is_own(*place, kind);
  }
  return frames;
}

SpanLayer LayerFrames::extended(const SpanLayer& outside, uint32_t span) const {
  const NameFacts& facts = facts_[run_.spans.name[span]];
  if (outside.layer != kNoRow) return {outside.layer, outside.span, outside.is_self && !facts.is_scope};
  if (facts.layer == kNoRow) return {};
  return {facts.layer, span, facts.is_self};
}

SpanLayer LayerFrames::around(uint32_t span) {
  return known_.around(span, SpanLayer{},
                       [this](const SpanLayer& outside, uint32_t inner) { return extended(outside, inner); });
}

}  // namespace nl::analyze
