#pragma once
// RuleSet: the built-in rules and the rules in a user's folders. A user's rule replaces a built-in rule with
// the same id.

#include <string>
#include <vector>

#include "analyze/rules/rule.h"
#include "base/embedded_file.h"
#include "base/result.h"
#include "store/engine.h"

namespace nl::analyze {

struct ReplacedRule {
  std::string id;
  std::string origin;    ///< of the rule that counts
  std::string replaces;  ///< origin of the rule that does not
};

struct RuleSet {
  std::vector<Rule> rules = {};  ///< by id
  std::vector<ReplacedRule> replaced = {};

  const Rule* find(std::string_view id) const;
};

/// Origin of a built-in rule.
inline constexpr char kBuiltIn[] = "built-in";

/// Every *.yaml of a folder holds one rule; later folders count before earlier ones. Any fault is an error
/// with file and line.
std::vector<RuleText> built_in_rule_texts();

Result<RuleSet> load_rules(const ExpressionParser& parser, const std::vector<std::string>& folders);

/// A rule file of at most 64 KiB.
Result<RuleText> read_rule_file(const std::string& path);

}  // namespace nl::analyze
