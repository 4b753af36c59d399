#pragma once
// Reads YAML into a small tree with line numbers, for files that people write: rules, data tables, sidecars.
// The input is untrusted: anchors, aliases, duplicate keys and a second document are refused, and the depth
// is limited. Every error names the file and the line.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl {

struct YamlMember;

struct YamlNode {
  enum class Kind { kNull, kText, kList, kMap };

  explicit YamlNode(Kind given_kind = Kind::kNull, int given_line = 0, std::string given_text = {});
  YamlNode(const YamlNode&);
  YamlNode(YamlNode&&) noexcept;
  YamlNode& operator=(const YamlNode&);
  YamlNode& operator=(YamlNode&&) noexcept;
  ~YamlNode();

  Kind kind;
  int line;                         ///< from 1
  std::string text;                 ///< of kText, as written, without quotes
  std::vector<YamlNode> items;      ///< of kList
  std::vector<YamlMember> members;  ///< of kMap, in the order of the file

  /// The value of a key of a map; nullptr if there is none.
  const YamlNode* find(std::string_view key) const;
  bool is_text() const { return kind == Kind::kText; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
};

struct YamlMember {
  std::string key;
  int line = 0;
  YamlNode value = YamlNode();
};

/// `name` stands in messages.
Result<YamlNode> parse_yaml(const std::string& text, const std::string& name);

/// bad_input "name:line: what".
Error yaml_error(const std::string& name, int line, const std::string& what, const std::string& hint = {});

}  // namespace nl
