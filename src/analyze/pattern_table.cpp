#include "analyze/pattern_table.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>

#include "analyze/kernel_name.h"
#include "base/yaml.h"

namespace nl::analyze {
namespace {

constexpr size_t kMaxNameBytes = 1024;  // a longer name is matched by its beginning
constexpr int64_t kEngineBytes = 32 << 20;
constexpr char kHint[] = "a rule has class, function or op, and may have family, scope and functor";

/// Bytes, not UTF-8: names are untrusted.
RE2::Options options() {
  RE2::Options out;
  out.set_encoding(RE2::Options::EncodingLatin1);
  out.set_case_sensitive(false);
  out.set_never_capture(true);
  out.set_dot_nl(true);
  out.set_log_errors(false);
  out.set_max_mem(kEngineBytes);
  return out;
}

}  // namespace

struct PatternTable::Sets {
  RE2::Set names{options(), RE2::ANCHOR_BOTH};
  RE2::Set functors{options(), RE2::ANCHOR_BOTH};
  size_t functor_count = 0;
};

namespace {

/// Reads the rules of one file; `name` stands in messages.
class RuleReader {
 public:
  RuleReader(std::string_view name, RE2::Set& names, RE2::Set& functors)
      : name_(name), names_(names), functors_(functors) {}

  Result<PatternTable::Rule> read(const YamlNode& node) {
    if (!node.is_map()) return fault(node.line, "a rule must be a mapping");
    PatternTable::Rule rule;
    int names = 0;
    bool has_class = false;
    for (const auto& [key, line, value] : node.members) {
      if (!value.is_text()) return fault(line, key.substr(0, 64) + " needs a text");
      NL_CHECK(take(rule, key, line, value.text));
      names += key == "function" || key == "op" ? 1 : 0;
      has_class |= key == "class";
    }
    if (names != 1 || !has_class) return fault(node.line, "a rule needs a class and one pattern");
    return rule;
  }

 private:
  Error fault(int line, const std::string& what) const { return yaml_error(name_, line, what, kHint); }

  Result<void> take(PatternTable::Rule& rule, const std::string& key, int line, const std::string& text) {
    if (key == "class") return take_class(rule, line, text);
    if (key == "family") return take_family(rule, line, text);
    if (key == "function" || key == "op")
      return add(names_, line, text).has_value() ? Result<void>() : bad(line);
    if (key == "functor") return take_functor(rule, line, text);
    if (key == "scope") return take_scope(rule, line, text);
    return fault(line, "unknown key: " + key.substr(0, 64));
  }

  Result<void> take_class(PatternTable::Rule& rule, int line, const std::string& text) {
    const auto found = find_op_class(text);
    if (!found) return fault(line, "unknown class: " + text.substr(0, 64));
    rule.op_class = *found;
    return {};
  }
  Result<void> take_family(PatternTable::Rule& rule, int line, const std::string& text) {
    if (text.empty()) return fault(line, "the family is empty");
    rule.family = text;
    return {};
  }
  Result<void> take_functor(PatternTable::Rule& rule, int line, const std::string& text) {
    NL_TRY(rule.functor, add(functors_, line, text));
    return {};
  }
  Result<void> take_scope(PatternTable::Rule& rule, int line, const std::string& text) {
    rule.scope = std::make_unique<RE2>(text, options());
    return rule.scope->ok() ? Result<void>() : bad(line);
  }

  Result<void> bad(int line) const { return fault(line, "the pattern is not valid"); }
  Result<int> add(RE2::Set& set, int line, const std::string& pattern) const {
    const int number = set.Add(pattern, nullptr);
    if (number < 0) return bad(line).error();
    return number;
  }

  std::string name_;
  RE2::Set& names_;
  RE2::Set& functors_;
};

}  // namespace

PatternTable::PatternTable() : sets_(std::make_unique<Sets>()) {}
PatternTable::PatternTable(PatternTable&&) noexcept = default;
PatternTable& PatternTable::operator=(PatternTable&&) noexcept = default;
PatternTable::~PatternTable() = default;

Result<PatternTable> PatternTable::load(const EmbeddedFile& file) {
  const std::string name(file.name);
  NL_TRY(const YamlNode root, parse_yaml(std::string(file.text), name));
  const YamlNode* rules = root.is_map() ? root.find("rules") : nullptr;
  if (rules == nullptr || !rules->is_list())
    return yaml_error(name, 1, "rules: with a list is expected", kHint);
  PatternTable table;
  RuleReader reader(name, table.sets_->names, table.sets_->functors);
  for (const auto& node : rules->items) {
    NL_TRY(Rule rule, reader.read(node));
    table.sets_->functor_count += rule.functor >= 0 ? 1 : 0;
    table.rules_.push_back(std::move(rule));
  }
  if (!table.sets_->names.Compile() || !table.sets_->functors.Compile()) {
    return Error{ErrorCode::kLimit, "the patterns need too much memory: " + name,
                 "fewer or simpler patterns"};
  }
  return table;
}

bool PatternTable::fits(const Rule& rule, const MatchSubject& subject,
                        std::optional<std::vector<bool>>& functors) const {
  if (rule.scope && !RE2::FullMatch(subject.scope, *rule.scope)) return false;
  if (rule.functor < 0) return true;
  if (subject.functors == nullptr) return false;
  if (!functors) {
    functors.emplace(sets_->functor_count, false);
    std::vector<int> found;
    for (const auto& functor : *subject.functors) {
      sets_->functors.Match(last_component(functor).substr(0, kMaxNameBytes), &found);
      for (const int number : found) (*functors)[static_cast<size_t>(number)] = true;
    }
  }
  return (*functors)[static_cast<size_t>(rule.functor)];
}

const PatternTable::Rule* PatternTable::find(const MatchSubject& subject) const {
  std::vector<int> found;
  if (!sets_->names.Match(subject.name.substr(0, kMaxNameBytes), &found)) return nullptr;
  std::sort(found.begin(), found.end());
  std::optional<std::vector<bool>> functors;
  for (const int number : found) {
    const Rule& rule = rules_[static_cast<size_t>(number)];
    if (fits(rule, subject, functors)) return &rule;
  }
  return nullptr;
}

}  // namespace nl::analyze
