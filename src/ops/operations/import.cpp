#include <fmt/core.h>

#include <utility>

#include "ops/import/import_file.h"
#include "ops/import/run_parts.h"
#include "ops/runs/packed_runs.h"
#include "ops/runs/run_labels.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/run_document.h"

namespace nl::ops::import_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["paths"],
  "properties": {
    "paths": {"type": "array", "items": {"type": "string"}, "minItems": 1, "x-positional": 1, "x-host-path": true, "x-upload": true,
              "description": "profiles or packed runs (.nlz); each becomes a run, but files that trtexec writes for one model become one"},
    "format": {"x-rare": true, "type": "string", "description": "use this format instead of the detected one"},
    "threads": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 256,
                "description": "parser threads (default: the machine's cores); the result is always the same"},
    "refresh": {"x-rare": true, "type": "boolean", "description": "replace the run if it is in the ledger already"},
    "as_one": {"type": "boolean",
               "description": "import the files as one run: traces of ranks, counters, layers, telemetry"},
    "rank_from_name": {"x-rare": true, "type": "boolean",
                       "description": "take the rank of a trace that names none from its file name, e.g. rank3"},
    "add_to": {"x-rare": true, "type": "string", "x-run": true, "description": "make a new run from this run and the files"},
    "set": {"type": "array", "items": {"type": "string"},
            "description": "label=value for the runs, such as model=llama-3-8b; may be repeated"},
    "no_sidecar": {"x-rare": true, "type": "boolean", "description": "take no labels, tags and notes from neurolens.yaml beside the files"}
  }})";

constexpr char kResult[] = R"({
  "description": "one run: the run; several: {runs: [run], failed: [{path, code, message}]}",
  "definitions": {"run": {"type": "object",
    "required": ["run_id", "created", "path", "format", "counts", "health", "devices", "bundle_bytes"],
    "properties": {
      "run_id": {"type": "string"}, "created": {"type": "boolean"}, "path": {"type": "string"},
      "format": {"type": "string"}, "devices": {"type": "array"}, "bundle_bytes": {"type": "integer"},
      "health": {"type": "object"},
      "claimed": {"type": "boolean", "description": "a packed run without its profiles: nothing proves its facts"},
      "sidecars": {"type": "array", "items": {"type": "string"}, "description": "files that labels, tags and notes were taken from"},
      "counts": {"type": "object", "required": ["seen", "stored", "folded", "dropped"]}}}},
  "anyOf": [{"$ref": "#/definitions/run"},
            {"type": "object", "required": ["runs", "failed"],
             "properties": {"runs": {"type": "array", "items": {"$ref": "#/definitions/run"}},
                            "failed": {"type": "array"}}}]})";

void warn_of_losses(const json& run, std::vector<std::string>& warnings) {
  const std::string path = run["path"];
  for (const auto& [reason, n] : run["counts"]["dropped"].items()) {
    warnings.push_back(fmt::format("{}: {} dropped: {}", path, counted(n, "record"), reason));
  }
  for (const auto& [what, n] : run["health"].items()) {
    warnings.push_back(fmt::format("{}: fault of the file: {} ({})", path, what, grouped(n)));
  }
}

std::string claim_warning(const std::string& path) {
  return path +
         ": the run is as claimed by this file; nothing proves it without the profiles that it was made from";
}

