#include "analyze/names/layer_place.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "analyze/layer_files.inc"
#include "base/parsed_data.h"

namespace nl::analyze {
namespace {

constexpr size_t kLongestPath = 1024;

re2::StringPiece piece_of(std::string_view text) {
  return {text.data(), text.size()};
}

/// The groups of one match, by name.
class NamedGroups {
 public:
  NamedGroups(const RE2& pattern, std::string_view text)
      : pattern_(pattern), groups_(static_cast<size_t>(pattern.NumberOfCapturingGroups()) + 1) {
    fits_ = pattern.Match(piece_of(text), 0, text.size(), RE2::ANCHOR_BOTH, groups_.data(),
                          static_cast<int>(groups_.size()));
  }
  bool fits() const { return fits_; }

  /// Empty if the group took no part.
  std::string_view text(const std::string& name) const {
    const auto& names = pattern_.NamedCapturingGroups();
    const auto it = names.find(name);
    if (it == names.end()) return {};
    const re2::StringPiece& group = groups_[static_cast<size_t>(it->second)];
    return {group.data(), group.size()};
  }

 private:
  const RE2& pattern_;
  std::vector<re2::StringPiece> groups_;
  bool fits_ = false;
};

/// "/features/features.3/conv" -> "features.3.conv"
std::string plain_path(std::string_view path) {
  std::string out;
  std::string_view before;
  while (!path.empty()) {
    const size_t end = std::min(path.find_first_of("./"), path.size());
    const std::string_view element = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    const bool again = element == before && element.find_first_not_of("0123456789") != std::string_view::npos;
    if (element.empty() || again) continue;
    out += (out.empty() ? "" : ".") + std::string(element);
    before = element;
  }
  return out;
}

size_t elements_of(std::string_view path) {
  return path.empty() ? 0 : 1 + static_cast<size_t>(std::count(path.begin(), path.end(), '.'));
}

/// The patterns of data/layers, compiled once.
class LayerPatterns {
 public:
  static const LayerPatterns& shared() {
    static const LayerPatterns patterns;
    return patterns;
  }

  std::optional<LayerPlace> place_of(std::string_view name) const {
    for (const auto& pattern : paths_) {
      const NamedGroups groups(*pattern, name);
      if (groups.fits()) return place_in(plain_path(groups.text("path")));
    }
    return std::nullopt;
  }

  ModuleRole role_of(std::string_view class_name) const {
    for (const auto& [role, pattern] : roles_) {
      if (RE2::FullMatch(piece_of(class_name), *pattern)) return role;
    }
    return ModuleRole::kUnknown;
  }

 private:
  LayerPatterns() {
    const auto root = parse_data(std::string(kLayerFiles[0].text), std::string(kLayerFiles[0].name));
    for (const YamlNode& one : root.value().find("paths")->items)
      paths_.push_back(std::make_unique<RE2>(one.text));
    for (const YamlNode& one : root.value().find("layers")->items)
      layers_.push_back(std::make_unique<RE2>(one.text));
    const YamlNode& modules = *root.value().find("modules");
    static constexpr std::pair<ModuleRole, const char*> kRoles[] = {
        {ModuleRole::kLayer, "layers"}, {ModuleRole::kWrapper, "wrappers"}, {ModuleRole::kOther, "others"}};
    for (const auto& [role, key] : kRoles)
      roles_.emplace_back(role, std::make_unique<RE2>(modules.find(key)->text));
  }

  std::optional<LayerPlace> place_in(const std::string& path) const {
    std::optional<LayerPlace> outermost;
    for (const auto& pattern : layers_) {
      const NamedGroups groups(*pattern, path);
      if (!groups.fits()) continue;
      const std::string_view stack = groups.text("stack"), index = groups.text("index");
      if (outermost && outermost->stack.size() <= stack.size()) continue;
      outermost = LayerPlace{std::string(stack), 0, elements_of(groups.text("rest"))};
      std::from_chars(index.data(), index.data() + index.size(), outermost->index);
    }
    return outermost;
  }

  std::vector<std::unique_ptr<RE2>> paths_, layers_;
  std::vector<std::pair<ModuleRole, std::unique_ptr<RE2>>> roles_;
};

}  // namespace

std::optional<LayerPlace> layer_place_of(std::string_view name) {
  if (name.size() > kLongestPath || name.find_first_of("0123456789") == std::string_view::npos)
    return std::nullopt;
  return LayerPatterns::shared().place_of(name);
}

ModuleRole module_role(std::string_view class_name) {
  return LayerPatterns::shared().role_of(class_name);
}

}  // namespace nl::analyze
