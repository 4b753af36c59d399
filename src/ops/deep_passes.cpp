#include "ops/deep_passes.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyze/taxonomy.h"
#include "base/files.h"
#include "base/text.h"
#include "capture/convert_report.h"
#include "capture/ncu_command.h"
#include "capture/nsys_command.h"
#include "ops/import_file.h"
#include "ops/replay_choice.h"
#include "store/ledger.h"

namespace nl::ops {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr auto kToolTime = std::chrono::minutes(1);  // to start and to write its report, besides any slowdown

/// How a pass under a tool came out.
struct Verdict {
  std::string status;
  std::string reason = {};
  std::string hint = {};
};

int64_t median(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

json ratio(int64_t value, int64_t base) {
  return base > 0 ? json(static_cast<double>(value) / static_cast<double>(base)) : json(nullptr);
}

std::string how_it_ended(const capture::PassEnd& pass, const std::string& folder) {
  const std::string said = capture::last_words(folder);
  return fmt::format("exit code {}{}{}", pass.end.process.exit_code, said.empty() ? "" : ": ", said);
}

/// The report that nsys left, under any of the names it has had; empty if there is none.
std::string report_in(const std::string& folder) {
  for (const std::string& name : list_folder(folder)) {
    if (name.ends_with(".nsys-rep") || name.ends_with(".qdrep")) return folder + "/" + name;
  }
  return {};
}

std::string start_of(const std::string& path, size_t bytes) {
  std::string text(bytes, '\0');
  auto file = File::open_to_read(path);
  const auto read = file ? file->read(text.data(), bytes) : Result<size_t>(size_t{0});
  text.resize(read ? *read : 0);
  return text;
}

class DeepRunner {
 public:
  DeepRunner(Context& context, const DeepPlan& plan, const std::string& artifacts, const std::string& scratch)
      : context_(context), plan_(plan), artifacts_(artifacts), scratch_(scratch) {}

  Result<DeepPasses> run() {
    NL_CHECK(run_unprofiled());
    NL_CHECK(run_nsys());
    if (plan_.ncu) NL_CHECK(run_ncu());
    return std::move(result_);
  }

 private:
  // ---- Any pass

  capture::PassOptions options_for(const std::string& folder) const {
    capture::PassOptions options;
    options.command = plan_.workload.command;
    options.folder = plan_.workload.folder;
    options.environment = plan_.workload.environment;
    options.artifacts = artifacts_ + "/" + folder;
    options.budget = plan_.budget;
    options.cancelled = context_.cancelled;
    return options;
  }

  void add_iteration(const std::string& pass, const capture::CommandTime& time) {
    result_.iterations.push_back({{"pass", pass},
                                  {"warm_up", false},
                                  {"start_ns", time.start_ns},
                                  {"dur_ns", time.wall_ns},
                                  {"cpu_ns", time.cpu_ns}});
  }

  // ---- Without a tool

  Result<void> run_unprofiled() {
    std::vector<int64_t> wall, cpu;
    for (int64_t i = 0; i < plan_.repeats; i++) {
      context_.progress({fmt::format("without a tool, {} of {}", i + 1, plan_.repeats), 0});
      NL_TRY(const auto time, run_once(fmt::format("unprofiled-{}", i + 1)));
      add_iteration("unprofiled", time);
      wall.push_back(time.wall_ns);
      cpu.push_back(time.cpu_ns);
    }
    wall_ns_ = median(wall);
    cpu_ns_ = median(cpu);
    result_.passes.push_back({{"pass", "unprofiled"},
                              {"status", "done"},
                              {"runs", plan_.repeats},
                              {"exit_code", 0},
                              {"wall_ns", wall_ns_},
                              {"cpu_ns", cpu_ns_}});
    return {};
  }

  Result<capture::CommandTime> run_once(const std::string& folder) const {
    capture::PassOptions options = options_for(folder);
    options.budget.grace = std::chrono::seconds(5);
    NL_TRY(const auto pass, capture::run_pass(options));
    if (pass.not_started) return *pass.not_started;
    if (pass.end.process.cut_short)
      return Error{ErrorCode::kUnavailable,
                   "the workload was stopped without any tool: " + pass.end.process.cut_short->message,
                   "a workload has to end by itself; --time-limit and --silence-limit give it more"};
    if (!pass.time || pass.time->exit_code != 0)
      return Error{ErrorCode::kBadInput,
                   "the workload fails without any tool: " + how_it_ended(pass, options.artifacts)};
    return *pass.time;
  }

  // ---- Under a tool

  Result<capture::PassEnd> run_under(const std::string& name, const std::vector<std::string>& tool) {
    context_.progress({"under " + name, 0});
    capture::PassOptions options = options_for(name);
    options.tool = tool;
    const auto slow = milliseconds(wall_ns_ / 1'000'000 * plan_.max_slowdown) + kToolTime;
    options.budget.time = std::min(options.budget.time, milliseconds(slow));
    NL_TRY(auto pass, capture::run_pass(options));
    attempts_ = 1;
    if (!failed_to_start(pass)) return pass;
    remove_tree(options.artifacts);
    attempts_ = 2;
    return capture::run_pass(options);
  }

  /// The daemon of nsys is not always there in time on a busy machine.
  static bool failed_to_start(const capture::PassEnd& pass) {
    return pass.end.process.exit_code != 0 && !pass.end.process.cut_short && !pass.time && !pass.not_started;
  }

  void conclude(const std::string& name, const capture::VendorTool& tool, std::vector<std::string> command,
                const capture::PassEnd& pass, const Verdict& verdict) {
    json entry = {{"pass", name},
                  {"status", verdict.status},
                  {"tool", tool.path},
                  {"version", tool.version},
                  {"command", std::move(command)},
                  {"attempts", attempts_},
                  {"exit_code", pass.end.process.exit_code},
                  {"tool_wall_ns", pass.end.process.wall_ns},
                  {"files", list_folder(artifacts_ + "/" + name)}};
    if (pass.time && pass.time->exit_code == 0 && !pass.end.process.cut_short) {
      add_iteration(name, *pass.time);
      entry["wall_ns"] = pass.time->wall_ns;
      entry["cpu_ns"] = pass.time->cpu_ns;
      entry["wall_ratio"] = ratio(pass.time->wall_ns, wall_ns_);
      entry["cpu_ratio"] = ratio(pass.time->cpu_ns, cpu_ns_);
    }
    if (!verdict.reason.empty()) entry["reason"] = verdict.reason;
    if (!verdict.hint.empty()) entry["hint"] = verdict.hint;
    result_.passes.push_back(std::move(entry));
    warn(name, verdict);
  }

  void warn(const std::string& name, const Verdict& verdict) {
    if (verdict.status == "done") return;
    result_.warnings.push_back(
        fmt::format("{}: {}{}{}", name, verdict.reason, verdict.hint.empty() ? "" : "; ", verdict.hint));
  }

  /// A pass that was not begun.
  void skip(const std::string& name, const std::string& reason) {
    result_.passes.push_back({{"pass", name}, {"status", "not_run"}, {"reason", reason}});
    warn(name, {"not_run", reason});
  }

  /// Into a ledger of its own that is thrown away: its bundle.
  Result<std::string> import_aside(const std::string& path) {
    Context aside = context_;
    aside.ledger_folder = scratch_ + "/ledger";
    NL_TRY(auto ledger, store::Ledger::open(aside.ledger_folder));
    NL_TRY(const auto report, import_files(aside, ledger, {path}, {}));
    return ledger.run_folder(report.run_id);
  }

  // ---- Nsight Systems

  Result<void> run_nsys() {
    capture::NsysOptions options;
    options.report = artifacts_ + "/nsys/report";
    options.trace = plan_.trace;
    options.range = plan_.workload.range;
    const auto command = capture::nsys_command(plan_.nsys, options);
    NL_TRY(const auto pass, run_under("nsys", command));
    NL_TRY(const Verdict verdict, judge_nsys(pass));
    conclude("nsys", plan_.nsys, command, pass, verdict);
    return {};
  }

  Result<Verdict> judge_nsys(const capture::PassEnd& pass) {
    const std::string folder = artifacts_ + "/nsys", report = report_in(folder);
    Verdict verdict{"done"};
    if (pass.end.process.cut_short) {
      verdict = {"cut_short", "the pass was stopped: " + pass.end.process.cut_short->message,
                 "--time-limit, --silence-limit, --max-slowdown and --max-mb are its budget"};
      if (report.empty()) verdict.reason += ", and left no report";
    } else if (report.empty() && pass.end.process.exit_code != 0) {
      verdict = {"failed", "no report: " + how_it_ended(pass, folder)};
    } else if (report.empty()) {
      verdict = {"nothing_profiled", "nothing was profiled: the tool ended well and wrote no report"};
      if (plan_.workload.range) verdict.hint = "was the range ever entered? A range is DOMAIN@RANGE here";
    } else if (pass.time && pass.time->exit_code != 0) {
      verdict = {"failed", fmt::format("the workload ended with exit code {} under the tool; what was "
                                       "recorded is kept",
                                       pass.time->exit_code)};
    }
    if (report.empty()) return verdict;
    auto fine = read_report(report);
    if (fine || context_.cancelled()) return fine ? Result<Verdict>(verdict) : fine.error();
    if (verdict.status == "done") verdict.status = "failed";
    verdict.reason += (verdict.reason.empty() ? "" : "; ") + fine.error().message;
    return verdict;
  }

  /// Exports it and looks which kernels there are.
  Result<void> read_report(const std::string& report) {
    const auto* const kind = capture::report_kind(start_of(report, 64));
    if (kind == nullptr) return Error{ErrorCode::kBadInput, "what nsys wrote is no report: " + report};
    context_.progress({"exporting the report", 0});
    const std::string aside = scratch_ + "/export", target = artifacts_ + "/nsys/nsys.sqlite";
    NL_TRY(const auto converted, capture::convert_report(*kind, report, {aside, context_.cancelled}));
    NL_TRY(const bool moved, rename_to_new(converted.path, target));
    if (!moved) return Error{ErrorCode::kInternal, "there is an export already: " + target};
    NL_TRY(const std::string bundle, import_aside(target));
    result_.sources.push_back(target);
    NL_TRY(const auto taxonomy, analyze::Taxonomy::built_in());
    LaunchOrder launches(taxonomy);
    NL_CHECK(read_launches(bundle, launches));
    choice_ = choose_replays(launches, plan_.top, plan_.launches);
    return {};
  }

  // ---- Nsight Compute

  /// Kernels that were named, without those that communicate.
  Result<void> take_named_kernels() {
    NL_TRY(const auto taxonomy, analyze::Taxonomy::built_in());
    choice_ = {};
    for (const std::string& name : plan_.functions) {
      const bool communicates = taxonomy.kernel(name).op_class == analyze::OpClass::k_communication;
      (communicates ? choice_.left_out : choice_.replayed).push_back({name, communicates, 0, 0});
    }
    choice_.count = plan_.launches;
    return {};
  }

  void warn_of_choice() {
    std::vector<std::string> names;
    for (const auto& kernel : choice_.left_out) names.push_back(kernel.function);
    if (!names.empty())
      result_.warnings.push_back(
          fmt::format("not replayed, since kernels that wait for other devices may hang alone: {}",
                      fmt::join(names, ", ")));
    if (!choice_.outside.empty())
      result_.warnings.push_back(
          fmt::format("no launch of these kernels is among the replayed ones: {}; "
                      "--launches takes more",
                      fmt::join(choice_.outside, ", ")));
  }

  Result<void> run_ncu() {
    if (!plan_.functions.empty()) NL_CHECK(take_named_kernels());
    warn_of_choice();
    result_.replays = replay_choice_json(choice_);
    if (choice_.replayed.empty()) {
      skip("ncu", choice_.left_out.empty() ? "there are no kernels to replay: nsys saw none"
                                           : "there are no kernels to replay: all of them communicate");
      return {};
    }
    capture::NcuOptions options;
    options.log = artifacts_ + "/ncu/counters.csv";
    for (const auto& kernel : choice_.replayed) options.functions.push_back(kernel.function);
    options.skip = choice_.skip;
    options.count = choice_.count;
    options.range = plan_.workload.range;
    const auto command = capture::ncu_command(*plan_.ncu, options);
    NL_TRY(const auto pass, run_under("ncu", command));
    NL_TRY(const Verdict verdict, judge_ncu(pass, options.log));
    conclude("ncu", *plan_.ncu, command, pass, verdict);
    return {};
  }

  Result<Verdict> judge_ncu(const capture::PassEnd& pass, const std::string& log) {
    constexpr size_t kLook = 1 << 20;
    const std::string folder = artifacts_ + "/ncu";
    const std::string said = start_of(log, kLook) + start_of(folder + "/stdout.txt", kLook) +
                             start_of(folder + "/stderr.txt", kLook);
    const bool has_rows = has_part(said, "\"Kernel Name\"");
    Verdict verdict{"done"};
    if (const auto allowed = capture::check_counter_permission(said); !allowed) {
      verdict = {"forbidden", allowed.error().message, allowed.error().hint};
    } else if (pass.end.process.cut_short) {
      verdict = {"cut_short", "the pass was stopped: " + pass.end.process.cut_short->message,
                 "--top and --launches make it shorter"};
    } else if (!has_rows && has_part(said, "No kernels were profiled")) {
      verdict = {"nothing_profiled", "nothing was profiled: the tool met none of the kernels"};
    } else if (pass.end.process.exit_code != 0) {
      verdict = {"failed", how_it_ended(pass, folder)};
    } else if (!has_rows) {
      verdict = {"nothing_profiled", "nothing was profiled: the tool ended well and wrote no counters"};
    }
    if (!has_rows) return verdict;
    const auto fine = import_aside(log);
    if (fine) {
      result_.sources.push_back(log);
    } else if (context_.cancelled()) {
      return fine.error();
    } else {
      if (verdict.status == "done") verdict.status = "failed";
      verdict.reason += (verdict.reason.empty() ? "" : "; ") + fine.error().message;
    }
    return verdict;
  }

  Context& context_;
  const DeepPlan& plan_;
  const std::string artifacts_;
  const std::string scratch_;
  DeepPasses result_;
  ReplayChoice choice_;
  int64_t wall_ns_ = 0;
  int64_t cpu_ns_ = 0;
  int64_t attempts_ = 0;  ///< of the last pass under a tool
};

}  // namespace

Result<DeepPasses> run_deep_passes(Context& context, const DeepPlan& plan, const std::string& artifacts,
                                   const std::string& scratch) {
  return DeepRunner(context, plan, artifacts, scratch).run();
}

}  // namespace nl::ops
