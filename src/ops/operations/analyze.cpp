#include <fmt/core.h>

#include "analyze/run_analysis.h"
#include "assemble/assemble.h"
#include "ops/run_names.h"
#include "ops/text.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, tag, @latest, @baseline:NAME, bundle folder or profile"},
    "window": {"type": "string", "default": "whole",
               "description": "whole, step:N (from 0), prefill, decode, decode_step, or the name of an annotation"},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10, "description": "rows of each table"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "required": ["run_id", "window", "limiter", "devices", "steps", "top_kernels", "top_ops", "coverage", "findings"]})";

Result<Outcome> run(Context& context, const json& parameters) {
  store::EngineStart engine(analyze::timeline_engine());
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_CHECK(assemble::ensure_derived(named.bundle));
  NL_TRY(const auto document, store::read_run_document(named.bundle + "/run.json"));
  analyze::AnalysisOptions options;
  options.window = parameters.value("window", "whole");
  options.top = parameters.value("top", 10);
  Outcome outcome;
  NL_TRY(outcome.data, analyze::analyze_run(engine, named.bundle, document, options));
  outcome.data["run_id"] = named.run_id;
  const std::string id = short_id(named.run_id);
  if (outcome.data["steps"]["count"] != 0 && options.window == "whole")
    outcome.next.push_back(fmt::format("neurolens analyze {} --window step:0", id));
  outcome.next.push_back(fmt::format("neurolens show {}", id));
  return outcome;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

double part(const json& ns, const json& whole) {
  return whole == 0 ? 0 : ns.get<double>() / whole.get<double>();
}

std::string device_title(const json& device) {
  std::string title = device["kind"] == "host"
                          ? "host"
                          : "device " + (device["device"].is_null() ? "?" : device["device"].dump());
  if (device["kind"] != "host" && !device["name"].is_null())
    title += "  " + device["name"].get<std::string>();
  if (!device["rank"].is_null()) title += fmt::format(", rank {}", device["rank"].get<int64_t>());
  return title;
}

/// One bar of the whole window: each part with its own sign.
std::string decomposition_bar(const json& device, size_t width) {
  static constexpr std::pair<const char*, const char*> kParts[] = {
      {"compute_ns", "█"}, {"exposed_comm_ns", "▓"}, {"exposed_copy_ns", "▒"}, {"idle_ns", "·"}};
  std::string bar;
  double done = 0;
  size_t drawn = 0;
  for (const auto& [key, sign] : kParts) {
    done += part(device[key], device["window_ns"]);
    for (; drawn < static_cast<size_t>(done * static_cast<double>(width) + 0.5) && drawn < width; drawn++)
      bar += sign;
  }
  return bar;
}

std::string device_text(const json& device, const TextStyle& style) {
  std::string out = "  " + bold(device_title(device), style) + "\n";
  out += "  " + decomposition_bar(device, static_cast<size_t>(std::clamp(style.width - 4, 20, 100))) + "\n";
  const auto figure = [&](const char* sign, const char* name, const char* key) {
    return fmt::format("{} {} {} {}", sign, name, percent(part(device[key], device["window_ns"])),
                       dim(duration_text(device[key]), style));
  };
  out += "  " + figure("█", device["kind"] == "host" ? "ops" : "compute", "compute_ns") + "   " +
         figure("▓", "exposed comm", "exposed_comm_ns") + "   " +
         figure("▒", "exposed copy", "exposed_copy_ns") + "   " + figure("·", "idle", "idle_ns") + "\n";
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  std::string out =
      fmt::format("{}  window {}, {}\n", bold("run " + short_id(data["run_id"]), style),
                  data["window"]["name"].get<std::string>(), duration_text(data["window"]["total_ns"]));
  if (!data["limiter"].is_null()) {
    out +=
        fmt::format("  {}  {} {}: {}\n", bold("limiter", style), percent(data["limiter"]["share"]),
                    data["limiter"]["what"].get<std::string>(), data["limiter"]["words"].get<std::string>());
  }
  for (const json& device : data["devices"]) out += device_text(device, style);
  return out;
}

}  // namespace

const Operation& operation_analyze() {
  static constexpr Operation kOperation{
      "analyze",
      "Say where the time of a run went, as a sum that closes",
      "you want to know what limits a run: compute, communication, copies or idle time, and why",
      "you only want to know what a run is: show; you need other columns: query",
      "neurolens analyze @latest",
      kParameters,
      kResult,
      Effect::kRead,
      {.cli = true, .http = true, .mcp = true},
      Stream::kNone,
      run,
      text};
  return kOperation;
}

}  // namespace nl::ops
