// Reads expressions of rules with the engine's own SQL parser. The parser only gives a syntax tree as JSON;
// the expression itself is never executed as SQL. Three checks keep the language small: only harmless
// characters reach the parser, only known node kinds and keys are accepted in its tree, and then units are
// checked. The engine parses all expressions in one statement, and those of the built-in rules were parsed
// before the build.

#include "analyze/rules/rule_expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "base/json.h"
#include "base/parsed_data.h"
#include "base/text.h"

namespace nl::analyze {
namespace {

using nlohmann::json;
using Kind = ExpressionKind;
using Offset = std::optional<size_t>;

constexpr std::string_view kSelect = "SELECT ";
constexpr int kMaxDepth = 64;
constexpr char kAllowed[] =
    "allowed are numbers, metrics, + - * /, comparisons, and, or, not, least, greatest, present";

/// Thrown to leave the recursion through the tree; always caught in this file.
struct Refused {
  ExpressionFault fault;
};

[[noreturn]] void refuse(const std::string& what, Offset offset = {}) {
  throw Refused{{what, offset}};
}

// ---- Before the parser: the characters

bool may_stand(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.+-*/()<>=!, \n\t").find(c) != std::string_view::npos;
}

std::string shown(char c) {
  const bool plain = c > ' ' && c < 127;
  constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return plain ? std::string("'") + c + "'"
               : std::string("byte 0x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

/// No quotes, semicolons, casts, parameters or comments reach the parser.
void check_characters(const std::string& text) {
  if (text.size() > kMaxExpressionBytes) {
    refuse("the expression has " + std::to_string(text.size()) + " bytes, at most " +
           std::to_string(kMaxExpressionBytes) + " are allowed");
  }
  for (size_t i = 0; i < text.size(); i++) {
    const std::string_view two = std::string_view(text).substr(i, 2);
    if (two == "--" || two == "/*") refuse("comments are not allowed: " + std::string(two), i);
    if (!may_stand(text[i])) refuse(shown(text[i]) + " is not allowed; " + kAllowed, i);
  }
  if (text.find_first_not_of(" \n\t") == std::string::npos) refuse("the expression is empty");
}

Offset offset_of(int64_t position) {
  const int64_t at = position - static_cast<int64_t>(kSelect.size());
  return at >= 0 ? Offset(static_cast<size_t>(at)) : Offset();
}

// ---- The engine's tree into ours

std::string word(const json& node, const char* key) {
  const auto it = node.find(key);
  return it != node.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Offset place(const json& node) {
  const auto it = node.find("query_location");
  return it != node.end() && it->is_number_integer() ? offset_of(it->get<int64_t>()) : Offset();
}

/// The engine leaves out keys with their default value. So a key that we do not know means that the text uses
/// a feature that we do not allow.
void allow_keys(const json& node, const std::set<std::string_view>& keys) {
  for (const auto& [key, value] : node.items()) {
    if (key == "alias") refuse("a second name is not allowed: " + value.dump().substr(0, 64), place(node));
    if (!keys.contains(key)) refuse(key + " is not allowed; " + kAllowed, place(node));
  }
}

double decimal_number(const json& value, Offset offset) {
  const auto info = value["type"].find("type_info");
  if (info == value["type"].end() || !value["value"].is_number_integer()) {
    refuse("the number has too many digits", offset);
  }
  const std::string text =
      value["value"].dump() + "e-" + std::to_string(info->value("scale", 0));  // exact, unlike a division
  return std::strtod(text.c_str(), nullptr);
}

ExpressionNode constant(const json& node) {
  static const std::set<std::string> kNumbers = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DOUBLE"};
  allow_keys(node, {"class", "type", "query_location", "value"});
  const Offset offset = place(node);
  const json& value = node.at("value");
  const std::string type = word(value.at("type"), "id");
  if (type == "HUGEINT" || type == "UHUGEINT") refuse("the number has too many digits", offset);
  if (type == "DECIMAL") return {Kind::kNumber, decimal_number(value, offset), Metric::kCount, offset};
  if (!kNumbers.contains(type) || !value.contains("value") || !value["value"].is_number()) {
    refuse("only numbers may be constants, not: " + (type.empty() ? "?" : type), offset);
  }
  return {Kind::kNumber, value["value"].get<double>(), Metric::kCount, offset};
}

/// "; did you mean …" for a typing mistake.
std::string nearest_metric(std::string_view name) {
  if (name.size() > 64) return "";
  const auto all = all_metrics();
  const auto best = std::min_element(all.begin(), all.end(), [&](const MetricInfo& a, const MetricInfo& b) {
    return edit_distance(name, a.id) < edit_distance(name, b.id);
  });
  return edit_distance(name, best->id) <= 3 ? "; did you mean " + std::string(best->id) + "?" : "";
}

ExpressionNode metric_node(const json& node) {
  allow_keys(node, {"class", "type", "query_location", "column_names"});
  std::string name;
  for (const auto& part : node.at("column_names"))
    name += (name.empty() ? "" : ".") + part.get<std::string>();
  const auto metric = find_metric(name);
  if (!metric) refuse("no metric is called " + name.substr(0, 64) + nearest_metric(name), place(node));
  return {Kind::kMetric, 0, *metric, place(node)};
}

ExpressionNode walk(const json& node, int depth);

std::vector<ExpressionNode> walk_all(const json& nodes, int depth) {
  std::vector<ExpressionNode> parts;
  for (const auto& node : nodes) parts.push_back(walk(node, depth));
  return parts;
}

ExpressionNode present_node(const json& node, std::vector<ExpressionNode> parts) {
  if (parts.size() != 1 || parts[0].kind != Kind::kMetric) {
    refuse("present() takes the id of one metric", place(node));
  }
  return {Kind::kPresent, 0, parts[0].metric, place(node)};
}

ExpressionNode operator_node(const json& node, const std::string& name, std::vector<ExpressionNode> parts) {
  static const std::map<std::string_view, Kind> kOperators = {
      {"+", Kind::kAdd}, {"-", Kind::kSubtract}, {"*", Kind::kMultiply}, {"/", Kind::kDivide}};
  const auto it = kOperators.find(name);
  if (it == kOperators.end()) refuse("the operator " + name + " is not allowed; " + kAllowed, place(node));
  if (parts.size() == 1 && name == "+") return std::move(parts[0]);
  if (parts.size() == 1) return {Kind::kNegate, 0, Metric::kCount, place(node), std::move(parts)};
  return {it->second, 0, Metric::kCount, place(node), std::move(parts)};
}

/// The engine always writes order_bys for a call; here it must be empty.
void check_call(const json& node) {
  allow_keys(node,
             {"class", "type", "query_location", "function_name", "children", "order_bys", "is_operator"});
  if (node.contains("order_bys")) allow_keys(node["order_bys"], {"type"});
}

ExpressionNode call_node(const json& node, int depth) {
  const std::string name = word(node, "function_name");
  const bool is_operator = node.value("is_operator", false);
  if (!is_operator && name != "least" && name != "greatest" && name != "present") {
    refuse("the function " + name.substr(0, 64) + " is not allowed; " + kAllowed, place(node));
  }
  check_call(node);
  auto parts = walk_all(node.value("children", json::array()), depth);
  if (is_operator) return operator_node(node, name, std::move(parts));
  if (name == "present") return present_node(node, std::move(parts));
  if (parts.empty()) refuse(name + "() needs a value", place(node));
  return {name == "least" ? Kind::kLeast : Kind::kGreatest, 0, Metric::kCount, place(node), std::move(parts)};
}

ExpressionNode comparison_node(const json& node, int depth) {
  static const std::map<std::string_view, Kind> kComparisons = {
      {"COMPARE_EQUAL", Kind::kEqual},         {"COMPARE_NOTEQUAL", Kind::kNotEqual},
      {"COMPARE_LESSTHAN", Kind::kLess},       {"COMPARE_LESSTHANOREQUALTO", Kind::kLessOrEqual},
      {"COMPARE_GREATERTHAN", Kind::kGreater}, {"COMPARE_GREATERTHANOREQUALTO", Kind::kGreaterOrEqual}};
  allow_keys(node, {"class", "type", "query_location", "left", "right"});
  const std::string type = word(node, "type");
  const auto it = kComparisons.find(type);
  if (it == kComparisons.end()) refuse(type + " is not allowed; " + kAllowed, place(node));
  std::vector<ExpressionNode> parts;
  parts.push_back(walk(node.at("left"), depth));
  parts.push_back(walk(node.at("right"), depth));
  return {it->second, 0, Metric::kCount, place(node), std::move(parts)};
}

ExpressionNode logic_node(const json& node, int depth) {
  static const std::map<std::string_view, Kind> kLogic = {
      {"CONJUNCTION_AND", Kind::kAnd}, {"CONJUNCTION_OR", Kind::kOr}, {"OPERATOR_NOT", Kind::kNot}};
  const std::string type = word(node, "type");
  const auto it = kLogic.find(type);
  if (it == kLogic.end()) refuse(type + " is not allowed; " + kAllowed, place(node));
  allow_keys(node, {"class", "type", "query_location", "children"});
  return {it->second, 0, Metric::kCount, place(node), walk_all(node.at("children"), depth)};
}

ExpressionNode walk(const json& node, int depth) {
  if (depth == kMaxDepth) refuse("nested too deeply, at most " + std::to_string(kMaxDepth) + " levels");
  const std::string of = word(node, "class");
  if (of == "CONSTANT") return constant(node);
  if (of == "COLUMN_REF") return metric_node(node);
  if (of == "FUNCTION") return call_node(node, depth + 1);
  if (of == "COMPARISON") return comparison_node(node, depth + 1);
  if (of == "CONJUNCTION" || of == "OPERATOR") return logic_node(node, depth + 1);
  refuse(of + " is not allowed; " + kAllowed, place(node));
}

std::string syntax_message(const json& parsed) {
  const std::string message = word(parsed, "error_message");
  if (message.starts_with("Max expression depth") || message.starts_with("memory exhausted")) {
    return "nested too deeply";
  }
  return message.empty() ? "not an expression" : message.substr(0, 200);
}

Offset syntax_offset(const json& parsed) {
  const std::string position = word(parsed, "position");
  return position.empty() ? Offset() : offset_of(std::atoll(position.c_str()));
}

/// The single expression of `SELECT expression`. Anything else in the statement is refused.
const json& only_item(const json& parsed) {
  if (parsed.value("error", true)) refuse(syntax_message(parsed), syntax_offset(parsed));
  const json& statements = parsed.at("statements");
  if (statements.size() != 1) refuse("only one expression is allowed");
  allow_keys(statements[0], {"node"});
  const json& node = statements[0].at("node");
  allow_keys(node, {"type", "select_list", "from_table", "aggregate_handling"});
  if (word(node, "type") != "SELECT_NODE") refuse(word(node, "type") + " is not allowed");
  if (word(node.at("from_table"), "type") != "EMPTY")
    refuse("FROM is not allowed", place(node["from_table"]));
  if (word(node, "aggregate_handling") != "STANDARD_HANDLING") refuse("GROUP BY is not allowed");
  const json& items = node.at("select_list");
  if (items.size() != 1) refuse("only one expression is allowed, not a list", place(items[1]));
  return items[0];
}

// ---- Types

bool is_comparison(Kind kind) {
  return kind >= Kind::kEqual && kind <= Kind::kGreaterOrEqual;
}
bool is_logic(Kind kind) {
  return kind >= Kind::kAnd;
}

/// The unit of an amount; none for a condition, which is true or false.
using Type = std::optional<Unit>;

Type type_of(const ExpressionNode& node);

Unit amount(const ExpressionNode& node) {
  const Type type = type_of(node);
  if (!type) refuse("a number is expected, not true or false", node.offset);
  return *type;
}

std::string unit_name(const Unit& unit) {
  return unit.is_constant() ? "a constant" : unit.text();
}

/// The unit of all parts together.
Unit common_unit(const ExpressionNode& node) {
  Unit unit = amount(node.parts[0]);
  for (size_t i = 1; i < node.parts.size(); i++) {
    const Unit other = amount(node.parts[i]);
    const auto both = Unit::common(unit, other);
    if (!both) refuse("the units differ: " + unit_name(unit) + " and " + unit_name(other), node.offset);
    unit = *both;
  }
  return unit;
}

Type logic_type(const ExpressionNode& node) {
  for (const auto& part : node.parts) {
    if (type_of(part)) refuse("true or false is expected, not a number", part.offset);
  }
  return std::nullopt;
}

Type type_of(const ExpressionNode& node) {
  switch (node.kind) {
    case Kind::kNumber:
      return Unit::constant();
    case Kind::kMetric:
      return Unit::of_metric(metric_info(node.metric).unit);
    case Kind::kPresent:
      return std::nullopt;
    case Kind::kMultiply:
      return amount(node.parts[0]) * amount(node.parts[1]);
    case Kind::kDivide:
      return amount(node.parts[0]) / amount(node.parts[1]);
    default:
      break;
  }
  if (is_logic(node.kind)) return logic_type(node);
  const Unit unit = common_unit(node);
  return is_comparison(node.kind) ? Type() : Type(unit);
}

void collect_needed(const ExpressionNode& node, std::vector<Metric>& needed) {
  if (node.kind == Kind::kMetric && std::find(needed.begin(), needed.end(), node.metric) == needed.end()) {
    needed.push_back(node.metric);
  }
  for (const auto& part : node.parts) collect_needed(part, needed);
}

// ---- Values

Known<double> number_of(const ExpressionNode& node, const MetricSet& metrics, const std::string& text);

Known<double> extreme_of(const ExpressionNode& node, const MetricSet& metrics, const std::string& text) {
  Known<double> best = number_of(node.parts[0], metrics, text);
  for (size_t i = 1; i < node.parts.size(); i++) {
    best = combine(best, number_of(node.parts[i], metrics, text), [&](double a, double b) {
      return node.kind == Kind::kLeast ? std::min(a, b) : std::max(a, b);
    });
  }
  return best;
}

Known<double> quotient(double a, double b, const std::string& text) {
  if (b == 0) return Absent{"division by zero: " + text};
  return a / b;
}

Known<double> pair_of(const ExpressionNode& node, const MetricSet& metrics, const std::string& text) {
  return combine(number_of(node.parts[0], metrics, text), number_of(node.parts[1], metrics, text),
                 [&](double a, double b) -> Known<double> {
                   if (node.kind == Kind::kAdd) return a + b;
                   if (node.kind == Kind::kSubtract) return a - b;
                   if (node.kind == Kind::kMultiply) return a * b;
                   return quotient(a, b, text);
                 });
}

Known<double> metric_value(Metric metric, const MetricSet& metrics) {
  const auto& value = metrics.get(metric);
  if (value) return value;
  return Absent{std::string(metric_info(metric).id) + ": " + value.reason()};
}

Known<double> number_of(const ExpressionNode& node, const MetricSet& metrics, const std::string& text) {
  switch (node.kind) {
    case Kind::kNumber:
      return node.number;
    case Kind::kMetric:
      return metric_value(node.metric, metrics);
    case Kind::kNegate:
      return map(number_of(node.parts[0], metrics, text), [](double a) { return -a; });
    case Kind::kLeast:
    case Kind::kGreatest:
      return extreme_of(node, metrics, text);
    default:
      return pair_of(node, metrics, text);
  }
}

bool compare(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::kEqual:
      return a == b;
    case Kind::kNotEqual:
      return a != b;
    case Kind::kLess:
      return a < b;
    case Kind::kLessOrEqual:
      return a <= b;
    case Kind::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

Known<bool> truth_of(const ExpressionNode& node, const MetricSet& metrics, const std::string& text);

/// and, or: evaluates the parts up to the first one that decides the result or is unknown.
Known<bool> chain_of(const ExpressionNode& node, const MetricSet& metrics, const std::string& text) {
  const bool decides = node.kind == Kind::kOr;
  for (const auto& part : node.parts) {
    const Known<bool> one = truth_of(part, metrics, text);
    if (!one || *one == decides) return one;
  }
  return !decides;
}

Known<bool> truth_of(const ExpressionNode& node, const MetricSet& metrics, const std::string& text) {
  if (node.kind == Kind::kPresent) return metrics.get(node.metric).has_value();
  if (node.kind == Kind::kNot) {
    return map(truth_of(node.parts[0], metrics, text), [](bool one) { return !one; });
  }
  if (is_logic(node.kind)) return chain_of(node, metrics, text);
  return combine(number_of(node.parts[0], metrics, text), number_of(node.parts[1], metrics, text),
                 [&](double a, double b) { return compare(node.kind, a, b); });
}

/// One statement that parses all texts at once.
std::string parse_statement(const std::vector<std::string>& texts) {
  std::string rows;
  for (size_t i = 0; i < texts.size(); i++) {
    rows += (i == 0 ? "(" : ",(") + std::to_string(i) + "," +
            store::sql_quoted(std::string(kSelect) + texts[i]) + ")";
  }
  return "SELECT i::BIGINT, json_serialize_sql(t, skip_null := true, skip_empty := true, skip_default := "
         "true)"
         "::VARCHAR FROM (VALUES " +
         rows + ") AS given(i, t)";
}

}  // namespace

class ExpressionReader {
 public:
  static Expression read(const std::string& text, const json& parsed) {
    if (parsed.is_discarded()) refuse("a number is too large");  // the engine writes Infinity
    return of(text, walk(only_item(parsed), 0));
  }
  static Expression of(const std::string& text, ExpressionNode root) {
    Expression expression;
    expression.text_ = text;
    expression.root_ = std::move(root);
    expression.unit_ = type_of(expression.root_);
    collect_needed(expression.root_, expression.needed_);
    return expression;
  }
};

namespace {

// ---- The form of expressions that were parsed before the build: one line per node, the root first:
// KIND OFFSET PARTS VALUE. The offset is -1 if it is unknown; the value is a number or the id of a metric.

void append_node(std::string& out, const ExpressionNode& node) {
  const int64_t offset = node.offset ? static_cast<int64_t>(*node.offset) : -1;
  out += std::to_string(static_cast<int>(node.kind)) + " " + std::to_string(offset) + " " +
         std::to_string(node.parts.size()) + " ";
  char number[64];
  if (node.kind == Kind::kNumber) out.append(number, std::to_chars(number, number + 64, node.number).ptr);
  if (node.metric != Metric::kCount) out += metric_info(node.metric).id;
  out += "\n";
  for (const auto& part : node.parts) append_node(out, part);
}

template <class Number>
Number take_number(std::string_view& text) {
  Number number = 0;
  const char* const end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

/// Throws Refused if a metric no longer exists; the text is then parsed again, which gives the right message.
ExpressionNode take_node(std::string_view& lines) {
  ExpressionNode node;
  node.kind = static_cast<Kind>(take_number<int>(lines));
  if (const auto offset = take_number<int64_t>(lines); offset >= 0) node.offset = static_cast<size_t>(offset);
  const auto parts = take_number<size_t>(lines);
  if (node.kind == Kind::kNumber) {
    node.number = take_number<double>(lines);
  } else {
    const std::string_view name = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(name.size() + 1);
    if (!name.empty()) {
      const auto metric = find_metric(std::string(name));
      if (!metric) refuse("no metric is called " + std::string(name));
      node.metric = *metric;
    }
  }
  for (size_t i = 0; i < parts; i++) node.parts.push_back(take_node(lines));
  return node;
}

std::optional<Expression> parsed_before(const std::string& text) {
  auto lines = parsed_expression(text);
  if (!lines) return std::nullopt;
  try {
    return ExpressionReader::of(text, take_node(*lines));
  } catch (const Refused&) {
    return std::nullopt;
  }
}

ReadExpression read_one(const std::string& text, std::string_view tree) {
  try {
    return ExpressionReader::read(text, json::parse(tree, nullptr, false));
  } catch (const Refused& refused) {
    return refused.fault;
  } catch (const json::exception&) {  // a tree of another shape than this file knows
    return ExpressionFault{"not understood: " + text.substr(0, 64)};
  }
}

std::optional<ExpressionFault> fault_of_characters(const std::string& text) {
  try {
    check_characters(text);
    return std::nullopt;
  } catch (const Refused& refused) {
    return refused.fault;
  }
}

}  // namespace

Known<double> Expression::number(const MetricSet& metrics) const {
  return map(number_of(root_, metrics, text_), [&](double value) -> Known<double> {
    if (!std::isfinite(value)) return Absent{"not a finite number: " + text_};
    return value;
  });
}

Known<bool> Expression::truth(const MetricSet& metrics) const {
  return truth_of(root_, metrics, text_);
}

std::string expression_lines(const Expression& expression) {
  std::string lines;
  append_node(lines, expression.root_);
  return lines;
}

Result<std::vector<ReadExpression>> read_expressions(const ExpressionParser& parser,
                                                     const std::vector<std::string>& texts) {
  std::vector<ReadExpression> all;
  std::vector<std::string> unknown;
  std::vector<size_t> places;
  for (const auto& text : texts) {
    auto expression = parsed_before(text);
    if (!expression) {
      places.push_back(all.size());
      unknown.push_back(text);
    }
    all.emplace_back(expression ? std::move(*expression) : Expression());
  }
  NL_TRY(auto parsed, parse_expressions(parser, unknown));
  for (size_t i = 0; i < places.size(); i++) all[places[i]] = std::move(parsed[i]);
  return all;
}

Result<std::vector<ReadExpression>> parse_expressions(const ExpressionParser& parser,
                                                      const std::vector<std::string>& texts) {
  std::vector<ReadExpression> all(texts.size(), ExpressionFault{"not read"});
  std::map<std::string_view, std::vector<size_t>> places;  // rules repeat many expressions
  for (size_t i = 0; i < texts.size(); i++) {
    if (auto fault = fault_of_characters(texts[i])) {
      all[i] = std::move(*fault);
    } else {
      places[texts[i]].push_back(i);
    }
  }
  if (places.empty()) return all;
  std::vector<std::string> sent;
  for (const auto& [text, at] : places) sent.emplace_back(text);
  NL_TRY(store::Connection * connection, parser.connection());
  NL_CHECK(connection->stream(parse_statement(sent), [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t row = 0; row < chunk.size(); row++) {
      const std::string& text = sent[static_cast<size_t>(chunk.int64s(0)[row])];
      const ReadExpression read = read_one(text, chunk.text(1, row));
      for (const size_t i : places[text]) all[i] = read;
    }
    return {};
  }));
  return all;
}

}  // namespace nl::analyze
