#pragma once
// Operation: one thing that NeuroLens can do, declared once. The command line, HTTP and MCP are generated
// from the declaration and use the same field names. Each src/ops/operations/<name>.cpp defines
// operation_<name>(); the build generates the list of them.

#include <any>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_control.h"
#include "base/described.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/result.h"

namespace nl::store {
class SqlWorkers;
}

namespace nl::ops {

/// What a call may change, the weaker first; each right includes those before it. kRead writes nothing but
/// caches. A run that is named by the path of a profile is imported first: that takes the right to write.
/// kManage decides who may do what.
enum class Effect { kRead, kWrite, kManage, kExec };
/// How long a call takes, whatever the run: kLight is milliseconds, so it must never wait behind kHeavy.
enum class Cost { kLight, kHeavy };
/// What goes to Context::bytes instead of the answer's text. kPage: one page, if the parameter `page` asks
/// for it.
enum class Stream { kNone, kRows, kBytes, kPage, kEvents };

/// Who carries a call between the operations and the person or program that asks.
enum class Face { kCli, kHttp, kMcp };

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

/// How pages get to files of the caller. Refuses unless the face says how.
struct PageFiles {
  std::function<Result<void>(const std::string& folder)> make_folders = [](const std::string&) {
    return no_files();
  };
  std::function<Result<void>(const std::string& path, std::string_view page)> write =
      [](const std::string&, std::string_view) { return no_files(); };

 private:
  static Result<void> no_files() {
    return Error{ErrorCode::kUnsupported, "files cannot be written from here"};
  }
};

struct Operation;

/// Everything an operation may use besides its parameters. Called from one thread; progress from any. The
/// rights are those of a stranger until a face grants more.
struct Context {
  std::string ledger_folder;
  std::string principal;  ///< who asks
  std::string command;    ///< for the receipt
  Face face = Face::kHttp;
  Effect may = Effect::kRead;  ///< the strongest effect that is allowed
  bool host_paths = false;     ///< may parameters name files of this machine? Never for HTTP.
  /// Where the files lie that the face itself names, in folders of this one: nobody else is to know it.
  std::string hidden_folder = {};
  /// Asked once the parameters are complete and before the operation runs; an error refuses the call.
  std::function<Result<void>(const Operation&, const nlohmann::json& parameters)> authorise = {};
  const Environment* environment = &Environment::of_process();  ///< of whoever asks; outlives the call
  /// A descriptor that a recorded program reads; -1: it reads nothing. Only a face that has one gives it.
  int workload_input = -1;
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<bool()> cancelled = [] { return false; };
  std::function<Result<void>(std::string_view)> bytes = {};  ///< where a byte stream goes; may be empty
  PageFiles page_files = {};                                 ///< for pages whose place a parameter names
  /// A call in the words of the face, for a sentence that tells people what to do.
  std::function<std::string(const SuggestedCall&)> spell = [](const SuggestedCall& call) {
    return call.operation + " " + call.parameters;
  };
  /// Processes that run the SQL of users. None: this process runs it itself, for callers that trust it: one
  /// row of some SQL keeps the engine busy for hours, deaf to being interrupted.
  store::SqlWorkers* sql_workers = nullptr;
};

/// What code below the operation needs of it.
inline CallControl control_of(const Context& context) {
  return {context.cancelled, [progress = context.progress](const std::string& what, double fraction) {
            progress({what, fraction});
          }};
}

struct Outcome {
  nlohmann::json data = nlohmann::json::object();
  std::vector<std::string> warnings = {};
  std::vector<SuggestedCall> next = {};  ///< calls worth making next
  int exit_code = 0;                     ///< 1: a gate failed, 2: some inputs were bad
  nlohmann::json left_out = nullptr;     ///< what a budget cut from `data`; null: nothing, see ops/budget.h
  nlohmann::json shown = nullptr;        ///< what only the text for people needs; in no envelope
  std::any answer = {};  ///< the struct that `data` was written from, for the text; see answer_of
};

template <class T>
Outcome answered(T answer) {
  Outcome outcome;
  outcome.data = to_json_tree(answer);
  outcome.answer = std::move(answer);
  return outcome;
}

/// What answered() was given.
template <class T>
const T& answer_of(const Outcome& outcome) {
  return std::any_cast<const T&>(outcome.answer);
}

/// JSON Schema of `data`: a text, or schema_text<T> of the struct that it is written from.
class ResultSchema {
 public:
  constexpr ResultSchema(const char* text) : text_(text) {}
  constexpr ResultSchema(std::string_view (*make)()) : make_(make) {}
  std::string_view text() const { return make_ == nullptr ? text_ : make_(); }

