#include <fmt/core.h>

#include "base/files.h"
#include "base/path_text.h"
#include "base/private_folder.h"
#include "ops/import/run_parts.h"
#include "ops/runs/packed_runs.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "remote/server.h"

namespace nl::ops::push_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["runs", "to"],
  "properties": {
    "runs": {"type": "array", "items": {"type": "string"}, "minItems": 1, "x-positional": 1, "x-run": true,
             "description": "profiles, packed runs (.nlz), or runs of the ledger"},
    "to": {"type": "string", "description": "address of the server, e.g. https://lens.example.com; its token is taken from NEUROLENS_TOKEN"},
    "as_one": {"type": "boolean", "description": "the files are one run: traces of ranks, counters, layers, telemetry"},
    "format": {"type": "string", "description": "use this format instead of the detected one"},
    "set": {"type": "array", "items": {"type": "string"}, "description": "label=value for the runs, such as model=llama-3-8b; may be repeated"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["runs"],
  "properties": {"runs": {"type": "array", "items": {"type": "object", "required": ["run_id", "created", "sent"],
    "properties": {"run_id": {"type": "string"}, "created": {"type": "boolean"}, "claimed": {"type": "boolean"},
                   "sent": {"type": "string", "description": "the name of what was sent"}}}}}})";

/// A run of the ledger goes as it is: its profiles may be long gone.
Result<std::string> packed_copy(Context& context, const std::string& name, const FolderAside& folder) {
  NL_TRY(const auto named, resolve_run(context, name));
  const std::string path = folder.path() + "/" + short_id(named.run_id) + ".nlz";
  NL_TRY(NewFile file, NewFile::create(path + ".new-"));
  NL_CHECK(pack_run(context, named, {}, [&](std::string_view bytes) { return file.write(bytes); }));
  NL_CHECK(file.finish(path, true));
  return path;
}

void take(const json& envelope, const std::string& sent, Outcome& outcome) {
  const json data = envelope.value("data", json::object());
  for (const json& run : data.contains("runs") ? data["runs"] : json::array({data})) {
    outcome.data["runs"].push_back({{"run_id", run.value("run_id", "")},
                                    {"created", run.value("created", false)},
                                    {"claimed", run.value("claimed", false)},
                                    {"sent", sent}});
  }
  for (const json& warning : envelope.value("warnings", json::array())) {
    if (warning.is_string()) outcome.warnings.push_back(warning);
  }
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto server, remote::Server::at(parameters["to"], *context.environment));
  NL_TRY(const FolderAside folder, make_private_folder(*context.environment, PrivateUse::kFiles));
  json how = json::object();
  for (const char* key : {"as_one", "format", "set"}) {
    if (parameters.contains(key)) how[key] = parameters[key];
  }
  std::vector<std::string> files;
  std::vector<std::vector<std::string>> groups;
  for (const std::string name : parameters["runs"]) {
    if (path_exists(name) && !path_exists(name + "/run.json")) {
      files.push_back(name);
      continue;
    }
    NL_TRY(const std::string packed, packed_copy(context, name, folder));
    groups.push_back({packed});
  }
  const bool as_one = parameters.value("as_one", false);
  if (as_one && !files.empty()) groups.push_back(files);
  if (!as_one) {
    for (auto& group : group_by_run(files, parameters.value("format", "")))
      groups.push_back(std::move(group));
  }
  Outcome outcome;
  outcome.data["runs"] = json::array();
  for (const auto& group : groups) {
    NL_TRY(const json envelope, server.send_files(group, how));
    take(envelope, base_name(group.front()), outcome);
  }
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  std::string out;
  for (const json& one : outcome.data["runs"]) {
    out += fmt::format("{}  {}  {}{}\n", bold(short_id(one["run_id"]), style), one["sent"].get<std::string>(),
                       one["created"] ? "imported by the server" : "was there already",
                       one["claimed"] ? ", as claimed by the file" : "");
  }
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "push",
      .summary = "Send profiles or runs to the ledger of a server",
      .use_when = "a team shares a ledger and is to see this run",
      .not_when = "the run is for yourself: import",
      .example = R"({"runs": ["trace.json.gz"], "to": "https://lens.example.com"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kExec,
      .reach = {.cli = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::push_operation
