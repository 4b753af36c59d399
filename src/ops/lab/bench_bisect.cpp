#include "ops/lab/bench_bisect.h"

#include <fmt/core.h>

#include "base/files.h"
#include "base/host_name.h"
#include "base/private_folder.h"
#include "base/sha256.h"
#include "lab/bisect/bisect.h"
#include "lab/bisect/git_points.h"
#include "lab/bisect/point_runs.h"
#include "ops/door.h"
#include "ops/lab/measure_side.h"
#include "ops/lab/profile_sides.h"
#include "ops/text/text.h"

namespace nl::ops {
namespace {

using lab::BisectAnswer;
using lab::BisectPoint;
using lab::BisectStatus;
using nlohmann::json;

constexpr size_t kMostPoints = 1'000'000;

/// What the file of values must agree on. The folder is no part of it: two clones measure the same.
std::string task_of_bisect(const json& parameters) {
  json task = json::object();
  for (const char* key : {"build", "command", "printed", "pattern"}) {
    if (parameters.contains(key)) task[key] = parameters[key];
  }
  return sha256_hex(task.dump(-1, ' ', true, json::error_handler_t::replace));
}

std::vector<BisectPoint> points_of_list(const json& list) {
  std::vector<BisectPoint> points;
  for (const json& item : list) points.push_back({item.get<std::string>(), item.get<std::string>()});
  return points;
}

lab::BisectOptions bisect_options(const Context& context, const json& parameters) {
  lab::BisectOptions options;
  options.error = parameters.value("error", options.error);
  options.seed = parameters.value("seed", options.seed);
  options.most_pairs = parameters.value("most_pairs", options.most_pairs);
  options.task = task_of_bisect(parameters);
  options.machine = host_name();
  const std::string values = parameters.value("values", "");
  if (!values.empty()) options.values_file = context.environment->absolute(values);
  return options;
}

lab::PointRunsOptions point_run_options(const Context& context, const json& parameters,
                                        const std::string& folder) {
  lab::PointRunsOptions options;
  options.surroundings = context.environment;
  options.folder = folder;
  options.build = parameters.value("build", "");
  options.command = parameters["command"].get<std::vector<std::string>>();
  options.printed = parameters.value("printed", "");
  options.pattern = parameters.value("pattern", "");
  options.build_seconds = parameters.value("build_seconds", options.build_seconds);
  options.run_seconds = parameters.value("run_seconds", options.run_seconds);
  return options;
}

/// A folder inside the one that was named, or among the temporary ones; it goes with this call.
Result<FolderAside> make_work_folder(const Context& context, const json& parameters) {
  const std::string named = parameters.value("folder", "");
  if (named.empty()) return make_private_folder(*context.environment, PrivateUse::kCode);
  const std::string folder = context.environment->absolute(named);
  NL_CHECK(make_folders(folder));
  remove_abandoned(folder + "/bisect-");
  return FolderAside::create(folder + "/bisect-");
}

/// A run of the point in the ledger; what was built before is built again.
Result<std::string> recorded(const Context& given, const lab::PointRuns& runs, const BisectPoint& point,
                             int64_t run_seconds) {
  NL_TRY(const auto ready, runs.prepare(point));
  if (!ready) return Error{ErrorCode::kUnavailable, ready.reason()};
  const Environment environment =
      with_variables(*given.environment, {{lab::kPointVariable, point.id}}, runs.folder_of(point));
  Context context = given;
  context.environment = &environment;
  json parameters = {{"command", runs.command_of(point)}, {"set", json::array({"point=" + point.id})}};
  parameters = recording(std::move(parameters), runs.folder_of(point), run_seconds);
  NL_TRY(const Outcome outcome, call("record", std::move(parameters), context));
  return outcome.data.value("run_id", "");
}

/// The culprit against the point before it.
Result<void> add_why(const Context& context, const lab::PointRuns& runs, int64_t run_seconds,
                     BisectAnswer& answer) {
  if (answer.status != BisectStatus::kFound || !answer.before) return {};
  const auto record = [&](const BisectPoint& point) { return recorded(context, runs, point, run_seconds); };
  NL_TRY(Explanation explanation, explained(
                                      context, [&] { return record(*answer.before); },
                                      [&] { return record(answer.suspects.front()); }));
  answer.profiled_runs = std::move(explanation.runs);
  answer.why = std::move(explanation.why);
  return {};
}

Result<BisectAnswer> searched(const Context& context, const json& parameters,
                              const std::vector<BisectPoint>& points, lab::PointRunsOptions runs_options) {
  if (points.empty() || points.size() > kMostPoints)
    return Error{ErrorCode::kBadInput, "so many points cannot be bisected: " + std::to_string(points.size())};
  const int64_t run_seconds = runs_options.run_seconds;
  NL_TRY(const auto runs, lab::PointRuns::make(std::move(runs_options), points.front()));
  const lab::BisectCalls calls = {[&](const BisectPoint& point) { return runs.prepare(point); },
                                  [&](const BisectPoint& point) { return runs.measure(point); }};
  NL_TRY(BisectAnswer answer, lab::bisect(points, calls, bisect_options(context, parameters)));
  NL_CHECK(add_why(context, runs, run_seconds, answer));
  return answer;
}

Result<BisectAnswer> searched_in_git(const Context& context, const json& parameters,
                                     lab::PointRunsOptions options) {
  const std::string good = parameters.value("good", ""), bad = parameters.value("bad", "");
  if (good.empty() || bad.empty())
    return Error{ErrorCode::kBadInput, "which revisions are good and bad?",
                 "give both, or a list of configurations or versions"};
  const std::string folder = context.environment->absolute(parameters.value("repository", "."));
  NL_TRY(const auto repository, lab::GitRepository::open(*context.environment, folder));
  NL_TRY(const auto points, repository.points(good, bad));
  options.fill = [&](const BisectPoint& point, const std::string& to) {
    return repository.check_out(point.id, to);
  };
  return searched(context, parameters, points, std::move(options));
}

// ---- Text

std::string change_of_ends(double ratio) {
  return fmt::format("{:.3f} times", ratio);
}

std::string bisect_ends_text(const BisectAnswer& answer) {
  std::string text = "The bad end takes " + change_of_ends(answer.change) + " the time of the good one";
  if (const auto& interval = answer.change_interval)
    text +=
        fmt::format(" ({:.3f} to {:.3f}, {:.0f} %)", interval->low, interval->high, 100 * interval->coverage);
  return text + fmt::format(", by {} pairs of runs.\n", answer.ends.size());
}

std::string bisect_verdict_text(const BisectAnswer& answer) {
  switch (answer.status) {
    case BisectStatus::kFound:
      return "It became slower with " + answer.suspects.front().name + "\n";
    case BisectStatus::kRange:
      return fmt::format("It became slower with one of {} points; those between cannot be measured.\n",
                         answer.suspects.size());
    case BisectStatus::kNoDifference:
      return fmt::format(
          "The two ends do not differ as far as {} pairs of runs show: there is nothing to "
          "search for. A smaller difference needs more pairs.\n",
          answer.ends.size());
    case BisectStatus::kBadIsFaster:
      return "The bad end is faster than the good one: swap them, or choose others.\n";
    case BisectStatus::kUndecided:
      return fmt::format("Not decided: {} points are left. More pairs a step would decide.\n",
                         answer.suspects.size());
  }
  return {};
}

std::string bisect_steps_text(const BisectAnswer& answer, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kLeft, kRight, kRight, kLeft});
  table.add({"point", "ratio", "pairs", ""});
  for (const lab::BisectStep& step : answer.steps) {
    table.add({step.point.name, fmt::format("{:.3f}", step.ratio), std::to_string(step.pairs.size()),
               std::string(stats::step_decision_name(step.decision))});
  }
  for (const lab::SkippedPoint& point : answer.skipped)
    table.add({point.point.name, "", "", "left out: " + point.reason});
  return answer.steps.empty() && answer.skipped.empty() ? "" : "\n" + table.text("", true, style);
}

