#include "ops/lab/bench_tools.h"

#include <fmt/core.h>

#include "base/json.h"
#include "base/private_folder.h"
#include "capture/document.h"
#include "lab/machine/conditions.h"
#include "lab/machine/machine_lock.h"
#include "ops/lab/bench_bisect.h"
#include "ops/lab/bench_files.h"
#include "ops/lab/measure_side.h"
#include "ops/text/text.h"
#include "stats/noise_floor.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// The only one of the file, or the one that is named; it has a baseline.
Result<const lab::Target*> one_target(const lab::BenchFile& file, const json& parameters) {
  const auto names = parameters.value("target", std::vector<std::string>());
  if (names.size() > 1 || (names.empty() && file.targets.size() != 1))
    return Error{ErrorCode::kBadInput,
                 "which target? name one",
                 "{} lists them",
                 {suggested("bench", {{"action", "list"}})}};
  for (const lab::Target& target : file.targets) {
    if (!names.empty() && target.name != names[0]) continue;
    if (target.baseline) return &target;
    return Error{ErrorCode::kBadInput, "this target has no baseline: " + target.name};
  }
  return Error{ErrorCode::kNotFound,
               "no such target: " + names[0],
               "{} lists them",
               {suggested("bench", {{"action", "list"}})}};
}

Result<lab::MachineLock> whole_machine(const Context& context, const lab::Target& target, const char* what,
                                       const json& parameters) {
  return lab::MachineLock::take(*context.environment, target.device, lab::Use::kAlone, what + target.name,
                                std::chrono::seconds(parameters["wait"].get<int64_t>()));
}

json floor_json(const stats::NoiseFloor& floor, const lab::Fitness& fitness, const std::string& target,
                int64_t disturbed) {
  return {{"target", target},
          {"noise", to_json_tree(floor)},
          {"disturbed_runs", disturbed},
          {"environment", to_json_tree(fitness)}};
}

}  // namespace

Result<Outcome> bisect_target(Context& context, const json& parameters) {
  NL_TRY(const lab::BenchFile file, given_bench_file(context, parameters));
  NL_TRY(const lab::Target* const target, one_target(file, parameters));
  if (target->baseline->kind != lab::SideKind::kCommand)
    return Error{ErrorCode::kBadInput, "only a command can be bisected: " + target->name};
  json search = {{"command", target->baseline->command},
                 {"repository", file.folder},
                 {"seed", target->seed_or_default()},
                 {"run_seconds", target->time_limit_seconds}};
  if (!target->printed.empty()) search["printed"] = target->printed;
  for (const char* const key : {"good", "bad", "build", "values"}) {
    if (parameters.contains(key)) search[key] = parameters[key];
  }
  if (parameters.contains("points")) search["list"] = parameters["points"];
  NL_TRY(const auto lock, whole_machine(context, *target, "bisect ", parameters));
  return bench_bisect(context, search);
}

Result<Outcome> audit_machine(Context& context, const json& parameters) {
  NL_TRY(const lab::BenchFile file, given_bench_file(context, parameters));
  NL_TRY(const lab::Target* const target, one_target(file, parameters));
  const lab::Fitness fitness = lab::judge_machine(*context.environment, file.allowed);
  NL_TRY(const auto lock, whole_machine(context, *target, "audit ", parameters));
  NL_TRY(const FolderAside folder, make_private_folder(*context.environment, PrivateUse::kFiles));
  const int64_t wanted = parameters["pairs"];
  std::vector<stats::SamePair> pairs;
  int64_t disturbed = 0;
  for (int64_t i = -target->warm_up; i < 2 * wanted; i++) {
    const RunFolders folders{folder.path() + "/run", folder.path() + "/output"};
    remove_tree(folders.artifacts);
    NL_TRY(const auto sample, measure_side(context, *target, *target->baseline, folders, json::object()));
    if (i < 0) continue;
    disturbed += sample.conditions.marks.empty() ? 0 : 1;
    const auto value = static_cast<double>(sample.value_ns);
    if (i % 2 == 0) {
      pairs.push_back({value, 0});
    } else {
      pairs.back().second = value;
    }
    context.progress({fmt::format("{} of {} runs", i + 1, 2 * wanted),
                      static_cast<double>(i + 1) / static_cast<double>(2 * wanted)});
  }
  NL_TRY(const auto floor, stats::noise_floor(pairs));
  Outcome outcome;
  outcome.data = floor_json(floor, fitness, target->name, disturbed);
  return outcome;
}

std::string audit_text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  const json& noise = data["noise"];
  const auto percent = [](const json& value) {
    return value.is_null() ? "-" : fmt::format("{:.2f} %", 100 * value.get<double>());
  };
  std::string out =
      fmt::format("{}: {} of runs of the same thing spread by {} (most of them by {}), {}.\n",
                  bold(data["target"].get<std::string>(), style),
                  counted(noise["pairs"].get<int64_t>(), "pair"), percent(noise["spread"]),
                  percent(noise["typical_spread"]), counted(noise["outliers"].get<int64_t>(), "outlier"));
  if (noise["drift"] != "none")
    out += fmt::format("Runs become {} while they are measured.\n", noise["drift"].get<std::string>());
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight});
  table.add({"runs a side", "noise floor", "found in 4 of 5 cases"});
  for (const json& row : noise["by_runs"])
    table.add({grouped(row["runs"].get<int64_t>()), percent(row["floor"]), percent(row["detectable"])});
  out += table.text("  ", true, style);
  for (const json& check : data["environment"]["checks"]) {
    if (check["state"] != "unfit" && check["state"] != "allowed") continue;
    out += wrapped(check["what"].get<std::string>() + ": " + check["advice"].get<std::string>(), "  ",
                   style.width);
  }
  if (data["disturbed_runs"] > 0)
    out += fmt::format("  {} were disturbed.\n", counted(data["disturbed_runs"].get<int64_t>(), "run"));
  return out;
}

}  // namespace nl::ops
