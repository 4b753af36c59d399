#include "ops/lab/bench_files.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/path_text.h"
#include "base/text.h"
#include "lab/machine/conditions.h"
#include "lab/targets/target_check.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

Error no_bench_file(const std::string& folder) {
  return Error{ErrorCode::kNotFound,
               "no bench.yaml in " + folder,
               "{} writes one",
               {suggested("bench", {{"action", "init"}})}};
}

/// Files that a call without --file means.
std::vector<std::string> files_around(const Context& context) {
  return lab::find_bench_files(context.environment->folder());
}

Result<std::vector<lab::BenchFile>> meant_files(const Context& context, const json& parameters) {
  std::vector<std::string> paths = files_around(context);
  if (parameters.contains("file")) paths = {parameters["file"].get<std::string>()};
  if (paths.empty()) return no_bench_file(context.environment->folder());
  std::vector<lab::BenchFile> files;
  for (const std::string& path : paths) {
    NL_TRY(lab::BenchFile file, lab::read_bench_file(*context.environment, path));
    files.push_back(std::move(file));
  }
  return files;
}

json target_json(const lab::BenchFile& file, const lab::Target& target) {
  json variants = json::array(), expectations = json::array();
  for (const lab::Side& variant : target.variants) variants.push_back(variant.name);
  for (const lab::Expectation& expectation : target.expectations) expectations.push_back(expectation.text);
  return {{"name", target.name},   {"file", file.path},    {"line", target.line},
          {"about", target.about}, {"variants", variants}, {"expectations", expectations},
          {"tags", target.tags}};
}

// ---- init

/// "model_int8.onnx" is a variant of "model.onnx".
struct FoundModel {
  std::string stem;
  std::vector<std::string> variants = {};  ///< their stems
};

std::vector<FoundModel> found_models(const std::string& folder) {
  std::vector<std::string> stems;
  for (const std::string& name : list_folder(folder)) {
    if (name.ends_with(".onnx")) stems.push_back(name.substr(0, name.size() - 5));
  }
  std::sort(stems.begin(), stems.end(),
            [](const auto& a, const auto& b) { return std::pair(a.size(), a) < std::pair(b.size(), b); });
  std::vector<FoundModel> models;
  for (const std::string& stem : stems) {
    const auto whole = std::find_if(models.begin(), models.end(), [&](const FoundModel& model) {
      const size_t size = model.stem.size();
      return stem.starts_with(model.stem) && stem.size() > size + 1 && has_part("_-.", stem.substr(size, 1));
    });
    if (whole == models.end()) {
      models.push_back({stem});
    } else {
      whole->variants.push_back(stem);
    }
  }
  return models;
}

/// In double quotes, for YAML.
std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

bool is_plain_name(const std::string& text) {
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  }) && std::isalnum(static_cast<unsigned char>(text[0])) != 0;
}

std::string target_yaml(const FoundModel& model) {
  const std::string file = quoted(model.stem + ".onnx");
  std::string out =
      fmt::format("  - name: {}\n    seed: 1\n    baseline: {{model: {}, threads: 1}}\n    variants:\n",
                  model.stem, file);
  for (const std::string& variant : model.variants) {
    out += fmt::format("      {}: {{model: {}, threads: 1}}\n", variant.substr(model.stem.size() + 1),
                       quoted(variant + ".onnx"));
  }
  if (model.variants.empty()) out += fmt::format("      two_threads: {{model: {}, threads: 2}}\n", file);
  return out + "    expect: [speedup >= 1.05]\n";
}

std::string script_yaml(const std::string& script) {
  const std::string name = script.substr(0, script.rfind('.'));
  const std::string program = script.ends_with(".py") ? "python3" : "sh";
  return fmt::format(
      "  - name: {0}\n    seed: 1\n    baseline: {{command: [{1}, {2}]}}\n    variants:\n"
      "      changed: {{command: [{1}, {2}]}}  # what is different?\n    expect: [speedup >= 1.05]\n",
      name, program, quoted(script));
}

constexpr char kHead[] =
    "# What is claimed to be faster, and what shows it. neurolens bench schema prints all that may stand "
    "here.\n"
    "# Say how results are checked: a variant whose results are wrong is not timed.\n"
    "#   check: [python3, same.py, \"{baseline}\", \"{variant}\"]\n"
    "targets:\n";

}  // namespace

Result<lab::BenchFile> given_bench_file(const Context& context, const json& parameters) {
  if (parameters.contains("file"))
    return lab::read_bench_file(*context.environment, parameters["file"].get<std::string>());
  const auto files = files_around(context);
  if (files.size() == 1) return lab::read_bench_file(*context.environment, files.front());
  if (files.empty()) return no_bench_file(context.environment->folder());
  return Error{ErrorCode::kBadInput, fmt::format("there are {} bench files here", files.size()),
               fmt::format("choose one with --file: {}", fmt::join(files, ", "))};
}

