#include <fmt/core.h>

#include <cmath>

#include "ops/runs/iteration_times.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/page_calls.h"
#include "ops/runs/recorded_times.h"
#include "ops/runs/run_sets.h"
#include "ops/runs/run_state.h"
#include "ops/text/text.h"
#include "report/head_labels.h"
#include "store/ledger.h"
#include "store/run_document.h"
#include "store/run_summary.h"

namespace nl::ops::show_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "top": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1000, "default": 5, "description": "rows in the top list"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "required": ["run_id", "format", "backend", "hardware", "software", "counts", "health", "window", "devices", "kernels",
               "ops", "layers", "top_of", "top", "tables", "bundle_bytes", "labels", "past_labels", "tags",
               "notes", "baselines", "files"]})";

constexpr int64_t kNameBytes = 160;  // some names of kernels have thousands, and then no row would be left

/// What a run is stays longest.
constexpr Cut kCuts[] = {
    {"/tables"},
    {"/clock"},
    {"/past_labels"},
    {"/hardware/devices", 1},
    {"/recorded_times"},
    {"/top/*/name", kNameBytes},
    {"/top", 3},
    {"/iterations"},
    {"/sources", 1},
    {"/hardware/hosts", 1},
    {"/hardware/ranks", 1},
    {"/notes", 1},
    {"/devices", 1},
    {"/top", 1},
    {"/labels"},
    {"/notes"},
    {"/baselines"},
    {"/tags"},
    {"/hardware/hosts"},
    {"/hardware/ranks"},
    {"/hardware/devices"},
    {"/top"},
    {"/devices"},
    {"/sources"},
};

/// What the text shows of times besides `data`.
struct ShownTimes {
  std::optional<IterationTimes> iterations;
  std::optional<analyze::RecordedTimes> recorded;
};

std::string next_query(const json& data, const ShownTimes& times) {
  const std::string top_of = data["top_of"];
  const bool is_sampled = times.recorded && !times.recorded->functions.empty();
  if (data["top"].empty() && is_sampled)
    return "SELECT stack, sum(weight) AS total_ns FROM samples GROUP BY stack ORDER BY total_ns DESC LIMIT "
           "20";
  if (top_of == "layers") return "SELECT name, op_type, calls, dur_ns FROM ops ORDER BY dur_ns DESC LIMIT 20";
  return fmt::format(
      "SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns FROM {} GROUP BY name ORDER BY total_ns DESC "
      "LIMIT 20",
      top_of);
}

/// Labels, tags and notes; a bundle elsewhere has only what its source says.
Result<json> state_of(const Context& context, const NamedRun& named, const json& document) {
  if (!is_in_ledger(context, named)) return state_json_elsewhere(named, document);
  NL_TRY(const auto ledger, ledger_of(context, named));
  return run_state_json(*ledger, named, document);
}

/// Names of the profiles; those of a bundle elsewhere are not known here.
Result<json> files_of(const Context& context, const NamedRun& named, const json& document) {
  if (!is_in_ledger(context, named)) return json::array();
  NL_TRY(const auto ledger, ledger_of(context, named));
  NL_TRY(const auto files, files_of_run(*ledger, named.run_id, document));
  return json(files);
}

Result<Outcome> run(Context& context, const json& parameters) {
  const auto engine = store::EngineStart::leased(store::reading_engine());
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto open, open_derived(named, engine));
  const json& document = open->document();
  NL_TRY(json data, store::summarize_run(*open, parameters["top"]));
  ShownTimes times;
  NL_TRY(times.iterations, iteration_times(*open));
  NL_TRY(times.recorded, recorded_times(*open, parameters["top"]));
  data["iterations"] = to_json_tree(times.iterations);
  data["recorded_times"] = to_json_tree(times.recorded);
  data["run_id"] = named.run_id;
  data["format"] = document["sources"][0]["format"];
  data["backend"] = document["software"]["backend"];
  data["sources"] = document["sources"];
  data["hardware"] = document["hardware"];
  data["software"] = document["software"];
  data["counts"] = document["capture"]["counts"];
  data["health"] = document["capture"]["health"];
  data["flags"] = document["capture"]["flags"];
  data["steps"] = document["windows"]["seen"];
  data["clock"] = document["clocks"][0];
  data["tables"] = document["tables"];
  if (const auto& slice = open->files().slice) {
    data["slice_of"] = document["options"]["slice_of"];
    data["window"] = {{"start_ns", slice->first}, {"dur_ns", slice->second - slice->first}};
  }
  NL_TRY(const json state, state_of(context, named, document));
  data.update(state);
  NL_TRY(data["files"], files_of(context, named, document));
  int64_t bytes = 0;
  for (const auto& table : document["tables"]) bytes += table["bytes"].get<int64_t>();
  data["bundle_bytes"] = bytes;
  Outcome outcome;
  outcome.data = std::move(data);
  const std::string id = named.call_name();
  outcome.next.push_back(suggested("query", {{"run", id}, {"sql", next_query(outcome.data, times)}}));
  outcome.next.push_back(suggested("verify", {{"run", id}}));
  suggest_pages(outcome, named);
  outcome.answer = std::move(times);
  return outcome;
}

