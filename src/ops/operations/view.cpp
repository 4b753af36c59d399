#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/path_text.h"
#include "base/process.h"
#include "ops/door.h"
#include "ops/runs/run_names.h"
#include "ops/screen/browser.h"
#include "ops/screen/page_folder.h"
#include "ops/site/site.h"
#include "ops/text/text.h"

namespace nl::ops::view_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["runs"],
  "properties": {
    "runs": {"type": "array", "items": {"type": "string"}, "minItems": 1, "x-positional": 1, "x-run": true,
             "description": "a run (id, tag, @latest, @baseline:NAME, bundle folder or profile), two to compare, or a page"},
    "file": {"type": "string", "x-host-path": true, "description": "write the pages with the time line to this one file, which a browser opens without a server; open nothing"},
    "page": {"type": "string", "enum": ["overview", "timeline", "layers", "kernels", "roofline", "memory", "ranks", "counters", "provenance", "notes"], "default": "overview",
             "description": "of one run: the page that is opened first"},
    "offline": {"type": "boolean", "description": "open a page that works offline, instead of serving the pages until Ctrl+C"},
    "print": {"type": "boolean", "description": "write the offline page and print its path; open nothing"},
    "perfetto": {"type": "boolean", "description": "write a trace of the run for Perfetto instead, and print the line that opens it"},
    "window": {"type": "string", "description": "with --perfetto: only what touches this window, see export"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["page", "run_ids", "opened", "browser", "fetch"],
  "properties": {
    "page": {"type": "string"},
    "run_ids": {"type": "array", "items": {"type": "string"}, "description": "empty for a page that existed before"},
    "opened": {"type": "boolean"},
    "browser": {"type": ["string", "null"], "description": "the program that was started"},
    "left_out": {"type": "array", "description": "with file: time lines with too many spans, the shortest of which are left out",
      "items": {"type": "object", "required": ["run_id", "spans", "shorter_than_ns"]}},
    "fetch": {"type": ["string", "null"], "description": "if there is no screen here: the command that brings the page to yours"},
    "open_with": {"type": "string", "description": "with perfetto: the line that opens the trace"}
  }})";

// ---- The page

