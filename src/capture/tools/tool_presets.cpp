#include "capture/tools/tool_presets.h"

#include "base/yaml.h"
#include "capture/preset_files.inc"

namespace nl::capture {
namespace {

std::string text_of(const YamlNode& preset, std::string_view key) {
  const YamlNode* const value = preset.find(key);
  return value != nullptr ? value->text : std::string();
}

std::vector<std::string> list_of(const YamlNode& preset, std::string_view key) {
  std::vector<std::string> texts;
  const YamlNode* const list = preset.find(key);
  if (list == nullptr) return texts;
  for (const YamlNode& item : list->items) texts.push_back(item.text);
  return texts;
}

/// The list of a file that is part of the program.
Result<YamlNode> presets_in(std::string_view name) {
  for (const EmbeddedFile& file : kPresetFiles) {
    if (file.name != name) continue;
    NL_TRY(const YamlNode root, parse_yaml(std::string(file.text), std::string(name)));
    const YamlNode* const presets = root.find("presets");
    if (presets != nullptr && !presets->items.empty()) return *presets;
  }
  return Error{ErrorCode::kInternal, "there are no presets in " + std::string(name)};
}

Result<YamlNode> find_preset(std::string_view file, const std::string& name) {
  NL_TRY(const YamlNode presets, presets_in(file));
  std::string known;
  for (const YamlNode& preset : presets.items) {
    const std::string other = text_of(preset, "preset");
    if (name.empty() || other == name) return preset;
    known += (known.empty() ? "" : ", ") + other;
  }
  return Error{ErrorCode::kBadInput, "no such preset: " + name.substr(0, 64), "there are " + known};
}

}  // namespace

Result<NsysPreset> find_nsys_preset(const std::string& name) {
  NL_TRY(const YamlNode preset, find_preset("nsys.yaml", name));
  return NsysPreset{text_of(preset, "preset"), text_of(preset, "trace")};
}

Result<NcuPreset> find_ncu_preset(const std::string& name) {
  NL_TRY(const YamlNode preset, find_preset("ncu.yaml", name));
  return NcuPreset{text_of(preset, "preset"), text_of(preset, "set"), list_of(preset, "sections"),
                   list_of(preset, "metrics")};
}

bool is_counter_name(const std::string& name) {
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:";
  return !name.empty() && name.size() <= 200 && name[0] != '.' && name[0] != ':' &&
         name.find_first_not_of(kAllowed) == std::string::npos;
}

}  // namespace nl::capture