 private:
  std::string_view text_ = {};
  std::string_view (*make_)() = nullptr;
};

/// How text for people is written.
struct TextStyle {
  bool color = false;
  int width = 100;
  bool breaks_lines = false;  ///< a terminal: a list that does not fit is broken between its items
  bool is_brief = false;      ///< conclusions alone, of operations whose text is longer than a screen
};

inline constexpr int64_t kKeepAll = INT64_MAX;         ///< of a Cut: the place is named and stays
inline constexpr std::string_view kOldestFirst = "/";  ///< of a Cut: rows by time, the first goes first

/// A part of an answer that a budget may cut.
struct Cut {
  std::string_view where;    ///< JSON pointer in `data`; * stands for every row of a list
  int64_t keep = 0;          ///< rows that stay, unless a later cut names the place again
  std::string_view by = {};  ///< key that says how much a row matters; without it the last row goes first
};

struct Operation {
  std::string_view name;
  std::string_view summary;   ///< one line
  std::string_view use_when;  ///< for people and agents who choose
  std::string_view not_when;
  std::string_view example;  ///< parameters of a call, as in SuggestedCall
  /// JSON Schema of the parameters, see parameters_schema(). Besides what JSON Schema has, a property may say
  /// - default: filled in by the door where the parameter is missing
  /// - x-own-default: for people only; the operation must know whether the parameter was given
  /// - x-run: it names a run; alone it also stands for the usual type, text and place
  /// - x-host-path: it names a file of this machine; {"other": "value"}: only if that parameter has that
  /// value
  /// - x-upload: a list of such files that may be sent instead: over the network `upload` names what was sent
  /// - x-effect "write": whoever gives it needs that right, whatever the operation needs without it
  /// - x-positional n: its place on the command line; x-short: its letter there
  /// - x-many: a list that takes all words up to the next option
  /// - x-optional-value: it may stand without a value
  /// - x-behind-dashes: words of another program's command line
  /// - x-rare: agents are not told of it, since they pay for every word; they may give it
  /// - x-prose: a sentence or a statement, which people put into double quotes
  std::string_view parameters;
  ResultSchema result;
  Effect effect;  ///< of a call without parameters that have an effect of their own
  Reach reach;
  Stream stream = Stream::kNone;
  Cost cost = Cost::kHeavy;
  /// What a budget cuts, the least important first. Sections of which no part is named here go before.
  std::span<const Cut> cuts = {};
  /// Called by the door alone, with parameters that follow the schema and are complete.
  Result<Outcome> (*run)(Context& context, const nlohmann::json& parameters);
  /// What a person sees on a terminal.
  std::string (*text)(const Outcome& outcome, const TextStyle& style);
  /// What was found, in one sentence, for readers who see little of an answer; empty, or no function: the
  /// first line of the text says it. Asked before a budget cuts anything.
  std::string (*conclusion)(const Outcome& outcome) = nullptr;
};

/// All operations in the order of their names.
std::vector<const Operation*> all_operations();
const Operation* find_operation(std::string_view name);

/// Its schema of parameters, complete and parsed once; any thread may ask.
const nlohmann::json& parameters_schema(const Operation& operation);

/// JSON Schema of its `data`, parsed once; any thread may ask.
const nlohmann::json& result_schema(const Operation& operation);

/// Does it take the parameter `budget`? All that read do, unless their answer is a stream of bytes, and those
/// that say what may be cut. The parameter is added to their schemas; the door sees to it.
bool has_budget(const Operation& operation);

const char* effect_name(Effect effect);

struct SuggestedParameter {
  std::string_view name;
  nlohmann::json value;
};
/// E.g. suggested("analyze", {{"run", id}, {"top", 5}}); the parameters are spelled in this order.
SuggestedCall suggested(std::string operation, std::initializer_list<SuggestedParameter> parameters = {});

}  // namespace nl::ops
