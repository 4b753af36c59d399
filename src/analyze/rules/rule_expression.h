#pragma once
// Expression: a condition or an amount in a rule, computed from the metrics of one window.
//
//   idle_host_late_time / total_time > 0.2 and queue_median <= 1
//
// It may contain numbers, ids of metrics, + - * /, comparisons, and, or, not, least(), greatest() and
// present(metric). The SQL parser of the engine reads the text, so precedence is that of SQL, but nothing is
// ever executed there. Any other SQL is refused by name. An Expression is a value: evaluating it is a pure
// function.

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analyze/metrics/metric.h"
#include "analyze/rules/unit.h"
#include "base/known.h"
#include "base/result.h"
#include "store/engine.h"

namespace nl::analyze {

enum class ExpressionKind {
  kNumber,
  kMetric,
  kPresent,
  kNegate,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kLeast,
  kGreatest,
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kAnd,
  kOr,
  kNot,
};

struct ExpressionNode {
  ExpressionKind kind = ExpressionKind::kNumber;
  double number = 0;                  ///< of kNumber
  Metric metric = Metric::kCount;     ///< of kMetric and kPresent
  std::optional<size_t> offset = {};  ///< byte of the text that it begins at or turns on
  std::vector<ExpressionNode> parts = {};
};

class Expression {
 public:
  /// The number 0.
  Expression() : text_("0"), unit_(Unit::constant()) {}
  const std::string& text() const { return text_; }
  bool is_boolean() const { return !unit_.has_value(); }
  /// Of an amount; do not ask a condition.
  const Unit& unit() const { return *unit_; }
  /// Metrics that it cannot do without: those outside present(), each once, in the order of the text.
  const std::vector<Metric>& needed() const { return needed_; }

  /// Of an amount. Absent if a metric is, at a division by zero, or if the result is not finite.
  Known<double> number(const MetricSet& metrics) const;
  /// Of a condition. From left to right: what is decided is not looked at further.
  Known<bool> truth(const MetricSet& metrics) const;

 private:
  friend class ExpressionReader;
  friend std::string expression_lines(const Expression& expression);

  std::string text_;
  ExpressionNode root_;
  std::optional<Unit> unit_;
  std::vector<Metric> needed_;
};

struct ExpressionFault {
  std::string what;
  std::optional<size_t> offset = {};  ///< byte of the text that is at fault, if that is known
};

using ReadExpression = std::variant<Expression, ExpressionFault>;

inline constexpr size_t kMaxExpressionBytes = 4096;

/// Whose parser reads the expressions that were not parsed before the build. Nearly always all were, so an
/// engine may be asked for only then.
class ExpressionParser {
 public:
  ExpressionParser(store::Connection& connection)  // NOLINT(google-explicit-constructor): it is one
      : ask_([&connection] { return Result<store::Connection*>(&connection); }) {}
  explicit ExpressionParser(std::function<Result<store::Connection*>()> ask) : ask_(std::move(ask)) {}
  Result<store::Connection*> connection() const { return ask_(); }

 private:
  std::function<Result<store::Connection*>()> ask_;
};

/// One result for each text. All texts go through the parser in one statement, since a statement costs more
/// than an expression.
/// Those of the built-in rules were parsed before the build (data/parsed.txt).
Result<std::vector<ReadExpression>> read_expressions(const ExpressionParser& parser,
                                                     const std::vector<std::string>& texts);
/// The same, whatever was parsed before: asks the engine for each of them.
Result<std::vector<ReadExpression>> parse_expressions(const ExpressionParser& parser,
                                                      const std::vector<std::string>& texts);

/// The lines of an expression in data/parsed.txt.
std::string expression_lines(const Expression& expression);

}  // namespace nl::analyze
