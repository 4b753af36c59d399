#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/call_control.h"
#include "base/files.h"
#include "base/text.h"
#include "ops/door.h"
#include "ops/runs/run_report.h"
#include "ops/site/site.h"
#include "ops/text/text.h"
#include "report/report_html.h"
#include "report/report_json.h"
#include "report/report_md.h"
#include "store/ledger.h"

namespace nl::ops::report_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "run": {"x-run": true},
    "more": {"type": "array", "items": {"type": "string"}, "x-positional": 2, "x-run": true, "description": "with --site: further runs"},
    "site": {"type": "string", "x-host-path": true, "x-effect": "write",
             "description": "write the pages of the web UI for these runs into this folder: a browser opens them without a server"},
    "format": {"type": "string", "default": "md,html,json", "description": "formats to write: md, html, json"},
    "output": {"type": "string", "x-short": "o", "x-host-path": true, "x-effect": "write",
               "description": "folder for the reports; created if it does not exist"},
    "window": {"type": "string", "default": "steady",
               "description": "steady (without set-up, warm-up and tail), whole, step:N (from 0), ns:BEGIN..END (times as in the tables), prefill, decode, decode_step, or the name of an annotation"},
    "top": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 10,
            "description": "rows in each table that does not show all"},
    "phase": {"type": "array", "items": {"type": "string"},
              "description": "name of the ranges of an LLM phase, e.g. prefill=LLM@prefill; also decode=, decode_step="},
    "model_config": {"type": "string", "x-host-path": true,
                     "description": "config.json of the language model, as on Hugging Face: steps are then compared with what memory bandwidth and peaks allow"},
    "peaks": {"type": "string", "x-host-path": true, "description": "YAML file with your own device peaks"},
    "rules": {"type": "array", "items": {"type": "string"}, "x-host-path": true,
              "description": "folder with your own rules"},
    "verify": {"type": "string", "x-host-path": true,
               "description": "check a report.json: compute each of its figures again and show what differs"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id"],
  "properties": {"run_id": {"type": "string"}, "folder": {"type": "string"}, "files": {"type": "array"},
                 "run_ids": {"type": "array", "items": {"type": "string"}, "description": "of a site"},
                 "left_out": {"type": "array", "description": "of a site: time lines with too many spans, the shortest of which are left out",
                   "items": {"type": "object", "required": ["run_id", "spans", "shorter_than_ns"]}},
                 "verified": {"type": "boolean"}, "differences": {"type": "array"},
                 "other_labels": {"type": "array", "description": "labels that changed since then; they are not figures"}}})";

constexpr size_t kDifferencesShown = 50;
constexpr const char* kOptions[] = {"window", "top", "phase", "model_config", "peaks", "rules"};

Error bad_input(std::string message, std::string hint, std::vector<SuggestedCall> calls = {}) {
  return Error{ErrorCode::kBadInput, std::move(message), std::move(hint), std::move(calls)};
}

SuggestedCall report_to_folder() {
  return suggested("report", {{"run", "RUN"}, {"output", "DIR"}});
}

Result<std::set<std::string>> formats_of(const std::string& text) {
  std::set<std::string> formats;
  for (const std::string& format : split(text, ',')) {
    if (format != "md" && format != "html" && format != "json")
      return bad_input("reports do not have this format: " + format, "--format md,html,json or some of them");
    formats.insert(format);
  }
  return formats;
}

/// Those of the parameters that change figures.
json options_of(const json& parameters) {
  json options;
  for (const char* key : kOptions) {
    if (parameters.contains(key)) options[key] = parameters[key];
  }
  return options;
}

using Documents = std::vector<std::pair<std::string, std::string>>;

Documents documents_of(const report::Report& report, const std::set<std::string>& formats) {
  Documents documents;
  if (formats.contains("json")) documents.emplace_back("report.json", report::report_text(report));
  stop_if_cancelled();
  if (formats.contains("html")) documents.emplace_back("report.html", report::html_document(report));
  if (formats.contains("md")) {
    for (auto& document : report::markdown_documents(report)) documents.push_back(std::move(document));
  }
  return documents;
}

