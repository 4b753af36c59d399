#include "ops/lab/keep_expectations.h"

#include <fmt/core.h>

#include "base/host_name.h"
#include "base/permissions.h"
#include "base/sha256.h"
#include "capture/run/host.h"
#include "ops/text/text.h"
#include "store/ledger.h"
#include "store/state.h"

namespace nl::ops {
namespace {

using lab::ExpectationUpdate;
using nlohmann::json;

constexpr int64_t kMostBytes = 1 << 20;  // of a bench file, as its reader has it

/// The text that was measured.
Result<std::string> measured_text(const lab::BenchFile& file) {
  NL_TRY(std::string text, read_small_file(file.path, kMostBytes));
  if (sha256_hex(text) == file.sha256) return text;
  return Error{ErrorCode::kConflict,
               "the file was changed while it was measured, so its expectations stay: " + file.path};
}

/// First what is going to be changed, then the change: no change is without its entry.
Result<void> add_history(const Context& context, const lab::BenchFile& file, const BenchSession& session,
                         const std::vector<ExpectationUpdate>& updates) {
  const json checkout = capture::describe_checkout(*context.environment, file.folder);
  const std::string path = file.path + ".expectations.jsonl";
  const lab::LinesFile history(path);
  for (const ExpectationUpdate& update : updates) {
    if (!update.is_change()) continue;
    json entry = to_json_tree(update);
    entry.erase("why_not");
    entry["unix_ns"] = store::unix_now_ns();
    entry["by"] = context.principal;
    entry["machine"] = host_name();
    entry["checkout"] = checkout;
    entry["session"] = session.name();
    NL_CHECK(history.append(entry));
  }
  share_file(path);
  return {};
}

}  // namespace

Result<std::vector<ExpectationUpdate>> keep_expectations(const Context& context, const lab::BenchFile& file,
                                                         const BenchSession& session) {
  auto updates = lab::expectation_updates(file, session.answer()["targets"]);
  NL_TRY(const std::string before, measured_text(file));
  const std::string after = lab::with_updates(before, updates);
  if (after == before) return updates;
  NL_CHECK(add_history(context, file, session, updates));
  NL_CHECK(replace_file(file.path, after));
  return updates;
}

std::string kept_expectations_text(const json& updates, const TextStyle& style) {
  std::string out;
  for (const json& update : updates) {
    const std::string before = update["before"], after = update["after"], why_not = update["why_not"];
    if (!why_not.empty()) {
      out += wrapped(fmt::format("Line {} stays \"{}\": {}.", update["line"].get<int64_t>(), before, why_not),
                     "  ", style.width);
    } else if (after != before) {
      out += fmt::format("  Line {} is \"{}\" now; it was \"{}\".\n", update["line"].get<int64_t>(), after,
                         before);
    }
  }
  return out.empty() ? "  The expectations stay as they are.\n" : out;
}

}  // namespace nl::ops
