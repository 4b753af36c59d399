#include <fmt/core.h>

#include "ops/run_names.h"
#include "ops/text.h"
#include "store/ledger.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "limit": {"type": "integer", "minimum": 1, "maximum": 100000, "default": 30, "description": "runs to list, newest first"},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "runs to skip"}
  }})";

constexpr char kResult[] = R"({
  "type": "object", "required": ["runs", "total"],
  "properties": {"total": {"type": "integer"}, "runs": {"type": "array", "items": {"type": "object",
    "required": ["run_id", "imported_at_ns", "file_names", "format", "backend", "device", "devices", "records",
                 "dropped", "kernels", "bundle_bytes", "on_the_way"]}}}})";

json row_json(const store::RunRow& row) {
  return {{"run_id", row.run_id},
          {"imported_at_ns", row.imported_at_ns},
          {"file_names", row.file_names},
          {"format", row.format},
          {"backend", row.backend},
          {"device", row.device.empty() ? json() : json(row.device)},
          {"devices", row.devices},
          {"records", row.records},
          {"dropped", row.dropped},
          {"kernels", row.kernels},
          {"bundle_bytes", row.bundle_bytes},
          {"on_the_way", row.on_the_way}};
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_TRY(const auto rows, ledger.list(parameters.value("limit", 30), parameters.value("offset", 0)));
  NL_TRY(const int64_t total, ledger.count());
  Outcome outcome;
  outcome.data = {{"total", total}, {"runs", json::array()}};
  for (const auto& row : rows) outcome.data["runs"].push_back(row_json(row));
  outcome.next.push_back(rows.empty() ? "neurolens import trace.json.gz"
                                      : "neurolens show " + short_id(rows[0].run_id));
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const auto& runs = outcome.data["runs"];
  if (runs.empty()) return "The ledger is empty.\n";
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kLeft, kRight, kRight, kLeft});
  table.add({"run", "imported", "format", "device", "kernels", "records", "file"});
  const size_t file_width = style.width > 110 ? static_cast<size_t>(style.width) - 90 : 30;
  for (const auto& run : runs) {
    const std::string device = run["device"].is_null() ? "-" : run["device"].get<std::string>();
    const int64_t devices = run["devices"];
    table.add({short_id(run["run_id"]), time_text(run["imported_at_ns"]), run["format"],
               shortened(device, 24) + (devices > 1 ? fmt::format(" x{}", devices) : ""),
               grouped(run["kernels"]), grouped(run["records"]),
               shortened(base_name(run["file_names"]), file_width)});
  }
  std::string out = table.text("", true, style);
  const int64_t total = outcome.data["total"];
  if (total > static_cast<int64_t>(runs.size())) {
    out += dim(fmt::format("{} of {} runs; more with --limit", runs.size(), grouped(total)), style) + "\n";
  }
  return out;
}

}  // namespace

const Operation& operation_runs() {
  static constexpr Operation kOperation{"runs",
                                        "List the runs in the ledger, newest first",
                                        "you want to know what is there, or the id of a run",
                                        "you want figures of one run: show",
                                        "neurolens runs",
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