/// What cannot be told is said so.
std::string known_duration(const json& ns) {
  return ns.is_null() ? "unknown" : duration_text(ns);
}

std::string device_name(const json& hardware, int64_t number) {
  for (const auto& device : hardware["devices"]) {
    if (device["device"] == number) return device.value("name", "");
  }
  return "";
}

std::string versions_text(const json& software) {
  std::string out;
  for (const auto& [key, value] : software["versions"].items()) {
    std::string name = key;
    if (const size_t at = name.rfind("_version"); at != std::string::npos) name.erase(at);
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, value.get<std::string>());
  }
  return out;
}

/// Without records of device work: devices that the source names, if any.
std::string idle_devices_text(const json& hardware, const TextStyle& style) {
  std::string names;
  for (const auto& device : hardware["devices"]) {
    if (device.contains("name")) names += (names.empty() ? "" : ", ") + device["name"].get<std::string>();
  }
  return fmt::format("  {}  {}\n", dim("devices ", style),
                     names.empty() ? "no device work was recorded" : names);
}

constexpr std::string_view kBelow = "            ";  // "  device    "

/// The model and the file, where they are known.
std::string names_text(const json& data) {
  std::string model;
  for (const json& label : data["labels"]) {
    if (label["key"] == "model") model = label["value"];
  }
  return report::head_words(model, data["files"].get<std::vector<std::string>>());
}

std::string devices_text(const json& data, const TextStyle& style) {
  if (data["devices"].empty()) return idle_devices_text(data["hardware"], style);
  std::string out;
  for (const auto& d : data["devices"]) {
    const std::string number = d["device"].is_null() ? "?" : std::to_string(d["device"].get<int64_t>());
    const std::string name = d["device"].is_null() ? "" : device_name(data["hardware"], d["device"]);
    const std::string kernels = fmt::format("{}  {} {}: {}, {}", dim("device  ", style), number,
                                            name.empty() ? "(no name in the source)" : name,
                                            counted(d["kernels"], "kernel"), known_duration(d["kernel_ns"]));
    const std::string copies =
        fmt::format("{}, {}, {}", counted(d["copies"], "copy", "copies"), known_duration(d["copy_ns"]),
                    d["copy_bytes"].is_null() ? "unknown" : bytes_text(d["copy_bytes"]));
    out += "  " + listed({kernels, copies}, "; ", kBelow, style) + "\n";
  }
  return out;
}

std::string records_text(const json& data, const TextStyle& style) {
  const auto& counts = data["counts"];
  const int64_t folded = store::sum_of_counts(counts["folded"]);
  std::string out = fmt::format("  {}  {} seen = {} stored + {} folded", dim("records ", style),
                                grouped(counts["seen"]), grouped(counts["stored"]), grouped(folded));
  if (counts["dropped"].empty()) out += " + 0 dropped";
  for (const auto& [reason, n] : counts["dropped"].items()) {
    out += yellow(fmt::format(" + {} dropped ({})", grouped(n.get<int64_t>()), reason), style);
  }
  out += "\n";
  for (const auto& [what, n] : data["health"].items()) {
    out += fmt::format("  {}  {}\n", dim("fault   ", style),
                       yellow(fmt::format("{}: {}", what, grouped(n)), style));
  }
  return out;
}

std::string share_text(const json& share) {
  return share.is_null() ? "-" : percent_text(share);
}

