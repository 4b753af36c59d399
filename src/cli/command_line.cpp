// The command line. Options and help of each verb are generated from the parameter schema of its operation,
// so this file knows no operation by name except `show`, which opens a file that was typed alone. Results go
// to standard output; progress, warnings, hints and errors go to standard error.

#include "cli/command_line.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/json_schema.h"
#include "base/live_lines.h"
#include "base/paged_vector.h"
#include "base/redact.h"
#include "base/safe_text.h"
#include "base/text.h"
#include "cli/completion.h"
#include "cli/mcp.h"
#include "cli/remote_call.h"
#include "cli/serve.h"
#include "cli/spelling.h"
#include "cli/terminal.h"
#include "cli/view_server.h"
#include "ops/door.h"
#include "ops/envelope.h"
#include "ops/text/text.h"
#include "remote/address.h"
#include "store/cache_folder.h"
#include "store/ledger.h"
#include "store/sql_workers.h"

namespace nl::cli {
namespace {

using nlohmann::json;
using ops::Operation;

constexpr int kExitUsage = 2;
constexpr int kExitMissing = 3;
constexpr int kExitBug = 70;
constexpr int kExitInterrupted = 130;

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kPermission:
    case ErrorCode::kUnavailable:
    case ErrorCode::kIo:
      return kExitMissing;
    case ErrorCode::kCancelled:
      return kExitInterrupted;
    case ErrorCode::kInternal:
      return kExitBug;
    default:
      return kExitUsage;
  }
}

struct GlobalOptions {
  std::string ledger;
  bool json = false;
  bool quiet = false;
  bool brief = false;
  std::string color = "auto";
};

std::string ledger_of(const GlobalOptions& global) {
  return global.ledger.empty() ? store::Ledger::default_folder(Environment::of_process()) : global.ledger;
}

constexpr int64_t kBriefTokens = 1500;  // some 6,000 bytes

/// A value as CLI11 stores it, before it becomes a JSON parameter of the operation.
struct RawValue {
  std::string type;
  std::string text;                // of a string or an integer
  std::vector<std::string> texts;  // of an array
  bool flag = false;
  CLI::Option* option = nullptr;
};
using RawValues = std::map<std::string, RawValue>;

void add_option(CLI::App& command, const std::string& name, const json& property, bool required,
                RawValue& value) {
  value.type = property["type"];
  std::string help = property.value("description", "");
  for (const char* key : {"default", "x-own-default"}) {
    if (property.contains(key)) help += " (default: " + property[key].dump() + ")";
  }
  const bool positional = property.contains("x-positional");
  if (value.type == "boolean") {
    value.option = command.add_flag(flag_name(name), value.flag, help);
    return;
  }
  const std::string letter = property.value("x-short", "");
  const std::string shown = positional ? name : (letter.empty() ? "" : "-" + letter + ",") + flag_name(name);
  if (value.type == "array") {
    value.option = command.add_option(shown, value.texts, help)
                       ->type_name(positional                                         ? ""
                                   : property["items"].value("type", "") == "integer" ? "N ..."
                                                                                      : "TEXT ...");
    if (!positional && !property.contains("x-many"))
      value.option->allow_extra_args(false);  // one value per flag: positional arguments may follow
  } else {
    value.option =
        command.add_option(shown, value.text, help)->type_name(value.type == "integer" ? "N" : "TEXT");
  }
  if (property.contains("x-optional-value")) value.option->expected(0, 1);
  if (required) value.option->required();
  if (property.contains("enum")) {
    value.option->check(CLI::IsMember(property["enum"].get<std::vector<std::string>>()));
    value.option->type_name("");
  }
}

/// The parameter that takes the words of another program's command line; empty if there is none.
std::string command_parameter(const json& schema) {
  for (const auto& [name, property] : schema["properties"].items()) {
    if (property.contains("x-behind-dashes")) return name;
  }
  return {};
}

