#include <fmt/core.h>

#include "base/files.h"
#include "base/private_folder.h"
#include "exports/exporter.h"
#include "exports/stacks/stack_difference.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/named_window.h"
#include "ops/runs/packed_runs.h"
#include "ops/runs/redacted_run.h"
#include "ops/runs/run_names.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "store/run_document.h"
#include "store/run_file_writer.h"

namespace nl::ops::export_operation {
namespace {

using nlohmann::json;

constexpr char kDocument[] = "neurolens-json";
constexpr char kPacked[] = "nlz";

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, @latest, bundle folder or profile"},
    "format": {"type": "string", "default": "neurolens-json",
               "enum": ["neurolens-json", "nlz", "chrome", "collapsed", "otlp", "perfetto", "pprof", "speedscope"],
               "description": "neurolens-json: one JSON document with the whole run; nlz: the run as it is, packed into one file; import reads both again; the others are for tools of that name, chrome for chrome://tracing and collapsed for flame graphs"},
    "window": {"type": "string",
               "description": "only what touches this window: steady, whole, step:N (from 0), ns:BEGIN..END (times as in the tables), prefill, decode, decode_step, or the name of an annotation"},
    "without": {"type": "array", "items": {"type": "string", "enum": ["labels", "notes"]},
                "description": "nlz: leave out labels (and tags) or notes"},
    "derived": {"type": "boolean", "description": "nlz: also what was derived from the facts"},
    "sources": {"type": "array", "items": {"type": "string"}, "x-many": true, "x-host-path": true,
                "description": "nlz: the profiles that the run was made from, so that whoever gets it can prove it"},
    "against": {"type": "string", "x-run": true,
                "description": "a second run: collapsed stacks with the sums of both, for a flame graph of the difference"},
    "redact": {"type": "string", "x-optional-value": true, "x-host-path": true, "x-effect": "write",
               "description": "names, paths, hosts and arguments become pseudonyms that this ledger can map back; a policy file says what else to hide or to keep"},
    "output": {"type": "string", "x-host-path": true, "x-effect": "write", "description": "file to write; default: standard output"},
    "force": {"type": "boolean", "description": "replace the file if it exists"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "format"],
  "properties": {
    "run_id": {"type": "string"}, "format": {"type": "string"}, "path": {"type": "string"},
    "bytes": {"type": "integer"},
    "sha256": {"type": "string", "description": "nlz: names the content"},
    "written": {"type": "object", "description": "rows by table"},
    "lost": {"type": "object", "description": "what the format has no room for: rows by kind"},
    "redaction": {"type": "object", "required": ["hidden", "dropped", "kept", "shapes", "new_pseudonyms"],
                  "description": "what the file does not tell: texts that were changed, by field; values that are missing, by field; fields that stayed; what became of shapes"}
  }})";

/// Sorts of large runs spill, into a folder of their own: the engine gives its files fixed names.
store::EngineStart export_engine(const FolderAside& temp) {
  return store::EngineStart::leased({.threads = 1, .memory_mb = 128, .temp_folder = temp.path()});
}

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

Result<std::vector<exports::Stretch>> stretches_of(const NamedRun& named, const std::string& window) {
  std::vector<exports::Stretch> stretches;
  if (window.empty()) return stretches;
  NL_TRY(const auto set, named_window(named, window));
  for (const auto& one : set) stretches.push_back({one.begin, one.end});
  return stretches;
}

/// The whole run as a document of ours.
Result<void> write_document(const Context& context, const NamedRun& named, const Write& write) {
  NL_TRY(const auto labels, labels_to_export(context, named));
  return store::write_run_file(named.bundle, labels, write, context.cancelled);
}

Result<exports::ExportReport> write_as(const Context& context, const exports::Exporter& exporter,
                                       const NamedRun& named, const std::string& window, const Write& write) {
  NL_TRY(auto stretches, stretches_of(named, window));
  NL_TRY(const FolderAside temp, make_private_folder(*context.environment, PrivateUse::kFiles));
  NL_TRY(const auto open, open_derived(named, export_engine(temp)));
  return exporter.write({*open, std::move(stretches), write});
}

Result<PackOptions> pack_options(const json& parameters) {
  PackOptions options;
  for (const std::string what : parameters.value("without", json::array()))
    (what == "labels" ? options.labels : options.notes) = false;
  options.derived = parameters.value("derived", false);
  options.sources = parameters.value("sources", std::vector<std::string>());
  const bool is_packed = parameters.value("format", "") == kPacked;
  if (!is_packed && (!options.labels || !options.notes || options.derived || !options.sources.empty())) {
    return Error{ErrorCode::kBadInput, "--without, --derived and --sources are for --format nlz alone"};
  }
  return options;
}

Result<void> may_redact(const PackOptions& pack, const std::string& against) {
  if (!pack.sources.empty())
    return Error{ErrorCode::kBadInput, "--redact does not go with --sources: profiles tell everything"};
  if (!against.empty()) return Error{ErrorCode::kBadInput, "--redact does not go with --against"};
  return {};
}

