#pragma once
// Rule: a condition on the metrics of a window, what it costs, and what to do about it. One YAML file holds
// one rule. Built-in rules are rules/*.yaml; a user's own rules have the same form:
//
//   id: exposed_copies                  [a-z][a-z0-9_]*, unique
//   version: 1                          raised when condition, gains or at_stake change
//   title: Copies keep the device from computing
//   condition: exposed_copy_time / total_time > 0.05
//   confidence: low | medium | high     how sure the finding is if the condition holds
//   evidence:                           two or more; each names a metric that no other one names
//     - {metric: exposed_copy_time, text: …}
//     - {expression: h2d_time / total_time, text: …}
//   at_stake: exposed_copy_time         ns of the window that the finding is about
//   suggestions:                        two or more
//     - {text: …, gain: …}              ns of the window that would be saved, an estimate
//     - {text: …, gain_at_most: …}      the same, an upper bound
//     - {text: …}                       a gain that the metrics cannot tell
//     - {text: …, when: amd_device = 1} left out unless that holds
//   references: [https://…]             public documentation
//
// Expressions: rule_expression.h.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/rules/rule_expression.h"
#include "base/described.h"
#include "base/result.h"
#include "store/engine.h"

namespace nl::analyze {

enum class Confidence { kLow, kMedium, kHigh };

std::string_view confidence_name(Confidence confidence);

struct RuleEvidence {
  Expression value;  ///< an amount; a single metric is one too
  std::string text;
};

struct RuleSuggestion {
  std::string text;
  std::optional<Expression> gain = {};  ///< ns
  bool at_most = false;                 ///< the gain is an upper bound
  std::optional<Expression> when = {};  ///< it fits only if this holds; not if a metric of it is absent
};

struct Rule {
  std::string id;
  int version = 0;
  std::string title;
  Confidence confidence = Confidence::kLow;
  Expression condition;  ///< true or false
  Expression at_stake;   ///< ns
  std::vector<RuleEvidence> evidence;
  std::vector<RuleSuggestion> suggestions;
  std::vector<std::string> references;
  std::string origin;              ///< file that it was read from, or built-in
  std::string proof = "unproved";  ///< how its promises compare with measured gains: proof.h
};

struct RuleFault {
  int line = 0;    ///< from 1
  int column = 0;  ///< from 1; 0 if unknown
  std::string what;
  std::string hint = {};
};

/// A file to read a rule from; `name` stands in messages.
struct RuleText {
  std::string name;
  std::string text;
};

/// The rule, or everything that is wrong with it.
struct RuleReading {
  std::optional<Rule> rule = {};
  std::vector<RuleFault> faults = {};
};

inline constexpr int64_t kMaxRuleBytes = int64_t{64} * 1024;

/// One reading for each text. The parser reads the expressions of all of them at once.
Result<std::vector<RuleReading>> read_rules(const ExpressionParser& parser,
                                            const std::vector<RuleText>& texts);

/// The expressions in a rule, as they stand there.
std::vector<std::string> expressions_in(const RuleText& text);

/// bad_input "name:line:column: what".
Error rule_error(const std::string& name, const RuleFault& fault);

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::Confidence> : DescribedEnum<analyze::Confidence, analyze::confidence_name, 3> {};

}  // namespace nl