/// Positionals in their order, then the rest by name.
void add_parameters(CLI::App& command, const json& schema, RawValues& values) {
  std::map<int, std::string> positionals;
  for (const auto& [name, property] : schema["properties"].items()) {
    if (property.contains("x-positional")) positionals[property["x-positional"].get<int>()] = name;
  }
  for (const auto& [order, name] : positionals) {
    // What stands behind -- comes later, see with_command; the door sees to it that it is there.
    const bool is_required = requires_member(schema, name) && name != command_parameter(schema);
    add_option(command, name, schema["properties"][name], is_required, values[name]);
  }
  for (const auto& [name, property] : schema["properties"].items()) {
    if (!property.contains("x-positional") && !property.contains("x-behind-dashes"))
      add_option(command, name, property, requires_member(schema, name), values[name]);
  }
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

Result<int64_t> number_of(const std::string& name, const std::string& text, const json& property) {
  const std::optional<int64_t> number = whole_number(text);
  const int64_t least = property.value("minimum", INT64_MIN), most = property.value("maximum", INT64_MAX);
  if (number && *number >= least && *number <= most) return *number;
  return Error{ErrorCode::kBadInput, fmt::format("{} must be a whole number from {} to {}, not: {}",
                                                 flag_name(name), least, most, text)};
}

Result<json> list_of(const std::string& name, const std::vector<std::string>& texts, const json& items) {
  if (items.value("type", "") != "integer") return json(texts);
  json numbers = json::array();
  for (const std::string& text : texts) {
    NL_TRY(const int64_t number, number_of(name, text, items));
    numbers.push_back(number);
  }
  return numbers;
}

Result<json> parameters_of(const RawValues& values, const json& schema) {
  json out = json::object();
  for (const auto& [name, value] : values) {
    if (value.option->count() == 0) continue;
    if (value.type == "boolean") {
      out[name] = value.flag;
    } else if (value.type == "array") {
      NL_TRY(out[name], list_of(name, value.texts, schema["properties"][name]["items"]));
    } else if (value.type == "integer") {
      NL_TRY(out[name], number_of(name, value.text, schema["properties"][name]));
    } else {
      out[name] = value.text;
    }
  }
  return out;
}

/// The words behind --, byte for byte: the parser would take "[a,b]" for a list.
json with_command(json parameters, const json& schema, const std::vector<std::string>& words) {
  if (words.empty()) return parameters;
  json& command = parameters[command_parameter(schema)];
  if (command.is_null()) command = json::array();
  for (const std::string& word : words) command.push_back(word);
  return parameters;
}

volatile std::sig_atomic_t interrupted = 0;

/// Writes to standard error. A failure is ignored: that nobody can read a message is no reason to fail.
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  const std::string text = text_for_people(fmt::format(format, std::forward<Values>(values)...), false);
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

Result<void> write_stdout(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
  return Error{ErrorCode::kIo, "cannot write to standard output"};
}

/// Rows that a person looks at instead of sending them on.
Result<void> write_to_terminal(std::string_view bytes) {
  return write_stdout(text_for_people(bytes, false));
}

/// Prints text that is not the result of an operation, such as help. Returns the exit code.
int print(std::string_view text) {
  if (write_stdout(text_for_people(text, false)) && std::fflush(stdout) == 0) return 0;
  say("neurolens: cannot write to standard output\n");
  return kExitMissing;
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry == nullptr ? std::to_string(::getuid()) : entry->pw_name;
}

/// Does standard output get the operation's own bytes instead of text for people?
bool writes_raw(const Operation& operation, const json& parameters) {
  if (operation.stream == ops::Stream::kBytes) return !parameters.contains("output");
  if (operation.stream == ops::Stream::kPage) return parameters.contains("page");
  return operation.stream != ops::Stream::kNone && parameters.value("format", "table") != "table";
}

/// "-" means standard output, as in other tools, and not a file of that name.
json without_dash(const Operation& operation, json parameters) {
  if (operation.stream == ops::Stream::kBytes && parameters.value("output", "") == "-")
    parameters.erase("output");
  return parameters;
}

/// One call of one operation, from parameters to exit code.
class Call {
 public:
  Call(const GlobalOptions& global, std::string command) : global_(global) {
    context_.ledger_folder = ledger_of(global);
    context_.face = ops::Face::kCli;
    context_.may = ops::Effect::kExec;
    context_.host_paths = true;
    context_.principal = user_name();
    context_.command = std::move(command);
    context_.page_files = {make_folders, replace_file};
    context_.spell = spelled;
    context_.cancelled = [] { return interrupted != 0; };
    context_.sql_workers = &sql_workers_;
    // `record -- program < prompts` must work as without us. A terminal is not passed on: it stays ours, and
    // so does Ctrl-C.
    if (::isatty(STDIN_FILENO) == 0) context_.workload_input = STDIN_FILENO;
    if (!global.quiet) context_.progress = [this](const ops::Progress& p) { bar_.show(p); };
  }

  int run(const Operation& operation, const json& given, bool with_next) {
    const json parameters = with_brief(without_dash(operation, given));
    if (parameters.contains("budget") && !global_.json)
      return fail(operation.name,
                  Error{ErrorCode::kBadInput, "--budget works only with --json", "add --json"});
    const bool raw_rows = writes_raw(operation, parameters);
    const auto bytes = ::isatty(STDOUT_FILENO) != 0 ? write_to_terminal : write_stdout;
    if (remote::is_address(context_.ledger_folder) && !is_between_ledgers(operation))
      return run_remote(operation, parameters, raw_rows ? bytes : write_to_terminal);
    if (!global_.json && raw_rows) context_.bytes = bytes;
    auto outcome = [&] {
      const LiveLinesScope scope(live_lines());
      return ops::call(operation.name, parameters, context_);
    }();
    wipe();
    if (!outcome && interrupted != 0) return stopped();
    if (!outcome) return fail(operation.name, outcome.error());
    const bool is_page = raw_rows && operation.stream == ops::Stream::kPage;  // it was written already
    const auto written = write_stdout(global_.json ? json_line(operation.name, *outcome)
                                      : is_page    ? ""
                                                   : shown(operation, *outcome));
    // Flushed before anything goes to standard error, which may be the same file.
    if (!written || std::fflush(stdout) != 0)
      return fail(operation.name, Error{ErrorCode::kIo, "cannot write to standard output"});
    if (!global_.json) talk(*outcome, with_next && !raw_rows);
    return outcome->exit_code;
  }

  /// The pages of runs, until Ctrl+C.
  int serve_pages(const json& view_parameters) {
    auto page = page_of_runs(context_, view_parameters);
    bar_.clear();
    if (!page && interrupted != 0) return stopped();
    if (!page) return fail("view", page.error());
    ServeCommand command;
    command.port = 0;
    command.page = *std::move(page);
    const auto served = run_server(command, context_.ledger_folder, context_.principal,
                                   [](const std::string& text) { say("{}\n", text); });
    return served ? 0 : fail("view", served.error());
  }

  int fail(std::string_view operation, const Error& given) {
    const Error error = in_our_words(given);  // a server may have said it
    const std::string hint = ops::hint_of(error, spelled);
    if (global_.json)
      (void)write_stdout(ops::compact_json(ops::error_envelope(operation, error, spelled)) + "\n");
    say("neurolens: {}\n", error.message);
    if (!hint.empty()) say("  {}\n", hint);
    return exit_code_of(error.code);
  }

 private:
  /// The ledger of another machine.
  int run_remote(const Operation& operation, const json& parameters,
                 Result<void> (*write)(std::string_view)) {
    const CallScope scope(ops::control_of(context_));
    const auto answered = ask_server(context_.ledger_folder, operation, parameters, global_.json, write);
    bar_.clear();
    if (!answered && interrupted != 0) return stopped();
    if (!answered) return fail(operation.name, answered.error());
    if (std::fflush(stdout) == 0) return *answered;
    return fail(operation.name, Error{ErrorCode::kIo, "cannot write to standard output"});
  }

  /// What long calls show while they run.
  LiveLines live_lines() {
    if (global_.quiet) return {[](const auto&) {}, [](const auto&) { return false; }};
    return {[this](const std::string& line) {
              wipe();
              say("{}\n", line);
            },
            [this](const std::vector<std::string>& lines) { return picture_.show(lines); }};
  }

  void wipe() {
    bar_.clear();
    picture_.clear();
  }

  static int stopped() {
    say("neurolens: interrupted\n");
    return kExitInterrupted;
  }

  ops::TextStyle style() const {
    const std::string& color = global_.color;
    auto style = stdout_style(color == "always"  ? Color::kAlways
                              : color == "never" ? Color::kNever
                                                 : Color::kAuto);
    style.is_brief = global_.brief;
    return style;
  }

  static std::string json_line(std::string_view operation, const ops::Outcome& outcome) {
    return ops::compact_json(ops::envelope_of(operation, outcome, spelled)) + "\n";
  }

  std::string shown(const Operation& operation, const ops::Outcome& outcome) const {
    const ops::TextStyle with = style();
    return text_for_people(operation.text(outcome, with), with.color);
  }

  /// A program gets a short answer; a person gets a short text, see style().
  json with_brief(json parameters) const {
    if (global_.brief && global_.json && !parameters.contains("budget")) parameters["budget"] = kBriefTokens;
    return parameters;
  }

  void talk(const ops::Outcome& outcome, bool with_next) const {
    if (global_.quiet) return;
    for (const auto& warning : outcome.warnings) say("warning: {}\n", warning);
    if (!with_next || outcome.next.empty()) return;
    say("\nnext:\n");
    for (const auto& call : outcome.next) say("  {}\n", spelled(call));
  }

  const GlobalOptions global_;
  ProgressBar bar_;
  LivePicture picture_;
  store::SqlWorkers sql_workers_{store::SqlWorkersOptions{
      .ready = 0,
      .at_once = 1,
      .threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))}};
  ops::Context context_;
};

