#include <fmt/core.h>

#include <algorithm>

#include "model/run_schema.h"
#include "model/tables.h"
#include "ops/text.h"
#include "store/run_document.h"
#include "store/run_views.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {"what": {"type": "string", "x-positional": 1,
                 "description": "a table, run (the JSON Schema of run.json) or operations; nothing: all tables"}}})";

constexpr char kResult[] = R"({
  "type": "object",
  "properties": {"tables": {"type": "array", "items": {"type": "object", "required": ["name", "kind", "doc", "columns"]}},
                 "run_schema": {"type": "object"}}})";

json table_json(const model::Table& table) {
  json columns = json::array();
  for (const auto& c : table.columns) {
    columns.push_back(
        {{"name", c.name}, {"type", model::sql_type(c.type)}, {"unit", c.unit}, {"doc", c.doc}});
  }
  return {
      {"name", table.name}, {"kind", model::kind_name(table.kind)}, {"doc", table.doc}, {"columns", columns}};
}

Result<Outcome> run(Context&, const json& parameters) {
  const std::string what = parameters.value("what", "");
  Outcome outcome;
  if (what == "run") {
    outcome.data = {{"run_schema", json::parse(model::run_schema_text())}};
    return outcome;
  }
  if (what == "operations") {
    outcome.data = {{"operations", json::array()}};
    for (const Operation* operation : all_operations()) outcome.data["operations"].push_back(operation->name);
    return outcome;
  }
  outcome.data = {{"tables", json::array()}};
  for (const auto& table : model::all_tables()) {
    if (what.empty() || what == table.name) outcome.data["tables"].push_back(table_json(table));
  }
  if (outcome.data["tables"].empty()) {
    return Error{ErrorCode::kNotFound, "no table is called: " + what, "neurolens schema lists them"};
  }
  outcome.next.push_back(
      "neurolens query @latest \"SELECT name, count(*), sum(dur_ns) FROM kernels GROUP BY name\"");
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (outcome.data.contains("operations")) return outcome.data["operations"].dump() + "\n";
  if (outcome.data.contains("run_schema")) return outcome.data["run_schema"].dump(2) + "\n";
  const auto& tables = outcome.data["tables"];
  using enum TextTable::Align;
  if (tables.size() == 1) {
    TextTable table({kLeft, kLeft, kLeft, kLeft});
    for (const auto& c : tables[0]["columns"]) table.add({c["name"], c["type"], c["unit"], c["doc"]});
    return bold(tables[0]["name"].get<std::string>(), style) + "  " + tables[0]["doc"].get<std::string>() +
           "\n" + table.text("  ", false, style);
  }
  TextTable table({kLeft, kLeft, kRight, kLeft});
  table.add({"table", "kind", "columns", ""});
  for (const auto& t : tables)
    table.add({t["name"], t["kind"], std::to_string(t["columns"].size()), t["doc"]});
  return table.text("", true, style) + dim("columns of one: neurolens schema TABLE", style) + "\n";
}

}  // namespace

const Operation& operation_schema() {
  static constexpr Operation kOperation{"schema",
                                        "Show the tables and columns of a run, or the schema of run.json",
                                        "you write SQL for query, or read bundles with another tool",
                                        "you want the content of a run: show or query",
                                        "neurolens schema kernels",
                                        kParameters,
                                        kResult,
                                        Effect::kRead,
                                        {.cli = true, .http = true, .mcp = true},
                                        Stream::kNone,
                                        run,
                                        text};
  return kOperation;
}

}  // namespace nl::ops
