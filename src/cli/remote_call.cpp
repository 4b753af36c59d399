#include "cli/remote_call.h"

#include "base/files.h"
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

/// Calls that the server suggests, in the words of the command line.
std::string in_our_words(std::string text) {
  for (size_t at = text.find(kSpelledStart); at != std::string::npos; at = text.find(kSpelledStart, at + 1)) {
    const size_t name = at + kSpelledStart.size();
    const size_t object = text.find(" {", name);
    const size_t end = object == std::string::npos ? object : end_of_object(text, object + 1);
    if (end == std::string::npos) continue;
    const SuggestedCall call{text.substr(name, object - name), text.substr(object + 1, end - object - 1)};
    if (ops::find_operation(call.operation) == nullptr || !json::accept(call.parameters)) continue;
    text.replace(at, end - at, spelled(call));
  }
  return text;
}

json in_our_words(json envelope) {
  for (const char* key : {"next", "warnings"}) {
    for (json& line : envelope[key]) line = in_our_words(line.get<std::string>());
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

Result<void> ask_server(const std::string& address, const ops::Operation& operation, const json& parameters,
                        bool as_json, Result<void> (*write)(std::string_view)) {
  const std::string name(operation.name);
  if (!operation.reach.http)
    return Error{ErrorCode::kUnsupported, name + " works only on a ledger of this machine",
                 "leave out --ledger, or name a folder"};
  NL_TRY(auto server, remote::Server::at(address, Environment::of_process()));
  if (name == "export" && parameters.contains("output")) return receive_file(server, operation, parameters);
  NL_CHECK(check_paths(operation, parameters, address));
  if (!as_json && operation.stream == ops::Stream::kNone) {
    std::string text;
    NL_CHECK(server.stream(name, parameters, "text/plain", [&](std::string_view bytes) {
      text += bytes;
      return Result<void>();
    }));
    return write(in_our_words(std::move(text)));
  }
  if (!as_json) return server.stream(name, parameters, "text/plain", write);
  NL_TRY(json envelope, server.call(name, parameters));
  return write(ops::compact_json(in_our_words(std::move(envelope))) + "\n");
}

}  // namespace nl::cli
