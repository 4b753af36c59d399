#include "cli/remote_call.h"

#include "base/files.h"
#include "base/json_schema.h"
#include "cli/spelling.h"
#include "ops/envelope.h"
#include "remote/server.h"

namespace nl::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kSpelledStart = "POST /api/v1/";

Error stays_here(const std::string& path, const std::string& address) {
  return Error{ErrorCode::kBadInput,
               "a file of this machine is not sent to a server: " + path,
               "send it first: {}",
               {ops::suggested("push", {{"runs", json::array({path})}, {"to", address}})}};
}

Error no_answer() {
  return Error{ErrorCode::kUnavailable, "the server gave no answer", "is it a NeuroLens server?"};
}

/// The address without the token that may stand in it.
std::string shown(const std::string& address) {
  return address.substr(0, address.find('?'));
}

Result<void> check_paths(const ops::Operation& operation, const json& parameters,
                         const std::string& address) {
  for (const auto& [name, property] : ops::parameters_schema(operation)["properties"].items()) {
    if (!parameters.contains(name)) continue;
    const json values = parameters[name].is_array() ? parameters[name] : json::array({parameters[name]});
    const bool is_path = property.contains("x-host-path") && property["x-host-path"] == true;
    for (const json& value : values) {
      const bool names_file =
          value.is_string() && property.contains("x-run") && path_exists(value.get<std::string>());
      if (is_path || names_file)
        return stays_here(value.is_string() ? value.get<std::string>() : name, shown(address));
    }
  }
  return {};
}

/// Where the JSON object that begins here ends; nothing if it does not.
size_t end_of_object(std::string_view text, size_t begin) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = begin; i < text.size(); i++) {
    const char c = text[i];
    if (in_text && c == '\\') i++;
    if (c == '"' && (i == begin || text[i - 1] != '\\')) in_text = !in_text;
    if (in_text) continue;
    if (c == '{') depth++;
    if (c == '}' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

/// A newer server may suggest what is not known here.
bool is_known(const SuggestedCall& call) {
  const ops::Operation* const operation = ops::find_operation(call.operation);
  const json parameters = json::parse(call.parameters, nullptr, false);
  if (operation == nullptr || !parameters.is_object()) return false;
  const JsonSchema schema(ops::parameters_schema(*operation).dump(), "a suggestion");
  return schema.validate(parameters).has_value();
}

}  // namespace

/// Calls that the server suggests, in the words of the command line.
std::string in_our_words(std::string text) {
  for (size_t at = text.find(kSpelledStart); at != std::string::npos; at = text.find(kSpelledStart, at + 1)) {
    const size_t name = at + kSpelledStart.size();
    const size_t object = text.find(" {", name);
    const size_t end = object == std::string::npos ? object : end_of_object(text, object + 1);
    if (end == std::string::npos) continue;
    const SuggestedCall call{text.substr(name, object - name), text.substr(object + 1, end - object - 1)};
    if (is_known(call)) text.replace(at, end - at, spelled(call));
  }
  return text;
}

Error in_our_words(Error error) {
  if (!error.calls.empty()) return error;
  error.hint = in_our_words(error.hint);
  const bool is_for_programs = error.hint.find("/api/v1") != std::string::npos;
  if (is_for_programs) error.hint.clear();
  return error;
}

namespace {

json in_our_words(json envelope) {
  for (const char* key : {"next", "warnings"}) {
    json lines = json::array();
    const json said = envelope.value(key, json::array());
    for (const json& line : said.is_array() ? said : json::array()) {
      if (line.is_string()) lines.push_back(cli::in_our_words(line.get<std::string>()));
    }
    envelope[key] = std::move(lines);
  }
  return envelope;
}

/// `export --output FILE`: the bytes come from the server, the file is here.
Result<void> receive_file(remote::Server& server, const ops::Operation& operation, json parameters) {
  const std::string path = parameters["output"];
  const bool force = parameters.value("force", false);
  parameters.erase("output");
  parameters.erase("force");
  if (!force && path_exists(path))
    return Error{ErrorCode::kConflict, "the file exists already: " + path, "replace it with --force"};
  NL_TRY(NewFile file, NewFile::create(path + ".new-"));
  NL_CHECK(server.stream(std::string(operation.name), parameters, "application/octet-stream",
                         [&](std::string_view bytes) { return file.write(bytes); }));
  NL_CHECK(file.finish(path, force));
  return {};
}

}  // namespace

bool is_between_ledgers(const ops::Operation& operation) {
  return operation.name == "push" || operation.name == "pull";
}

Result<int> ask_server(const std::string& address, const ops::Operation& operation, const json& parameters,
                       bool as_json, Result<void> (*write)(std::string_view)) {
  const std::string name(operation.name);
  if (!operation.reach.http)
    return Error{ErrorCode::kUnsupported, name + " works only on a ledger of this machine",
                 "leave out --ledger, or name a folder"};
  NL_TRY(auto server, remote::Server::at(address, Environment::of_process()));
  if (name == "export" && parameters.contains("output")) {
    NL_CHECK(receive_file(server, operation, parameters));
    return 0;
  }
  NL_CHECK(check_paths(operation, parameters, address));
  if (!as_json && operation.stream == ops::Stream::kNone) {
    std::string text;
    NL_CHECK(server.stream(name, parameters, "text/plain", [&](std::string_view bytes) {
      text += bytes;
      return Result<void>();
    }));
    if (text.empty()) return no_answer();
    NL_CHECK(write(cli::in_our_words(std::move(text))));
    return server.exit_code();
  }
  if (!as_json) {
    NL_CHECK(server.stream(name, parameters, "text/plain", write));
    return server.exit_code();
  }
  NL_TRY(json envelope, server.call(name, parameters));
  if (!envelope.contains("data")) return no_answer();
  NL_CHECK(write(ops::compact_json(in_our_words(std::move(envelope))) + "\n"));
  return server.exit_code();
}

}  // namespace nl::cli
