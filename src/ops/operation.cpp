#include "ops/operation.h"

#include "ops/operations.inc"

namespace nl::ops {

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
