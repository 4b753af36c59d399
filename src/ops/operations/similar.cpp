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

namespace nl::ops::similar_operation {
namespace {

using fingerprint::ComparedDimension;
using fingerprint::Fingerprint;
using nlohmann::json;

constexpr int kMostThreads = 4;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "top": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 1000, "default": 10, "description": "runs to list"}
  }})";

constexpr Cut kCuts[] = {
    {"/runs/*/not_compared"}, {"/runs/*/dimensions", 3}, {"/runs", 3}, {"/runs/*/dimensions"}, {"/runs"}};

/// One run that is like the one asked for.
struct SimilarRun {
  std::string run_id;
  double distance = 0;
  std::vector<fingerprint::ComparedDimension> dimensions;
  std::vector<fingerprint::MissingDimension> not_compared;
  std::optional<std::string> file_names;
  std::optional<std::map<std::string, std::string>> labels;
  static constexpr auto fields() {
    using S = SimilarRun;
    return std::tuple{
        field("run_id", &S::run_id, "id of the run"),
        field("distance", &S::distance,
              "0: alike, 1: nothing in common; only dimensions that both runs have count"),
        field("dimensions", &S::dimensions,
              "where the runs agree and differ, the largest part of the distance first"),
        field("not_compared", &S::not_compared, "dimensions that one of the two runs lacks"),
        field_if_any("file_names", &S::file_names, "file that the run was imported from, if known"),
        field_if_any("labels", &S::labels, "labels in use, if its run.json can be read")};
  }
};

struct SimilarRuns {
  std::string run_id;
  int64_t version = 0;
  int64_t searched = 0;
  int64_t not_comparable = 0;
  std::vector<SimilarRun> runs;
  static constexpr auto fields() {
    using S = SimilarRuns;
    return std::tuple{field("run_id", &S::run_id, "the run you asked about"),
                      field("version", &S::version, "version of the fingerprints"),
                      field("searched", &S::searched, "runs with a fingerprint, including this one"),
                      field("not_comparable", &S::not_comparable,
                            "of these, runs that share too few measured dimensions with this one"),
                      field("runs", &S::runs, "nearest first")};
  }
};

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
void add_row(SimilarRun& out, store::Ledger& ledger) {
  const auto receipt = ledger.receipt(out.run_id);
  const auto document = store::shared_run_document(ledger.run_folder(out.run_id) + "/run.json");
  if (receipt && *receipt) out.file_names = (*receipt)->file_names;
  if (!document) return;
  const auto labels = ledger.labels(out.run_id, **document);
  out.labels.emplace();
  if (labels) out.labels = store::counting_values(*labels);
}

Result<SimilarRun> similar_run(store::Ledger& ledger, const Asked& asked,
                               const fingerprint::Neighbor& neighbor) {
  SimilarRun out;
  out.run_id = run_id_text(neighbor.key);
  out.distance = neighbor.distance;
  NL_TRY(const Asked other, read({out.run_id, ledger.run_folder(out.run_id)}));
  out.dimensions = fingerprint::explain({asked.print, asked.measures}, {other.print, other.measures});
  out.not_compared = fingerprint::not_compared(asked.print, other.print);
  add_row(out, ledger);
  return out;
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto named, resolve_run(context, ledger, parameters["run"]));
  NL_TRY(const Asked asked, read(named));
  if (asked.print.present == 0) {
    return Error{ErrorCode::kUnsupported,
                 "this run has nothing that could be compared with others: " + named.run_id,
                 "{} says why",
                 {suggested("fingerprint", {{"run", "RUN"}})}};
  }
  NL_TRY(const auto all, ledger_fingerprints(context, ledger));
  NL_CHECK(check_cancelled());
  fingerprint::SearchOptions options;
  options.top = parameters["top"];
  options.threads = search_threads();
  NL_TRY(options.without, fingerprint::row_key(named.run_id, 0));
  NL_TRY(const auto found, search(all.blocks, asked.print, options));
  SimilarRuns answer{named.run_id,
                     fingerprint::kVersion,
                     static_cast<int64_t>(found.searched),
                     static_cast<int64_t>(found.too_different),
                     {}};
  for (const auto& neighbor : found.neighbors) {
    NL_CHECK(check_cancelled());
    auto row = similar_run(ledger, asked, neighbor);
    if (!row && !ledger.has(run_id_text(neighbor.key))) continue;  // dropped since the search
    if (!row) return row.error();
    answer.runs.push_back(std::move(*row));
  }
  Outcome outcome = answered(std::move(answer));
  for (const auto& id : all.unreadable)
    outcome.warnings.push_back("left out, because it cannot be analysed: " + short_id(id));
  outcome.next.push_back(suggested("fingerprint", {{"run", named.call_name()}}));
  return outcome;
}

