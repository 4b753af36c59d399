#include "ops/lab/profile_sides.h"

#include "base/json.h"
#include "ops/door.h"
#include "ops/lab/measure_side.h"
#include "ops/lab/sampled_change.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// The call that profiles a side: `deep` for commands where it is asked for, else what fits the side.
std::pair<std::string, json> profiling_call(const lab::Target& target, const lab::Side& side) {
  json labels = json::array({"target=" + target.name, "side=" + side.name});
  if (side.kind != lab::SideKind::kCommand) {
    json parameters = profile_parameters(target, side);
    parameters["set"] = std::move(labels);
    return {"profile", std::move(parameters)};
  }
  if (target.profile == lab::ProfileLevel::kDeep)
    return {
        "deep",
        {{"workload", side.command}, {"set", std::move(labels)}, {"time_limit", target.time_limit_seconds}}};
  json parameters = {{"command", side.command}, {"set", std::move(labels)}};
  return {"record", recording(std::move(parameters), side.folder, target.time_limit_seconds)};
}

Result<std::string> profile_side(const Context& given, const lab::Target& target, const lab::Side& side) {
  const Environment environment = environment_of(given, target, side, {});
  Context context = given;
  context.environment = &environment;
  const auto [operation, parameters] = profiling_call(target, side);
  NL_TRY(const Outcome outcome, call(operation, parameters, context));
  return outcome.data.value("run_id", "");
}

}  // namespace

json recording(json parameters, const std::string& folder, int64_t seconds) {
  constexpr int kHz = 999;  // programs are short, and these runs are not timed
  parameters.update(
      {{"folder", folder}, {"silent", true}, {"time_limit", seconds}, {"hz", kHz}, {"python", true}});
  return parameters;
}

Result<Explanation> explained(const Context& context, const ProfileCall& base, const ProfileCall& changed) {
  Explanation explanation;
  const auto not_known = [&](const Error& error) -> Result<Explanation> {
    if (error.code == ErrorCode::kCancelled) return error;
    explanation.why = "not known: " + error.message;
    return explanation;
  };
  for (const ProfileCall* const profile : {&base, &changed}) {
    auto run = (*profile)();
    if (!run) return not_known(run.error());
    explanation.runs.push_back(std::move(*run));
  }
  Context reading = context;
  const auto comparison = call("compare", {{"runs", explanation.runs}}, reading);
  if (!comparison && comparison.error().code == ErrorCode::kUnsupported) {
    // Programs without a time line have samples.
    auto change = sampled_change(context, explanation.runs);
    if (!change) return not_known(change.error());
    explanation.why = std::move(*change);
    return explanation;
  }
  if (!comparison) return not_known(comparison.error());
  explanation.why = comparison->data.value("sentence", "");
  return explanation;
}

Result<void> profile_sides(const Context& context, const lab::Target& target, const lab::Side& variant,
                           lab::ClaimResult& claim) {
  if (target.profile == lab::ProfileLevel::kNone || claim.verdict == lab::ClaimVerdict::kRefused) return {};
  NL_TRY(Explanation explanation,
         explained(
             context, [&] { return profile_side(context, target, *target.baseline); },
             [&] { return profile_side(context, target, variant); }));
  claim.profiled_runs = std::move(explanation.runs);
  claim.why = std::move(explanation.why);
  return {};
}

}  // namespace nl::ops
