#include <fmt/core.h>

#include <algorithm>

#include "base/call_control.h"
#include "base/files.h"
#include "base/sha256.h"
#include "ops/runs/run_measures.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "store/bundle_writer.h"
#include "store/engine_pool.h"
#include "store/ledger.h"
#include "store/packed_run.h"
#include "store/parquet_footer.h"
#include "store/run_document.h"
#include "store/run_views.h"

namespace nl::ops::verify_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {"run": {"x-run": true}}})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["run_id", "verified", "checks"],
  "properties": {"run_id": {"type": "string"}, "verified": {"type": "boolean"},
    "checks": {"type": "array", "items": {"type": "object", "required": ["check", "ok", "detail"]}}}})";

constexpr Cut kCuts[] = {{"/checks", 0, "ok"}};

class Checks {
 public:
  void add(const std::string& check, bool ok, const std::string& detail) {
    list_.push_back({{"check", check}, {"ok", ok}, {"detail", detail}});
    all_ok_ = all_ok_ && ok;
  }
  const json& list() const { return list_; }
  bool all_ok() const { return all_ok_; }

 private:
  json list_ = json::array();
  bool all_ok_ = true;
};

void check_id(const json& document, const std::string& run_id, Checks& checks) {
  std::vector<store::SourceFile> sources;
  for (const auto& s : document["sources"]) {
    store::SourceFile file;
    file.role = s["role"];
    file.sha256 = s["sha256"];
    sources.push_back(file);
  }
  const std::string computed = store::run_id_of(sources, document["options"]);
  const bool same = computed == document["run_id"] && computed == run_id;
  checks.add("run_id", same, same ? "matches the sources" : "the sources give " + short_id(computed));
}

/// Reads every page of a file of the ledger.
void check_pages(const char* file, const Result<void>& read, Checks& checks) {
  checks.add(file, read.has_value(), read ? "every page is as it was written" : read.error().message);
}

/// run.json against what the ledger noted when it was written; a bundle from elsewhere has no such note.
Result<void> check_document(const Context& context, const NamedRun& named, Checks& checks) {
  NL_TRY(const auto ledger, ledger_of(context, named));
  NL_TRY(const auto receipt, ledger->receipt(named.run_id));
  if (!receipt || named.bundle != ledger->run_folder(named.run_id)) return {};
  NL_TRY(const std::string sha256, sha256_of_file(named.bundle + "/run.json"));
  const bool same = sha256 == receipt->document_sha256;
  checks.add("receipt", same, same ? "run.json is unchanged" : "run.json was changed after it was written");
  check_pages("state.sqlite", ledger->state().check_pages(), checks);
  check_pages("index.sqlite", ledger->index().db().check_pages(), checks);
  return {};
}

/// What was derived from the run before, if it is damaged. Whether there is some says nothing about the run.
void check_derived(const NamedRun& named, Checks& checks) {
  const std::string folder = store::derived_folder(named.place().derived);
  if (!path_exists(folder)) return;
  const auto files = store::derived_files(folder);
  if (!files) return checks.add("derived", false, "the list of the derived tables is damaged");
  for (const auto& [name, seal] : *files) {
    const auto sha256 = sha256_of_file(folder + "/" + name);
    if (!sha256 || *sha256 != seal.sha256)
      checks.add("derived/" + name, false, "damaged; it is built again when a command needs it");
  }
}

void check_measures(const NamedRun& named, Checks& checks) {
  if (!kept_measures_are_intact(named).value_or(true))
    checks.add("measures", false, "damaged; they are computed again when a command needs them");
}

/// A file that run.json does not list was not imported.
void check_strangers(const json& document, const std::string& bundle, Checks& checks) {
  for (const auto& name : list_folder(bundle)) {
    const auto& tables = document["tables"];
    const bool listed = std::any_of(tables.begin(), tables.end(), [&](const json& table) {
      return store::table_file_name(table["name"].get<std::string>()) == name;
    });
    if (!listed && name.ends_with(".parquet")) checks.add(name, false, "not one of the run's tables");
  }
}

void check_counts(const json& document, Checks& checks) {
  const auto& counts = document["capture"]["counts"];
  const int64_t seen = counts["seen"];
  const int64_t sum = counts["stored"].get<int64_t>() + store::sum_of_counts(counts["folded"]) +
                      store::sum_of_counts(counts["dropped"]);
  checks.add("counts", seen == sum,
             fmt::format("seen {} = stored + folded + dropped {}", grouped(seen), grouped(sum)));
}

