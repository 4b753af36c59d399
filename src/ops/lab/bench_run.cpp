#include "ops/lab/bench_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/private_folder.h"
#include "capture/document.h"
#include "capture/run/workload.h"
#include "lab/targets/bench_file.h"
#include "lab/targets/target_check.h"
#include "ops/lab/bench_files.h"
#include "ops/lab/keep_expectations.h"
#include "ops/lab/measure_target.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "report/bench_words.h"
#include "stats/sample.h"

namespace nl::ops {
namespace {

using lab::ClaimResult;
using lab::ClaimVerdict;
using nlohmann::json;

// ---- What is asked for

/// By its name, by its name without parameters, or all.
Result<std::vector<const lab::Target*>> chosen_targets(const lab::BenchFile& file, const json& parameters) {
  std::vector<const lab::Target*> chosen;
  const auto names = parameters.value("target", std::vector<std::string>());
  for (const std::string& name : names) {
    const auto is_meant = [&](const lab::Target& target) {
      return target.name == name || target.base_name == name;
    };
    if (std::none_of(file.targets.begin(), file.targets.end(), is_meant))
      return Error{ErrorCode::kNotFound,
                   fmt::format("no such target in {}: {}", file.path, name),
                   "{} lists them",
                   {suggested("bench", {{"action", "list"}})}};
  }
  for (const lab::Target& target : file.targets) {
    const bool is_meant =
        names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return target.name == name || target.base_name == name;
        });
    if (is_meant) chosen.push_back(&target);
  }
  return chosen;
}

Result<void> refuse_faults(const lab::BenchFile& file, const Environment& surroundings,
                           std::vector<std::string>& warnings) {
  std::vector<std::string> faults;
  for (const lab::TargetFault& fault : lab::check_targets({file}, surroundings))
    (fault.is_error ? faults : warnings).push_back(fault.text());
  if (faults.empty()) return {};
  std::string all;
  for (const std::string& fault : faults) all += (all.empty() ? "" : "\n") + fault;
  return Error{ErrorCode::kBadInput, all, "{} says more", {suggested("bench", {{"action", "check"}})}};
}