/// Both runs on one engine, so that its memory is needed once.
Result<exports::ExportReport> write_difference(const Context& context, const NamedRun& before,
                                               const NamedRun& after, const std::string& window,
                                               const Write& write) {
  NL_TRY(auto stretches_before, stretches_of(before, window));
  NL_TRY(auto stretches_after, stretches_of(after, window));
  NL_TRY(const FolderAside temp, make_private_folder(*context.environment, PrivateUse::kFiles));
  const auto engine = export_engine(temp);
  NL_TRY(const auto open_before, open_derived(before, engine));
  NL_TRY(const auto open_after, open_derived(after, engine));
  return exports::write_stack_difference({*open_before, std::move(stretches_before), write},
                                         {*open_after, std::move(stretches_after), write});
}

Result<Outcome> run(Context& context, const json& parameters) {
  const std::string path = parameters.value("output", "");
  if (path.empty() && !context.bytes) {
    return Error{ErrorCode::kBadInput, "the document does not fit into a JSON answer",
                 "name a file with --output FILE"};
  }
  const std::string format = parameters.value("format", std::string(kDocument));
  const std::string window = parameters.value("window", "");
  const exports::Exporter* exporter = exports::find_exporter(format);
  if (exporter == nullptr && !window.empty())
    return Error{ErrorCode::kBadInput, "--window does not go with the format " + format};
  NL_TRY(const PackOptions pack, pack_options(parameters));
  const std::string against = parameters.value("against", "");
  if (!against.empty() && format != "collapsed")
    return Error{ErrorCode::kBadInput, "--against does not go with the format " + format,
                 "the difference of two runs is written as --format collapsed"};
  NL_TRY(const auto original, resolve_run(context, parameters["run"]));
  std::optional<NamedRun> other;
  if (!against.empty()) {
    NL_TRY(other, resolve_run(context, against));
  }
  Outcome outcome;
  std::optional<RedactedCopy> redacted;
  if (parameters.contains("redact")) {
    NL_CHECK(may_redact(pack, against));
    NL_TRY(auto copy, redacted_copy(context, original, parameters["redact"]));
    redacted.emplace(std::move(copy));
    outcome.data["redaction"] = redacted->told;
  }
  const NamedRun& named = redacted ? redacted->named : original;
  outcome.data["run_id"] = named.run_id;
  outcome.data["format"] = format;
  const auto produce = [&](const Write& write) -> Result<void> {
    if (format == kPacked) {
      NL_TRY(outcome.data["sha256"], pack_run(context, named, pack, write));
      return {};
    }
    if (exporter == nullptr) return write_document(context, named, write);
    NL_TRY(const auto report, other ? write_difference(context, named, *other, window, write)
                                    : write_as(context, *exporter, named, window, write));
    outcome.data["written"] = report.written;
    outcome.data["lost"] = report.lost;
    return {};
  };
  if (path.empty()) {
    NL_CHECK(produce(context.bytes));
    return outcome;
  }
  NL_CHECK(write_to_file(path, parameters.value("force", false), produce));
  outcome.data["path"] = path;
  NL_TRY(outcome.data["bytes"], file_size(path));
  if (format == kPacked) outcome.next.push_back(suggested("show", {{"run", path}}));
  if (format == kDocument)
    outcome.next.push_back(suggested("schema", {{"what", "validate"}, {"target", path}}));
  return outcome;
}

/// E.g. "spans 120, kernels 40".
std::string counts_text(const json& counts) {
  std::string list;
  for (const auto& [what, count] : counts.items())
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", what, count.get<int64_t>());
  return list;
}

std::string redaction_text(const json& told) {
  std::string out = fmt::format("  hidden  {} (texts by field)\n",
                                told["hidden"].empty() ? "nothing" : counts_text(told["hidden"]));
  if (!told["dropped"].empty()) out += fmt::format("  dropped {}\n", counts_text(told["dropped"]));
  return out + fmt::format("  shapes  {}\n", told["shapes"].get<std::string>());
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  if (!data.contains("path")) return "";
  std::string out = fmt::format("{}  written to {}, {}\n", bold(short_id(data["run_id"]), style),
                                data["path"].get<std::string>(), bytes_text(data["bytes"]));
  if (data.contains("written")) out += fmt::format("  rows    {}\n", counts_text(data["written"]));
  if (data.contains("lost") && !data["lost"].empty())
    out += fmt::format("  lost    {} (the format has no room for them)\n", counts_text(data["lost"]));
  if (data.contains("redaction")) out += redaction_text(data["redaction"]);
  if (const auto* exporter = exports::find_exporter(data["format"].get<std::string>()); exporter != nullptr)
    out += fmt::format("  opens   {}\n", exporter->opens_with);
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "export",
      .summary = "Write a run, or a window of it, as one file for import or for another tool",
      .use_when =
          "you want to move a run to another ledger, or see it in Perfetto, a flame graph or a tracing "
          "backend",
      .not_when = "you want some rows of a run: query --format csv, json, parquet or arrow",
      .example = R"({"run": "@latest", "output": "run.json"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = false},
      .stream = Stream::kBytes,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::export_operation
