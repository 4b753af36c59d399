#include "ops/capture/profile_run.h"

#include <fmt/core.h>

#include <filesystem>

#include "assemble/assemble.h"
#include "base/files.h"
#include "base/path_text.h"
#include "capture/document.h"
#include "capture/model_passes.h"
#include "capture/tools/pass.h"
#include "ops/import/import_file.h"
#include "ops/runs/iteration_times.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/open_run.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// Why there is no result: what the process said itself, or how it ended.
Error why_it_failed(const std::string& folder, const capture::WorkloadEnd& end) {
  if (end.process.cut_short) {
    Error why = *end.process.cut_short;
    why.message = "the model was stopped: " + why.message;
    if (why.message.find("did not end") != std::string::npos) why.hint = "--time-limit gives it more time";
    return why;
  }
  auto passes = capture::read_passes(folder);
  if (!passes && path_exists(folder + "/error.json")) return passes.error();
  const std::string said = capture::last_words(folder);
  const std::string how = end.process.signal != 0 ? fmt::format("signal {}", end.process.signal)
                                                  : fmt::format("exit code {}", end.process.exit_code);
  return Error{ErrorCode::kUnavailable,
               fmt::format("the model's process ended with {}{}{}", how, said.empty() ? "" : ": ", said)};
}

// ---- Figures

Result<json> one_row(store::Connection& connection, const std::string& sql) {
  constexpr const char* kNames[] = {"runs", "run_ns", "node_ns", "nodes"};
  json row = json::object();
  NL_CHECK(connection.stream(sql, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < std::size(kNames) && chunk.size() > 0; i++)
      row[kNames[i]] = chunk.is_null(i, 0) ? json(nullptr) : json(chunk.int64s(i)[0]);
    return {};
  }));
  return row;
}

/// By the profiler: its own events around a run and for each node. Layers that are only summed up have no
/// time of a run around them.
Result<json> node_times(store::OpenRun& run) {
  if (run.has("layer_times")) {
    NL_TRY(store::Connection * views, run.ask({"layer_times"}));
    return one_row(*views,
                   "SELECT coalesce(max(iterations), 0), NULL::BIGINT, sum(total_ns)::BIGINT, "
                   "coalesce(sum(iterations), 0)::BIGINT FROM layer_times");
  }
  NL_TRY(store::Engine * engine, run.engine());
  NL_TRY(auto connection, engine->connect());
  NL_CHECK(store::create_views(connection, run.files(), true, {"spans"}));
  return one_row(connection,
                 "WITH op AS (SELECT span_id, op_id, parent_id, dur_ns FROM spans WHERE kind = 'op'), "
                 "outer_op AS (SELECT op.* FROM op LEFT JOIN spans around ON around.span_id = op.parent_id "
                 "WHERE around.op_id IS NULL), "
                 "run AS (SELECT dur_ns FROM spans WHERE name = 'model_run' AND kind = 'annotation') "
                 "SELECT (SELECT count(*) FROM run), (SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM run), "
                 "(SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM outer_op), (SELECT count(*) FROM outer_op)");
}

/// `times` for the text, and both in JSON.
Result<json> figures_of(const std::string& bundle, std::optional<IterationTimes>& times) {
  NL_TRY(const auto open, store::OpenRun::open(store::place_in_ledger(bundle)));
  NL_TRY(times, iteration_times(*open));
  json nodes = {{"runs", 0}, {"run_ns", 0}, {"node_ns", 0}, {"nodes", 0}};
  if (open->has("spans") || open->has("layer_times")) {
    NL_TRY(nodes, node_times(*open));
  }
  return json{{"times", to_json_tree(times)}, {"nodes", std::move(nodes)}};
}

std::vector<SuggestedCall> next_calls(const json& data) {
  const std::string run = short_id(data["run_id"]);
  const bool has_runs = data["nodes"]["runs"] > 0 && !data["nodes"]["run_ns"].is_null();
  return {has_runs ? suggested("analyze", {{"run", run}}) : suggested("show", {{"run", run}}),
          suggested("view", {{"runs", json::array({run})}})};
}

// ---- Text

std::string product_name(const std::string& library) {
  for (const auto& [name, product] :
       {std::pair{"onnxruntime", "ONNX Runtime"}, std::pair{"torch", "PyTorch"},
        std::pair{"openvino", "OpenVINO"}, std::pair{"tensorflow", "TensorFlow"},
        std::pair{"tensorrt", "TensorRT"}, std::pair{"python", "Python"}}) {
    if (library == name) return product;
  }
  return library;
}