/// The files of one run, or one packed run.
Result<ImportReport> import_group(Context& context, store::Ledger& ledger,
                                  const std::vector<std::string>& paths, const ImportOptions& options,
                                  bool& is_claimed) {
  if (paths.size() != 1 || !store::is_packed_run(paths[0]))
    return import_files(context, ledger, paths, options);
  NL_TRY(auto imported, import_packed(context, ledger, paths[0]));
  is_claimed = imported.is_claimed;
  return std::move(imported.report);
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  ImportOptions options;
  options.format = parameters.value("format", "");
  options.threads = parameters.value("threads", 0);
  options.refresh = parameters.value("refresh", false);
  const std::vector<std::string> paths = parameters["paths"];
  options.as_one = parameters.value("as_one", false) || parameters.contains("add_to");
  options.rank_from_name = parameters.value("rank_from_name", false);
  if (parameters.contains("add_to")) {
    // Who sends files may name runs, but no paths of this machine.
    const bool paths_may_be_named = context.host_paths && context.hidden_folder.empty();
    const bool before = std::exchange(context.host_paths, paths_may_be_named);
    const auto parent = resolve_ledger_run(context, ledger, parameters["add_to"]);
    context.host_paths = before;
    if (!parent) return parent.error();
    options.add_to = parent->run_id;
  }
  const auto groups =
      options.as_one ? std::vector<std::vector<std::string>>{paths} : group_by_run(paths, options.format);
  json runs = json::array();
  json failed = json::array();
  Outcome outcome;
  for (const auto& group : groups) {
    const bool with_sidecars = !parameters.value("no_sidecar", false);
    const auto given = given_labels(with_sidecars ? group : std::vector<std::string>(),
                                    parameters.value("set", std::vector<std::string>()));
    bool is_claimed = false;
    auto report = given ? import_group(context, ledger, group, options, is_claimed)
                        : Result<ImportReport>(given.error());
    if (report) {
      NL_CHECK(apply_labels(context, ledger, report->run_id, *given, outcome.warnings));
      runs.push_back(import_json(*report));
      if (is_claimed) outcome.warnings.push_back(claim_warning(group[0]));
      runs.back()["claimed"] = is_claimed;
      if (given->sidecar.found()) runs.back()["sidecars"] = given->sidecar.files;
      warn_of_losses(runs.back(), outcome.warnings);
    } else if (groups.size() == 1 || report.error().code == ErrorCode::kCancelled) {
      return std::move(report.error());
    } else {
      failed.push_back({{"path", group[0]},
                        {"code", error_code_name(report.error().code)},
                        {"message", report.error().message}});
    }
  }
  outcome.exit_code = failed.empty() ? 0 : 2;
  if (!runs.empty()) outcome.next.push_back(suggested("show", {{"run", short_id(runs.back()["run_id"])}}));
  outcome.data = groups.size() == 1 ? runs[0] : json{{"runs", runs}, {"failed", failed}};
  return outcome;
}

std::string run_text(const json& run, const TextStyle& style) {
  const json& counts = run["counts"];
  const bool created = run["created"];
  std::string out =
      fmt::format("{}  {}  {}\n  {}: {} stored, {} folded, {} dropped; {} on disk\n",
                  bold(short_id(run["run_id"]), style), run["format"].get<std::string>(),
                  created ? "imported" : "was in the ledger already", counted(counts["seen"], "record"),
                  grouped(counts["stored"]), grouped(store::sum_of_counts(counts["folded"])),
                  grouped(store::sum_of_counts(counts["dropped"])), bytes_text(run["bundle_bytes"]));
  for (const std::string file : run.value("sidecars", json::array())) out += "  labels of " + file + "\n";
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (!outcome.data.contains("runs")) return run_text(outcome.data, style);
  std::string out;
  for (const auto& run : outcome.data["runs"]) out += run_text(run, style);
  for (const auto& f : outcome.data["failed"]) {
    out += fmt::format("{} {}\n", yellow("failed:", style), f["message"].get<std::string>());
  }
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "import",
      .summary = "Read profiler files into the ledger: add, load, store",
      .use_when =
          "you have traces, logs, exports or a folder (PyTorch, nsys sqlite, ncu, rocprof, ONNX Runtime, "
          "TensorRT, XLA, vLLM benchmark) to put into the database, or those of several ranks to merge or "
          "combine into one run",
      .not_when = "nothing is recorded yet: record",
      .example = R"({"paths": ["trace.json.gz"]})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = true, .mcp = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::import_operation
