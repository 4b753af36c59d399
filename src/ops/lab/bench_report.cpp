#include "ops/lab/bench_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/path_text.h"
#include "base/permissions.h"
#include "ops/door.h"
#include "ops/lab/bench_session.h"
#include "report/bench_html.h"
#include "report/claim_html.h"
#include "stats/change_points.h"

namespace nl::ops {
namespace {

using nlohmann::json;

constexpr size_t kMostSessions = 500;  // of the history, the newest

/// The one that is named, or the newest; of a file, if there is one.
Result<json> asked_session(const Context& context, const json& parameters) {
  if (parameters.contains("session")) return read_bench_session(context.ledger_folder, parameters["session"]);
  const std::string file =
      parameters.contains("file") ? context.environment->absolute(parameters["file"].get<std::string>()) : "";
  for (const std::string& name : bench_sessions(context.ledger_folder)) {
    auto session = read_bench_session(context.ledger_folder, name);
    if (session && (file.empty() || (*session)["file"] == file)) return session;
  }
  return Error{ErrorCode::kNotFound,
               "no session" + (file.empty() ? std::string() : " of " + file),
               "{} measures one",
               {suggested("bench", {{"action", "run"}})}};
}

/// Speed-ups of a claim by session, the oldest first, and where their level changed.
struct ClaimHistory {
  json points = json::array();
  std::vector<double> speedups = {};

  json tree() const {
    json changes = json::array();
    stats::ChangePointOptions options;
    options.separated = true;
    for (const stats::ChangePoint& change : stats::find_change_points(speedups, options))
      changes.push_back({{"at", change.at}, {"before", change.before}, {"after", change.after}});
    return {{"points", points}, {"change_points", std::move(changes)}};
  }
};

/// What is damaged is passed over: an old session must not hide the new ones.
json history_of(const Context& context, const json& session) {
  std::map<std::string, ClaimHistory> claims;
  for (const json& claim : session["targets"]) claims[claim["name"]];
  auto names = bench_sessions(context.ledger_folder);
  names.resize(std::min(names.size(), kMostSessions));
  std::reverse(names.begin(), names.end());
  for (const std::string& name : names) {
    const auto earlier = read_bench_session(context.ledger_folder, name);
    if (!earlier || (*earlier)["suite"] != session["suite"]) continue;
    if ((*earlier)["started_unix_ns"] > session["started_unix_ns"]) continue;
    for (const json& claim : (*earlier)["targets"]) {
      const auto known = claims.find(claim.value("name", ""));
      if (known == claims.end() || claim["speedup"].is_null()) continue;
      known->second.points.push_back({{"session", name},
                                      {"started_unix_ns", (*earlier)["started_unix_ns"]},
                                      {"speedup", claim["speedup"]},
                                      {"low", claim["low"]},
                                      {"high", claim.value("high", json())},
                                      {"verdict", claim["verdict"]}});
      known->second.speedups.push_back(claim["speedup"]);
    }
  }
  json history = json::object();
  for (const auto& [name, claim] : claims) history[name] = claim.tree();
  return history;
}

// ---- Pages

/// The comparison of the profiled runs of a claim, as a page. Programs without a time line have none; their
/// claim says what their samples show. Another reason, such as runs that were dropped, is said.
Result<void> write_profiles(const Context& given, const std::string& path, json& claim, Outcome& outcome) {
  Context context = given;
  const auto compared = call("compare", {{"runs", claim["profiled_runs"]}, {"html", path}}, context);
  if (compared) {
    claim["pages"]["profiles"] = base_name(parent_folder(path)) + "/" + base_name(path);
    return {};
  }
  if (compared.error().code == ErrorCode::kCancelled) return compared.error();
  if (compared.error().code == ErrorCode::kUnsupported) return {};
  outcome.warnings.push_back(fmt::format("no comparison of the profiles of {}: {}",
                                         claim["name"].get<std::string>(), compared.error().message));
  return {};
}

/// A page for each claim that was timed, and one for its profiles, in a folder beside the page.
Result<void> write_claims(const Context& context, const std::string& path, Outcome& outcome) {
  const std::string folder = path.substr(0, path.size() - (path.ends_with(".html") ? 5 : 0)) + "-pages";
  NL_CHECK(context.page_files.make_folders(folder));
  NL_TRY(const json samples, read_bench_samples(context.ledger_folder, outcome.data["session"]));
  size_t number = 0;
  for (json& claim : outcome.data["targets"]) {
    const std::string start = fmt::format("{}/{}", folder, ++number);
    if (claim["profiled_runs"].size() == 2)
      NL_CHECK(write_profiles(context, start + "-profiles.html", claim, outcome));
    if (claim["runs"] == 0) continue;
    json own = json::array();
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(own),
                 [&](const json& sample) { return sample["target"] == claim["target"]; });
    const std::string page = report::claim_html(outcome.data, claim, own, "../" + base_name(path));
    NL_CHECK(context.page_files.write(start + "-runs.html", page));
    claim["pages"]["runs"] = fmt::format("{}/{}-runs.html", base_name(folder), number);
  }
  return {};
}

}  // namespace

Result<Outcome> report_bench(Context& context, const json& parameters) {
  Outcome outcome;
  NL_TRY(outcome.data, asked_session(context, parameters));
  outcome.data["history"] = history_of(context, outcome.data);
  if (parameters.contains("html")) {
    const std::string path = parameters["html"];
    NL_CHECK(write_claims(context, path, outcome));
    NL_CHECK(context.page_files.write(path, report::bench_html(outcome.data)));
    outcome.next = {suggested("view", {{"runs", json::array({path})}})};
  }
  return outcome;
}

}  // namespace nl::ops
