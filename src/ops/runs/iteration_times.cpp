#include "ops/runs/iteration_times.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "ops/text/text.h"
#include "stats/sample.h"
#include "store/run_summary.h"

namespace nl::ops {
namespace {

struct Pass {
  int64_t warm_up = 0;
  std::vector<double> wall = {}, cpu = {};  ///< sorted
};

/// Iterations of one pass that were run without a break.
struct Block {
  std::string pass;
  std::vector<double> wall = {};
};

struct Passes {
  std::map<std::string, Pass> by_name = {};
  std::vector<Block> blocks = {};
};

void add_iteration(const store::Chunk& chunk, size_t i, Passes& passes) {
  const std::string name(chunk.is_null(0, i) ? std::string_view() : chunk.text(0, i));
  Pass& pass = passes.by_name[name];
  if (!chunk.is_null(1, i) && chunk.int32s(1)[i] != 0) {
    pass.warm_up++;
    return;
  }
  if (passes.blocks.empty() || passes.blocks.back().pass != name) passes.blocks.push_back({name});
  Block& block = passes.blocks.back();
  for (const auto& [column, times] : {std::pair{2, &pass.wall}, std::pair{3, &pass.cpu}}) {
    if (!chunk.is_null(column, i)) times->push_back(static_cast<double>(chunk.int64s(column)[i]));
  }
  if (!chunk.is_null(2, i)) block.wall.push_back(pass.wall.back());
}

Result<Passes> read_passes(store::Connection& connection) {
  Passes passes;
  NL_CHECK(connection.stream("SELECT pass, warm_up, dur_ns, cpu_ns FROM iterations ORDER BY iteration_id",
                             [&](const store::Chunk& chunk) -> Result<void> {
                               for (size_t i = 0; i < chunk.size(); i++) add_iteration(chunk, i, passes);
                               return {};
                             }));
  for (auto& [name, pass] : passes.by_name) {
    pass.wall = stats::sorted(std::move(pass.wall));
    pass.cpu = stats::sorted(std::move(pass.cpu));
  }
  return passes;
}

int64_t whole(double ns) {
  return static_cast<int64_t>(std::llround(ns));
}
std::optional<int64_t> whole(const std::optional<double>& ns) {
  return ns ? std::optional(whole(*ns)) : std::nullopt;
}

PassTimes times_of(const std::string& name, const Pass& pass) {
  PassTimes times{name, static_cast<int64_t>(pass.wall.size()), pass.warm_up, {}};
  if (pass.wall.empty()) return times;
  PassFigures figures{.median_ns = whole(stats::median(pass.wall)),
                      .p90_ns = whole(stats::tail_quantile(pass.wall, 0.9)),
                      .p99_ns = whole(stats::tail_quantile(pass.wall, 0.99)),
                      .min_ns = whole(pass.wall.front()),
                      .max_ns = whole(pass.wall.back())};
  if (const auto interval = stats::median_interval(pass.wall)) {
    figures.low_ns = whole(interval->low);
    figures.high_ns = whole(interval->high);
  }
  if (!pass.cpu.empty()) figures.cpu_ns = whole(stats::median(pass.cpu));
  times.figures = figures;
  return times;
}

bool is_profiled(const std::string& pass) {
  return pass == "profiled" || pass == "nsys";  // the pass that the time line is of
}

/// What a turn, a block of one pass and then one of the other, says of their ratio. Iterations of a block
/// share what else the machine did meanwhile, so turns are counted and not iterations.
std::vector<double> turn_ratios(const std::vector<Block>& blocks) {
  std::vector<double> ratios;
  for (size_t i = 0; i + 1 < blocks.size(); i += 2) {
    if (blocks[i].pass != "unprofiled" || !is_profiled(blocks[i + 1].pass)) continue;
    const std::vector<double> plain = stats::sorted(blocks[i].wall);
    const std::vector<double> profiled = stats::sorted(blocks[i + 1].wall);
    if (plain.empty() || profiled.empty() || stats::median(plain) <= 0) continue;
    ratios.push_back(stats::median(profiled) / stats::median(plain));
  }
  return stats::sorted(std::move(ratios));
}

Overhead overhead_of(const std::vector<double>& ratios) {
  Overhead overhead;
  if (ratios.empty()) return overhead;
  overhead.turns = static_cast<int64_t>(ratios.size());
  overhead.wall = OverheadWall{.ratio = stats::median(ratios)};
  if (const auto interval = stats::median_interval(ratios)) {
    overhead.wall->low = interval->low;
    overhead.wall->high = interval->high;
  }
  return overhead;
}

/// "2.13 (2.04 to 2.24)", or empty.
std::string ratio_text(const Overhead& overhead) {
  if (!overhead.wall) return {};
  std::string text = fmt::format("{:.3f}", overhead.wall->ratio);
  if (overhead.wall->low)
    text += fmt::format(" ({:.3f} to {:.3f})", *overhead.wall->low, overhead.wall->high.value_or(0));
  return text;
}

std::string tail_text(const PassFigures& figures) {
  std::string text;
  for (const auto& [name, ns] : {std::pair{"p90", figures.p90_ns}, std::pair{"p99", figures.p99_ns}}) {
    if (ns) text += fmt::format(", {} {}", name, duration_text(*ns));
  }
  return text;
}

/// One for each pass, "unprofiled: median ...". Of a profiled pass whose overhead is known, only that: its
/// median would give a second figure of the overhead.
std::vector<std::string> lines_of(const std::optional<IterationTimes>& times) {
  std::vector<std::string> lines;
  if (!times) return lines;
  for (const PassTimes& pass : times->passes) {
    if (!pass.figures || (is_profiled(pass.pass) && times->overhead.wall)) continue;
    const PassFigures& figures = *pass.figures;
    std::string line = fmt::format("{}: median {}", pass.pass, duration_text(figures.median_ns));
    if (figures.low_ns)
      line += fmt::format(" ({} to {})", duration_text(*figures.low_ns),
                          duration_text(figures.high_ns.value_or(0)));
    line += fmt::format("{}; {}", tail_text(figures), counted(pass.iterations, "iteration"));
    lines.insert(pass.pass == "unprofiled" ? lines.begin() : lines.end(), std::move(line));
  }
  const std::string ratio = ratio_text(times->overhead);
  if (!ratio.empty()) lines.push_back("profiled: " + ratio + " times as long");
  return lines;
}

}  // namespace

Result<std::optional<IterationTimes>> iteration_times(store::OpenRun& run) {
  if (!run.has("iterations")) return std::optional<IterationTimes>();
  NL_TRY(store::Connection * connection, run.ask({"iterations"}));
  NL_TRY(const Passes passes, read_passes(*connection));
  IterationTimes times;
  for (const auto& [name, pass] : passes.by_name) times.passes.push_back(times_of(name, pass));
  times.overhead = overhead_of(turn_ratios(passes.blocks));
  return std::optional(std::move(times));
}

std::string iteration_text(const std::optional<IterationTimes>& times, const TextStyle& style) {
  std::string out;
  for (const std::string& line : lines_of(times)) {
    const std::string label = out.empty() ? "times   " : "        ";
    out += fmt::format("  {}  {}\n", dim(label, style), behind_column(line, 2 + label.size() + 2, style));
  }
  return out;
}

std::string overhead_warning(const std::optional<IterationTimes>& times) {
  constexpr double kWorthSaying = 1.05;
  if (!times || !times->overhead.wall || times->overhead.wall->ratio < kWorthSaying) return {};
  return "the profiler made an iteration " + ratio_text(times->overhead) +
         " times as long: trust shares, but take times from the pass without profiler (neurolens show)";
}

}  // namespace nl::ops