/// Without a folder the caller gets the page itself; there can only be one then.
Result<Outcome> stream_report(Context& context, const json& parameters,
                              const std::set<std::string>& formats) {
  if (!context.bytes || formats.size() != 1 || formats.contains("md"))
    return bad_input("no folder for the reports", "name one: {}; or one page, with --format html or json",
                     {report_to_folder()});
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto report, make_run_report(context, named, options_of(parameters)));
  const Documents documents = documents_of(report, formats);
  NL_CHECK(check_cancelled());
  NL_CHECK(context.bytes(documents.front().second));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"files", json::array()}};
  return outcome;
}

Result<Outcome> write_reports(Context& context, const json& parameters) {
  NL_TRY(const auto formats, formats_of(parameters["format"]));
  if (!parameters.contains("output")) return stream_report(context, parameters, formats);
  const std::string folder = parameters["output"];
  NL_TRY(const auto named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto report, make_run_report(context, named, options_of(parameters)));
  NL_CHECK(context.page_files.make_folders(folder));
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"folder", folder}, {"files", json::array()}};
  NL_CHECK(check_cancelled());
  for (const auto& [name, text] : documents_of(report, formats)) {
    NL_CHECK(context.page_files.write(fmt::format("{}/{}", folder, name), text));
    outcome.data["files"].push_back({{"name", name}, {"bytes", text.size()}});
  }
  if (formats.contains("html"))
    outcome.next.push_back(suggested("view", {{"runs", json::array({folder + "/report.html"})}}));
  if (formats.contains("json"))
    outcome.next.push_back(suggested("report", {{"verify", folder + "/report.json"}}));
  return outcome;
}

bool is_run_id(const json& text) {
  if (!text.is_string() || text.get<std::string>().size() != 64) return false;
  return text.get<std::string>().find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<json> read_report(const std::string& path) {
  NL_TRY(const std::string text, read_file(path));
  json report = json::parse(text, nullptr, false);
  if (report.is_object() && !report.contains("labels")) report["labels"] = json::object();
  if (report.is_object() && !report.contains("files")) report["files"] = json::array();
  const bool ours = report.is_object() && report.value("schema", json()) == report::kReportSchema &&
                    report.contains("run") && report["run"].is_object() &&
                    is_run_id(report["run"].value("run_id", json())) && report.contains("options") &&
                    report["options"].is_object() && report.contains("metrics") &&
                    report["metrics"].is_object() && report["labels"].is_object();
  if (!ours)
    return bad_input("not a report.json of neurolens: " + path, "{} makes one", {report_to_folder()});
  return report;
}

/// Only in the ledger: the id stands for nothing else.
Result<NamedRun> run_of_report(Context& context, const std::string& run_id) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  if (!ledger.has(run_id)) {
    return Error{ErrorCode::kUnavailable, "the run of the report is not in the ledger: " + run_id,
                 "import its sources, or name their ledger with --ledger"};
  }
  return NamedRun{run_id, ledger.run_folder(run_id)};
}

Result<void> check_options(const json& options) {
  const auto is_texts = [](const json& list) {
    return list.is_array() &&
           std::all_of(list.begin(), list.end(), [](const json& text) { return text.is_string(); });
  };
  const json window = options.value("window", json("steady")), peaks = options.value("peaks", json(""));
  const json top = options.value("top", json(10));
  const bool fine = window.is_string() && peaks.is_string() &&
                    options.value("model_config", json("")).is_string() && top.is_number_integer() &&
                    top >= 1 && top <= 10000 && is_texts(options.value("phase", json::array())) &&
                    is_texts(options.value("rules", json::array()));
  if (!fine) return bad_input("the options of the report are damaged", "make the report again");
  return {};
}

/// Files and folders may lie elsewhere now.
json options_now(json options, const json& parameters) {
  for (const char* key : {"model_config", "peaks", "rules"}) {
    if (parameters.contains(key)) options[key] = parameters[key];
  }
  return options;
}

/// The labels that the figures of the report were made with.
std::map<std::string, std::string> labels_in(const json& labels) {
  std::map<std::string, std::string> out;
  for (const auto& [key, label] : labels.items()) {
    if (label.is_object() && label.value("value", json()).is_string()) out[key] = label["value"];
  }
  return out;
}

