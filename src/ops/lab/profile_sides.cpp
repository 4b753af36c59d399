#include "ops/lab/profile_sides.h"

#include "base/json.h"
#include "ops/door.h"
#include "ops/lab/measure_side.h"

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
  json parameters = {{"command", side.command}, {"set", std::move(labels)}};
  if (target.profile == lab::ProfileLevel::kDeep) return {"deep", std::move(parameters)};
  parameters.update({{"folder", side.folder}, {"silent", true}, {"time_limit", target.time_limit_seconds}});
  return {"record", std::move(parameters)};
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

Result<void> profile_sides(const Context& context, const lab::Target& target, const lab::Side& variant,
                           lab::ClaimResult& claim) {
  if (target.profile == lab::ProfileLevel::kNone || claim.verdict == lab::ClaimVerdict::kRefused) return {};
  const auto said = [&](const Error& error) -> Result<void> {
    if (error.code == ErrorCode::kCancelled) return error;
    claim.why = "not known: " + error.message;
    return {};
  };
  const auto base = profile_side(context, target, *target.baseline);
  if (!base) return said(base.error());
  const auto changed = profile_side(context, target, variant);
  if (!changed) return said(changed.error());
  claim.profiled_runs = {*base, *changed};
  Context reading = context;
  const auto comparison = call("compare", {{"runs", claim.profiled_runs}}, reading);
  if (!comparison) return said(comparison.error());
  claim.why = comparison->data.value("sentence", "");
  return {};
}

}  // namespace nl::ops