/// Reasons of the file, and of the caller for this time.
Result<std::map<std::string, std::string>> allowed_checks(const lab::BenchFile& file,
                                                          const json& parameters) {
  auto allowed = file.allowed;
  for (const std::string& text : parameters.value("allow", std::vector<std::string>())) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      return Error{ErrorCode::kBadInput, "--allow wants CHECK=REASON, not: " + text};
    allowed[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return allowed;
}

Result<lab::Fitness> judged_machine(const Context& context, const lab::BenchFile& file,
                                    const json& parameters) {
  NL_TRY(const auto allowed, allowed_checks(file, parameters));
  return lab::judge_machine(*context.environment, allowed);
}

/// Nothing is measured.
Outcome unfit_outcome(const lab::BenchFile& file, const lab::Fitness& fitness) {
  Outcome outcome;
  outcome.data = {{"suite", file.suite},
                  {"file", file.path},
                  {"finished", false},
                  {"environment", to_json_tree(fitness)},
                  {"targets", json::array()}};
  outcome.shown = {{"unfit", fitness.sentence()}};
  outcome.exit_code = lab::kUnfitExit;
  return outcome;
}

std::string unfit_text(const Outcome& outcome, const TextStyle& style) {
  std::string out = "The machine is " + outcome.shown["unfit"].get<std::string>() + ".\n";
  for (const json& check : outcome.data["environment"]["checks"]) {
    if (check["state"] != "unfit") continue;
    const std::string advice = check["advice"], id = check["id"];
    out += wrapped(advice + ", or say why it is no matter: --allow '" + id + "=REASON'", "  ", style.width);
  }
  return out;
}

/// What a command costs that does nothing: as much of each command's time is ours.
Result<std::optional<int64_t>> harness_overhead(const Context& context,
                                                const std::vector<const lab::Target*>& targets) {
  const bool has_commands = std::any_of(targets.begin(), targets.end(), [](const lab::Target* target) {
    return target->baseline->kind == lab::SideKind::kCommand && target->printed.empty();
  });
  if (!has_commands) return std::optional<int64_t>();
  NL_TRY(const FolderAside folder, make_private_folder(*context.environment, PrivateUse::kFiles));
  std::vector<double> values;
  for (int i = 0; i < 5; i++) {
    capture::WorkloadOptions options;
    options.command = {"/bin/true"};
    options.surroundings = context.environment;
    options.artifacts = folder.path();
    NL_TRY(const auto end, capture::run_workload(options));
    values.push_back(static_cast<double>(end.process.wall_ns));
  }
  return std::optional(static_cast<int64_t>(stats::median(stats::sorted(values))));
}

// ---- Running

void profile_deep(std::vector<lab::Target>& targets) {
  for (lab::Target& target : targets) {
    target.profile = lab::ProfileLevel::kDeep;
    profile_deep(target.larger);
  }
}

json labels_of(const lab::BenchFile& file, const lab::Target& target) {
  json labels = target.labels;
  for (const auto& [name, value] : target.parameters) labels[name] = value;
  labels["suite"] = file.suite;
  labels["target"] = target.name;
  return labels;
}

Result<BenchHead> begin_head(const Context& context, const lab::BenchFile& file, const lab::Fitness& fitness,
                             const std::vector<const lab::Target*>& targets) {
  BenchHead head{.suite = file.suite,
                 .file = file.path,
                 .file_sha256 = file.sha256,
                 .started_by = context.principal,
                 .started_unix_ns = store::unix_now_ns(),
                 .environment = fitness,
                 .overhead_ns = {},
                 .command = context.command,
                 .tool_version = NEUROLENS_VERSION};
  NL_TRY(head.overhead_ns, harness_overhead(context, targets));
  return head;
}

Result<BenchSession> session_for(const Context& context, const lab::BenchFile& file,
                                 const lab::Fitness& fitness, const std::vector<const lab::Target*>& targets,
                                 const json& parameters) {
  if (parameters.value("resume", false)) return BenchSession::resume(context, file);
  NL_TRY(const BenchHead head, begin_head(context, file, fitness, targets));
  return BenchSession::start(context, head);
}

Result<void> measure_all(Context& context, store::Ledger& ledger, BenchSession& session,
                         const lab::BenchFile& file, const std::vector<const lab::Target*>& targets,
                         const json& parameters) {
  json document = capture::describe_capture(*context.environment, context.command, file.folder);
  document["bench"] = {{"suite", file.suite},
                       {"session", session.name()},
                       {"file_sha256", file.sha256},
                       {"environment", session.document()["environment"]}};
  const auto measure = [&](const lab::Target& target, const std::string& folder) -> Result<void> {
    if (session.is_decided(target.name)) return {};
    TargetPlan plan{&target, folder, document, std::chrono::seconds(parameters["wait"].get<int64_t>())};
    plan.document["labels"] = labels_of(file, target);
    NL_TRY(const auto claims, measure_target(context, ledger, session, plan));
    return session.add_claims(claims);
  };
  for (const lab::Target* target : targets) {
    const std::string folder = std::to_string(target - file.targets.data());
    NL_CHECK(measure(*target, folder));
    if (!parameters.value("grow", false) || session.are_all_met(target->name)) continue;
    for (size_t i = 0; i < target->larger.size(); i++)
      NL_CHECK(measure(target->larger[i], folder + "-larger-" + std::to_string(i)));
  }
  return {};
}

Outcome outcome_of(const BenchSession& session) {
  Outcome outcome;
  outcome.data = session.answer();
  for (const json& claim : outcome.data["targets"]) {
    if (claim["verdict"] != "met") outcome.exit_code = 1;
  }
  outcome.next = {
      suggested("bench", {{"action", "report"}, {"session", session.name()}, {"html", "bench.html"}})};
  return outcome;
}

// ---- Text

std::string times_text(const json& claim) {
  const auto median = [](const json& side) {
    return side["median_ns"].is_null() ? std::string() : duration_text(side["median_ns"].get<int64_t>());
  };
  const std::string before = median(claim["baseline"]), after = median(claim["changed"]);
  return before.empty() || after.empty() ? "" : before + " → " + after;
}

void add_reasons(const json& claim, std::vector<std::string>& lines) {
  const std::string name = claim["name"];
  const std::string reason = claim["reason"];
  if (!reason.empty()) {
    const json& more = claim["more_runs"];
    lines.push_back(
        name + ": " + reason +
        (more.is_null() ? ""
                        : "; " + counted(more.get<int64_t>(), "more run") + " a side would probably decide"));
  }
  if (const std::string why = claim["why"]; !why.empty()) lines.push_back(name + ", why: " + why);
  for (const std::string proposal : claim["proposals"]) lines.push_back(name + ": try " + proposal);
}

/// A baseline is there once for each of its variants.
std::string disturbed_text(const json& claims, const TextStyle& style) {
  std::map<std::pair<std::string, std::string>, std::pair<int64_t, int64_t>> sides;
  for (const json& claim : claims) {
    for (const char* const side : {"baseline", "changed"})
      sides[{claim["target"], claim[side]["name"]}] = {claim[side]["disturbed"], claim[side]["runs"]};
  }
  int64_t disturbed = 0, all = 0;
  for (const auto& [name, counts] : sides) {
    disturbed += counts.first;
    all += counts.second;
  }
  if (disturbed == 0) return {};
  return wrapped(
      fmt::format(
          "{} of {} were disturbed by other work or by throttling; they count, and the answer marks them.",
          grouped(disturbed), counted(all, "run")),
      "  ", style.width);
}

}  // namespace

