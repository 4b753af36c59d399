#include <fmt/core.h>

#include "base/files.h"
#include "model/run_file.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "store/run_document.h"
#include "store/run_file_writer.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, @latest, bundle folder or profile"},
    "format": {"type": "string", "enum": ["neurolens-json"], "default": "neurolens-json",
               "description": "neurolens-json: one JSON document with the whole run"},
    "output": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "file to write; default: standard output"},
    "force": {"type": "boolean", "description": "replace the file if it exists"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "format"],
  "properties": {"run_id": {"type": "string"}, "format": {"type": "string"}, "path": {"type": "string"},
                 "bytes": {"type": "integer"}}})";

Error there_already(const std::string& path) {
  return Error{ErrorCode::kConflict, "the file exists already: " + path, "replace it with --force"};
}

using Labels = std::map<std::string, std::string>;

/// What people said of the run goes along. What the source says of its software is there anyway.
Result<Labels> labels_to_export(const Context& context, const NamedRun& named) {
  NL_TRY(const auto document, store::shared_run_document(named.bundle + "/run.json"));
  NL_TRY(const auto labels, labels_of_run(context, named, *document));
  const json in_document = document->value("labels", json::object());
  Labels values = store::counting_values(labels);
  for (const auto& label : labels) {
    if (label.effective().origin == store::LabelOrigin::kSource && !in_document.contains(label.key))
      values.erase(label.key);
  }
  return values;
}

/// Written aside and renamed, so that the name never stands for half a file.
Result<void> write_to_file(const NamedRun& named, const Labels& labels, const std::string& path, bool force,
                           const std::function<bool()>& cancelled) {
  if (!force && path_exists(path)) return there_already(path);
  NL_TRY(NewFile file, NewFile::create(path + ".new-"));
  const auto write = [&](std::string_view text) { return file.write(text); };
  NL_CHECK(store::write_run_file(named.bundle, labels, write, cancelled));
  NL_TRY(const bool placed, file.finish(path, force));
  if (!placed) return there_already(path);
  return {};
}

Result<Outcome> run(Context& context, const json& parameters) {
  const std::string path = parameters.value("output", "");
  if (path.empty() && !context.bytes) {
    return Error{ErrorCode::kBadInput, "the document does not fit into a JSON answer",
                 "name a file with --output FILE"};
  }
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto labels, labels_to_export(context, named));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"format", model::kRunFileFormat}};
  if (path.empty()) {
    NL_CHECK(store::write_run_file(named.bundle, labels, context.bytes, context.cancelled));
    return outcome;
  }
  NL_CHECK(write_to_file(named, labels, path, parameters.value("force", false), context.cancelled));
  outcome.data["path"] = path;
  NL_TRY(outcome.data["bytes"], file_size(path));
  outcome.next.push_back(suggested("schema", {{"what", "validate"}, {"target", path}}));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (!outcome.data.contains("path")) return "";
  return fmt::format("{}  written to {}, {}\n", bold(short_id(outcome.data["run_id"]), style),
                     outcome.data["path"].get<std::string>(), bytes_text(outcome.data["bytes"]));
}

}  // namespace

const Operation& operation_export() {
  static constexpr Operation kOperation{
      .name = "export",
      .summary = "Write a whole run as one JSON document that import reads again",
      .use_when = "you want to move a run to another ledger or tool, or keep it under version control",
      .not_when = "you want some rows of a run: query --format csv, json or parquet",
      .example = R"({"run": "@latest", "output": "run.json"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = false, .mcp = false},
      .stream = Stream::kBytes,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops
