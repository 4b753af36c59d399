#include <fmt/core.h>

#include "base/files.h"
#include "base/private_folder.h"
#include "ops/runs/packed_runs.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "remote/server.h"
#include "store/ledger.h"

namespace nl::ops::pull_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run", "from"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "description": "run of the server: id, tag, @latest"},
    "from": {"type": "string", "description": "address of the server, e.g. https://lens.example.com; its token is taken from NEUROLENS_TOKEN"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "created", "claimed"],
  "properties": {"run_id": {"type": "string"}, "created": {"type": "boolean"},
                 "claimed": {"type": "boolean", "description": "nothing proves its facts without its profiles"}}})";

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto server, remote::Server::at(parameters["from"], *context.environment));
  NL_TRY(const FolderAside folder, make_private_folder(*context.environment, PrivateUse::kFiles));
  const std::string path = folder.path() + "/run.nlz";
  NL_TRY(NewFile file, NewFile::create(path + ".new-"));
  NL_CHECK(server.stream("export", {{"run", parameters["run"]}, {"format", "nlz"}},
                         "application/octet-stream",
                         [&](std::string_view bytes) { return file.write(bytes); }));
  NL_CHECK(file.finish(path, true));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto imported, import_packed(context, ledger, path));
  Outcome outcome;
  outcome.data = {{"run_id", imported.report.run_id},
                  {"created", imported.report.created},
                  {"claimed", imported.is_claimed}};
  if (imported.is_claimed)
    outcome.warnings.emplace_back(
        "the run is as claimed by the server; nothing proves it without the profiles that it was made from");
  outcome.next.push_back(suggested("show", {{"run", short_id(imported.report.run_id)}}));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  return fmt::format("{}  {}\n", bold(short_id(outcome.data["run_id"]), style),
                     outcome.data["created"] ? "imported" : "was in the ledger already");
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "pull",
      .summary = "Bring a run from the ledger of a server into this one",
      .use_when =
          "you want to work on a run of the team without the network, or compare it with runs of your own",
      .not_when = "the server can answer: --ledger https://… asks it",
      .example = R"({"run": "@latest", "from": "https://lens.example.com"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kExec,
      .reach = {.cli = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::pull_operation