/// A folder in which a page is written before it has its name and its mode.
class Workshop {
 public:
  static Result<Workshop> create(const std::string& parent) {
    std::string path = parent + "/.new-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return errno_error("cannot create a folder in", parent, errno);
    return Workshop(std::move(path));
  }
  Workshop(Workshop&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Workshop& operator=(Workshop&&) = delete;
  ~Workshop() {
    if (!path_.empty()) remove_tree(path_);
  }
  const std::string& path() const { return path_; }

 private:
  explicit Workshop(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct Page {
  std::string path;
  json run_ids = json::array();
};

bool is_page(const std::string& name) {
  struct stat info {};
  return name.ends_with(".html") && ::stat(name.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Result<Page> page_of_file(const std::string& name) {
  std::error_code failed;
  const auto path = std::filesystem::canonical(name, failed);
  if (failed) return errno_error("cannot find", name, failed.value());
  return Page{path.string()};
}

/// Only its owner may read it.
Result<void> place(const std::string& from, const std::string& to) {
  if (::chmod(from.c_str(), 0600) != 0) return errno_error("cannot protect", from, errno);
  if (std::rename(from.c_str(), to.c_str()) != 0) return errno_error("cannot write", to, errno);
  return {};
}

Result<Page> page_of_run(Context& context, const std::string& folder, const std::string& run) {
  NL_TRY(const auto workshop, Workshop::create(folder));
  const json parameters = {{"run", run}, {"format", "html"}, {"output", workshop.path()}};
  NL_TRY(const auto made, call("report", parameters, context));
  const std::string id = made.data["run_id"];
  Page page{folder + "/run-" + short_id(id) + ".html", {id}};
  NL_CHECK(place(workshop.path() + "/report.html", page.path));
  return page;
}

Result<Page> page_of_two(Context& context, const std::string& folder, const json& runs) {
  NL_TRY(const auto workshop, Workshop::create(folder));
  const std::string aside = workshop.path() + "/compare.html";
  NL_TRY(const auto made, call("compare", {{"runs", runs}, {"html", aside}}, context));
  const std::string base = made.data["base"]["run_id"], next = made.data["new"]["run_id"];
  Page page{fmt::format("{}/compare-{}-{}.html", folder, short_id(base), short_id(next)), {base, next}};
  NL_CHECK(place(aside, page.path));
  return page;
}

Error too_many() {
  return Error{
      ErrorCode::kBadInput,
      "one run, or two to compare",
      "more: {}, then {}",
      {suggested("compare",
                 {{"base", json::array({"RUN..."})}, {"new", json::array({"RUN..."})}, {"html", "FILE"}}),
       suggested("view", {{"runs", json::array({"FILE"})}})}};
}

Result<Page> page_of(Context& context, const json& runs) {
  if (runs.size() > 2) return too_many();
  if (runs.size() == 1 && context.host_paths && is_page(runs[0])) return page_of_file(runs[0]);
  NL_TRY(const std::string folder, page_folder(*context.environment));
  remove_old_pages(folder);
  return runs.size() == 1 ? page_of_run(context, folder, runs[0]) : page_of_two(context, folder, runs);
}

/// A trace beside the pages. Perfetto's own server gives it to the page of Perfetto in the browser.
Result<Page> trace_of_run(Context& context, const json& runs, const std::string& window) {
  if (runs.size() != 1) return Error{ErrorCode::kBadInput, "--perfetto takes one run"};
  NL_TRY(const std::string folder, page_folder(*context.environment));
  remove_old_pages(folder);
  NL_TRY(const auto workshop, Workshop::create(folder));
  const std::string aside = workshop.path() + "/run.pftrace";
  json parameters = {{"run", runs[0]}, {"format", "perfetto"}, {"output", aside}};
  if (!window.empty()) parameters["window"] = window;
  NL_TRY(const auto made, call("export", parameters, context));
  const std::string id = made.data["run_id"];
  Page page{folder + "/run-" + short_id(id) + ".pftrace", {id}};
  NL_CHECK(place(aside, page.path));
  return page;
}

// ---- The screen

Result<void> show(const Context& context, json& data) {
  const std::string page = data["page"];
  NL_TRY(const auto command, browser_command(*context.environment, page));
  if (command.empty()) {
    data["fetch"] = fetch_line(*context.environment, page, context.principal);
    return {};
  }
  auto started = start_detached(*context.environment, command);
  if (!started) {
    started.error().hint = "name another browser with BROWSER=PROGRAM; the page is " + page;
    return started;
  }
  data["opened"] = true;
  data["browser"] = command[0];
  return {};
}

Outcome outcome_of(const Page& page) {
  Outcome outcome;
  outcome.data = {{"page", page.path},
                  {"run_ids", page.run_ids},
                  {"opened", false},
                  {"browser", nullptr},
                  {"fetch", nullptr}};
  return outcome;
}

/// All pages of the runs in one file.
Result<Outcome> write_file(Context& context, const json& parameters) {
  const json& runs = parameters["runs"];
  const std::string path = parameters["file"];
  if (runs.size() > 2) return too_many();
  NL_TRY(SiteRuns site, site_runs(context, runs, {"steady", "whole"}));
  site.page = parameters["page"];
  NL_TRY(const WrittenSite written, write_site_file(context, site, asking(context), path));
  Page page{path};
  for (const NamedRun& run : site.runs) page.run_ids.push_back(run.run_id);
  Outcome outcome = outcome_of(page);
  outcome.data["left_out"] = left_out_json(written);
  outcome.warnings = left_out_warnings(written);
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  const bool is_trace = parameters.value("perfetto", false);
  const std::string window = parameters.value("window", "");
  if (!is_trace && !window.empty()) return Error{ErrorCode::kBadInput, "--window goes with --perfetto alone"};
  if (is_trace && parameters.contains("file"))
    return Error{ErrorCode::kBadInput, "--file writes pages, and --perfetto a trace"};
  const bool has_page = parameters["page"] != "overview";
  if (has_page && (parameters["runs"].size() > 1 || !parameters.contains("file")))
    return Error{ErrorCode::kBadInput, "--page is of the pages of one run",
                 "without --offline, --print and --perfetto"};
  if (parameters.contains("file")) return write_file(context, parameters);
  NL_TRY(const Page page,
         is_trace ? trace_of_run(context, parameters["runs"], window) : page_of(context, parameters["runs"]));
  Outcome outcome = outcome_of(page);
  if (is_trace) {
    NL_TRY(const auto browser, browser_command(*context.environment, page.path));
    if (browser.empty())
      outcome.data["fetch"] = fetch_line(*context.environment, page.path, context.principal);
    outcome.data["open_with"] = "trace_processor --httpd " + page.path;
  } else if (!parameters.value("print", false)) {
    NL_CHECK(show(context, outcome.data));
  }
  return outcome;
}

std::string trace_text(const json& data, const TextStyle& style) {
  std::string out = data["page"].get<std::string>() + "\n\n";
  if (data["fetch"].is_string())
    out += fmt::format("There is no screen here. On your own machine type\n  {}\n",
                       bold(data["fetch"].get<std::string>(), style));
  return out +
         fmt::format(
             "Open https://ui.perfetto.dev and drop the file there. For a large one, type first\n  {}\n{}\n",
             bold(data["open_with"].get<std::string>(), style),
             dim("The page then offers it. The program is at https://get.perfetto.dev/trace_processor",
                 style));
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  const std::string page = data["page"];
  if (data.contains("open_with")) return trace_text(data, style);
  if (data["opened"])
    return page + "  " + dim("opened with " + data["browser"].get<std::string>(), style) + "\n";
  if (data["fetch"].is_null()) return page + "\n";
  return fmt::format(
      "{}\n\nThere is no screen here. On your own machine type\n  {}\nand open {} there.\n{}\n", page,
      bold(data["fetch"].get<std::string>(), style), base_name(page),
      dim("If you reach this machine by another name, user or port, use those.", style));
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "view",
      .summary = "Open a run, or two runs compared, in the browser",
      .use_when =
          "you want to look at a run: its pages are served to this machine alone until Ctrl+C; over ssh "
          "it says how to get them to your screen",
      .not_when =
          "others are to look too: serve; you want something to send: --file; something to read: report",
      .example = R"({"runs": ["@latest"]})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kExec,
      .reach = {.cli = true},
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::view_operation
