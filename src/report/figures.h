#pragma once
// The figures of a report. Each has the SQL that reproduces its exact values, and these values as the
// analysis found them.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analyze/answer/analysis.h"

namespace nl::report {

/// One value of a row of a query: NULL, a number or a text.
using FigureValue = std::variant<std::monostate, int64_t, std::string>;
using FigureRow = std::vector<FigureValue>;

struct Figure {
  std::string id = {};
  std::string title = {};
  std::optional<std::string> sql = {};
  std::optional<std::string> no_query = {};
  std::vector<std::string> columns = {};
  std::vector<FigureRow> rows = {};

  static constexpr auto fields() {
    using F = Figure;
    return std::tuple{field("id", &F::id),
                      field("title", &F::title),
                      field("sql", &F::sql, "query over the tables of the run that gives the rows"),
                      field_if_any("no_query", &F::no_query, "why there is none"),
                      field("columns", &F::columns),
                      field("rows", &F::rows)};
  }
};

/// `top`: rows of tables.
std::vector<Figure> figures_of(const analyze::Analysis& analysis, int64_t top);

/// nullptr if there is none of this id.
const Figure* figure_named(const std::vector<Figure>& figures, const std::string& id);

}  // namespace nl::report

namespace nl {

template <>
struct DescribedAs<report::FigureValue> {
  static void write(ValueWriter& out, const report::FigureValue& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) return out.integer(*number);
    if (const auto* text = std::get_if<std::string>(&value)) return out.text(*text);
    out.null();
  }
  static void schema(ValueWriter& out, const char* about) {
    begin_schema(out, about);
    out.key("type");
    out.begin_array();
    for (const char* type : {"integer", "string", "null"}) out.text(type);
    out.end_array();
    out.end_object();
  }
};

}  // namespace nl