Result<Outcome> verify_report(Context& context, const json& parameters) {
  NL_TRY(const json report, read_report(parameters["verify"]));
  if (const auto others = report::other_metric_versions(report); !others.empty()) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} metrics of the report have other versions than here, the first: {}",
                             others.size(), others[0]),
                 "verify it with the version of neurolens that made it"};
  }
  NL_CHECK(check_options(report["options"]));
  NL_TRY(const auto named, run_of_report(context, report["run"]["run_id"]));
  NL_TRY(const auto made, make_run_report(context, named, options_now(report["options"], parameters),
                                          labels_in(report["labels"])));
  json now = report::report_tree(made);
  const auto labels = report::other_labels(report, now);
  for (const char* key : {"options", "labels", "files"}) now[key] = report[key];
  now.erase("notes");  // no figures either
  if (report.contains("notes")) now["notes"] = report["notes"];
  const auto found = report::differences(report, now, kDifferencesShown);
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id},
                  {"verified", found.empty()},
                  {"differences", found},
                  {"other_labels", labels}};
  if (!labels.empty())
    outcome.warnings.push_back(
        fmt::format("labels of the run have changed since the report: {}", fmt::join(labels, ", ")));
  outcome.exit_code = found.empty() ? 0 : 1;
  return outcome;
}

// ---- Pages without a server

std::string without_slash(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder;
}

Result<Outcome> write_pages(Context& context, const json& parameters) {
  for (const char* other : {"output", "phase", "model_config", "peaks", "rules"}) {
    if (parameters.contains(other))
      return bad_input(fmt::format("--site has no {}", other), "it goes with reports, which have no --site");
  }
  json names = json::array({parameters["run"]});
  for (const json& name : parameters.value("more", json::array())) names.push_back(name);
  NL_TRY(const SiteRuns site, site_runs(context, names, {"steady", "whole", parameters["window"]}));
  const std::string folder = without_slash(parameters["site"]);
  NL_TRY(const WrittenSite written, write_site(context, site, asking(context), folder));
  Outcome outcome;
  outcome.data = {{"run_id", site.runs[0].run_id},
                  {"run_ids", json::array()},
                  {"folder", folder},
                  {"files", json::array()},
                  {"left_out", left_out_json(written)}};
  for (const NamedRun& run : site.runs) outcome.data["run_ids"].push_back(run.run_id);
  for (const WrittenFile& file : written.files)
    outcome.data["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
  outcome.warnings = left_out_warnings(written);
  outcome.next.push_back(suggested("view", {{"runs", json::array({folder + "/index.html"})}}));
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  if (parameters.contains("verify") == parameters.contains("run"))
    return bad_input("name a run, or a report with --verify", "{}", {report_to_folder()});
  if (parameters.contains("verify")) return verify_report(context, parameters);
  if (parameters.contains("site")) return write_pages(context, parameters);
  if (parameters.contains("more"))
    return bad_input("a report is of one run", "several go into one folder of pages: {}",
                     {suggested("report", {{"run", "RUN"}, {"site", "DIR"}})});
  return write_reports(context, parameters);
}

std::string text_of_check(const json& data, const TextStyle& style) {
  if (data["verified"]) return "every figure of the report agrees with the run\n";
  std::string out = bold("the report differs from the run:", style) + "\n";
  for (const json& line : data["differences"]) out += "  " + line.get<std::string>() + "\n";
  if (data["differences"].size() >= kDifferencesShown) out += "  …\n";
  return out;
}

std::string text_of_site(const json& data, const TextStyle& style) {
  int64_t bytes = 0;
  for (const json& file : data["files"]) bytes += file["bytes"].get<int64_t>();
  return fmt::format("{}/index.html  {}\n", data["folder"].get<std::string>(),
                     dim(fmt::format("{} in {}", bytes_text(bytes),
                                     counted(static_cast<int64_t>(data["files"].size()), "file")),
                         style));
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  if (data.contains("verified")) return text_of_check(data, style);
  std::string out;
  if (data.contains("run_ids")) return text_of_site(data, style);
  for (const json& file : data["files"]) {
    out += fmt::format("{}/{}  {}\n", data["folder"].get<std::string>(), file["name"].get<std::string>(),
                       dim(bytes_text(file["bytes"]), style));
  }
  return out;
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "report",
      .summary =
          "Write the analysis of a run as Markdown, HTML and JSON, or its pages for a browser; check a "
          "report",
      .use_when = "others should read where the time of a run went, or you must prove that a report is right",
      .not_when = "the terminal is enough: analyze",
      .example = R"({"run": "@latest", "output": "reports"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true},
      .stream = Stream::kBytes,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::report_operation
