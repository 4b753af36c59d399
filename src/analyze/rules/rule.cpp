#include "analyze/rules/rule.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/parsed_data.h"
#include "base/yaml.h"
#include "model/labels.h"

namespace nl::analyze {
namespace {

constexpr char kRuleForm[] =
    "a rule has id, version, title, condition, confidence, evidence, at_stake, suggestions and references";
constexpr char kEvidenceForm[] =
    "an evidence is {metric: id, text: sentence} or {expression: …, text: sentence}";
constexpr char kSuggestionForm[] =
    "a suggestion is {text: sentence}, with gain: or gain_at_most: in ns if known, and when: if it does not "
    "always fit";
constexpr size_t kMaxItems = 32;

/// What an expression must be.
enum class Wanted { kTruth, kAmount, kTime };

/// An expression that waits for the parser.
struct Pending {
  std::string text;
  int line = 0;
  Wanted wanted = Wanted::kAmount;
  Expression* out = nullptr;
};

bool is_id(std::string_view text) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !text.empty() && text.size() <= 64 && lower(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::optional<Confidence> confidence_of(std::string_view name) {
  for (const Confidence one : {Confidence::kLow, Confidence::kMedium, Confidence::kHigh}) {
    if (name == confidence_name(one)) return one;
  }
  return std::nullopt;
}

std::string source_line(const std::string& source, int number) {
  size_t begin = 0;
  for (int line = 1; line < number; line++) {
    const size_t end = source.find('\n', begin);
    if (end == std::string::npos) return "";
    begin = end + 1;
  }
  return source.substr(begin, source.find('\n', begin) - begin);
}

/// A rule whose expressions are not parsed yet. The rule stays where it is: Pending points into it.
class Draft {
 public:
  explicit Draft(const RuleText& source) : source_(source) {}

  void read() {
    rule_.origin = source_.name;
    auto root = parse_data(source_.text, source_.name);
    if (!root) return fault_of_yaml(root.error());
    if (!root->is_map()) return fault(std::max(root->line, 1), "a rule is expected", kRuleForm);
    read_members(*root);
  }
  std::vector<Pending>& pending() { return pending_; }

  void take(const Pending& pending, ReadExpression read) {
    if (auto* bad = std::get_if<ExpressionFault>(&read)) return fault_of_expression(pending, *bad);
    auto& expression = std::get<Expression>(read);
    const std::string what = unwanted(pending.wanted, expression);
    if (!what.empty()) return fault_of_expression(pending, {what, 0});
    *pending.out = std::move(expression);
  }

  RuleReading finish() {
    if (faults_.empty()) check_independence();
    std::stable_sort(faults_.begin(), faults_.end(),
                     [](const RuleFault& a, const RuleFault& b) { return a.line < b.line; });
    if (!faults_.empty()) return {std::nullopt, std::move(faults_)};
    return {std::move(rule_), {}};
  }

 private:
  void fault(int line, const std::string& what, const std::string& hint = {}) {
    RuleFault one{line, 0, what, hint};
    for (char& c : one.what) {  // a key may hold anything, and goes to a terminal
      if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
    }
    faults_.push_back(std::move(one));
  }

  /// "name:line: what" into its parts.
  void fault_of_yaml(const Error& error) {
    const std::string rest = error.message.substr(std::min(error.message.size(), source_.name.size() + 1));
    const size_t colon = rest.find(": ");
    fault(std::max(std::atoi(rest.c_str()), 1), colon == std::string::npos ? rest : rest.substr(colon + 2));
  }

  /// With a column if the whole expression stands in its line as it is.
  void fault_of_expression(const Pending& pending, const ExpressionFault& bad) {
    RuleFault one{pending.line, 0, bad.what};
    const size_t begin = source_line(source_.text, pending.line).find(pending.text);
    if (bad.offset && begin != std::string::npos) {
      one.column = static_cast<int>(begin + *bad.offset) + 1;
    } else if (bad.offset && *bad.offset > 0) {
      one.what += " (character " + std::to_string(*bad.offset + 1) + " of the expression)";
    }
    faults_.push_back(std::move(one));
  }

  static std::string unwanted(Wanted wanted, const Expression& expression) {
    if (wanted == Wanted::kTruth) {
      return expression.is_boolean() ? "" : "the condition must be true or false, not a number";
    }
    if (expression.is_boolean()) return "a number is expected, not true or false";
    const bool time = expression.unit().is_constant() || expression.unit().text() == "ns";
    return wanted == Wanted::kTime && !time ? "a time in ns is expected, not " + expression.unit().text()
                                            : "";
  }

  /// The members of a map by key; what is not known or has no value is a fault.
  template <class Each>
  void each_member(const YamlNode& map, const std::string& form, Each&& each) {
    for (const auto& [key, line, value] : map.members) {
      if (value.kind == YamlNode::Kind::kNull) {
        fault(line, key.substr(0, 64) + " has no value", form);
      } else if (!each(key, value)) {
        fault(line, "unknown key: " + key.substr(0, 64), form);
      }
    }
  }

  void read_members(const YamlNode& root) {
    each_member(root, kRuleForm, [&](const std::string& key, const YamlNode& value) {
      return take_head(key, value) || take_body(key, value);
    });
    for (const char* key : {"id", "version", "title", "condition", "confidence", "evidence", "at_stake",
                            "suggestions", "references"}) {
      if (root.find(key) == nullptr) fault(root.line, std::string(key) + " is missing", kRuleForm);
    }
  }

  bool take_head(const std::string& key, const YamlNode& value) {
    if (key == "id") {
      take_id(value);
    } else if (key == "version") {
      take_version(value);
    } else if (key == "title") {
      take_text(value, key, rule_.title);
    } else if (key == "confidence") {
      take_confidence(value);
    } else {
      return false;
    }
    return true;
  }

  bool take_body(const std::string& key, const YamlNode& value) {
    if (key == "condition") {
      want(value, key, Wanted::kTruth, rule_.condition);
    } else if (key == "at_stake") {
      want(value, key, Wanted::kTime, rule_.at_stake);
    } else if (key == "evidence") {
      take_evidence(value);
    } else if (key == "suggestions") {
      take_suggestions(value);
    } else if (key == "references") {
      take_references(value);
    } else {
      return false;
    }
    return true;
  }

  void take_text(const YamlNode& value, const std::string& key, std::string& out) {
    if (!value.is_text()) return fault(value.line, key + " must be a text");
    out = value.text;
    out.erase(out.find_last_not_of(" \t\n") + 1);
    const auto fine = model::check_label_value(key, out);  // one line of plain text
    if (!fine) fault(value.line, fine.error().message, fine.error().hint);
  }

  void take_id(const YamlNode& value) {
    if (!value.is_text() || !is_id(value.text)) {
      return fault(value.line, "not an id for a rule", "1 to 64 of a-z 0-9 _, the first one a letter");
    }
    rule_.id = value.text;
  }

  void take_version(const YamlNode& value) {
    const char* end = value.text.data() + value.text.size();
    const auto [stop, failed] = std::from_chars(value.text.data(), end, rule_.version);
    const bool fine = value.is_text() && failed == std::errc() && stop == end && rule_.version > 0;
    if (!fine) fault(value.line, "version must be a whole number from 1");
  }

  void take_confidence(const YamlNode& value) {
    const auto confidence = value.is_text() ? confidence_of(value.text) : std::nullopt;
    if (!confidence) return fault(value.line, "confidence must be low, medium or high");
    rule_.confidence = *confidence;
  }

  void want(const YamlNode& value, const std::string& key, Wanted wanted, Expression& out) {
    if (!value.is_text()) return fault(value.line, key + " must be an expression");
    pending_.push_back({value.text, value.line, wanted, &out});
  }

  /// Items of a list; `least` of them must be there.
  bool is_list_of(const YamlNode& list, const std::string& key, size_t least) {
    const std::string here = ", here are " + std::to_string(list.items.size());
    if (!list.is_list()) {
      fault(list.line, key + " must be a list");
    } else if (list.items.size() < least) {
      fault(list.line, key + " needs " + std::to_string(least) + " or more entries" + here);
    } else if (list.items.size() > kMaxItems) {
      fault(list.line, key + " takes at most " + std::to_string(kMaxItems) + " entries" + here);
    } else {
      return true;
    }
    return false;
  }

  void take_evidence(const YamlNode& list) {
    evidence_line_ = list.line;
    if (!is_list_of(list, "evidence", 2)) return;
    rule_.evidence.resize(list.items.size());
    for (size_t i = 0; i < list.items.size(); i++) take_one_evidence(list.items[i], rule_.evidence[i]);
  }

  void take_one_evidence(const YamlNode& item, RuleEvidence& out) {
    if (!item.is_map()) return fault(item.line, "an evidence must be a mapping", kEvidenceForm);
    int values = 0;
    each_member(item, kEvidenceForm, [&](const std::string& key, const YamlNode& value) {
      if (key == "text") {
        take_text(value, key, out.text);
      } else if (key == "metric" || key == "expression") {
        values++;
        take_evidence_value(value, key, out.value);
      } else {
        return false;
      }
      return true;
    });
    if (values != 1) fault(item.line, "an evidence has one metric or one expression", kEvidenceForm);
    if (item.find("text") == nullptr) fault(item.line, "the evidence has no text", kEvidenceForm);
  }

  void take_evidence_value(const YamlNode& value, const std::string& key, Expression& out) {
    if (key == "metric" && !is_id(value.text))
      return fault(value.line, "not the id of a metric", kEvidenceForm);
    want(value, key, Wanted::kAmount, out);
  }

  void take_suggestions(const YamlNode& list) {
    if (!is_list_of(list, "suggestions", 2)) return;
    rule_.suggestions.resize(list.items.size());
    for (size_t i = 0; i < list.items.size(); i++) take_suggestion(list.items[i], rule_.suggestions[i]);
  }

  void take_suggestion(const YamlNode& item, RuleSuggestion& out) {
    if (!item.is_map()) return fault(item.line, "a suggestion must be a mapping", kSuggestionForm);
    each_member(item, kSuggestionForm, [&](const std::string& key, const YamlNode& value) {
      if (key == "text") {
        take_text(value, key, out.text);
      } else if (key == "gain" || key == "gain_at_most") {
        take_gain(value, key, out);
      } else if (key == "when") {
        out.when.emplace();
        want(value, key, Wanted::kTruth, *out.when);
      } else {
        return false;
      }
      return true;
    });
    if (item.find("text") == nullptr) fault(item.line, "the suggestion has no text", kSuggestionForm);
  }

  void take_gain(const YamlNode& value, const std::string& key, RuleSuggestion& out) {
    if (out.gain) return fault(value.line, "gain and gain_at_most exclude each other", kSuggestionForm);
    out.at_most = key == "gain_at_most";
    out.gain.emplace();
    want(value, key, Wanted::kTime, *out.gain);
  }

  void take_references(const YamlNode& list) {
    if (!is_list_of(list, "references", 1)) return;
    rule_.references.resize(list.items.size());
    for (size_t i = 0; i < list.items.size(); i++) {
      take_text(list.items[i], "a reference", rule_.references[i]);
    }
  }

  /// Saying one thing twice is no evidence.
  void check_independence() {
    for (size_t i = 0; i < rule_.evidence.size(); i++) {
      std::set<Metric> others;
      for (size_t j = 0; j < rule_.evidence.size(); j++) {
        if (j == i) continue;
        const auto& needed = rule_.evidence[j].value.needed();
        others.insert(needed.begin(), needed.end());
      }
      const auto& own = rule_.evidence[i].value.needed();
      const bool adds = std::any_of(own.begin(), own.end(), [&](Metric m) { return !others.contains(m); });
      if (!adds) {
        fault(evidence_line_,
              "evidence " + std::to_string(i + 1) + " is not independent: " + rule_.evidence[i].value.text(),
              "each evidence must use a metric that no other one uses");
      }
    }
  }

  const RuleText& source_;
  Rule rule_;
  int evidence_line_ = 0;
  std::vector<Pending> pending_;
  std::vector<RuleFault> faults_;
};

}  // namespace

std::string_view confidence_name(Confidence confidence) {
  switch (confidence) {
    case Confidence::kLow:
      return "low";
    case Confidence::kMedium:
      return "medium";
    case Confidence::kHigh:
      return "high";
  }
  return "low";
}

std::vector<std::string> expressions_in(const RuleText& text) {
  Draft draft(text);
  draft.read();
  std::vector<std::string> expressions;
  for (const auto& pending : draft.pending()) expressions.push_back(pending.text);
  return expressions;
}

Result<std::vector<RuleReading>> read_rules(const ExpressionParser& parser,
                                            const std::vector<RuleText>& texts) {
  std::vector<Draft> drafts;
  drafts.reserve(texts.size());
  std::vector<std::string> expressions;
  for (const auto& text : texts) {
    drafts.emplace_back(text).read();
    for (const auto& pending : drafts.back().pending()) expressions.push_back(pending.text);
  }
  NL_TRY(auto read, read_expressions(parser, expressions));
  std::vector<RuleReading> readings;
  size_t next = 0;
  for (auto& draft : drafts) {
    for (const auto& pending : draft.pending()) draft.take(pending, std::move(read[next++]));
    readings.push_back(draft.finish());
  }
  return readings;
}

Error rule_error(const std::string& name, const RuleFault& fault) {
  std::string at = name + ":" + std::to_string(fault.line);
  if (fault.column > 0) at += ":" + std::to_string(fault.column);
  return {ErrorCode::kBadInput, at + ": " + fault.what, fault.hint};
}

}  // namespace nl::analyze
