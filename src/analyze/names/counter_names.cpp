#include "analyze/names/counter_names.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "analyze/counter_files.inc"
#include "base/parsed_data.h"
#include "base/yaml.h"

namespace nl::analyze {
namespace {

constexpr char kCounterHint[] = "write it like data/counters/counters.yaml";
constexpr std::string_view kTools[] = {"ncu", "ncu-details", "nvprof", "dcgm", "rocprofv3"};

Result<std::string> text_of(const YamlNode& node, const char* key, bool required, const std::string& file) {
  const YamlNode* value = node.find(key);
  if (value == nullptr && !required) return std::string();
  if (value == nullptr || !value->is_text() || value->text.empty())
    return yaml_error(file, value == nullptr ? node.line : value->line, std::string(key) + " must be a text",
                      kCounterHint);
  return value->text;
}

Result<void> only_keys(const YamlNode& node, std::initializer_list<std::string_view> keys,
                       const std::string& file) {
  for (const auto& member : node.members) {
    if (std::find(keys.begin(), keys.end(), member.key) == keys.end())
      return yaml_error(file, member.line, "unknown key: " + member.key.substr(0, 64), kCounterHint);
  }
  return {};
}

Result<double> scale_of(const YamlNode& node, const std::string& file) {
  const YamlNode* value = node.find("scale");
  if (value == nullptr) return 1.0;
  const char* const end = value->text.data() + value->text.size();
  double scale = 0;
  const auto [stop, failed] = std::from_chars(value->text.data(), end, scale);
  if (!value->is_text() || failed != std::errc() || stop != end || !std::isfinite(scale) || scale <= 0)
    return yaml_error(file, value->line, "scale must be a number above 0", kCounterHint);
  return scale;
}

Result<CounterName> name_of(const YamlNode& node, const std::string& file) {
  if (!node.is_map()) return yaml_error(file, node.line, "a name must be a mapping", kCounterHint);
  NL_CHECK(only_keys(node, {"tool", "name", "unit", "scale", "chips"}, file));
  CounterName name;
  NL_TRY(name.tool, text_of(node, "tool", true, file));
  NL_TRY(name.name, text_of(node, "name", true, file));
  NL_TRY(name.unit, text_of(node, "unit", false, file));
  NL_TRY(name.chips, text_of(node, "chips", false, file));
  NL_TRY(name.scale, scale_of(node, file));
  if (std::find(std::begin(kTools), std::end(kTools), name.tool) == std::end(kTools))
    return yaml_error(file, node.line, "unknown tool: " + name.tool.substr(0, 64), kCounterHint);
  return name;
}

bool overlap(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

}  // namespace

Result<void> CounterNames::add(std::string_view text, const std::string& file) {
  NL_TRY(const YamlNode root, parse_data(std::string(text), file));
  const YamlNode* list = root.find("meanings");
  if (!root.is_map() || list == nullptr || !list->is_list())
    return yaml_error(file, root.line, "a list of meanings is expected", kCounterHint);
  for (const YamlNode& node : list->items) {
    NL_CHECK(only_keys(node, {"meaning", "unit", "what", "source", "names"}, file));
    CounterMeaning meaning;
    NL_TRY(meaning.id, text_of(node, "meaning", true, file));
    NL_TRY(meaning.unit, text_of(node, "unit", true, file));
    NL_TRY(meaning.what, text_of(node, "what", true, file));
    NL_TRY(meaning.source, text_of(node, "source", true, file));
    if (this->meaning(meaning.id) < meanings_.size())
      return yaml_error(file, node.line, "a meaning appears twice: " + meaning.id, kCounterHint);
    const YamlNode* names = node.find("names");
    if (names == nullptr || !names->is_list() || names->items.empty())
      return yaml_error(file, node.line, "a meaning needs names", kCounterHint);
    for (size_t i = 0; i < names->items.size(); i++) {
      NL_TRY(CounterName name, name_of(names->items[i], file));
      name.meaning = meanings_.size();
      name.rank = i;
      names_.push_back(std::move(name));
    }
    by_id_.emplace(meaning.id, meanings_.size());
    meanings_.push_back(std::move(meaning));
  }
  return index(file);
}

/// One name with one unit has one meaning.
Result<void> CounterNames::index(const std::string& file) {
  by_name_.clear();
  for (size_t i = 0; i < names_.size(); i++) {
    const auto [begin, end] = by_name_.equal_range(names_[i].name);
    for (auto it = begin; it != end; ++it) {
      if (overlap(names_[it->second].unit, names_[i].unit))
        return yaml_error(file, 1, "a name has two meanings: " + names_[i].name, kCounterHint);
    }
    by_name_.emplace(names_[i].name, i);
  }
  return {};
}

Result<CounterNames> CounterNames::built_in() {
  CounterNames names;
  for (const auto& file : kCounterFiles) {
    NL_CHECK(names.add(file.text, std::string(file.name)));
  }
  return names;
}

Result<const CounterNames*> CounterNames::shared() {
  static const auto* const loaded = new Result<CounterNames>(built_in());
  return *loaded ? Result<const CounterNames*>(&**loaded) : loaded->error();
}

Result<CounterNames> CounterNames::parse(const std::string& text, const std::string& name) {
  CounterNames names;
  NL_CHECK(names.add(text, name));
  return names;
}

const CounterName* CounterNames::find(std::string_view name, std::string_view unit) const {
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    const CounterName& found = names_[it->second];
    if (found.unit.empty() || found.unit == unit) return &found;
  }
  return nullptr;
}

size_t CounterNames::meaning(std::string_view id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? meanings_.size() : it->second;
}

}  // namespace nl::analyze
