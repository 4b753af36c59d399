#include "ops/lab/bench_report.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "ops/lab/bench_session.h"
#include "report/bench_html.h"
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

}  // namespace

Result<Outcome> report_bench(Context& context, const json& parameters) {
  Outcome outcome;
  NL_TRY(outcome.data, asked_session(context, parameters));
  outcome.data["history"] = history_of(context, outcome.data);
  if (parameters.contains("html")) {
    const std::string path = parameters["html"];
    NL_CHECK(context.page_files.write(path, report::bench_html(outcome.data)));
    outcome.next = {suggested("view", {{"runs", json::array({path})}})};
  }
  return outcome;
}

}  // namespace nl::ops
