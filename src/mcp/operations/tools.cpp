#include "mcp/operations/tools.h"

#include <fmt/core.h>

#include <algorithm>

namespace nl::mcp {
namespace {

using nlohmann::json;
using ops::Effect;
using ops::Operation;

/// Definitions are resources; the tool that tells what one means is explain.
constexpr std::string_view kReadByAddress = "metrics";

bool is_mark(const std::string& key) {
  return key.starts_with("x-");
}

bool is_shown(const json& property, const Rights& rights) {
  const bool is_path = property.contains("x-host-path") && property["x-host-path"] == true;
  const bool writes = property.contains("x-effect");
  if (is_path && (writes || !rights.host_paths)) return false;
  return !writes || rights.may >= Effect::kWrite;
}

/// Limits are left to the door, which says them when they are broken.
json for_agents(const json& property) {
  json out = json::object();
  for (const auto& [key, value] : property.items()) {
    if (!is_mark(key) && key != "minimum" && key != "maximum") out[key] = value;
  }
  return out;
}

bool may_write(const Operation& operation, const Rights& rights) {
  if (operation.effect != Effect::kRead) return true;
  const json& properties = ops::parameters_schema(operation)["properties"];
  return std::any_of(properties.begin(), properties.end(), [&](const json& property) {
    return property.contains("x-effect") && is_shown(property, rights);
  });
}

/// Hints for whoever lets an agent call tools. What a write changes in a ledger is kept, so only a program
/// that is started can destroy something.
json annotations_of(const Operation& operation, const Rights& rights) {
  const bool reads = !may_write(operation, rights);
  if (reads) return {{"readOnlyHint", true}};  // the other hints mean nothing then
  return {{"readOnlyHint", false}, {"destructiveHint", operation.effect == Effect::kExec}};
}

/// The type alone, of a property that may refer to a definition.
json type_of(const json& property, const json& schema) {
  constexpr std::string_view kDefinitions = "#/definitions/";
  const std::string reference = property.value("$ref", "");
  const bool refers = reference.starts_with(kDefinitions);
  const json& named = refers ? schema.at("definitions").at(reference.substr(kDefinitions.size())) : property;
  return named.contains("type") ? json{{"type", named["type"]}} : json::object();
}

/// The sections of an answer, or an error instead: clients check both against this. The whole schemas are 20
/// times as long, which every agent would pay for before its first question; the operation `schema` has them.
json output_schema(const Operation& operation) {
  const json& whole = ops::result_schema(operation);
  const json sections = whole.value("properties", json::object());
  json data = {{"type", "object"}};
  for (const auto& [name, section] : sections.items()) data["properties"][name] = type_of(section, whole);
  const json list = {{"type", "array"}}, object = {{"type", "object"}};
  return {{"type", "object"},
          {"properties", {{"data", std::move(data)}, {"error", object}, {"left_out", list}, {"next", list}}}};
}

}  // namespace

bool can_be_tool(const Operation& operation) {
  const bool is_address = operation.name == kReadByAddress;
  return operation.reach.mcp && !is_address && operation.stream != ops::Stream::kBytes;
}

bool is_offered(const Operation& operation, const Rights& rights) {
  if (!can_be_tool(operation) || operation.effect > rights.may) return false;
  const json& schema = ops::parameters_schema(operation);
  const json required = schema.value("required", json::array());
  return std::all_of(required.begin(), required.end(), [&](const json& name) {
    return is_shown(schema["properties"][name.get<std::string>()], rights);
  });
}

json input_schema(const Operation& operation, const Rights& rights) {
  const json& whole = ops::parameters_schema(operation);
  json properties = json::object();
  for (const auto& [name, property] : whole["properties"].items()) {
    if (is_shown(property, rights) && !property.contains("x-rare")) properties[name] = for_agents(property);
  }
  // The instructions say what it is, once for all tools.
  if (properties.contains("budget")) properties["budget"] = {{"type", "integer"}};
  json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (whole.contains("required")) schema["required"] = whole["required"];
  return schema;
}

bool takes(const Operation& operation, const std::string& argument, const Rights& rights) {
  const json& properties = ops::parameters_schema(operation)["properties"];
  return properties.contains(argument) && is_shown(properties[argument], rights);
}

json tool_of(const Operation& operation, const Rights& rights) {
  return {{"name", operation.name},
          {"description", fmt::format("{}. Use when {}. Not when {}.", operation.summary, operation.use_when,
                                      operation.not_when)},
          {"inputSchema", input_schema(operation, rights)},
          {"outputSchema", output_schema(operation)},
          {"annotations", annotations_of(operation, rights)}};
}

json tools_for(const Rights& rights) {
  json tools = json::array();
  for (const Operation* operation : ops::all_operations()) {
    if (is_offered(*operation, rights)) tools.push_back(tool_of(*operation, rights));
  }
  return tools;
}

std::string spelled_for(const SuggestedCall& call, const Rights& rights) {
  const Operation* const operation = ops::find_operation(call.operation);
  const bool is_tool = operation != nullptr && is_offered(*operation, rights);
  const std::string text = call.operation + " " + call.parameters;
  return is_tool ? text : text + " (on the command line)";
}

}  // namespace nl::mcp
