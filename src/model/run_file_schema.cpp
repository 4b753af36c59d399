#include "base/json.h"
#include "model/run_file.h"
#include "model/run_info.h"
#include "model/run_schema.h"

namespace nl::model {
namespace {

using nlohmann::json;

json bounded(IntegerRange range) {
  return {{"type", "integer"}, {"minimum", range.least}, {"maximum", range.most}};
}

json cell_schema(const Column& column) {
  switch (column.type) {
    case Type::track:
    case Type::i32:
    case Type::i64:
    case Type::row_id:
      return bounded(range_of(column));
    case Type::f64:
      return {{"type", "number"}};
    case Type::span_kind:
      return {{"enum", kSpanKinds}};
    case Type::dict:
    case Type::json:
      break;
  }
  if (!holds_json(column)) return {{"type", "string"}};
  return {{"type", {"object", "array", "string"}}};
}

std::string described(const Column& column) {
  std::string text(column.doc);
  if (!column.unit.empty()) text += " [" + std::string(column.unit) + "]";
  return text;
}

json metrics_schema() {
  const json value = {{"type", "number"}};
  const json text = {{"type", "string"}};
  const json with_unit = {{"type", "object"},
                          {"additionalProperties", false},
                          {"required", {"value"}},
                          {"properties", {{"value", value}, {"unit", text}}}};
  return {{"type", "object"},
          {"description", "Hardware counters of the launch: a number, or a number with its unit"},
          {"additionalProperties", {{"anyOf", {value, with_unit}}}}};
}

json row_schema(const RunFileTable& table) {
  json properties = json::object();
  json required = json::array();
  for (const Column& column : model::table(table.table).columns) {
    if (!is_member(table, column)) continue;
    const std::string name(column.name);
    properties[name] = cell_schema(column);
    properties[name]["description"] = described(column);
    if (is_required(table, column)) required.push_back(name);
  }
  if (has_metrics(table)) properties["metrics"] = metrics_schema();
  json row = {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  if (!required.empty()) row["required"] = required;
  return row;
}

/// Integers without bounds get those of int64.
void bound_integers(json& schema) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.value("type", json()) == "integer") {
    if (!schema.contains("minimum")) schema["minimum"] = -INT64_MAX;
    if (!schema.contains("maximum")) schema["maximum"] = INT64_MAX;
  }
  for (auto& part : schema) bound_integers(part);
}

/// Shapes of run.json, less strict about what must be there: a person need not say everything.
json hardware_schema(json hardware) {
  hardware.erase("required");
  json& devices = hardware["properties"]["devices"]["items"];
  devices["required"] = {"device"};
  devices["properties"]["device"] = bounded({INT32_MIN, INT32_MAX});
  devices["properties"]["rank"] = bounded({0, INT32_MAX});
  json& ranks = hardware["properties"]["ranks"];
  ranks["maxItems"] = 1'000'000;
  for (auto& number : ranks["items"]["properties"]) number = bounded({0, INT32_MAX});
  return hardware;
}

json software_schema(json software) {
  software.erase("required");
  software["properties"].erase("precision");
  return software;
}

json clocks_schema(json clocks) {
  json& clock = clocks["items"];
  clock["required"] = {"kind"};
  clock["properties"]["clock_id"] = bounded({0, INT32_MAX});
  clock["properties"]["base_unix_ns"] = bounded({-kMaxTimeNs, kMaxTimeNs});
  return clocks;
}

json windows_schema(json windows) {
  windows.erase("required");
  json& kept = windows["properties"]["kept"];
  kept["maxItems"] = kMaxKeptWindows;
  kept["items"]["properties"]["start_ns"] = bounded({-kMaxTimeNs, kMaxTimeNs});
  kept["items"]["properties"]["dur_ns"] = bounded({0, kMaxDurationNs});
  return windows;
}

json labels_schema(json labels) {
  labels.erase("minProperties");
  labels["description"] =
      "model, variant, precision, batch, input_length, output_length, parameters, engine, commit and others";
  labels["additionalProperties"]["type"] = {"string", "number", "boolean"};
  return labels;
}

json metadata_schema(const json& run) {
  const json& of = run["properties"];
  const json text = {{"type", "string"}, {"minLength", 1}};
  json properties = {{"labels", labels_schema(of["labels"])},
                     {"tool", text},
                     {"tool_version", text},
                     {"hardware", hardware_schema(of["hardware"])},
                     {"software", software_schema(of["software"])},
                     {"clocks", clocks_schema(of["clocks"])},
                     {"windows", windows_schema(of["windows"])}};
  bound_integers(properties);
  properties["extensions"] = of["extensions"];
  properties["extensions"]["propertyNames"] = {{"not", {{"const", kRunFileFormat}}}};
  properties["origin"] = {
      {"type", "object"},
      {"description", "The run that was exported: its id, sources and capture. Kept as it is."}};
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

json summary_schema() {
  const json count = bounded({0, INT64_MAX});
  json properties = json::object();
  for (const RunFileTable& table : run_file_tables()) {
    json one = {{"type", "object"},
                {"additionalProperties", false},
                {"required", {"rows"}},
                {"properties", {{"rows", count}}}};
    if (duration_column(table.table) >= 0) one["properties"]["total_ns"] = bounded({-INT64_MAX, INT64_MAX});
    properties[std::string(table.name)] = one;
  }
  return {{"type", "object"},
          {"description", "Rows and sums of durations by array; checked against the rows"},
          {"additionalProperties", false},
          {"properties", properties}};
}

json has_rows(const RunFileTable& table) {
  const std::string name(table.name);
  return {{"required", {name}}, {"properties", {{name, {{"minItems", 1}}}}}};
}

}  // namespace

json run_file_envelope_schema() {
  const json run = json::parse(run_schema_text());
  const std::string schema = std::string(kRunFileName) + std::to_string(kRunFileVersion);
  json properties = {
      {"schema", {{"const", schema}}}, {"metadata", metadata_schema(run)}, {"summary", summary_schema()}};
  for (const RunFileTable& table : run_file_tables()) {
    properties[std::string(table.name)] = {
        {"type", "array"},
        {"description", table.is_ops ? "Spans of kind op" : model::table(table.table).doc},
        {"items", row_schema(table)}};
  }
  json definitions = run["definitions"];
  bound_integers(definitions);
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"$id", schema},
          {"title", "NeuroLens run file"},
          {"description",
           "A whole run in one document. NULL cells are left out. If there are tracks, they stand before the "
           "rows that name them."},
          {"type", "object"},
          {"additionalProperties", false},
          {"required", {"schema"}},
          {"properties", properties},
          {"definitions", definitions}};
}

json run_file_schema() {
  json schema = run_file_envelope_schema();
  for (const RunFileTable& table : run_file_tables()) schema["anyOf"].push_back(has_rows(table));
  schema["anyOf"].push_back(
      {{"required", {"metadata"}}, {"properties", {{"metadata", {{"required", {"origin"}}}}}}});
  return schema;
}

}  // namespace nl::model
