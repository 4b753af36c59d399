#include <fmt/core.h>
#include <sys/statvfs.h>

#include <chrono>
#include <thread>

#include "base/call_control.h"
#include "base/files.h"
#include "capture/capabilities.h"
#include "ingest/adapter.h"
#include "ops/capture/recordings.h"
#include "ops/text/text.h"
#include "store/ledger.h"

namespace nl::ops::doctor_operation {
namespace {

using nlohmann::json;

constexpr char kParameters[] = R"({"type": "object", "additionalProperties": false, "properties": {}})";
constexpr char kResult[] = R"({
  "type": "object", "required": ["healthy", "checks"],
  "properties": {"healthy": {"type": "boolean"}, "checks": {"type": "array", "items": {"type": "object",
    "required": ["check", "status", "detail", "fix"]}}}})";

constexpr Cut kCuts[] = {{"/checks", 0, "status"}};

class Findings {
 public:
  void good(const std::string& check, const std::string& detail) { add(check, "ok", detail, ""); }
  /// Worth knowing, nothing is broken.
  void note(const std::string& check, const std::string& detail, const std::string& fix) {
    add(check, "note", detail, fix);
  }
  void bad(const std::string& check, const std::string& detail, const std::string& fix) {
    healthy_ = false;
    add(check, "bad", detail, fix);
  }
  const json& list() const { return list_; }
  bool healthy() const { return healthy_; }

 private:
  void add(const std::string& check, const char* status, const std::string& detail, const std::string& fix) {
    list_.push_back({{"check", check}, {"status", status}, {"detail", detail}, {"fix", fix}});
  }
  json list_ = json::array();
  bool healthy_ = true;
};

/// Looks again if they differ: an import that publishes its run is between the two for a moment.
struct RunCounts {
  int64_t on_disk = 0;
  int64_t in_index = 0;
};
Result<RunCounts> counts_of(store::Ledger& ledger, const std::string& folder) {
  constexpr int kMostLooks = 10;
  RunCounts counts;
  for (int look = 0; look < kMostLooks; look++) {
    NL_CHECK(check_cancelled());
    if (look > 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    NL_TRY(counts.in_index, ledger.count());
    counts.on_disk = static_cast<int64_t>(list_folder(folder + "/runs").size());
    if (counts.on_disk == counts.in_index) break;
  }
  return counts;
}

void check_ledger(const Context& context, Findings& findings) {
  const std::string& folder = context.ledger_folder;
  const std::string reindex = context.spell(suggested("gc", {{"reindex", true}}));
  auto ledger = store::Ledger::open(folder);
  if (!ledger) return findings.bad("ledger", ledger.error().message, ledger.error().hint);
  const auto counts = counts_of(*ledger, folder);
  if (!counts) return findings.bad("index", counts.error().message, reindex);
  const std::string runs = counted(counts->in_index, "run");
  findings.good("ledger", context.host_paths ? fmt::format("{} ({})", folder, runs) : runs);
  if (counts->on_disk != counts->in_index) {
    findings.note("index",
                  fmt::format("{} on disk, {} in the index", counted(counts->on_disk, "bundle"),
                              grouped(counts->in_index)),
                  reindex);
  }
  const auto stagings = static_cast<int64_t>(list_folder(folder + "/staging").size());
  if (stagings > 0)
    findings.note("staging", counted(stagings, "import") + " running or killed",
                  context.spell(suggested("gc")));
  const auto recordings = static_cast<int64_t>(list_recordings(folder).size());
  if (recordings > 0)
    findings.note("recordings", counted(recordings, "recording") + " running or killed",
                  context.spell(suggested("record", {{"recover", true}})));
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) return;
  const auto free_bytes = static_cast<int64_t>(space.f_bavail) * static_cast<int64_t>(space.f_frsize);
  if (free_bytes < (int64_t{1} << 30)) {
    findings.note("disk", bytes_text(free_bytes) + " free",
                  "free some space, or choose another place with --ledger DIR");
  } else {
    findings.good("disk", bytes_text(free_bytes) + " free");
  }
}

/// What cannot be measured here is worth knowing, but nothing is broken.
void check_capabilities(const Environment& surroundings, Findings& findings) {
  for (const capture::Capability& c : capture::capabilities(surroundings)) {
    if (c.works) {
      findings.good(c.name, c.detail);
    } else {
      findings.note(c.name, c.detail, c.fix);
    }
  }
}

Result<Outcome> run(Context& context, const json&) {
  Findings findings;
  findings.good("version", NEUROLENS_VERSION);
  findings.good("cores", std::to_string(std::thread::hardware_concurrency()));
  std::string formats;
  for (const auto* adapter : ingest::all_adapters()) {
    formats += (formats.empty() ? "" : ", ") + std::string(adapter->format);
  }
  findings.good("formats", formats);
  check_ledger(context, findings);
  if (context.host_paths) check_capabilities(*context.environment, findings);  // others cannot measure here
  Outcome outcome;
  outcome.data = {{"healthy", findings.healthy()}, {"checks", findings.list()}};
  outcome.exit_code = findings.healthy() ? 0 : 3;
  return outcome;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft});
  for (const auto& c : outcome.data["checks"]) {
    const std::string fix = c["fix"];
    table.add({c["status"], c["check"], c["detail"].get<std::string>() + (fix.empty() ? "" : "  -> " + fix)});
  }
  return table.text("  ", false, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "doctor",
      .summary =
          "Check this installation and machine: is it healthy, what works, which tools, profilers or "
          "permissions are missing, and how to repair it",
      .use_when =
          "a command does not work, fails or cannot record or profile here, nsys or ncu is not found, or the "
          "machine is new and has to be set up or configured",
      .not_when = "one run is damaged: verify",
      .example = R"({})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::doctor_operation
