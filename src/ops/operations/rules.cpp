#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "analyze/rules/finding.h"
#include "analyze/rules/metric_case.h"
#include "analyze/rules/rule_set.h"
#include "base/files.h"
#include "ops/text/text.h"
#include "store/engine_pool.h"

namespace nl::ops::rules_operation {
namespace {

using analyze::Expression;
using analyze::Rule;
using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "action": {"type": "string", "enum": ["list", "show", "check"], "x-positional": 1,
               "description": "list (the default): all rules; show: one rule; check: test rule files"},
    "targets": {"type": "array", "items": {"type": "string"}, "x-positional": 2, "x-host-path": {"action": "check"},
                "description": "show: the id of a rule; check: files that hold one rule each"},
    "rules": {"x-rare": true, "type": "array", "items": {"type": "string"}, "x-host-path": true,
              "description": "folder with your own rules; a rule with the same id replaces the built-in one"},
    "case": {"x-rare": true, "type": "string", "x-host-path": true,
             "description": "check: metrics to evaluate the rules on, as metrics: {id: number}, absent: {id: reason}"}
  }})";

constexpr char kResult[] = R"({
  "type": "object",
  "properties": {
    "rules": {"type": "array", "items": {"type": "object",
      "required": ["id", "version", "title", "confidence", "origin", "condition", "proof"]}},
    "replaced": {"type": "array", "items": {"type": "object", "required": ["id", "origin", "replaces"]}},
    "rule": {"type": "object", "required": ["id", "version", "title", "confidence", "origin", "condition", "proof", "evidence",
                                            "at_stake", "suggestions", "references"]},
    "files": {"type": "array", "items": {"type": "object", "required": ["path", "valid", "faults"],
      "properties": {"faults": {"type": "array", "items": {"type": "object",
                       "required": ["line", "column", "what", "hint", "text"]}},
                     "case": {"enum": ["fires", "silent", "abstains"]},
                     "evaluation": {"type": "object", "required": ["findings", "abstentions"]}}}}}})";

constexpr Cut kCuts[] = {
    {"/rule/references"}, {"/rule/evidence", 1},  {"/rule/suggestions", 1}, {"/replaced"},
    {"/rules"},           {"/files", 0, "valid"}, {"/rule", kKeepAll}};

// ---- What the rules say of themselves

json head_json(const Rule& rule) {
  return {{"id", rule.id},         {"version", rule.version},
          {"title", rule.title},   {"confidence", analyze::confidence_name(rule.confidence)},
          {"origin", rule.origin}, {"condition", rule.condition.text()},
          {"proof", rule.proof}};
}

json evidence_json(const Rule& rule) {
  json list = json::array();
  for (const auto& one : rule.evidence) {
    list.push_back({{"of", one.value.text()}, {"unit", one.value.unit().text()}, {"text", one.text}});
  }
  return list;
}

json suggestions_json(const Rule& rule) {
  json list = json::array();
  for (const auto& one : rule.suggestions) {
    list.push_back({{"suggestion", list.size() + 1},
                    {"text", one.text},
                    {"gain", one.gain ? json(one.gain->text()) : json(nullptr)},
                    {"at_most", one.at_most}});
  }
  return list;
}

json rule_json(const Rule& rule) {
  json out = head_json(rule);
  out["evidence"] = evidence_json(rule);
  out["at_stake"] = rule.at_stake.text();
  out["suggestions"] = suggestions_json(rule);
  out["references"] = rule.references;
  return out;
}

Result<analyze::RuleSet> loaded(store::Connection& connection, const json& parameters) {
  return analyze::load_rules(connection, parameters.value("rules", std::vector<std::string>()));
}

json replaced_json(const analyze::RuleSet& set) {
  json list = json::array();
  for (const auto& one : set.replaced) {
    list.push_back({{"id", one.id}, {"origin", one.origin}, {"replaces", one.replaces}});
  }
  return list;
}

Result<Outcome> list_rules(store::Connection& connection, const json& parameters) {
  NL_TRY(const auto set, loaded(connection, parameters));
  Outcome outcome;
  outcome.data = {{"rules", json::array()}, {"replaced", replaced_json(set)}};
  for (const auto& rule : set.rules) outcome.data["rules"].push_back(head_json(rule));
  outcome.next.push_back(
      suggested("rules", {{"action", "show"}, {"targets", json::array({set.rules.front().id})}}));
  return outcome;
}

SuggestedCall show_one() {
  return suggested("rules", {{"action", "show"}, {"targets", json::array({"ID"})}});
}

