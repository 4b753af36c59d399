#include "ops/door.h"

#include <fmt/core.h>

#include <map>
#include <mutex>
#include <new>

#include "base/call_control.h"
#include "base/json_schema.h"
#include "base/paged_vector.h"
#include "base/permissions.h"
#include "ops/budget.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr size_t kMostFaults = 20;

/// Parsed at the first call of the operation and kept for the life of the process.
const JsonSchema& checker_of(const Operation& operation) {
  static std::mutex mutex;
  static std::map<std::string_view, JsonSchema> checkers;
  const std::lock_guard lock(mutex);
  const auto known = checkers.find(operation.name);
  if (known != checkers.end()) return known->second;
  return checkers
      .try_emplace(operation.name, parameters_schema(operation).dump(), std::string(operation.name))
      .first->second;
}

Result<void> check_parameters(const Operation& operation, const json& parameters) {
  NL_TRY(const auto faults, checker_of(operation).faults(parameters, kMostFaults));
  if (faults.empty()) return {};
  std::string list;
  for (const JsonFault& fault : faults) {
    list += (list.empty() ? "" : "; ") + (fault.pointer.empty() ? fault.message : fault_text(fault));
  }
  return Error{ErrorCode::kBadInput, fmt::format("parameters of {}: {}", operation.name, list)};
}

void fill_defaults(const json& properties, json& parameters) {
  for (const auto& [name, property] : properties.items()) {
    if (property.contains("default") && !parameters.contains(name)) parameters[name] = property["default"];
  }
}

bool is_offered(const Reach& reach, Face face) {
  switch (face) {
    case Face::kCli:
      return reach.cli;
    case Face::kHttp:
      return reach.http;
    case Face::kMcp:
      return reach.mcp;
  }
  return false;
}

/// Always, or only while other parameters have certain values.
bool names_host_path(const json& property, const json& parameters) {
  const json mark = property.value("x-host-path", json(false));
  if (mark.is_boolean()) return mark.get<bool>();
  for (const auto& [other, value] : mark.items()) {
    if (!parameters.contains(other) || parameters[other] != value) return false;
  }
  return true;
}

Result<void> check_host_paths(const json& properties, const json& parameters) {
  for (const auto& [name, property] : properties.items()) {
    if (parameters.contains(name) && names_host_path(property, parameters)) {
      return Error{ErrorCode::kPermission,
                   "files on this machine are not available here: " + pointer_step(name)};
    }
  }
  return {};
}

Result<void> check_effect(const Operation& operation, const json& parameters, Effect allowed) {
  const Effect needed = effect_of(operation, parameters);
  if (needed <= allowed) return {};
  const char* const why =
      needed == Effect::kExec     ? "starts programs on this machine, which is not allowed here"
      : needed == Effect::kManage ? "decides who may do what: only an administrator may call it"
                                  : "writes, but access here is read-only";
  return Error{ErrorCode::kPermission, fmt::format("{} {}", operation.name, why)};
}

Result<void> check_rights(const Operation& operation, const json& parameters, const Context& context) {
  if (!context.host_paths) NL_CHECK(check_host_paths(parameters_schema(operation)["properties"], parameters));
  NL_CHECK(check_effect(operation, parameters, context.may));
  return context.authorise ? context.authorise(operation, parameters) : Result<void>();
}

Result<Outcome> run_in_scope(const Operation& operation, const json& parameters, Context& context) {
  std::vector<std::string> notices;
  CallControl control = control_of(context);
  control.notice = [&](const std::string& text) { notices.push_back(text); };
  const CallScope scope(std::move(control));
  auto outcome = operation.run(context, parameters);
  if (outcome) outcome->warnings.insert(outcome->warnings.end(), notices.begin(), notices.end());
  // An answer that something may be missing from is none; what was written stays written.
  if (effect_of(operation, parameters) == Effect::kRead && is_cancelled()) return cancelled_error();
  return outcome;
}

/// Somebody else can change or remove what was written.
void say_whose_ledger(const std::string& folder, Outcome& outcome) {
  const std::string owner = other_owner(folder);
  if (!owner.empty()) outcome.warnings.push_back(fmt::format("the ledger belongs to {}: {}", owner, folder));
}

/// Refuses what may not be called, and completes the parameters of what may.
Result<const Operation*> allowed(std::string_view name, json& parameters, const Context& context) {
  const Operation* const operation = find_operation(name);
  if (operation == nullptr)
    return Error{ErrorCode::kNotFound, fmt::format("there is no operation named: {}", name)};
  if (!is_offered(operation->reach, context.face))
    return Error{ErrorCode::kPermission, fmt::format("{} is not offered here", name)};
  NL_CHECK(check_parameters(*operation, parameters));
  fill_defaults(parameters_schema(*operation)["properties"], parameters);
  NL_CHECK(check_rights(*operation, parameters, context));
  return operation;
}

Result<Outcome> checked_call(std::string_view name, json parameters, Context& context) {
  NL_TRY(const Operation* const operation, allowed(name, parameters, context));
  NL_TRY(auto outcome, run_in_scope(*operation, parameters, context));
  if (effect_of(*operation, parameters) != Effect::kRead) say_whose_ledger(context.ledger_folder, outcome);
  if (parameters.contains("budget"))
    NL_CHECK(cut_to_budget(*operation, parameters["budget"], context, outcome));
  return outcome;
}

Error bug_of_ours(const char* what) {
  return Error{ErrorCode::kInternal, fmt::format("a bug in neurolens: {}", what),
               "please report it with the command and, if you can, the input"};
}

}  // namespace

Effect effect_of(const Operation& operation, const json& parameters) {
  if (operation.effect != Effect::kRead) return operation.effect;
  for (const auto& [name, property] : parameters_schema(operation)["properties"].items()) {
    if (property.contains("x-effect") && parameters.contains(name)) return Effect::kWrite;
  }
  return Effect::kRead;
}

Result<void> check_call(std::string_view operation, json parameters, const Context& context) {
  NL_CHECK(allowed(operation, parameters, context));
  return {};
}

Result<Outcome> call(std::string_view operation, json parameters, Context& context) {
  try {
    return checked_call(operation, std::move(parameters), context);
  } catch (const Cancelled&) {
    return cancelled_error();
  } catch (const NoRoomForPages& e) {
    return Error{ErrorCode::kIo, e.what(),
                 "the columns lie in the folder of the cache; XDG_CACHE_HOME names another one"};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kLimit, "there is not enough memory"};
  } catch (const std::exception& e) {
    return bug_of_ours(e.what());
  } catch (...) {
    return bug_of_ours("an exception without a text");
  }
}

AskOperation asking(const Context& context) {
  return [context](const std::string& operation, const json& parameters, std::string& bytes) {
    Context own = context;
    own.may = Effect::kRead;
    own.bytes = {};
    own.progress = [](const Progress&) {};
    const Operation* const known = find_operation(operation);
    if (known != nullptr && known->stream == Stream::kBytes)
      own.bytes = [&bytes](std::string_view piece) -> Result<void> {
        bytes += piece;
        return {};
      };
    return call(operation, parameters, own);
  };
}

}  // namespace nl::ops