Result<Outcome> list_targets(Context& context, const json& parameters) {
  NL_TRY(const auto files, meant_files(context, parameters));
  Outcome outcome;
  outcome.data["targets"] = json::array();
  for (const lab::BenchFile& file : files) {
    for (const lab::Target& target : file.targets)
      outcome.data["targets"].push_back(target_json(file, target));
  }
  outcome.next = {suggested("bench", {{"action", "check"}})};
  return outcome;
}

Result<Outcome> check_bench_files(Context& context, const json& parameters) {
  NL_TRY(const auto files, meant_files(context, parameters));
  Outcome outcome;
  outcome.data["faults"] = json::array();
  for (const lab::TargetFault& fault : lab::check_targets(files, *context.environment)) {
    outcome.data["faults"].push_back({{"file", fault.file},
                                      {"line", fault.line},
                                      {"target", fault.target},
                                      {"what", fault.what},
                                      {"severity", fault.is_error ? "error" : "warning"}});
    if (fault.is_error) outcome.exit_code = 1;
  }
  const auto fitness = lab::judge_machine(*context.environment, files.front().allowed);
  outcome.data["environment"] = to_json_tree(fitness);
  outcome.shown = {{"sentence", fitness.sentence()}};
  if (outcome.exit_code == 0) outcome.next = {suggested("bench", {{"action", "run"}})};
  return outcome;
}

Result<Outcome> init_bench_file(Context& context, const json& parameters) {
  const std::string folder = context.environment->folder();
  const std::string path = context.environment->absolute(parameters.value("file", "bench.yaml"));
  if (path_exists(path))
    return Error{ErrorCode::kConflict,
                 "this file is there already: " + path,
                 "{} says what is wrong with it",
                 {suggested("bench", {{"action", "check"}})}};
  std::string text = kHead;
  int64_t found = 0;
  for (const FoundModel& model : found_models(folder)) {
    if (!is_plain_name(model.stem)) continue;
    text += target_yaml(model);
    found++;
  }
  for (const std::string& name : list_folder(folder)) {
    const bool is_script = name.starts_with("bench") && (name.ends_with(".py") || name.ends_with(".sh"));
    if (!is_script || !is_plain_name(name)) continue;
    text += script_yaml(name);
    found++;
  }
  if (found == 0)
    text +=
        "  - name: example\n    seed: 1\n    baseline: {command: [sleep, \"0.11\"]}\n    variants:\n"
        "      faster: {command: [sleep, \"0.1\"]}\n    expect: [speedup >= 1.05]\n";
  NL_CHECK(write_file_durably(path, text));
  Outcome outcome;
  outcome.data = {{"file", path}, {"found", found}};
  outcome.next = {suggested("bench", {{"action", "check"}}), suggested("bench", {{"action", "run"}})};
  return outcome;
}

std::string bench_files_text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  if (data.contains("found"))
    return fmt::format("{}: {}\n", data["file"].get<std::string>(),
                       data["found"] == 0 ? "an example, since no model or script was found here"
                                          : counted(data["found"].get<int64_t>(), "target"));
  using enum TextTable::Align;
  if (data.contains("targets")) {
    TextTable table({kLeft, kLeft, kLeft, kLeft});
    table.add({"target", "variants", "expected", "file"});
    const auto joined = [](const json& list) {
      return fmt::format("{}", fmt::join(list.get<std::vector<std::string>>(), ", "));
    };
    for (const json& target : data["targets"])
      table.add(
          {target["name"], joined(target["variants"]), joined(target["expectations"]),
           base_name(target["file"].get<std::string>()) + ":" + std::to_string(target["line"].get<int>())});
    return table.text("", true, style);
  }
  std::string out;
  for (const json& fault : data["faults"]) {
    const std::string name = fault["target"];
    out += fmt::format("{}:{}: {}: {}{}\n", fault["file"].get<std::string>(), fault["line"].get<int>(),
                       fault["severity"].get<std::string>(), name.empty() ? "" : name + ": ",
                       fault["what"].get<std::string>());
  }
  if (data["faults"].empty()) out += "The files are in order.\n";
  out += "environment: " + outcome.shown["sentence"].get<std::string>() + "\n";
  for (const json& check : data["environment"]["checks"]) {
    if (check["state"] == "fit") continue;
    out += fmt::format(
        "  {:10} {:8} {}{}\n", check["id"].get<std::string>(), check["state"].get<std::string>(),
        check["what"].get<std::string>(),
        check["allowed_because"] == "" ? "" : " (" + check["allowed_because"].get<std::string>() + ")");
  }
  return out;
}

}  // namespace nl::ops
