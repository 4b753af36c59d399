#include "analyze/names/pattern_table.h"

#include <algorithm>
#include <sstream>

#include "base/parsed_data.h"

namespace nl::analyze {
namespace {

constexpr size_t kMaxPatternName = 1024;  // what is matched of a name
constexpr char kPatternHint[] =
    "rules is a list of {class: rules of the class}: a pattern, a list of patterns or {family: pattern}, "
    "where a "
    "pattern may be {name, scope, functor, words}";

std::string beginning(std::string_view text) {
  return std::string(text.substr(0, kMaxPatternName));
}

bool fits(const PatternTable::Rule& rule, const MatchSubject& subject) {
  if (!rule.name) return false;
  if (rule.scope && !rule.scope->fits(subject.scope)) return false;
  if (!rule.name->fits(subject.name)) return false;
  return !rule.functor || std::any_of(subject.functors.begin(), subject.functors.end(),
                                      [&](const PatternText& one) { return rule.functor->fits(one); });
}

}  // namespace

MatchSubject::MatchSubject(std::string_view name_text, std::string_view scope_text,
                           const std::vector<std::string>& functor_texts)
    : name(beginning(name_text)), scope(beginning(scope_text)) {
  functors.reserve(functor_texts.size());
  for (const auto& text : functor_texts) functors.emplace_back(beginning(text));
}

/// Reads the rules of one file.
class RuleReader {
 public:
  explicit RuleReader(std::string_view file) { table_.file_ = file; }

  Result<PatternTable> read(const YamlNode& root) {
    const YamlNode* rules = root.is_map() ? root.find("rules") : nullptr;
    if (rules == nullptr || !rules->is_list()) return fault(root.line, "rules: with a list is expected");
    for (const auto& block : rules->items) {
      if (!block.is_map()) return fault(block.line, "a class with its rules is expected");
      for (const auto& member : block.members) NL_CHECK(take_class(member));
    }
    return std::move(table_);
  }

 private:
  Error fault(int line, const std::string& what) const {
    return yaml_error(table_.file_, line, what, kPatternHint);
  }

  Result<void> take_class(const YamlMember& member) {
    const auto op_class = find_op_class(member.key);
    if (!op_class) return fault(member.line, "unknown class: " + member.key.substr(0, 64));
    for (const auto& item : member.value.items) NL_CHECK(take_rule(*op_class, {}, item));
    if (member.value.is_map()) {
      for (const auto& [family, line, value] : member.value.members) {
        NL_CHECK(take_rule(*op_class, family, value));
      }
    }
    if (member.value.is_text()) return take_rule(*op_class, {}, member.value);
    return {};
  }

  Result<void> take_rule(OpClass op_class, const std::string& family, const YamlNode& value) {
    PatternTable::Rule rule;
    rule.op_class = op_class;
    rule.family = family.empty() ? std::string(op_class_name(op_class)) : family;
    if (value.is_text()) {
      rule.name = std::make_unique<LazyPattern>(value.text);
    } else if (!value.is_map()) {
      return fault(value.line, "a pattern is expected");
    }
    for (const auto& member : value.members) NL_CHECK(take_key(rule, member));
    table_.rules_.push_back(std::move(rule));
    return {};
  }

  Result<void> take_key(PatternTable::Rule& rule, const YamlMember& member) {
    const auto& [key, line, value] = member;
    if (!value.is_text()) return fault(line, key.substr(0, 64) + " needs a text");
    if (key == "words") return take_words(value.text);
    auto* place = key == "name"      ? &rule.name
                  : key == "scope"   ? &rule.scope
                  : key == "functor" ? &rule.functor
                                     : nullptr;
    if (place == nullptr) return fault(line, "unknown key: " + key.substr(0, 64));
    *place = std::make_unique<LazyPattern>(value.text);
    return {};
  }

  /// Words lead to the rule that is being read.
  Result<void> take_words(const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) table_.words_.emplace(word, table_.rules_.size());
    return {};
  }

  PatternTable table_;
};

Result<PatternTable> PatternTable::load(const EmbeddedFile& file) {
  NL_TRY(const YamlNode root, parse_data(std::string(file.text), std::string(file.name)));
  return RuleReader(file.name).read(root);
}

const PatternTable::Rule* PatternTable::find(const MatchSubject& subject) const {
  const auto word = words_.find(std::string(subject.name.text()));
  const size_t end = word == words_.end() ? rules_.size() : word->second;
  for (size_t i = 0; i < end; i++) {
    if (fits(rules_[i], subject)) return &rules_[i];
  }
  return word == words_.end() ? nullptr : &rules_[end];
}

Result<void> PatternTable::check() const {
  for (const Rule& rule : rules_) {
    for (const auto* pattern : {&rule.name, &rule.scope, &rule.functor}) {
      if (*pattern && !(*pattern)->is_valid()) {
        return Error{ErrorCode::kBadInput, file_ + ": not a valid pattern in a rule of " + rule.family};
      }
    }
  }
  return {};
}

}  // namespace nl::analyze
