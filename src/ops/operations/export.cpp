#include <fmt/core.h>

#include "base/files.h"
#include "ops/runs/packed_runs.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "store/run_document.h"
#include "store/run_file_writer.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kDocument[] = "neurolens-json";

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, @latest, bundle folder or profile"},
    "format": {"type": "string", "enum": ["neurolens-json", "nlz"], "default": "neurolens-json",
               "description": "neurolens-json: one JSON document with the whole run; nlz: the run as it is, packed into one file"},
    "without": {"type": "array", "items": {"type": "string", "enum": ["labels", "notes"]},
                "description": "nlz: leave out labels (and tags) or notes"},
    "derived": {"type": "boolean", "description": "nlz: also what was derived from the facts"},
    "sources": {"type": "array", "items": {"type": "string"}, "x-many": true, "x-host-path": true,
                "description": "nlz: the profiles that the run was made from, so that whoever gets it can prove it"},
    "output": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "file to write; default: standard output"},
    "force": {"type": "boolean", "description": "replace the file if it exists"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "format"],
  "properties": {"run_id": {"type": "string"}, "format": {"type": "string"}, "path": {"type": "string"},
                 "bytes": {"type": "integer"}, "sha256": {"type": "string", "description": "nlz: names the content"}}})";

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

using Write = std::function<Result<void>(std::string_view)>;

/// Written aside and renamed, so that the name never stands for half a file.
Result<void> write_to_file(const std::string& path, bool force,
                           const std::function<Result<void>(const Write&)>& produce) {
  if (!force && path_exists(path)) return there_already(path);
  NL_TRY(NewFile file, NewFile::create(path + ".new-"));
  NL_CHECK(produce([&](std::string_view text) { return file.write(text); }));
  NL_TRY(const bool placed, file.finish(path, force));
  if (!placed) return there_already(path);
  return {};
}

/// The whole run as a document of ours.
Result<void> write_document(const Context& context, const NamedRun& named, const Write& write) {
  NL_TRY(const auto labels, labels_to_export(context, named));
  return store::write_run_file(named.bundle, labels, write, context.cancelled);
}

Result<PackOptions> pack_options(const json& parameters) {
  PackOptions options;
  for (const std::string what : parameters.value("without", json::array()))
    (what == "labels" ? options.labels : options.notes) = false;
  options.derived = parameters.value("derived", false);
  options.sources = parameters.value("sources", std::vector<std::string>());
  const bool is_packed = parameters.value("format", "") == "nlz";
  if (!is_packed && (!options.labels || !options.notes || options.derived || !options.sources.empty())) {
    return Error{ErrorCode::kBadInput, "--without, --derived and --sources are for --format nlz alone"};
  }
  return options;
}

Result<Outcome> run(Context& context, const json& parameters) {
  const std::string path = parameters.value("output", "");
  if (path.empty() && !context.bytes) {
    return Error{ErrorCode::kBadInput, "the document does not fit into a JSON answer",
                 "name a file with --output FILE"};
  }
  NL_TRY(const PackOptions pack, pack_options(parameters));
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  const std::string format = parameters.value("format", std::string(kDocument));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"format", format}};
  const auto produce = [&](const Write& write) -> Result<void> {
    if (format != "nlz") return write_document(context, named, write);
    NL_TRY(outcome.data["sha256"], pack_run(context, named, pack, write));
    return {};
  };
  if (path.empty()) {
    NL_CHECK(produce(context.bytes));
    return outcome;
  }
  NL_CHECK(write_to_file(path, parameters.value("force", false), produce));
  outcome.data["path"] = path;
  NL_TRY(outcome.data["bytes"], file_size(path));
  if (format == "nlz") {
    outcome.next.push_back(suggested("show", {{"run", path}}));
  } else {
    outcome.next.push_back(suggested("schema", {{"what", "validate"}, {"target", path}}));
  }
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
      .summary = "Write a whole run as one file that import reads again",
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