std::string bisect_cost_text(const BisectAnswer& answer) {
  std::string text = fmt::format("\n{} runs", answer.runs);
  if (answer.kept_runs > 0) text += fmt::format(", {} of them from an earlier search", answer.kept_runs);
  if (answer.linear_runs) text += fmt::format("; point by point it would have been {}", *answer.linear_runs);
  return text +
         fmt::format(". The culprit is wrong in at most {:.0f} % of such searches.\n", 100 * answer.error);
}

}  // namespace

Result<Outcome> bench_bisect(Context& context, const json& parameters) {
  NL_TRY(const auto folder, make_work_folder(context, parameters));
  auto options = point_run_options(context, parameters, folder.path());
  auto found = parameters.contains("list")
                   ? searched(context, parameters, points_of_list(parameters["list"]), std::move(options))
                   : searched_in_git(context, parameters, std::move(options));
  if (!found) return std::move(found.error());
  const BisectStatus status = found->status;
  Outcome outcome = answered(std::move(*found));
  outcome.exit_code = status == BisectStatus::kFound || status == BisectStatus::kRange ? 0 : 1;
  return outcome;
}

std::string bench_bisect_text(const Outcome& outcome, const TextStyle& style) {
  const auto& answer = answer_of<BisectAnswer>(outcome);
  const bool differ = !answer.suspects.empty();
  return bisect_verdict_text(answer) + (differ ? bisect_ends_text(answer) : "") +
         (answer.why.empty() ? "" : wrapped("Why: " + answer.why, "", style.width)) +
         bisect_steps_text(answer, style) + bisect_cost_text(answer);
}

}  // namespace nl::ops
