#include "analyze/load/module_paths.h"

namespace nl::analyze {
namespace {

constexpr std::string_view kModule = "nn.Module: ";

}  // namespace

bool is_module_frame(std::string_view name) {
  return name.starts_with(kModule);
}

std::string_view module_instance(std::string_view name) {
  return name.substr(kModule.size());
}

std::string_view module_class(std::string_view name) {
  name = module_instance(name);
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string_view::npos && name[end] == '_' ? name.substr(0, end) : name;
}

ModulePaths::ModulePaths(const Timeline& run) : run_(run), is_module_(run.names.size()), known_(run.spans) {
  for (size_t i = 0; i < is_module_.size(); i++) {
    is_module_[i] = is_module_frame(run.names[static_cast<uint32_t>(i)]);
    any_ = any_ || is_module_[i];
  }
}

const std::string& ModulePaths::around(uint32_t span) {
  const uint32_t step =
      known_.around(span, kNoRow, [this](uint32_t outer, uint32_t inner) { return extended(outer, inner); });
  if (step == kNoRow) return none_;
  if (steps_[step].text == nullptr) steps_[step].text = &*texts_.insert(text_of(step)).first;
  return *steps_[step].text;
}

uint32_t ModulePaths::extended(uint32_t outer, uint32_t span) {
  const uint32_t name = run_.spans.name[span];
  if (!is_module_[name]) return outer;
  const std::string_view class_name = module_class(run_.names[name]);
  const auto [place, is_new] = places_.try_emplace({outer, class_name}, static_cast<uint32_t>(steps_.size()));
  if (is_new) {
    const uint32_t depth = outer == kNoRow ? 1 : steps_[outer].depth + 1;
    steps_.push_back({outer, class_name, depth, depth <= kShown ? place->second : steps_[outer].begin});
  }
  return place->second;
}

std::string ModulePaths::text_of(uint32_t step) const {
  const auto& [outer, class_name, depth, begin, text] = steps_[step];
  if (depth <= kMostModules) return end_of(step, depth);
  return end_of(begin, kShown) + " / (" + std::to_string(depth - 2 * kShown) + " modules) / " +
         end_of(step, kShown);
}

std::string ModulePaths::end_of(uint32_t step, uint32_t count) const {
  std::vector<std::string_view> names;
  for (; names.size() < count; step = steps_[step].outer) names.push_back(steps_[step].class_name);
  std::string text(names.back());
  for (size_t i = names.size() - 1; i-- > 0;) (text += " / ") += names[i];
  return text;
}

}  // namespace nl::analyze