std::string top_text(const json& data, const TextStyle& style) {
  if (data["top"].empty()) return "";
  const std::string of = data["top_of"];
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kLeft, kLeft});
  table.add({"share", "total", "calls", "",
             of == "kernels"  ? "kernel"
             : of == "layers" ? "layer"
                              : "op (own time)"});
  const size_t name_width = style.width > 70 ? static_cast<size_t>(style.width) - 52 : 20;
  for (const auto& row : data["top"]) {
    const double share = row["share"].is_null() ? 0 : row["share"].get<double>();
    table.add({share_text(row["share"]), known_duration(row["total_ns"]), grouped(row["calls"]),
               bar(share, 12),
               shortened(row["name"].is_null() ? "(no name)" : row["name"].get<std::string>(), name_width)});
  }
  const std::string what = of == "kernels"  ? "Top kernels, share of the sum of kernel times"
                           : of == "layers" ? "Top layers, share of the sum of layer times"
                                            : "Top ops, share of the sum of the ops' own times";
  return "\n" + bold(what, style) + "\n" + table.text("  ", true, style);
}

std::string layers_text(const json& layers, const TextStyle& style) {
  if (layers["count"] == 0) return "";
  std::string out = fmt::format("  {}  {}", dim("layers  ", style), grouped(layers["count"]));
  if (layers["timed"] != 0) {
    const bool known = !layers["iterations"].is_null();
    out += fmt::format(
        ", {} with a time, {} in {}", grouped(layers["timed"]), known_duration(layers["total_ns"]),
        known ? counted(layers["iterations"], "iteration") : "an unknown number of iterations");
  }
  return out + "\n";
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& data = outcome.data;
  const auto& times = answer_of<ShownTimes>(outcome);
  const auto& sources = data["sources"];
  const std::string what =
      sources.size() == 1 ? sources[0]["role"].get<std::string>() : fmt::format("files ({})", sources.size());
  std::string out = fmt::format("{}  {} {} of {}\n", bold("run " + short_id(data["run_id"]), style),
                                data["format"].get<std::string>(), what, data["backend"].get<std::string>());
  const std::string names = names_text(data);
  if (!names.empty())
    out += fmt::format("  {}  {}\n", dim("of      ", style), behind_column(names, kBelow.size(), style));
  if (data.contains("slice_of"))
    out += fmt::format("  {}  a part of run {}\n", dim("slice   ", style), short_id(data["slice_of"]));
  const std::string versions = versions_text(data["software"]);
  out += run_state_text(data, style);
  if (!versions.empty()) out += fmt::format("  {}  {}\n", dim("software", style), versions);
  for (const auto& rank : data["hardware"]["ranks"]) {
    out += fmt::format(
        "  {}  {}{}\n", dim("rank    ", style), rank["rank"].get<int64_t>(),
        rank.contains("world_size") ? fmt::format(" of {}", rank["world_size"].get<int64_t>()) : "");
  }
  out += devices_text(data, style);
  if (!data["window"]["dur_ns"].is_null()) {
    const int64_t steps = data["steps"];
    out += fmt::format("  {}  {}{}\n", dim("window  ", style), duration_text(data["window"]["dur_ns"]),
                       steps > 0 ? " with " + counted(steps, "step") : "");
  }
  out += iteration_text(times.iterations, style);
  const auto& kernels = data["kernels"];
  if (kernels["count"] != 0) {
    const std::string all =
        fmt::format("{}  {} of {}, {} in all", dim("kernels ", style), grouped(kernels["count"]),
                    counted(kernels["names"], "name"), known_duration(kernels["total_ns"]));
    const std::string linked = fmt::format("{} with their launch, {} inside an op",
                                           grouped(kernels["linked"]), grouped(kernels["in_ops"]));
    out += "  " + listed({all, linked}, "; ", kBelow, style) + "\n";
  }
  if (data["ops"]["count"] != 0) {
    out += fmt::format("  {}  {} of {}\n", dim("ops     ", style), grouped(data["ops"]["count"]),
                       counted(data["ops"]["names"], "name"));
  }
  out += layers_text(data["layers"], style);
  return out + records_text(data, style) + top_text(data, style) + recorded_times_text(times.recorded, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "show",
      .summary =
          "What a run is, on one screen: device, hardware, software and framework versions, number of "
          "kernels and events, labels, tags, notes",
      .use_when =
          "you want a short overview, summary or metadata of one run: how, when, on which machine, from "
          "which file, format, profiler or tool it was recorded or imported, how long it is, and whether "
          "records or events were lost or dropped",
      .not_when = "you want to know where its time went: analyze",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cost = Cost::kLight,
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::show_operation