constexpr char kIntroduction[] =
    "NeuroLens turns profiles of AI inference into exact, comparable, auditable runs.\n"
    "\n"
    "  neurolens demo                     see what it can tell, on simulated traces\n"
    "  neurolens trace.json.gz            import a profile and show it\n"
    "  neurolens view trace.json.gz       look at it in the browser\n"
    "  neurolens runs                     list what is in the ledger\n"
    "  neurolens query @latest \"SELECT …\"  ask for anything else\n";

std::string footer() {
  return "A run is an id (its first characters), a tag, @latest, @latest~1, @baseline:NAME, a bundle folder, "
         "or the path of a profile.\n"
         "Help for one command: neurolens VERB --help";
}

/// Advice for users who have no run yet. It only looks at the folder and creates no ledger.
std::string first_steps(const GlobalOptions& global) {
  const std::string folder = ledger_of(global);
  if (!folder.empty() && !list_folder(folder + "/runs").empty()) return "";
  return "\nThe ledger is empty. Start with one of\n"
         "  neurolens demo     simulated traces, analysed and compared in seconds; no network, no GPU\n"
         "  neurolens FILE     your own profile\n";
}

/// The verb that a word was probably meant to be; null if none is close.
const Operation* nearest_verb(const std::string& word) {
  const Operation* nearest = nullptr;
  size_t best = 3;
  for (const Operation* operation : ops::all_operations()) {
    const size_t distance = edit_distance(word, operation->name);
    if (distance < best) {
      best = distance;
      nearest = operation;
    }
  }
  return nearest;
}