std::string node_text(const json& nodes) {
  const int64_t runs = nodes["runs"];
  if (runs == 0 || nodes["node_ns"].is_null()) return {};
  const int64_t node_ns = nodes["node_ns"];
  std::string text =
      fmt::format("{} a run, {} in all by the profiler", grouped(nodes["nodes"].get<int64_t>() / runs),
                  duration_text(node_ns / runs));
  if (nodes["run_ns"].is_null() || nodes["run_ns"] == 0) return text;
  const int64_t run_ns = nodes["run_ns"];
  return text + fmt::format(", {} of its {}",
                            percent_text(static_cast<double>(node_ns) / static_cast<double>(run_ns)),
                            duration_text(run_ns / runs));
}

std::string input_text(const json& input) {
  std::string shape;
  for (const json& n : input["shape"]) shape += (shape.empty() ? "" : "x") + std::to_string(n.get<int64_t>());
  return fmt::format("{}: {} {}, {}", input["name"].get<std::string>(), input["type"].get<std::string>(),
                     shape.empty() ? "scalar" : shape, input["origin"].get<std::string>());
}

}  // namespace

Result<capture::WorkloadEnd> run_measuring(const Context& context, const std::vector<std::string>& command,
                                           const std::string& folder, int64_t seconds) {
  capture::WorkloadOptions options;
  options.command = command;
  options.surroundings = context.environment;
  options.ends_with_us = true;
  options.artifacts = folder;
  options.time_limit = std::chrono::seconds(seconds);
  options.watch = [&context]() -> Result<void> {
    if (context.cancelled()) return cancelled_error();
    return {};
  };
  NL_TRY(auto end, capture::run_workload(options));
  if (end.process.exit_code != 0 || end.process.cut_short) return why_it_failed(folder, end);
  return end;
}

Result<Outcome> keep_profile(Context& context, store::Ledger& ledger, const std::string& folder,
                             const MeasuredProfile& measured) {
  json document =
      capture::describe_capture(*context.environment, context.command, context.environment->folder());
  document.update(measured.document);
  NL_CHECK(write_file_durably(folder + "/capture.json", capture::document_text(document)));
  remove_tree(folder + "/passes.json");
  std::vector<std::string> sources = {folder + "/capture.json"};
  for (const std::string& profile : measured.profiles) sources.push_back(folder + "/" + profile);
  ImportOptions options;
  options.as_one = true;
  options.artifacts = folder;
  NL_TRY(const auto report, import_files(context, ledger, sources, options));
  const std::string bundle = ledger.run_folder(report.run_id);
  Outcome outcome;
  std::optional<IterationTimes> times;
  NL_TRY(outcome.data, figures_of(bundle, times));
  outcome.answer = std::move(times);
  outcome.data.update({{"run_id", report.run_id},
                       {"library", measured.library},
                       {"inputs", measured.inputs},
                       {"memory", measured.memory},
                       {"artifacts", bundle + "/artifacts"}});
  outcome.warnings = measured.warnings;
  outcome.shown = {{"model", measured.model}, {"threads", measured.threads}};
  outcome.next = next_calls(outcome.data);
  return outcome;
}

Result<std::string> whole_path(const Environment& surroundings, const std::string& path) {
  if (!path_exists(path)) return Error{ErrorCode::kNotFound, "no such file: " + path};
  return surroundings.absolute(path);
}

std::string profile_text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  const json& library = data["library"];
  const int threads = outcome.shown["threads"];
  std::string out = fmt::format("{}  {} on {} {}, {}{}\n", bold(short_id(data["run_id"]), style),
                                outcome.shown["model"].get<std::string>(), product_name(library["name"]),
                                library["version"].get<std::string>(), library["provider"].get<std::string>(),
                                threads > 0 ? ", " + counted(threads, "thread") : "");
  const auto add = [&](const char* label, const std::string& line) {
    if (!line.empty()) out += fmt::format("  {}  {}\n", dim(label, style), line);
  };
  out += iteration_text(answer_of<std::optional<IterationTimes>>(outcome), style);
  add("nodes   ", node_text(data["nodes"]));
  if (!data["memory"]["peak_bytes"].is_null())
    add("memory  ", bytes_text(data["memory"]["peak_bytes"]) + " at most");
  for (const json& input : data["inputs"]) add("input   ", input_text(input));
  return out;
}

}  // namespace nl::ops
