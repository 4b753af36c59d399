#include <fmt/core.h>

#include <fstream>

#include "base/files.h"
#include "base/small_json.h"
#include "ops/text/text.h"
#include "store/ledger.h"
#include "store/state_backup.h"

namespace nl::ops::state_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["action"],
  "properties": {
    "action": {"type": "string", "enum": ["export", "import", "backup", "repair"], "x-positional": 1,
               "description": "export: write JSON lines to standard output; import: add the records of such a file; backup: write one now; repair: restore a damaged state from what can be read and the last backup"},
    "file": {"type": "string", "x-positional": 2, "x-host-path": true, "description": "for import: the file that export wrote"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["records"],
  "properties": {"records": {"type": "integer", "description": "records written or read, or in a repaired state"},
    "damaged": {"type": "boolean", "description": "of repair: false if there was nothing to do"},
    "from_backup": {"type": "integer", "description": "records of a repaired state that only the backup had"},
    "backup_at_ns": {"type": ["integer", "null"], "description": "when that backup was written; null: there was none"},
    "damaged_file": {"type": "string", "description": "where the damaged file lies now"},
    "added": {"type": "integer", "description": "records read that were new"},
    "lines": {"type": "array", "description": "the exported records, if they are not written to a stream"}}})";

constexpr size_t kMaxLineBytes = 1 << 20;

std::string line_of(const json& record) {
  return record.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<Outcome> export_state(const Context& context, store::Ledger& ledger) {
  Outcome outcome;
  int64_t records = 0;
  json lines = json::array();
  NL_CHECK(ledger.state().export_records([&](const json& record) -> Result<void> {
    records++;
    if (context.bytes) return context.bytes(line_of(record));
    lines.push_back(record);
    return {};
  }));
  outcome.data["records"] = records;
  if (!context.bytes) outcome.data["lines"] = std::move(lines);
  return outcome;
}

Error with_line(Error error, const std::string& path, int64_t line) {
  error.message = fmt::format("{}:{}: {}", path, line, error.message);
  return error;
}

/// All of the file or nothing.
Result<void> import_lines(store::State& state, const std::string& path, int64_t& records, int64_t& added) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kNotFound, "cannot open: " + path};
  NL_TRY(auto transaction, state.transaction());
  for (std::string line; std::getline(file, line);) {
    records++;
    if (line.size() > kMaxLineBytes)
      return Error{ErrorCode::kLimit, fmt::format("{}:{}: too long", path, records)};
    const auto took = state.import_record(parse_small_json(line));
    if (!took) return with_line(took.error(), path, records);
    if (*took) added++;
  }
  return transaction.commit();
}

Result<Outcome> import_state(store::Ledger& ledger, const std::string& path) {
  if (path.empty())
    return Error{ErrorCode::kBadInput,
                 "import needs a file",
                 "{}",
                 {suggested("state", {{"action", "import"}, {"file", "FILE"}})}};
  int64_t records = 0;
  int64_t added = 0;
  NL_CHECK(
      ledger.change_state([&](store::State& state) { return import_lines(state, path, records, added); }));
  Outcome outcome;
  outcome.data = {{"records", records}, {"added", added}};
  outcome.next.push_back(suggested("runs"));
  return outcome;
}

Result<Outcome> back_up(store::Ledger& ledger) {
  NL_CHECK(ledger.may_write());
  NL_TRY(const int64_t records, store::back_up_state(ledger.state(), ledger.folder()));
  Outcome outcome;
  outcome.data = {{"records", records}};
  return outcome;
}

Result<Outcome> repair(const std::string& folder) {
  NL_TRY(const auto report, store::repair_state(folder));
  Outcome outcome;
  outcome.data = {{"records", report.salvaged + report.from_backup}, {"damaged", report.was_damaged}};
  if (!report.was_damaged) return outcome;
  outcome.data["from_backup"] = report.from_backup;
  outcome.data["backup_at_ns"] = report.has_backup ? json(report.backup_at_ns) : json(nullptr);
  outcome.data["damaged_file"] = report.damaged_file;
  if (!report.has_backup)
    outcome.warnings.emplace_back("there is no good backup: what could not be read is lost");
  NL_TRY(auto ledger, store::Ledger::open(folder, false));
  NL_CHECK(ledger.reindex());
  outcome.next.push_back(suggested("runs"));
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  if (parameters["action"] == "repair") return repair(context.ledger_folder);
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  if (parameters["action"] == "backup") return back_up(ledger);
  if (parameters["action"] == "export") return export_state(context, ledger);
  return import_state(ledger, parameters.value("file", ""));
}

std::string repair_text(const json& data) {
  if (!data["damaged"].get<bool>()) return "the state is not damaged; nothing was changed\n";
  return fmt::format("{} restored, {} of them from the backup\nthe damaged file is kept: {}\n",
                     counted(data["records"], "record"), grouped(data["from_backup"]),
                     data["damaged_file"].get<std::string>());
}

/// An export has already gone to standard output.
std::string text(const Outcome& outcome, const TextStyle&) {
  const auto& data = outcome.data;
  if (data.contains("damaged")) return repair_text(data);
  if (!data.contains("added")) return "";
  return fmt::format("{} read, {} added\n", counted(data["records"], "record"), grouped(data["added"]));
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "state",
      .summary = "Export, import, back up or repair receipts, labels, tags, notes, baselines and predictions",
      .use_when =
          "you want to save the state, read it with another program, move it to another ledger, or restore "
          "it after a disk fault",
      .not_when = "you want to change one run: label, tag, note or baseline",
      .example = R"({"action": "export"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kWrite,
      .reach = {.cli = true, .http = false, .mcp = false},
      .stream = Stream::kBytes,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::state_operation
