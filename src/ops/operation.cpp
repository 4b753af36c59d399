#include "ops/operation.h"

#include <map>
#include <mutex>

#include "ops/operations.inc"

namespace nl::ops {
namespace {

using nlohmann::json;

/// Of most parameters that name a run.
const json& run_parameter() {
  static const json property = {
      {"type", "string"},
      {"x-positional", 1},
      {"description", "run id, tag, @latest, @baseline:NAME, bundle folder or profile"}};
  return property;
}

json completed(std::string_view text) {
  json schema = json::parse(text);
  for (auto& property : schema["properties"]) {
    if (property.contains("x-run") && !property.contains("type")) property.update(run_parameter());
  }
  return schema;
}

}  // namespace

std::vector<const Operation*> all_operations() {
  std::vector<const Operation*> all;
  for (const auto& get : kRegisteredOperations) all.push_back(&get());
  return all;
}

const Operation* find_operation(std::string_view name) {
  for (const Operation* operation : all_operations()) {
    if (operation->name == name) return operation;
  }
  return nullptr;
}

const json& parameters_schema(const Operation& operation) {
  static std::mutex mutex;
  static std::map<std::string_view, json> schemas;
  const std::lock_guard lock(mutex);
  const auto known = schemas.find(operation.name);
  if (known != schemas.end()) return known->second;
  return schemas.emplace(operation.name, completed(operation.parameters)).first->second;
}

const char* effect_name(Effect effect) {
  switch (effect) {
    case Effect::kRead:
      return "read";
    case Effect::kWrite:
      return "write";
    case Effect::kExec:
      return "exec";
  }
  return "exec";
}

}  // namespace nl::ops
