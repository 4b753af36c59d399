#include "ops/lab/measure_target.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "capture/gpu_telemetry.h"
#include "capture/run/workload.h"
#include "capture/tools/pass.h"
#include "lab/machine/machine_lock.h"
#include "lab/run/schedule.h"
#include "ops/import/import_file.h"
#include "ops/lab/measure_side.h"
#include "ops/lab/profile_sides.h"

namespace nl::ops {
namespace {

using lab::ClaimResult;
using lab::ClaimVerdict;
using lab::Phase;
using lab::Sample;
using lab::Side;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// Errors that say nothing of a side: whoever called must hear of them.
bool is_of_lab(const Error& error) {
  return error.code == ErrorCode::kCancelled || error.code == ErrorCode::kIo ||
         error.code == ErrorCode::kConflict || error.code == ErrorCode::kPermission;
}

class TargetMeasurement {
 public:
  TargetMeasurement(Context& context, BenchSession& session, const TargetPlan& plan)
      : context_(context), session_(session), plan_(plan), target_(*plan.target) {
    sides_.push_back(&*target_.baseline);
    for (const Side& variant : target_.variants) sides_.push_back(&variant);
  }

  Result<std::vector<ClaimResult>> run() {
    NL_CHECK(run_cold());
    NL_CHECK(check_results());
    NL_CHECK(warm_up());
    return run_blocks();
  }

 private:
  // ---- Runs

  Result<void> measure(const Side& side, Phase phase, int64_t block, int64_t place) {
    const std::string run =
        fmt::format("runs/{}/{}-{}-{}-{}", plan_.folder, side.name, lab::phase_name(phase), block, place);
    const RunFolders folders{session_.folder() + "/" + run,
                             fmt::format("{}/outputs/{}/{}", session_.folder(), plan_.folder, side.name)};
    remove_tree(folders.artifacts);  // of a run that was interrupted
    json document = plan_.document;
    document["labels"]["side"] = side.name;
    auto sample = measure_side(context_, target_, side, folders, std::move(document));
    if (!sample && is_of_lab(sample.error())) return sample.error();
    if (!sample) {
      refusals_[&side] =
          fmt::format("{} failed{}: {}", side.name, phase == Phase::kCold ? "" : " while it was timed",
                      sample.error().message);
      return {};
    }
    sample->target = target_.name;
    sample->side = side.name;
    sample->phase = phase;
    sample->block = block;
    sample->place = place;
    sample->folder = run;
    return session_.add_sample(*sample);
  }

  bool is_measured(const Side& side, Phase phase, int64_t block, int64_t place) const {
    const auto& samples = session_.samples();
    return std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
      return sample.target == target_.name && sample.side == side.name && sample.phase == phase &&
             sample.block == block && sample.place == place;
    });
  }

  Result<void> measure_once(const Side& side, Phase phase, int64_t block, int64_t place) {
    if (is_refused(side) || is_measured(side, phase, block, place)) return {};
    return measure(side, phase, block, place);
  }

  /// A side without a baseline has nothing to be compared with.
  bool is_refused(const Side& side) const {
    return refusals_.contains(&side) || refusals_.contains(sides_[0]);
  }
  bool are_all_refused() const {
    return std::all_of(sides_.begin() + 1, sides_.end(), [&](const Side* side) { return is_refused(*side); });
  }

  // ---- Before the time counts

  Result<void> run_cold() {
    for (const Side* side : sides_) NL_CHECK(measure_once(*side, Phase::kCold, 0, 0));
    return {};
  }

  /// Never timing of what is wrong: the user's own command decides what is.
  Result<void> check_results() {
    if (target_.check.empty()) return {};
    for (const Side* variant : std::vector(sides_.begin() + 1, sides_.end())) {
      if (is_refused(*variant)) continue;
      NL_CHECK(check_results_of(*variant));
    }
    return {};
  }

  Result<void> check_results_of(const Side& variant) {
    const std::string outputs = session_.folder() + "/outputs/" + plan_.folder + "/";
    capture::WorkloadOptions options;
    for (std::string word : target_.check) {
      for (const auto& [name, value] :
           {std::pair{"{baseline}", outputs + "baseline"}, std::pair{"{variant}", outputs + variant.name},
            std::pair{"{name}", variant.name}}) {
        for (size_t at = word.find(name); at != std::string::npos; at = word.find(name, at + value.size()))
          word.replace(at, std::string_view(name).size(), value);
      }
      options.command.push_back(std::move(word));
    }
    options.folder = variant.folder;
    options.surroundings = context_.environment;
    options.artifacts = outputs + "check-" + variant.name;
    options.time_limit = std::chrono::seconds(target_.time_limit_seconds);
    options.ends_with_us = true;
    options.watch = [this]() -> Result<void> {
      return context_.cancelled() ? cancelled_error() : Result<void>();
    };
    const auto end = capture::run_workload(options);
    if (!end && is_of_lab(end.error())) return end.error();
    if (end && end->process.cut_short && end->process.cut_short->code == ErrorCode::kCancelled)
      return cancelled_error();
    if (!end) {
      refusals_[&variant] = "the check cannot be run: " + end.error().message;
    } else if (end->process.exit_code != 0 || end->process.cut_short) {
      const std::string said = capture::last_words(options.artifacts);
      refusals_[&variant] = fmt::format("its results are wrong: the check ended with {}{}{}",
                                        end->process.exit_code, said.empty() ? "" : ": ", said);
    }
    return {};
  }