/// The error for a first word that is neither a verb nor a file; behind it stands what was typed after it.
Error unknown_word(const std::vector<std::string>& words) {
  Error error{ErrorCode::kBadInput, "there is no command and no file named: " + words.front()};
  const Operation* const nearest = nearest_verb(words.front());
  if (nearest == nullptr) return error;
  error.hint = "did you mean: neurolens " + std::string(nearest->name);
  for (size_t i = 1; i < words.size(); i++) error.hint += " " + ops::shell_word(words[i]);
  return error;
}

void list_verbs() {
  say("  verbs: ");
  for (const Operation* operation : ops::all_operations()) say("{} ", operation->name);
  say("\n  help:  neurolens --help\n");
}

void add_global_options(CLI::App& app, GlobalOptions& global) {
  app.add_option("--ledger", global.ledger,
                 "folder of the ledger (default: $NEUROLENS_LEDGER or the user's data folder)")
      ->type_name("DIR");
  app.add_flag("--json", global.json, "one JSON answer on standard output");
  app.add_flag("-q,--quiet", global.quiet, "no progress, warnings or suggestions");
  app.add_option("--color", global.color, "colours")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("");
}

/// For what takes a budget.
void add_brief(CLI::App& app, GlobalOptions& global) {
  app.add_flag(
      "--brief", global.brief,
      fmt::format("only what matters most: with --json a budget of {} tokens; for analyze a short text",
                  kBriefTokens));
}

struct Command {
  const Operation* operation;
  CLI::App* app;
  RawValues values;
};

void add_options(Command& command, GlobalOptions& global) {
  const Operation& operation = *command.operation;
  command.app->footer(fmt::format("Use when {}.\nNot when {}.\n\nExample: {}", operation.use_when,
                                  operation.not_when, spelled_example(operation)));
  add_parameters(*command.app, ops::parameters_schema(operation), command.values);
  if (ops::has_budget(operation)) add_brief(*command.app, global);
  add_global_options(*command.app, global);
}