/// Size and hash tell every change of a file; the row count proves that the engine reads it.
void check_table(store::Connection& connection, const std::string& bundle, const json& table,
                 Checks& checks) {
  const std::string name = table["name"];
  const std::string path = bundle + "/" + store::table_file_name(name);
  const auto bytes = file_size(path);
  if (!bytes) return checks.add(name, false, bytes.error().message);
  if (*bytes != table["bytes"]) {
    return checks.add(name, false,
                      fmt::format("{} bytes, recorded {}", *bytes, table["bytes"].get<int64_t>()));
  }
  const auto sha256 = sha256_of_file(path);
  if (!sha256 || *sha256 != table["sha256"])
    return checks.add(name, false, "the content differs from what was imported");
  if (const auto checked = store::check_parquet_file(path); !checked)
    return checks.add(name, false, checked.error().message);
  const auto rows = connection.integer("SELECT count(*) FROM read_parquet(" + store::sql_quoted(path) + ")");
  const bool same = rows && *rows == table["rows"].get<int64_t>();
  checks.add(name, same, same ? counted(*rows, "row") : "the number of rows differs from what was imported");
}

/// Every file in a packed run, also those that no answer needs.
Result<void> check_packed(const std::string& path, Checks& checks) {
  NL_TRY(const auto packed, store::PackedRun::open(path));
  for (const auto& file : packed.files()) {
    const auto checked = packed.check(file);
    if (!checked && checked.error().code == ErrorCode::kCancelled) return checked;
    checks.add("packed " + file.name, checked.has_value(),
               checked ? bytes_text(file.bytes) : "the content differs from what was packed");
  }
  return {};
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const auto named, resolve_run_unread(context, parameters["run"]));
  Checks checks;
  if (!named.claimed_by.empty()) NL_CHECK(check_packed(named.path, checks));
  const auto document = store::read_run_document(named.bundle + "/run.json");
  checks.add("run.json", document.has_value(), document ? "follows the schema" : document.error().message);
  if (document) {
    NL_CHECK(check_document(context, named, checks));
    check_id(*document, named.run_id, checks);
    check_counts(*document, checks);
    check_strangers(*document, named.bundle, checks);
    NL_TRY(const auto engine, store::EnginePool::shared().lease({1, 256, ""}));
    NL_TRY(auto connection, engine->connect());
    const json& tables = (*document)["tables"];
    for (size_t i = 0; i < tables.size(); i++) {
      report_progress("verifying", static_cast<double>(i) / static_cast<double>(tables.size()));
      check_table(connection, named.bundle, tables[i], checks);
      NL_CHECK(check_cancelled());
    }
    check_derived(named, checks);
    check_measures(named, checks);
  }
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"verified", checks.all_ok()}, {"checks", checks.list()}};
  outcome.exit_code = checks.all_ok() ? 0 : 1;
  if (!checks.all_ok())
    outcome.next.push_back(suggested("import", {{"refresh", true}, {"paths", json::array({"FILE"})}}));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft});
  for (const auto& check : outcome.data["checks"]) {
    table.add({check["ok"].get<bool>() ? "ok" : "BAD", check["check"], check["detail"]});
  }
  const bool verified = outcome.data["verified"];
  return table.text("  ", false, style) + (verified ? bold("verified", style) : bold("NOT VERIFIED", style)) +
         "  " + short_id(outcome.data["run_id"]) + "\n";
}

std::string conclusion(const Outcome& outcome) {
  if (outcome.data.at("verified").get<bool>()) return "the run is what was imported, byte for byte";
  for (const json& check : outcome.data.at("checks")) {
    if (!check.at("ok").get<bool>())
      return fmt::format("the run is not what was imported: {}", check.at("check").get<std::string>());
  }
  return "";
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "verify",
      .summary = "Verify the integrity of a run: checksums, hashes, damaged or changed bytes",
      .use_when =
          "you must prove that stored files, data or a bundle are intact, authentic and original, that "
          "nobody tampered with, manipulated, altered or modified them, or suspect corruption after a disk "
          "fault",
      .not_when = "you look for lost records: show",
      .example = R"({"run": "@latest"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
      .conclusion = conclusion,
  };
  return kOperation;
}

}  // namespace nl::ops::verify_operation