Result<Outcome> show_rule(store::Connection& connection, const std::vector<std::string>& targets,
                          const json& parameters) {
  if (targets.size() != 1) {
    return Error{ErrorCode::kBadInput, "show takes the id of one rule", "{}", {show_one()}};
  }
  NL_TRY(const auto set, loaded(connection, parameters));
  const Rule* rule = set.find(targets[0]);
  if (rule == nullptr) {
    return Error{ErrorCode::kNotFound, "there is no rule named: " + targets[0], "{} lists them", {{"rules"}}};
  }
  Outcome outcome;
  outcome.data = {{"rule", rule_json(*rule)}};
  return outcome;
}

// ---- Trying rule files

/// Without what could disturb a terminal.
std::string plain(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 127; }, '?');
  return text;
}

std::string line_of(const std::string& text, int number) {
  size_t begin = 0;
  for (int line = 1; line < number; line++) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    begin++;
  }
  return plain(text.substr(begin, text.find('\n', begin) - begin));
}

json faults_json(const analyze::RuleText& source, const std::vector<analyze::RuleFault>& faults) {
  json list = json::array();
  for (const auto& fault : faults) {
    list.push_back({{"line", fault.line},
                    {"column", fault.column > 0 ? json(fault.column) : json(nullptr)},
                    {"what", fault.what},
                    {"hint", fault.hint},
                    {"text", line_of(source.text, fault.line)}});
  }
  return list;
}

void add_evaluation(json& file, const Rule& rule, const analyze::MetricSet& metrics) {
  const auto evaluation = analyze::evaluate_rules({rule}, metrics);
  file["case"] = !evaluation.findings.empty()     ? "fires"
                 : evaluation.abstentions.empty() ? "silent"
                                                  : "abstains";
  file["evaluation"] = to_json_tree(evaluation);
}

Result<std::optional<analyze::MetricSet>> case_of(const json& parameters) {
  if (!parameters.contains("case")) return std::optional<analyze::MetricSet>();
  NL_TRY(const auto file, analyze::read_rule_file(parameters["case"]));
  NL_TRY(auto metrics, analyze::parse_metric_case(file.text, file.name));
  return std::optional<analyze::MetricSet>(std::move(metrics));
}

Result<Outcome> check_files(store::Connection& connection, const std::vector<std::string>& paths,
                            const json& parameters) {
  if (paths.empty())
    return Error{ErrorCode::kBadInput,
                 "no file to check",
                 "{}",
                 {suggested("rules", {{"action", "check"}, {"targets", json::array({"FILE..."})}})}};
  NL_TRY(const auto metrics, case_of(parameters));
  std::vector<analyze::RuleText> sources;
  for (const auto& path : paths) {
    NL_TRY(auto source, analyze::read_rule_file(path));
    sources.push_back(std::move(source));
  }
  NL_TRY(const auto readings, analyze::read_rules(connection, sources));
  Outcome outcome;
  outcome.data = {{"files", json::array()}};
  for (size_t i = 0; i < sources.size(); i++) {
    const auto& rule = readings[i].rule;
    json file = {{"path", paths[i]},
                 {"valid", rule.has_value()},
                 {"faults", faults_json(sources[i], readings[i].faults)}};
    if (rule) file["rule"] = rule_json(*rule);
    if (rule && metrics) add_evaluation(file, *rule, *metrics);
    if (!rule) outcome.exit_code = 2;
    outcome.data["files"].push_back(std::move(file));
  }
  return outcome;
}

Result<Outcome> run(Context&, const json& parameters) {
  const std::string action = parameters.value("action", "list");
  const auto targets = parameters.value("targets", std::vector<std::string>());
  if (action == "list" && !targets.empty()) {
    return Error{ErrorCode::kBadInput, "too much: " + targets[0], "{}", {show_one()}};
  }
  if (action != "check" && parameters.contains("case")) {
    return Error{
        ErrorCode::kBadInput,
        "--case goes with check",
        "{}",
        {suggested("rules", {{"action", "check"}, {"targets", json::array({"FILE"})}, {"case", "FILE"}})}};
  }
  NL_TRY(const auto engine, store::EnginePool::shared().lease({}));
  NL_TRY(auto connection, engine->connect());
  if (action == "check") return check_files(connection, targets, parameters);
  if (action == "show") return show_rule(connection, targets, parameters);
  return list_rules(connection, parameters);
}

// ---- Text for people