/// Only the typed verb gets its options. Adding the options of all verbs takes longer than most answers.
std::vector<std::unique_ptr<Command>> add_commands(CLI::App& app, GlobalOptions& global,
                                                   const std::string& typed) {
  std::vector<std::unique_ptr<Command>> commands;
  for (const Operation* operation : ops::all_operations()) {
    if (!operation->reach.cli) continue;
    auto command = std::make_unique<Command>();
    command->operation = operation;
    command->app = app.add_subcommand(std::string(operation->name), std::string(operation->summary));
    if (operation->name == typed) add_options(*command, global);
    commands.push_back(std::move(command));
  }
  return commands;
}

/// For receipts and reports, so without secrets.
std::string joined(int argc, char** argv) {
  std::string text;
  for (const std::string& word : without_secrets(std::vector<std::string>(argv, argv + argc)))
    text += (text.empty() ? "" : " ") + word;
  return text;
}

bool is_verb(const std::string& word) {
  return ops::find_operation(word) != nullptr || word == "completion" || word == "serve" || word == "mcp";
}

/// A word without a slash and a dot is hardly the name of a file that is missing.
bool is_no_file(const std::string& word) {
  struct stat info {};
  return ::stat(word.c_str(), &info) != 0 && word.find_first_of("/.") == std::string::npos;
}

/// The first argument that is not an option or its value.
std::string first_word(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--ledger" || word == "--color") {
      i++;
    } else if (!word.starts_with("-")) {
      return word;
    }
  }
  return {};
}

bool wants_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