Result<Outcome> run_bench(Context& context, const json& parameters) {
  NL_TRY(lab::BenchFile file, given_bench_file(context, parameters));
  if (parameters.value("deep", false)) profile_deep(file.targets);
  NL_TRY(const auto targets, chosen_targets(file, parameters));
  std::vector<std::string> warnings;
  NL_CHECK(refuse_faults(file, *context.environment, warnings));
  NL_TRY(auto ledger, store::Ledger::open(context.ledger_folder));
  NL_CHECK(ledger.may_write());
  NL_TRY(const lab::Fitness fitness, judged_machine(context, file, parameters));
  if (!fitness.is_fit) return unfit_outcome(file, fitness);
  NL_TRY(BenchSession session, session_for(context, file, fitness, targets, parameters));
  NL_CHECK(measure_all(context, ledger, session, file, targets, parameters));
  NL_CHECK(session.finish());
  Outcome outcome = outcome_of(session);
  if (parameters.value("update_expectations", false)) {
    NL_TRY(const auto updates, keep_expectations(context, file, session));
    outcome.data["expectation_updates"] = to_json_tree(updates);
  }
  outcome.warnings = std::move(warnings);
  return outcome;
}

std::string bench_run_text(const Outcome& outcome, const TextStyle& style) {
  if (outcome.exit_code == lab::kUnfitExit) return unfit_text(outcome, style);
  const json& data = outcome.data;
  std::string out = bold(data["suite"].get<std::string>(), style) + "  " +
                    dim("session " + data["session"].get<std::string>(), style) + "\n";
  using enum TextTable::Align;
  TextTable table({kLeft, kLeft, kLeft, kRight, kLeft});
  table.add({"claim", "verdict", "speed-up (interval)", "runs", "time"});
  std::vector<std::string> reasons;
  for (const json& claim : data["targets"]) {
    table.add({claim["name"], report::verdict_words(claim["verdict"]), report::speedup_words(claim),
               grouped(claim["runs"].get<int64_t>()), times_text(claim)});
    add_reasons(claim, reasons);
  }
  out += table.text("  ", true, style);
  out += "\n";
  for (const std::string& reason : reasons) out += wrapped(reason, "  ", style.width);
  out += disturbed_text(data["targets"], style);
  if (data.contains("expectation_updates")) out += kept_expectations_text(data["expectation_updates"], style);
  if (!data["overhead_ns"].is_null())
    out +=
        dim("  A command that does nothing takes " + duration_text(data["overhead_ns"].get<int64_t>()) + ".",
            style) +
        "\n";
  return out;
}

}  // namespace nl::ops