std::string value_text(const ComparedDimension& dimension, double value) {
  return dimension.part ? percent_text(value) : fmt::format("{:.2f}", value);
}

std::string lower_first(std::string text) {
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') text[0] = static_cast<char>(text[0] | 0x20);
  return text;
}

std::string difference_text(const ComparedDimension& dimension) {
  const std::string part = dimension.part ? shortened(*dimension.part, 40) + " " : "";
  return fmt::format("{}: {}{} here, {} there", lower_first(dimension.name), part,
                     value_text(dimension, dimension.here), value_text(dimension, dimension.there));
}

std::string title(const SimilarRun& run) {
  std::string out;
  const auto labels = run.labels.value_or(std::map<std::string, std::string>());
  for (const char* key : {"model", "variant", "precision"}) {
    if (const auto it = labels.find(key); it != labels.end()) out += (out.empty() ? "" : " ") + it->second;
  }
  return out.empty() ? base_name(run.file_names.value_or("")) : out;
}

std::string neighbor_text(const SimilarRun& run, const TextStyle& style) {
  std::string agree, out = fmt::format("{}  {:.3f}  {}\n", bold(short_id(run.run_id), style), run.distance,
                                       shortened(title(run), 60));
  size_t shown = 0;
  for (const ComparedDimension& dimension : run.dimensions) {
    if (dimension.agrees) {
      agree += (agree.empty() ? "" : ", ") + lower_first(dimension.name);
    } else if (shown++ < 3) {
      out += "    differ in " + difference_text(dimension) + "\n";
    }
  }
  if (!agree.empty()) out += wrapped("agree in " + agree, "    ", style.width);
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& answer = answer_of<SimilarRuns>(outcome);
  if (answer.runs.empty()) return "No other run of the ledger can be compared with this one.\n";
  std::string out = dim("distance: 0 alike, 1 nothing in common", style) + "\n";
  for (const SimilarRun& run : answer.runs) out += neighbor_text(run, style);
  if (answer.not_comparable > 0)
    out += dim(counted(answer.not_comparable, "run shares", "runs share") +
                   " too few measured dimensions with this one",
               style) +
           "\n";
  return out;
}

std::string conclusion(const Outcome& outcome) {
  const json& found = outcome.data.at("runs");
  if (found.empty()) return "no other run can be compared with it";
  return fmt::format("the nearest run is {} at distance {:.3f} (0 alike, 1 nothing in common)",
                     short_id(found[0].at("run_id").get<std::string>()),
                     found[0].at("distance").get<double>());
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "similar",
      .summary = "Find earlier runs of the ledger that are most like this one",
      .use_when =
          "you ask whether we have seen this behaviour, problem, pattern or bottleneck before, whether it is "
          "known, or which old or past run looks like, resembles or matches this trace, is closest or "
          "nearest, similarity",
      .not_when = "you know the other run: compare",
      .example = R"({"run": "@latest", "top": 5})",
      .parameters = kParameters,
      .result = schema_text<SimilarRuns>,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::similar_operation
