#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "base/call_control.h"
#include "base/path_text.h"
#include "fingerprint/explain.h"
#include "ops/runs/run_fingerprints.h"
#include "ops/runs/run_measures.h"
#include "ops/text/text.h"
#include "store/run_document.h"

namespace nl::ops {
namespace {

using fingerprint::Fingerprint;
using nlohmann::json;

constexpr int kMostThreads = 4;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"type": "string", "x-positional": 1, "x-run": true,
            "description": "run id, tag, @latest, @baseline:NAME, bundle folder or profile"},
    "top": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10, "description": "runs to list"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "version", "searched", "not_comparable", "runs"],
  "properties": {
    "run_id": {"type": "string"},
    "version": {"type": "integer", "description": "of the fingerprints"},
    "searched": {"type": "integer", "description": "runs with a fingerprint, this one among them"},
    "not_comparable": {"type": "integer", "description": "of them, those that share too few measured dimensions with this one"},
    "runs": {"type": "array", "description": "nearest first", "items": {"type": "object",
      "required": ["run_id", "distance", "dimensions", "not_compared"],
      "properties": {
        "distance": {"type": "number", "description": "0: alike, 1: nothing in common; over the dimensions that both have"},
        "dimensions": {"type": "array", "description": "where they agree and differ, the largest part of the distance first",
          "items": {"type": "object", "required": ["id", "name", "distance", "weight", "agrees", "part", "here", "there"]}},
        "not_compared": {"type": "array", "items": {"type": "object",
          "required": ["id", "name", "missing_here", "missing_there"]}}}}}}})";

struct Asked {
  NamedRun run;
  json measures;
  Fingerprint print;
};

Result<Asked> read(const NamedRun& run) {
  Asked out{run, {}, {}};
  NL_TRY(out.measures, run_measures(run));
  NL_TRY(out.print, fingerprint::fingerprint_of(out.measures));
  return out;
}

int search_threads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

/// What a listing says of the run; nothing if the index does not have it.
void add_row(json& out, store::Ledger& ledger, const std::string& run_id) {
  const auto receipt = ledger.receipt(run_id);
  const auto document = store::shared_run_document(ledger.run_folder(run_id) + "/run.json");
  if (receipt && *receipt) out["file_names"] = (*receipt)->file_names;
  if (!document) return;
  const auto labels = ledger.labels(run_id, **document);
  out["labels"] = labels ? json(store::counting_values(*labels)) : json::object();
}

Result<json> neighbor_json(store::Ledger& ledger, const Asked& asked, const fingerprint::Neighbor& neighbor) {
  const std::string id = run_id_text(neighbor.key);
  json out = {{"run_id", id}, {"distance", neighbor.distance}};
  NL_TRY(const Asked other, read({id, ledger.run_folder(id)}));
  out["dimensions"] = fingerprint::explain({asked.print, asked.measures}, {other.print, other.measures});
  out["not_compared"] = fingerprint::not_compared(asked.print, other.print);
  add_row(out, ledger, id);
  return out;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto named, resolve_run(context, ledger, parameters["run"]));
  NL_TRY(const Asked asked, read(named));
  if (asked.print.present == 0) {
    return Error{ErrorCode::kUnsupported, "nothing of this run can be held against others: " + named.run_id,
                 "neurolens fingerprint RUN says why"};
  }
  NL_TRY(const auto all, ledger_fingerprints(context, ledger));
  NL_CHECK(check_cancelled());
  fingerprint::SearchOptions options;
  options.top = parameters.value("top", size_t{10});
  options.threads = search_threads();
  NL_TRY(options.without, fingerprint::row_key(named.run_id, 0));
  const auto found = search(all.blocks, asked.print, options);
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id},
                  {"version", fingerprint::kVersion},
                  {"searched", found.searched},
                  {"not_comparable", found.too_different},
                  {"runs", json::array()}};
  for (const auto& neighbor : found.neighbors) {
    NL_CHECK(check_cancelled());
    NL_TRY(auto row, neighbor_json(ledger, asked, neighbor));
    outcome.data["runs"].push_back(std::move(row));
  }
  for (const auto& id : all.unreadable)
    outcome.warnings.push_back("left out, since it cannot be analysed: " + short_id(id));
  outcome.next.push_back("neurolens fingerprint " + short_id(named.run_id));
  return outcome;
}

std::string value_text(const json& dimension, const char* key) {
  const double value = dimension[key];
  return dimension["part"].is_null() ? fmt::format("{:.2f}", value) : percent_text(value);
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') text[0] = static_cast<char>(text[0] | 0x20);
  return text;
}

std::string difference_text(const json& dimension) {
  const std::string part =
      dimension["part"].is_null() ? "" : shortened(dimension["part"].get<std::string>(), 40) + " ";
  return fmt::format("{}: {}{} here, {} there", lower_first(dimension["name"]), part,
                     value_text(dimension, "here"), value_text(dimension, "there"));
}

std::string title(const json& run) {
  std::string out;
  const json labels = run.value("labels", json::object());
  for (const char* key : {"model", "variant", "precision"}) {
    if (labels.contains(key)) out += (out.empty() ? "" : " ") + labels[key].get<std::string>();
  }
  return out.empty() ? base_name(run.value("file_names", "")) : out;
}

std::string neighbor_text(const json& run, const TextStyle& style) {
  std::string agree, out = fmt::format("{}  {:.3f}  {}\n", bold(short_id(run["run_id"]), style),
                                       run["distance"].get<double>(), shortened(title(run), 60));
  size_t shown = 0;
  for (const json& dimension : run["dimensions"]) {
    if (dimension["agrees"]) {
      agree += (agree.empty() ? "" : ", ") + lower_first(dimension["name"]);
    } else if (shown++ < 3) {
      out += "    differ in " + difference_text(dimension) + "\n";
    }
  }
  if (!agree.empty()) out += wrapped("agree in " + agree, "    ", style.width);
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  if (data["runs"].empty()) return "No other run of the ledger can be held against this one.\n";
  std::string out = dim("distance: 0 alike, 1 nothing in common", style) + "\n";
  for (const json& run : data["runs"]) out += neighbor_text(run, style);
  if (const int64_t other = data["not_comparable"]; other > 0)
    out += dim(counted(other, "run shares", "runs share") + " too few measured dimensions with this one",
               style) +
           "\n";
  return out;
}

}  // namespace

const Operation& operation_similar() {
  static constexpr Operation kOperation{"similar",
                                        "Find the runs of the ledger that are most like this one",
                                        "you want to know whether something like this run was seen before",
                                        "you know the other run: compare the two",
                                        "neurolens similar @latest --top 5",
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
