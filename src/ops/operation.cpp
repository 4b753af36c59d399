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
      {"type", "string"}, {"x-positional", 1}, {"description", "id, tag, @latest, @baseline:NAME or file"}};
  return property;
}

const json& budget_parameter() {
  static const json property = {{"type", "integer"},
                                {"minimum", 100},
                                {"maximum", 10'000'000},
                                {"description",
                                 "largest size of the JSON answer in tokens of 4 bytes; what matters least "
                                 "is left out, and the answer says how much"}};
  return property;
}

json completed(const Operation& operation) {
  json schema = json::parse(operation.parameters);
  for (auto& property : schema["properties"]) {
    if (property.contains("x-run") && !property.contains("type")) property.update(run_parameter());
  }
  if (has_budget(operation)) schema["properties"]["budget"] = budget_parameter();
  return schema;
}

/// One document of each operation, made when it is first asked for and kept for the life of the process.
class Documents {
 public:
  explicit Documents(json (*make)(const Operation&)) : make_(make) {}

  const json& of(const Operation& operation) {
    const std::lock_guard lock(mutex_);
    const auto known = made_.find(operation.name);
    if (known != made_.end()) return known->second;
    return made_.emplace(operation.name, make_(operation)).first->second;
  }

 private:
  json (*make_)(const Operation&);
  std::mutex mutex_;
  std::map<std::string_view, json> made_;
};

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
  static Documents schemas(completed);
  return schemas.of(operation);
}

const json& result_schema(const Operation& operation) {
  static Documents schemas([](const Operation& one) { return json::parse(one.result.text()); });
  return schemas.of(operation);
}

bool has_budget(const Operation& operation) {
  if (!operation.cuts.empty()) return true;
  return operation.effect == Effect::kRead && operation.stream != Stream::kBytes;
}

const char* effect_name(Effect effect) {
  switch (effect) {
    case Effect::kRead:
      return "read";
    case Effect::kWrite:
      return "write";
    case Effect::kManage:
      return "manage";
    case Effect::kExec:
      return "exec";
  }
  return "exec";
}

}  // namespace nl::ops