  /// The cold run was the first of them.
  Result<void> warm_up() {
    for (int64_t i = 1; i < target_.warm_up && !are_all_refused(); i++) {
      for (const Side* side : sides_) NL_CHECK(measure_once(*side, Phase::kWarmUp, 0, i));
    }
    return {};
  }

  // ---- Blocks

  Result<std::vector<ClaimResult>> run_blocks() {
    const auto begin = Clock::now();
    auto now = claims();
    for (int64_t block = 0; !are_all_refused() && !is_enough(2 * block, begin, now); block++) {
      NL_CHECK(run_block(block));
      now = claims();
      context_.progress({progress_text(now), std::min(1.0, 2.0 * static_cast<double>(block + 1) /
                                                               static_cast<double>(target_.stop.runs))});
    }
    return now;
  }

  Result<void> run_block(int64_t block) {
    const auto order = lab::block_order(sides_.size(), target_.seed_or_default(), block);
    for (size_t place = 0; place < order.size(); place++)
      NL_CHECK(measure_once(*sides_[order[place]], Phase::kCounted, block, static_cast<int64_t>(place)));
    return {};
  }

  /// So many runs a side are done.
  bool is_enough(int64_t runs, Clock::time_point begin, const std::vector<ClaimResult>& now) const {
    if (runs >= target_.stop.runs) return true;
    if (runs < target_.stop.least) return false;
    if (target_.stop.minutes &&
        Clock::now() - begin >= std::chrono::duration<double, std::ratio<60>>(*target_.stop.minutes))
      return true;
    if (target_.stop.width) return lab::is_narrow_enough(target_, now);
    return std::all_of(now.begin(), now.end(),
                       [](const ClaimResult& claim) { return claim.verdict != ClaimVerdict::kInconclusive; });
  }

  std::string progress_text(const std::vector<ClaimResult>& now) const {
    const auto open = std::find_if(now.begin(), now.end(),
                                   [](const auto& c) { return c.verdict != ClaimVerdict::kRefused; });
    if (open == now.end() || !open->speedup) return target_.name;
    return fmt::format("{}: {} runs, {:.3f} times as fast", target_.name, open->runs, *open->speedup);
  }

  // ---- What comes of it

  std::vector<ClaimResult> claims() const {
    std::vector<ClaimResult> claims;
    for (const Side& variant : target_.variants) {
      if (is_refused(variant)) {
        const auto own = refusals_.find(&variant);
        claims.push_back(lab::refused_claim(target_, variant,
                                            own != refusals_.end() ? own->second : refusals_.at(sides_[0])));
        continue;
      }
      claims.push_back(lab::judge_claim(target_, variant, session_.samples()));
      claims.back().is_checked = !target_.check.empty();
    }
    return claims;
  }

  Context& context_;
  BenchSession& session_;
  const TargetPlan& plan_;
  const lab::Target& target_;
  std::vector<const Side*> sides_;  ///< the baseline first
  std::map<const Side*, std::string> refusals_;
};

/// Every process run that counts becomes a run of the ledger. One that is there already, from before an
/// interruption, is found again by its content.
Result<std::map<std::string, std::vector<std::string>>> keep_runs(Context& context, store::Ledger& ledger,
                                                                  const BenchSession& session,
                                                                  const lab::Target& target) {
  std::map<std::string, std::vector<std::string>> ids;
  for (const Sample& sample : session.samples()) {
    if (sample.target != target.name || sample.phase != Phase::kCounted) continue;
    const std::string folder = session.folder() + "/" + sample.folder;
    ImportOptions options;
    options.as_one = true;
    options.artifacts = folder;
    std::vector<std::string> paths = {folder + "/capture.json"};
    const std::string telemetry = folder + "/" + capture::kTelemetryFile;
    if (path_exists(telemetry)) paths.push_back(telemetry);
    NL_TRY(const auto report, import_files(context, ledger, paths, options));
    ids[sample.side].push_back(report.run_id);
  }
  return ids;
}

}  // namespace

Result<std::vector<ClaimResult>> measure_target(Context& context, store::Ledger& ledger,
                                                BenchSession& session, const TargetPlan& plan) {
  const lab::Target& target = *plan.target;
  std::vector<ClaimResult> claims;
  {
    NL_TRY(const auto lock, lab::MachineLock::take(*context.environment, target.device, lab::Use::kAlone,
                                                   "bench " + target.name, plan.wait));
    NL_TRY(claims, TargetMeasurement(context, session, plan).run());
    for (size_t i = 0; i < claims.size(); i++)
      NL_CHECK(profile_sides(context, target, target.variants[i], claims[i]));
  }
  NL_TRY(const auto ids, keep_runs(context, ledger, session, target));
  for (ClaimResult& claim : claims) {
    if (claim.verdict == ClaimVerdict::kRefused) continue;
    claim.baseline.run_ids = ids.at("baseline");
    claim.changed.run_ids = ids.at(claim.variant);
  }
  return claims;
}

}  // namespace nl::ops
