#pragma once
// What a metric, a rule, a kernel or a row of a table means, what it is in a run, what that rests on and
// what it does not say.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/analysis.h"
#include "analyze/metrics/metric.h"
#include "analyze/rules/rule.h"
#include "base/result.h"
#include "ops/runs/named_analysis.h"

namespace nl::ops {

/// One figure of one device.
struct ExplainedFigure {
  std::optional<analyze::DeviceName> on = {};
  std::string name = {};
  Known<double> value = Absent{};
  std::string unit = {};
  std::string text = {};

  static constexpr auto fields() {
    using F = ExplainedFigure;
    return std::tuple{merged(&F::on), field("name", &F::name, "a metric, an expression or a key"),
                      field_known("value", &F::value, "in its unit; null if it is absent"),
                      field("unit", &F::unit, "of the value"), field("text", &F::text, "what it is")};
  }
};

/// A row of the run that the explanation rests on.
struct ExplainedRow {
  std::optional<analyze::DeviceName> on = {};
  std::string kind = {};
  std::string name = {};
  std::optional<int64_t> time_ns = {};
  std::optional<int64_t> calls = {};
  std::optional<double> share = {};
  std::optional<int64_t> start_ns = {};
  std::optional<std::string> row = {};
  std::string text = {};

  static constexpr auto fields() {
    using R = ExplainedRow;
    return std::tuple{merged(&R::on),
                      field("kind", &R::kind,
                            "kernel, copy, gap, op, call, parent, roofline, counters, neighbour or itself"),
                      field("name", &R::name, "as the source writes it"),
                      field_if_any("time_ns", &R::time_ns, "its time"),
                      field_if_any("calls", &R::calls, "how often"),
                      field_if_any("share", &R::share, "of what the text says"),
                      field_if_any("start_ns", &R::start_ns, "start, as in the tables"),
                      field_if_any("row", &R::row, "TABLE:ID, as the parameter span takes it"),
                      field("text", &R::text, "what it has to do with it")};
  }
};

struct Explained {
  std::string kind = {};
  std::string name = {};
  std::optional<std::string> run_id = {};
  std::optional<std::string> window = {};
  std::optional<int64_t> wall_ns = {};
  std::string meaning = {};
  std::optional<std::string> here = {};
  std::vector<ExplainedFigure> figures = {};
  std::vector<ExplainedRow> rows = {};
  std::vector<analyze::FindingSuggestion> suggestions = {};
  std::vector<std::string> limits = {};

  static constexpr auto fields() {
    using E = Explained;
    return std::tuple{
        field("kind", &E::kind, "finding, metric, kernel or span"),
        field("name", &E::name, "id of the rule or metric, name of the kernel, TABLE:ID of the row"),
        field("run_id", &E::run_id, "of the run; null if only the meaning was asked for"),
        field("window", &E::window, "name of the window"),
        field("wall_ns", &E::wall_ns, "length of the window; null without a time line"),
        field("meaning", &E::meaning, "what it is in general"),
        field("here", &E::here, "what it is in this run; null without a run"),
        field("figures", &E::figures, "values that it rests on"),
        field("rows", &E::rows, "rows of the run that it rests on, the most important first"),
        field("suggestions", &E::suggestions, "of a finding: what to do about it"),
        field("limits", &E::limits, "what it does not say, and why something is absent")};
  }
};

/// `done` may be missing: then only the meaning is told.
Result<Explained> explain_metric(const std::string& id, const NamedAnalysis* done);
Result<Explained> explain_rule(const std::string& id, const NamedAnalysis* done);
/// A name, or a part of one: of several the kernel with the most time. Of a counter profile, too.
Result<Explained> explain_kernel(const std::string& name, const NamedAnalysis& done);
/// TABLE:ID, or ID of the table spans.
Result<Explained> explain_row(const std::string& place, const NamedAnalysis& done);

/// Rows that the metric of this device is made of, at most five; none where no listed row is a part of it.
std::vector<ExplainedRow> rows_behind(const analyze::Analysis& analysis, const analyze::DeviceAnswer& device,
                                      analyze::Metric metric);

/// "on device 0 of rank 1", in a run of several devices.
std::string on_words(const analyze::DeviceName& on, const analyze::Analysis& analysis);

}  // namespace nl::ops
