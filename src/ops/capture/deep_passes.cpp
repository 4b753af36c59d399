#include "ops/capture/deep_passes.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analyze/names/taxonomy.h"
#include "base/files.h"
#include "ops/capture/determinism.h"
#include "ops/import/import_file.h"
#include "stats/sample.h"
#include "store/ledger.h"

namespace nl::ops {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr auto kToolTime = std::chrono::minutes(1);  // to start and to write its report, besides any slowdown

/// Below 2^53 ns, which are 104 days.
int64_t median_ns(const std::vector<int64_t>& times) {
  return static_cast<int64_t>(stats::median(stats::sorted({times.begin(), times.end()})));
}

json ratio(int64_t value, int64_t base) {
  return base > 0 ? json(static_cast<double>(value) / static_cast<double>(base)) : json(nullptr);
}

class DeepRunner {
 public:
  DeepRunner(Context& context, const DeepPlan& plan, const std::string& artifacts, const std::string& scratch)
      : context_(context), plan_(plan), artifacts_(artifacts), scratch_(scratch) {}

  Result<DeepPasses> run() {
    NL_CHECK(run_unprofiled());
    NL_CHECK(run_tool(*plan_.tools.trace));
    if (plan_.tools.counters) NL_CHECK(run_counters(*plan_.tools.counters));
    return std::move(result_);
  }

 private:
  // ---- Any pass

  capture::PassOptions options_for(const std::string& folder) const {
    capture::PassOptions options;
    const std::string reports = artifacts_ + "/" + folder;
    options.command = plan_.workload.command;
    options.folder = plan_.workload.folder;
    options.surroundings = context_.environment;
    options.environment = plan_.workload.environment;
    options.environment.push_back(kProcessReportVariable + ("=" + reports));
    options.artifacts = reports;
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
      const std::string folder = fmt::format("unprofiled-{}", i + 1);
      NL_TRY(const auto time, run_once(folder));
      result_.folders.push_back(artifacts_ + "/" + folder);
      add_iteration("unprofiled", time);
      wall.push_back(time.wall_ns);
      cpu.push_back(time.cpu_ns);
    }
    wall_ns_ = median_ns(wall);
    cpu_ns_ = median_ns(cpu);
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
                   "a workload must end by itself; --time-limit and --silence-limit give it more time"};
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

  void conclude(const DeepTool& tool, std::vector<std::string> command, const capture::PassEnd& pass,
                const Verdict& verdict) {
    const std::string& name = tool.pass();
    json entry = {{"pass", name},
                  {"status", verdict.status},
                  {"tool", tool.program().path},
                  {"version", tool.program().version},
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
  Result<std::string> import_aside(const std::vector<std::string>& paths) {
    Context aside = context_;
    aside.ledger_folder = scratch_ + "/ledger";
    NL_TRY(auto ledger, store::Ledger::open(aside.ledger_folder));
    ImportOptions options;
    options.as_one = true;
    NL_TRY(const auto report, import_files(aside, ledger, paths, options));
    return ledger.run_folder(report.run_id);
  }

  Result<void> run_tool(const DeepTool& tool) {
    const std::string folder = artifacts_ + "/" + tool.pass();
    const auto command = tool.command(folder, choice_);
    NL_TRY(const auto pass, run_under(tool.pass(), command));
    result_.folders.push_back(folder);
    Verdict verdict = tool.judge(pass, folder);
    if (verdict.has_records) {
      const auto fine = read_records(tool, folder);
      if (!fine && context_.cancelled()) return fine.error();
      if (!fine) {
        if (verdict.status == "done") verdict.status = "failed";
        verdict.reason += (verdict.reason.empty() ? "" : "; ") + fine.error().message;
      }
    }
    conclude(tool, command, pass, verdict);
    return {};
  }

  /// What can be imported is a source; of a trace the longest kernels are chosen.
  Result<void> read_records(const DeepTool& tool, const std::string& folder) {
    context_.progress({"reading what " + tool.pass() + " recorded", 0});
    NL_TRY(const auto files,
           tool.records(folder, {scratch_ + "/export", context_.cancelled, context_.environment}));
    NL_TRY(const std::string bundle, import_aside(files));
    result_.sources.insert(result_.sources.end(), files.begin(), files.end());
    return &tool == plan_.tools.trace.get() ? choose_kernels(bundle) : Result<void>();
  }

  // ---- Which kernels to count on

  Result<void> choose_kernels(const std::string& bundle) {
    NL_TRY(const auto taxonomy, analyze::Taxonomy::built_in());
    LaunchOrder launches(taxonomy);
    NL_CHECK(read_launches(bundle, launches));
    const int64_t most = plan_.tools.counts_some_launches ? plan_.launches : INT64_MAX;
    choice_ = choose_replays(launches, plan_.top, most);
    return {};
  }

  /// Kernels that were named, without those that communicate.
  Result<void> take_named_kernels() {
    NL_TRY(const auto taxonomy, analyze::Taxonomy::built_in());
    choice_ = {};
    for (const std::string& name : plan_.functions) {
      const bool communicates = taxonomy.kernel(name).op_class == analyze::OpClass::k_communication;
      (communicates ? choice_.left_out : choice_.replayed).push_back({name, communicates, 0, 0});
    }
    choice_.count = plan_.tools.counts_some_launches ? std::optional(plan_.launches) : std::nullopt;
    return {};
  }

  void warn_of_choice() {
    std::vector<std::string> names;
    for (const auto& kernel : choice_.left_out) names.push_back(kernel.function);
    if (!names.empty())
      result_.warnings.push_back(fmt::format(
          "not replayed, because kernels that wait for other devices may hang when they run alone: {}",
          fmt::join(names, ", ")));
    if (!choice_.outside.empty())
      result_.warnings.push_back(
          fmt::format("no launch of these kernels was replayed: {}; --launches replays more",
                      fmt::join(choice_.outside, ", ")));
  }

  Result<void> run_counters(const DeepTool& tool) {
    if (!plan_.functions.empty()) NL_CHECK(take_named_kernels());
    warn_of_choice();
    result_.replays = replay_choice_json(choice_);
    if (!choice_.replayed.empty()) return run_tool(tool);
    skip(tool.pass(), choice_.left_out.empty()
                          ? "there are no kernels to replay: " + plan_.tools.trace->pass() + " saw none"
                          : "there are no kernels to replay: all of them communicate");
    return {};
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
