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

ModulePaths::ModulePaths(const Timeline& run) : run_(run), is_module_(run.names.size()) {
  for (size_t i = 0; i < is_module_.size(); i++) {
    is_module_[i] = is_module_frame(run.names[static_cast<uint32_t>(i)]);
    any_ = any_ || is_module_[i];
  }
}

const std::string& ModulePaths::around(uint32_t span) {
  return *known_.around(run_.spans, span, &none_,
                        [this](const std::string* path, uint32_t inner) { return extended(path, inner); });
}

const std::string* ModulePaths::extended(const std::string* path, uint32_t span) {
  const uint32_t name = run_.spans.name[span];
  if (!is_module_[name]) return path;
  std::string longer = *path + (path->empty() ? "" : " / ") + std::string(module_class(run_.names[name]));
  return &paths_.emplace(longer, longer).first->second;
}

}  // namespace nl::analyze