std::string list_text(const json& data, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kRight, kLeft, kLeft, kLeft});
  table.add({"rule", "confidence", "version", "from", "proof", ""});
  for (const auto& rule : data["rules"]) {
    table.add({rule["id"], rule["confidence"], std::to_string(rule["version"].get<int>()),
               shortened(rule["origin"].get<std::string>(), 40), rule["proof"], rule["title"]});
  }
  std::string out = table.text("", true, style);
  for (const auto& one : data["replaced"]) {
    out += fmt::format("{} of {} takes the place of the {} one\n", one["id"].get<std::string>(),
                       one["origin"].get<std::string>(), one["replaces"].get<std::string>());
  }
  return out;
}

std::string rule_text(const json& rule, const TextStyle& style) {
  std::string out =
      fmt::format("{}  {}\n", bold(rule["id"].get<std::string>(), style), rule["title"].get<std::string>());
  const auto line = [&](const char* name, const std::string& text) {
    out += fmt::format("  {}  {}\n", dim(fmt::format("{:<10}", name), style), text);
  };
  line("version", std::to_string(rule["version"].get<int>()) + ", " + rule["origin"].get<std::string>());
  line("confidence", rule["confidence"]);
  line("proof", rule["proof"]);
  line("condition", rule["condition"]);
  line("at stake", rule["at_stake"]);
  for (const auto& one : rule["evidence"]) {
    line("evidence", fmt::format("{}: {}", one["of"].get<std::string>(), one["text"].get<std::string>()));
  }
  for (const auto& one : rule["suggestions"]) {
    line("suggestion", fmt::format("{}. {}", one["suggestion"].get<int>(), one["text"].get<std::string>()));
    if (one["gain"].is_null()) continue;
    line("", fmt::format("   {} {}", one["at_most"].get<bool>() ? "gain at most" : "gain",
                         one["gain"].get<std::string>()));
  }
  for (const auto& one : rule["references"]) line("see", one);
  return out;
}

/// The line, and a caret below the column, which counts bytes.
std::string quoted_line(const json& fault) {
  const std::string text = fault["text"];
  std::string out = "  " + text + "\n";
  if (fault["column"].is_null()) return out;
  out += "  ";
  for (const char c : text.substr(0, fault["column"].get<size_t>() - 1)) {
    if ((c & 0xC0) != 0x80) out += c == '\t' ? '\t' : ' ';
  }
  return out + "^\n";
}

std::string fault_text(const std::string& path, const json& fault, const TextStyle& style) {
  const std::string at = fault["column"].is_null() ? "" : fmt::format(":{}", fault["column"].get<int>());
  std::string out =
      fmt::format("{}:{}{}: {}\n", path, fault["line"].get<int>(), at, fault["what"].get<std::string>());
  out += quoted_line(fault);
  if (fault["hint"] != "") out += "  " + dim(fault["hint"].get<std::string>(), style) + "\n";
  return out;
}

std::string case_text(const json& file) {
  const auto& evaluation = file["evaluation"];
  if (file["case"] == "silent") return "  silent: the condition does not hold\n";
  if (file["case"] == "fires") {
    const auto& finding = evaluation["findings"][0];
    return "  fires: " + duration_text(finding["at_stake_ns"]) + " at stake\n";
  }
  const auto& abstention = evaluation["abstentions"][0];
  const std::string metric =
      abstention["metric"].is_null() ? "" : abstention["metric"].get<std::string>() + ": ";
  return "  abstains: " + metric + abstention["reason"].get<std::string>() + "\n";
}

std::string check_text(const json& data, const TextStyle& style) {
  std::string out;
  for (const auto& file : data["files"]) {
    const std::string path = file["path"];
    for (const auto& fault : file["faults"]) out += fault_text(path, fault, style);
    if (!file["valid"].get<bool>()) continue;
    out += fmt::format("{}  {}: {}\n", bold("valid", style), path, file["rule"]["id"].get<std::string>());
    if (file.contains("case")) out += case_text(file);
  }
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  if (outcome.data.contains("files")) return check_text(outcome.data, style);
  if (outcome.data.contains("rule")) return rule_text(outcome.data["rule"], style);
  return list_text(outcome.data, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "rules",
      .summary = "List the rules that make findings; check your own rule file",
      .use_when =
          "you ask which rules or checks exist, what condition or threshold one has, or write a custom rule "
          "in YAML and want to know whether it parses and is valid",
      .not_when = "you ask about one finding: explain",
      .example = R"({"action": "show", "targets": ["launch_bound"]})",
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

}  // namespace nl::ops::rules_operation
