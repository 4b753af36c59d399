#include "base/parsed_data.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/parsed_text.inc"

namespace nl {
namespace {

// An entry is a line with its key and a number of lines:
//
//   yaml HASH LINES           of the file's text; the nodes from the root down, one line each:
//     ~ LINE                    null
//     " LINE TEXT               a text
//     [ LINE ITEMS              a list, its items follow
//     { LINE MEMBERS            a map; each member is a line `: LINE KEY` and its value
//   expression LINES TEXT     the lines are those of rule_expression.cpp
//
// In texts a line end is \n and a backslash \\.

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\\\";
    if (c == '\n') out += "\\n";
    if (c != '\\' && c != '\n') out += c;
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); i++) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    out += escape ? (text[++i] == 'n' ? '\n' : '\\') : text[i];
  }
  return out;
}

/// FNV-1a: tells an edited file from the one that was parsed.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void append_tree(std::string& out, const YamlNode& node) {
  const std::string line = " " + std::to_string(node.line) + " ";
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      out += "~" + line + "\n";
      break;
    case YamlNode::Kind::kText:
      out += "\"" + line + escaped(node.text) + "\n";
      break;
    case YamlNode::Kind::kList:
      out += "[" + line + std::to_string(node.items.size()) + "\n";
      for (const auto& item : node.items) append_tree(out, item);
      break;
    case YamlNode::Kind::kMap:
      out += "{" + line + std::to_string(node.members.size()) + "\n";
      for (const auto& member : node.members) {
        out += ": " + std::to_string(member.line) + " " + escaped(member.key) + "\n";
        append_tree(out, member.value);
      }
      break;
  }
}

std::string_view take_until(std::string_view& text, char end) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

template <class Number>
Number number_in(std::string_view text, int base = 10) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

YamlNode read_tree(std::string_view& lines) {
  std::string_view line = take_until(lines, '\n');
  const char kind = line.empty() ? '~' : line[0];
  take_until(line, ' ');
  const int number = number_in<int>(take_until(line, ' '));
  if (kind == '"') return YamlNode(YamlNode::Kind::kText, number, unescaped(line));
  if (kind != '[' && kind != '{') return YamlNode(YamlNode::Kind::kNull, number);
  YamlNode node(kind == '[' ? YamlNode::Kind::kList : YamlNode::Kind::kMap, number);
  const auto count = number_in<size_t>(line);
  if (kind == '[') node.items.reserve(count);
  if (kind == '{') node.members.reserve(count);
  for (size_t i = 0; i < count; i++) {
    if (kind == '[') {
      node.items.push_back(read_tree(lines));
      continue;
    }
    std::string_view member = take_until(lines, '\n');
    take_until(member, ' ');
    const int at = number_in<int>(take_until(member, ' '));
    std::string key = unescaped(member);
    node.members.push_back({std::move(key), at, read_tree(lines)});
  }
  return node;
}

/// Where each entry begins.
class ParsedData {
 public:
  static const ParsedData& built_in() {
    static const ParsedData data{std::string_view(kParsedText)};
    return data;
  }

  std::optional<std::string_view> tree(std::string_view text) const {
    const auto it = trees_.find(hash_of(text));
    return it == trees_.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<std::string_view> expression(const std::string& text) const {
    const auto it = expressions_.find(text);
    return it == expressions_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  explicit ParsedData(std::string_view text) {
    while (!text.empty()) {
      std::string_view head = take_until(text, '\n');
      const std::string_view kind = take_until(head, ' ');
      const std::string_view key = take_until(head, ' ');
      if (kind == "yaml") trees_[number_in<uint64_t>(key, 16)] = lines(text, number_in<size_t>(head));
      if (kind == "expression") expressions_[unescaped(head)] = lines(text, number_in<size_t>(key));
    }
  }
  static std::string_view lines(std::string_view& text, size_t count) {
    const std::string_view from = text;
    for (size_t i = 0; i < count; i++) take_until(text, '\n');
    return from.substr(0, from.size() - text.size());
  }

  std::unordered_map<uint64_t, std::string_view> trees_;
  std::unordered_map<std::string, std::string_view> expressions_;
};

size_t lines_in(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

Result<YamlNode> parse_data(const std::string& text, const std::string& name) {
  auto lines = ParsedData::built_in().tree(text);
  return lines ? Result<YamlNode>(read_tree(*lines)) : parse_yaml(text, name);
}

std::optional<std::string_view> parsed_expression(std::string_view text) {
  return ParsedData::built_in().expression(std::string(text));
}

std::string parsed_entry(std::string_view text, const YamlNode& tree) {
  std::string lines;
  append_tree(lines, tree);
  char hash[17] = {};
  std::to_chars(hash, hash + 16, hash_of(text), 16);
  return "yaml " + std::string(hash) + " " + std::to_string(lines_in(lines)) + "\n" + lines;
}

std::string expression_entry(std::string_view text, const std::string& lines) {
  return "expression " + std::to_string(lines_in(lines)) + " " + escaped(text) + "\n" + lines;
}

}  // namespace nl
