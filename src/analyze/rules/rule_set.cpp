#include "analyze/rules/rule_set.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>

#include "analyze/rule_files.inc"
#include "analyze/rules/proof.h"
#include "base/files.h"

namespace nl::analyze {
namespace {

constexpr size_t kMaxRules = 1000;

Result<std::vector<RuleText>> folder_texts(const std::string& folder) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) {
    return Error{ErrorCode::kNotFound, "not a folder of rules: " + folder, "every *.yaml in it is one rule"};
  }
  std::vector<RuleText> texts;
  for (const auto& name : list_folder(folder)) {
    if (!name.ends_with(".yaml")) continue;
    if (texts.size() == kMaxRules) return Error{ErrorCode::kLimit, "more than 1000 rules in: " + folder};
    NL_TRY(RuleText text, read_rule_file(folder + "/" + name));
    texts.push_back(std::move(text));
  }
  return texts;
}

Rule* find_rule(std::vector<Rule>& rules, const std::string& id) {
  const auto at = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
  return at == rules.end() ? nullptr : &*at;
}

/// The rules of one folder, or of the build, over those that came before.
Result<void> add_rules(RuleSet& set, std::vector<Rule> rules) {
  const size_t before = set.rules.size();
  for (size_t i = 0; i < rules.size(); i++) {
    const auto twin = std::find_if(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const Rule& rule) { return rule.id == rules[i].id; });
    if (twin != rules.begin() + static_cast<std::ptrdiff_t>(i)) {
      return Error{ErrorCode::kConflict,
                   "two rules have the id " + rules[i].id + ": " + twin->origin + ", " + rules[i].origin};
    }
  }
  set.rules.reserve(before + rules.size());
  for (auto& rule : rules) {
    Rule* old = find_rule(set.rules, rule.id);
    if (old == nullptr) {
      set.rules.push_back(std::move(rule));
    } else {
      set.replaced.push_back({rule.id, rule.origin, old->origin});
      *old = std::move(rule);
    }
  }
  return {};
}

Result<std::vector<Rule>> rules_of(const ExpressionParser& parser, const std::vector<RuleText>& texts) {
  NL_TRY(auto readings, read_rules(parser, texts));
  std::vector<Rule> rules;
  for (size_t i = 0; i < texts.size(); i++) {
    if (!readings[i].rule) return rule_error(texts[i].name, readings[i].faults.front());
    rules.push_back(std::move(*readings[i].rule));
  }
  return rules;
}

/// Read once a process, with the first parser that comes by.
Result<std::vector<Rule>> built_in_rules(const ExpressionParser& parser) {
  static std::mutex mutex;
  static std::optional<std::vector<Rule>> known;
  const std::lock_guard lock(mutex);
  if (!known) {
    NL_TRY(auto rules, rules_of(parser, built_in_rule_texts()));
    NL_TRY(const auto proofs, built_in_proofs());
    for (Rule& rule : rules) {
      rule.origin = kBuiltIn;
      rule.proof = proof_of(rule, proofs);
    }
    known = std::move(rules);
  }
  return *known;
}

}  // namespace

const Rule* RuleSet::find(std::string_view id) const {
  const auto at = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.id == id; });
  return at == rules.end() ? nullptr : &*at;
}

std::vector<RuleText> built_in_rule_texts() {
  std::vector<RuleText> texts;
  for (const EmbeddedFile& file : kRuleFiles) {
    texts.push_back({"rules/" + std::string(file.name), std::string(file.text)});
  }
  return texts;
}

Result<RuleText> read_rule_file(const std::string& path) {
  NL_TRY(std::string text, read_small_file(path, kMaxRuleBytes));
  return RuleText{path, std::move(text)};
}

Result<RuleSet> load_rules(const ExpressionParser& parser, const std::vector<std::string>& folders) {
  RuleSet set;
  NL_TRY(auto built_in, built_in_rules(parser));
  NL_CHECK(add_rules(set, std::move(built_in)));
  for (const auto& folder : folders) {
    NL_TRY(const auto texts, folder_texts(folder));
    NL_TRY(auto rules, rules_of(parser, texts));
    NL_CHECK(add_rules(set, std::move(rules)));
  }
  std::sort(set.rules.begin(), set.rules.end(), [](const Rule& a, const Rule& b) { return a.id < b.id; });
  return set;
}

}  // namespace nl::analyze
