#include <fmt/core.h>

#include <algorithm>

#include "model/run_file.h"
#include "model/run_schema.h"
#include "model/tables.h"
#include "ops/envelope.h"
#include "ops/import/validate_file.h"
#include "ops/text/text.h"
#include "store/run_document.h"
#include "store/run_views.h"

namespace nl::ops::schema_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "what": {"type": "string", "x-positional": 1,
             "description": "a table, operations, print or validate; without it: all tables"},
    "target": {"type": "string", "x-positional": 2, "x-host-path": {"what": "validate"},
               "description": "print: whose JSON Schema: run, run-file (the default) or an operation (of its answer); validate: a run file, a run.json or a bundle folder"}}})";

constexpr char kResult[] = R"({
  "type": "object",
  "properties": {"tables": {"type": "array", "items": {"type": "object", "required": ["name", "kind", "doc", "columns"]}},
                 "run_schema": {"type": "object"},
                 "run_file_schema": {"type": "object"}, "answer_schema": {"type": "object"},
                 "operations": {"type": "array", "items": {"type": "string"}},
                 "path": {"type": "string"}, "kind": {"enum": ["run-file", "run", "bundle"]}, "valid": {"type": "boolean"},
                 "errors": {"type": "array", "items": {"type": "object", "required": ["pointer", "message"]}}}})";

/// Half a JSON Schema is none.
constexpr Cut kCuts[] = {{"/tables/*/columns"},
                         {"/tables"},
                         {"/operations"},
                         {"/errors"},
                         {"/run_schema", kKeepAll},
                         {"/run_file_schema", kKeepAll},
                         {"/answer_schema", kKeepAll}};

json table_json(const model::Table& table) {
  json columns = json::array();
  for (const auto& c : table.columns) {
    columns.push_back(
        {{"name", c.name}, {"type", model::sql_type(c.type)}, {"unit", c.unit}, {"doc", c.doc}});
  }
  return {
      {"name", table.name}, {"kind", model::kind_name(table.kind)}, {"doc", table.doc}, {"columns", columns}};
}

Result<Outcome> print_schema(const std::string& of) {
  Outcome outcome;
  if (of == "run") {
    outcome.data = {{"run_schema", json::parse(model::run_schema_text())}};
  } else if (of.empty() || of == "run-file") {
    outcome.data = {{"run_file_schema", model::run_file_schema()}};
  } else if (const Operation* const operation = find_operation(of)) {
    outcome.data = {{"answer_schema", envelope_schema(*operation)}};
  } else {
    return Error{ErrorCode::kNotFound,
                 "there is no document named: " + of,
                 "{}, or run-file",
                 {suggested("schema", {{"what", "print"}, {"target", "run"}})}};
  }
  return outcome;
}

Result<Outcome> validate(Context& context, const std::string& path) {
  if (path.empty()) {
    return Error{ErrorCode::kBadInput,
                 "no file to validate",
                 "{}",
                 {suggested("schema", {{"what", "validate"}, {"target", "FILE"}})}};
  }
  NL_TRY(const Validation result, validate_path(context, path));
  json errors = json::array();
  for (const auto& [pointer, message] : result.faults) {
    errors.push_back({{"pointer", pointer}, {"message", message}});
  }
  Outcome outcome;
  outcome.data = {{"path", path}, {"kind", result.kind}, {"valid", errors.empty()}, {"errors", errors}};
  outcome.exit_code = errors.empty() ? 0 : 2;
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  const std::string what = parameters.value("what", "");
  const std::string target = parameters.value("target", "");
  if (what == "print") return print_schema(target);
  if (what == "validate") return validate(context, target);
  if (!target.empty()) return Error{ErrorCode::kBadInput, "too much: " + target, "{} --help", {{"schema"}}};
  if (what == "run") return print_schema(what);
  Outcome outcome;
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
    return Error{ErrorCode::kNotFound, "there is no table named: " + what, "{} lists them", {{"schema"}}};
  }
  outcome.next.push_back(suggested(
      "query",
      {{"run", "@latest"}, {"sql", "SELECT name, count(*), sum(dur_ns) FROM kernels GROUP BY name"}}));
  return outcome;
}

std::string validation_text(const json& data, const TextStyle& style) {
  const std::string path = data["path"];
  if (data["valid"].get<bool>()) {
    return fmt::format("{}  {} is a valid {}\n", bold("valid", style), path, data["kind"].get<std::string>());
  }
  std::string out;
  for (const auto& error : data["errors"]) {
    out += fault_text({error["pointer"], error["message"]}) + "\n";
  }
  const bool all = data["errors"].size() < kMaxShownFaults;
  return out + fmt::format("{}  {}: {}{}\n", bold("NOT VALID", style), path,
                           counted(static_cast<int64_t>(data["errors"].size()), "fault"),
                           all ? "" : " or more");
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (outcome.data.contains("valid")) return validation_text(outcome.data, style);
  if (outcome.data.contains("run_file_schema")) return outcome.data["run_file_schema"].dump(2) + "\n";
  if (outcome.data.contains("answer_schema")) return outcome.data["answer_schema"].dump(2) + "\n";
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
  return table.text("", true, style) + dim("columns of a table: neurolens schema TABLE", style) + "\n";
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "schema",
      .summary = "Tables, columns and types that SQL can use; JSON Schemas of documents and answers",
      .use_when =
          "you write a query and ask which tables there are, what columns or fields a table has, in which "
          "unit or type, or whether a JSON document or file is valid",
      .not_when = "you want values: query",
      .example = R"({"what": "validate", "target": "run.json"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cost = Cost::kLight,
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::schema_operation
