#include "ops/runs/iteration_times.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "ops/text/text.h"
#include "stats/sample.h"
#include "store/run_summary.h"

namespace nl::ops {
namespace {

using nlohmann::json;

struct Pass {
  int64_t warm_up = 0;
  std::vector<double> wall = {}, cpu = {};  ///< sorted
};

/// Iterations of one pass that were run without a break.
struct Block {
  std::string pass;
  std::vector<double> wall = {}, cpu = {};
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
  for (const auto& [column, whole, part] :
       {std::tuple{2, &pass.wall, &block.wall}, std::tuple{3, &pass.cpu, &block.cpu}}) {
    if (chunk.is_null(column, i)) continue;
    whole->push_back(static_cast<double>(chunk.int64s(column)[i]));
    part->push_back(whole->back());
  }
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

json whole(double ns) {
  return static_cast<int64_t>(std::llround(ns));
}
json whole(const std::optional<double>& ns) {
  return ns ? whole(*ns) : json(nullptr);
}

json pass_json(const std::string& name, const Pass& pass) {
  json figures = {{"pass", name}, {"iterations", pass.wall.size()}, {"warm_up", pass.warm_up}};
  if (pass.wall.empty()) return figures;
  const auto interval = stats::median_interval(pass.wall);
  figures.update({{"median_ns", whole(stats::median(pass.wall))},
                  {"low_ns", interval ? whole(interval->low) : json(nullptr)},
                  {"high_ns", interval ? whole(interval->high) : json(nullptr)},
                  {"p90_ns", whole(stats::tail_quantile(pass.wall, 0.9))},
                  {"p99_ns", whole(stats::tail_quantile(pass.wall, 0.99))},
                  {"min_ns", whole(pass.wall.front())},
                  {"max_ns", whole(pass.wall.back())},
                  {"cpu_ns", pass.cpu.empty() ? json(nullptr) : whole(stats::median(pass.cpu))}});
  return figures;
}

bool is_profiled(const std::string& pass) {
  return pass == "profiled" || pass == "nsys";  // the pass that the time line is of
}

/// What a turn, a block of one pass and then one of the other, says of their ratio. Iterations of a block
/// share what else the machine did meanwhile, so turns are counted and not iterations.
std::vector<double> turn_ratios(const std::vector<Block>& blocks, std::vector<double> Block::*times) {
  std::vector<double> ratios;
  for (size_t i = 0; i + 1 < blocks.size(); i += 2) {
    if (blocks[i].pass != "unprofiled" || !is_profiled(blocks[i + 1].pass)) continue;
    const std::vector<double> plain = stats::sorted(blocks[i].*times);
    const std::vector<double> profiled = stats::sorted(blocks[i + 1].*times);
    if (plain.empty() || profiled.empty() || stats::median(plain) <= 0) continue;
    ratios.push_back(stats::median(profiled) / stats::median(plain));
  }
  return stats::sorted(std::move(ratios));
}

void add_ratio(json& overhead, const std::string& prefix, const std::vector<double>& ratios) {
  if (ratios.empty()) return;
  const auto interval = stats::median_interval(ratios);
  overhead["turns"] = ratios.size();
  overhead[prefix + "ratio"] = stats::median(ratios);
  overhead[prefix + "low"] = interval ? json(interval->low) : json(nullptr);
  overhead[prefix + "high"] = interval ? json(interval->high) : json(nullptr);
}

/// "2.13 (2.04 to 2.24)", or empty.
std::string ratio_text(const json& overhead) {
  if (!overhead.contains("ratio") || overhead["ratio"].is_null()) return {};
  std::string text = fmt::format("{:.3f}", overhead["ratio"].get<double>());
  if (!overhead["low"].is_null())
    text += fmt::format(" ({:.3f} to {:.3f})", overhead["low"].get<double>(), overhead["high"].get<double>());
  return text;
}

std::string tail_text(const json& pass) {
  std::string text;
  for (const auto& [name, key] : {std::pair{"p90", "p90_ns"}, std::pair{"p99", "p99_ns"}}) {
    if (!pass[key].is_null()) text += fmt::format(", {} {}", name, duration_text(pass[key]));
  }
  return text;
}

/// One for each pass, "unprofiled: median ...", and one for the overhead.
std::vector<std::string> lines_of(const json& times) {
  std::vector<std::string> lines;
  if (times.is_null()) return lines;
  for (const json& pass : times["passes"]) {
    if (!pass.contains("median_ns")) continue;
    const std::string name = pass["pass"];
    std::string line = fmt::format("{}: median {}", name, duration_text(pass["median_ns"]));
    if (!pass["low_ns"].is_null())
      line += fmt::format(" ({} to {})", duration_text(pass["low_ns"]), duration_text(pass["high_ns"]));
    line += fmt::format("{}; {}", tail_text(pass), counted(pass["iterations"], "iteration"));
    lines.insert(name == "unprofiled" ? lines.begin() : lines.end(), std::move(line));
  }
  const std::string ratio = ratio_text(times["overhead"]);
  if (!ratio.empty()) lines.push_back("the profiler makes an iteration " + ratio + " times as long");
  return lines;
}

}  // namespace

Result<json> iteration_times(store::OpenRun& run) {
  if (!run.has("iterations")) return json(nullptr);
  NL_TRY(store::Connection * connection, run.ask({"iterations"}));
  NL_TRY(const Passes passes, read_passes(*connection));
  json list = json::array();
  for (const auto& [name, pass] : passes.by_name) list.push_back(pass_json(name, pass));
  json overhead = json::object();
  add_ratio(overhead, "", turn_ratios(passes.blocks, &Block::wall));
  add_ratio(overhead, "cpu_", turn_ratios(passes.blocks, &Block::cpu));
  return json{{"passes", list}, {"overhead", overhead}};
}

std::string iteration_text(const json& times, const TextStyle& style) {
  std::string out;
  for (const std::string& line : lines_of(times)) {
    const std::string label = out.empty() ? "times   " : "        ";
    out += fmt::format("  {}  {}\n", dim(label, style), behind_column(line, 2 + label.size() + 2, style));
  }
  return out;
}

std::string overhead_warning(const json& times) {
  constexpr double kWorthSaying = 1.05;
  if (times.is_null() || !times["overhead"].contains("ratio")) return {};
  const json& ratio = times["overhead"]["ratio"];
  if (ratio.is_null() || ratio.get<double>() < kWorthSaying) return {};
  return "the profiler made an iteration " + ratio_text(times["overhead"]) +
         " times as long: compare shares, and take times from the unprofiled pass (neurolens show)";
}

}  // namespace nl::ops
