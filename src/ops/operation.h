#pragma once
// Operation: one thing NeuroLens can do, declared once. Command line, HTTP and MCP are made from the
// declaration, with the same field names. Each src/ops/operations/<name>.cpp defines operation_<name>(); the
// build lists them.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_control.h"
#include "base/json.h"
#include "base/result.h"

namespace nl::ops {

enum class Effect { kRead, kWrite, kExec };
enum class Stream { kNone, kRows, kBytes, kEvents };

/// Which faces may offer it. Host paths and exec operations never reach HTTP.
struct Reach {
  bool cli = true;
  bool http = false;
  bool mcp = false;
};

struct Progress {
  std::string what;
  double fraction = 0;  ///< 0 to 1
};

/// Everything an operation may use besides its parameters. Called from one thread; progress from any.
struct Context {
  std::string ledger_folder;
  std::string principal;    ///< who asks
  std::string command;      ///< for the receipt
  bool host_paths = false;  ///< may parameters name files of this machine? Never for HTTP.
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<bool()> cancelled = [] { return false; };
  std::function<Result<void>(std::string_view)> bytes;  ///< where a byte stream goes; may be empty
};

/// What code below the operation needs of it.
inline CallControl control_of(const Context& context) {
  return {context.cancelled, [progress = context.progress](const std::string& what, double fraction) {
            progress({what, fraction});
          }};
}

/// permission, unless parameters may name files of this machine.
inline Result<void> may_name_files(const Context& context) {
  if (context.host_paths) return {};
  return Error{ErrorCode::kPermission, "files of this machine cannot be named here"};
}

struct Outcome {
  nlohmann::json data = nlohmann::json::object();
  std::vector<std::string> warnings = {};
  std::vector<std::string> next = {};  ///< commands worth typing next
  int exit_code = 0;                   ///< 1: a gate failed, 2: some inputs were bad
  nlohmann::json shown = nullptr;      ///< what only the text for people needs; in no envelope
};

/// How text for people is written.
struct TextStyle {
  bool color = false;
  int width = 100;
  bool breaks_lines = false;  ///< a terminal: a list that does not fit is broken between its items
};

struct Operation {
  std::string_view name;
  std::string_view summary;   ///< one line
  std::string_view use_when;  ///< for people and agents who choose
  std::string_view not_when;
  std::string_view example;
  /// JSON Schema of the parameters. Properties may say "x-positional": n, their place on the command line,
  /// "x-short": a letter, or "x-hard-limit": seconds after which the process ends, whatever it does.
  std::string_view parameters;
  /// JSON Schema of `data`.
  std::string_view result;
  Effect effect;
  Reach reach;
  Stream stream;
  Result<Outcome> (*run)(Context& context, const nlohmann::json& parameters);
  /// What a person sees on a terminal.
  std::string (*text)(const Outcome& outcome, const TextStyle& style);
};

/// All operations in the order of their names.
std::vector<const Operation*> all_operations();
const Operation* find_operation(std::string_view name);

const char* effect_name(Effect effect);

}  // namespace nl::ops