/// The parser for what was typed: verbs with their options, or a single file.
struct CommandLine {
  CommandLine(bool is_file, const std::string& typed) : opens_file(is_file), app(kIntroduction, "neurolens") {
    app.footer(footer());
    app.set_version_flag("--version", "neurolens " NEUROLENS_VERSION);
    add_global_options(app, global);
    if (opens_file) {
      add_brief(app, global);
      app.allow_extras();
      return;
    }
    app.require_subcommand(0, 1);
    commands = add_commands(app, global, typed);
    completion = app.add_subcommand("completion", "Print the completion script of a shell");
    completion->add_option("shell", shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    serve = app.add_subcommand("serve", "Offer the operations over HTTP, for a browser, programs and a team");
    if (typed == "serve") {
      add_serve_options(*serve, server);
      add_global_options(*serve, global);
    }
    mcp = app.add_subcommand("mcp",
                             "Offer the operations to an agent as tools (MCP), by standard input and output");
    if (typed == "mcp") {
      mcp->add_flag("--allow-exec", agent.allow_exec,
                    "also offer what runs programs on this machine: profile, record, deep, queue");
      mcp->add_flag("--list", agent.list, "print the tools and end");
      add_global_options(*mcp, global);
    }
  }

  bool opens_file;
  GlobalOptions global;
  CLI::App app;
  std::vector<std::unique_ptr<Command>> commands;
  CLI::App* completion = nullptr;
  std::string shell;
  CLI::App* serve = nullptr;
  ServeCommand server;
  CLI::App* mcp = nullptr;
  McpCommand agent;
};

/// Handles a parse error. CLI11 reports --help and --version in the same way.
int end_of_parsing(CommandLine& line, const CLI::ParseError& error, const std::string& word, bool as_json) {
  if (error.get_exit_code() != 0 && as_json) {
    line.global.json = true;
    return Call(line.global, "").fail(word.empty() ? "cli" : word, Error{ErrorCode::kBadInput, error.what()});
  }
  std::ostringstream help, complaint;
  if (line.app.exit(error, help, complaint) == 0) return print(help.str());
  say("{}{}", help.str(), complaint.str());
  return kExitUsage;
}

/// `neurolens FILE`: imports and shows it. Global options may stand before or after the file.
int run_file(CommandLine& line, const std::string& typed) {
  Call call(line.global, typed);
  const std::vector<std::string> words = line.app.remaining();
  if (is_no_file(words.front())) {
    Error error = unknown_word(words);
    if (line.global.json && error.hint.empty()) error.hint = "neurolens --help";
    const int code = call.fail("cli", error);
    if (!line.global.json) list_verbs();
    return code;
  }
  if (words.size() == 1) return call.run(*ops::find_operation("show"), {{"run", words.front()}}, true);
  say("neurolens: one file at a time; neurolens import takes several\n");
  return kExitUsage;
}

int run_command(const Command& command, const GlobalOptions& global, const std::string& typed,
                const std::vector<std::string>& behind_dashes) {
  Call call(global, typed);
  const json& schema = ops::parameters_schema(*command.operation);
  auto parameters = parameters_of(command.values, schema);
  if (!parameters) return call.fail(command.operation->name, parameters.error());
  *parameters = with_command(*std::move(parameters), schema, behind_dashes);
  const bool is_view =
      command.operation->name == "view" && !global.json && !remote::is_address(ledger_of(global));
  if (is_view && is_served(*parameters)) return call.serve_pages(*parameters);
  return call.run(*command.operation, *parameters, true);
}

int run_serve(const CommandLine& line) {
  auto served = read_settings(*line.serve, line.server);
  if (served)
    served = run_server(line.server, ledger_of(line.global), user_name(),
                        [](const std::string& text) { say("{}\n", text); });
  return served ? 0 : Call(line.global, "").fail("serve", served.error());
}

int run_agent(const CommandLine& line) {
  if (line.agent.list) {
    ops::Outcome outcome;
    outcome.data = {{"tools", mcp_tools(line.agent)}};
    return print(line.global.json ? ops::compact_json(ops::envelope_of("mcp", outcome, spelled)) + "\n"
                                  : mcp_tools_text(line.agent));
  }
  const auto served =
      run_mcp(line.agent, ledger_of(line.global), user_name(), [] { return interrupted != 0; });
  return served ? 0 : Call(line.global, "").fail("mcp", served.error());
}

/// `import FILE --to SERVER` is what people type for push.
std::vector<char*> with_push(int argc, char** argv) {
  static char push[] = "push";
  std::vector<char*> words(argv, argv + argc);
  const bool has_to = std::any_of(words.begin(), words.end(), [](const char* word) {
    return std::string_view(word) == "--to" || std::string_view(word).starts_with("--to=");
  });
  const auto verb = std::find(words.begin(), words.end(), first_word(argc, argv));
  if (has_to && verb != words.end() && std::string_view(*verb) == "import") *verb = push;
  return words;
}

/// Takes the words behind -- out of the list, if the verb runs another program.
std::vector<std::string> take_command(std::vector<char*>& words, const std::string& verb) {
  const Operation* const operation = ops::find_operation(verb);
  if (operation == nullptr || command_parameter(ops::parameters_schema(*operation)).empty()) return {};
  const auto dashes = std::find_if(words.begin(), words.end(),
                                   [](const char* word) { return std::string_view(word) == "--"; });
  if (dashes == words.end()) return {};
  std::vector<std::string> command(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return command;
}

int parse_and_run(int argc, char** given) {
  std::vector<char*> words = with_push(argc, given);
  const std::string word = first_word(argc, words.data());
  const std::string typed = joined(argc, words.data());
  const std::vector<std::string> command_words = take_command(words, word);
  argc = static_cast<int>(words.size());
  char** const argv = words.data();
  CommandLine line(!word.empty() && !is_verb(word), word);
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return end_of_parsing(line, e, word, wants_json(argc, argv));
  }
  if (line.opens_file) return run_file(line, typed);
  for (const auto& command : line.commands) {
    if (command->app->parsed()) return run_command(*command, line.global, typed, command_words);
  }
  if (line.completion->parsed()) return print(completion_script(line.shell));
  if (line.serve->parsed()) return run_serve(line);
  if (line.mcp->parsed()) return run_agent(line);
  return print(line.app.help() + first_steps(line.global));
}

/// If a standard stream is closed, the next file that is opened gets its number, and our messages would be
/// written into a file of the ledger. /dev/null takes the number instead. Standard output is opened for
/// reading only, so that a result that cannot be written is still an error.
void keep_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) (void)::open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int run_command_line(int argc, char** argv) {
  keep_standard_streams();
  set_page_folder([] {
    const auto cache = store::cache_folder(Environment::of_process());
    return cache ? *cache : Environment::of_process().temp_folder();
  });
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit is an error, like a full disk
  // The first signal only asks the call to stop, so that it also ends the programs that it started: a tool
  // that converts a report would go on otherwise. The second signal ends us at once.
  for (const int request : {SIGINT, SIGTERM}) {
    std::signal(request, [](int) {
      if (interrupted != 0) std::_Exit(kExitInterrupted);
      interrupted = 1;
    });
  }
  try {
    return parse_and_run(argc, argv);
  } catch (const std::exception& e) {
    say("neurolens: a bug in neurolens: {}\n  please report it with the command and, if you can, the input\n",
        e.what());
    return kExitBug;
  }
}

}  // namespace nl::cli
