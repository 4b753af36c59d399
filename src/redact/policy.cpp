#include "redact/policy.h"

#include <algorithm>

#include "base/text.h"
#include "base/yaml.h"
#include "model/tables.h"
#include "redact/letters.h"

namespace nl::redact {
namespace {

constexpr char kHint[] =
    "the file may have shapes: keep, round or drop, public: [word], private: [word] and keep: [field]";
constexpr size_t kShortestWord = 2;

class PolicyReader {
 public:
  explicit PolicyReader(const std::string& name) : name_(name) {
    const auto fields = redacted_fields();
    fields_.insert(fields.begin(), fields.end());
  }

  Result<Policy> read(const YamlNode& root) {
    if (root.kind == YamlNode::Kind::kNull) return std::move(policy_);
    if (!root.is_map()) return fault(root.line, "a mapping is expected");
    for (const auto& [key, line, value] : root.members) {
      NL_CHECK(take(key, line, value));
    }
    return std::move(policy_);
  }

 private:
  Result<void> take(const std::string& key, int line, const YamlNode& value) {
    if (key == "shapes") return take_shapes(value);
    if (key == "public") return take_words(key, value, policy_.words.also_public);
    if (key == "private") return take_words(key, value, policy_.words.also_private);
    if (key == "keep") return take_fields(value);
    return fault(line, "unknown key: " + key.substr(0, 64));
  }
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what, kHint); }

  Result<void> take_shapes(const YamlNode& value) {
    if (value.text == "keep")
      policy_.shapes = Shapes::kKeep;
    else if (value.text == "round")
      policy_.shapes = Shapes::kRound;
    else if (value.text == "drop")
      policy_.shapes = Shapes::kDrop;
    else
      return fault(value.line, "shapes must be keep, round or drop");
    return {};
  }

  Result<void> take_words(const std::string& key, const YamlNode& value,
                          std::set<std::string, std::less<>>& words) const {
    if (!value.is_list()) return fault(value.line, key + " must be a list of words");
    for (const auto& item : value.items) {
      std::string word = lower(item.text);
      const bool is_word =
          item.is_text() && word.size() >= kShortestWord && std::all_of(word.begin(), word.end(), is_lower);
      if (!is_word)
        return fault(item.line, "a word has two letters or more and nothing else: " + word.substr(0, 64));
      words.insert(std::move(word));
    }
    return {};
  }

  Result<void> take_fields(const YamlNode& value) {
    if (!value.is_list()) return fault(value.line, "keep must be a list of fields");
    for (const auto& item : value.items) {
      if (!item.is_text() || !fields_.contains(item.text))
        return fault(item.line, "there is no such field: " + item.text.substr(0, 64));
      policy_.kept_fields.insert(item.text);
    }
    return {};
  }

  const std::string& name_;
  std::set<std::string, std::less<>> fields_;
  Policy policy_;
};

}  // namespace

Result<Policy> parse_policy(const std::string& text, const std::string& name) {
  NL_TRY(const YamlNode root, parse_yaml(text, name));
  return PolicyReader(name).read(root);
}

std::vector<std::string> redacted_fields() {
  std::vector<std::string> fields{"run.categories", "run.clocks", "run.devices",  "run.extensions",
                                  "run.flags",      "run.hosts",  "run.labels",   "run.losses",
                                  "run.options",    "run.tools",  "run.versions", "run.windows"};
  for (const auto& table : model::all_tables()) {
    if (table.kind != model::TableKind::fact) continue;
    for (const auto& column : table.columns) {
      if (column.type == model::Type::dict || column.type == model::Type::json)
        fields.push_back(std::string(table.name) + "." + std::string(column.name));
    }
  }
  return fields;
}

}  // namespace nl::redact
