#include "lab/targets/target_check.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "lab/machine/conditions.h"

namespace nl::lab {
namespace {

class FileCheck {
 public:
  FileCheck(const BenchFile& file, const Environment& surroundings, std::vector<TargetFault>& faults)
      : file_(file), surroundings_(surroundings), faults_(faults) {}

  void run() {
    check_allowed();
    for (const Target& target : file_.targets) {
      target_ = &target;
      check_sides();
      check_expectations();
      check_files();
      check_strength();
    }
  }

 private:
  void add(int line, std::string what, bool is_error = true) {
    const TargetFault fault{file_.path, line, target_ == nullptr ? "" : target_->base_name, std::move(what),
                            is_error};
    // The same line is read once for each combination of parameters.
    const bool is_known = std::any_of(faults_.begin(), faults_.end(), [&](const TargetFault& known) {
      return known.file == fault.file && known.line == fault.line && known.what == fault.what;
    });
    if (!is_known) faults_.push_back(fault);
  }
  void warn(int line, std::string what) { add(line, std::move(what), false); }

  void check_allowed() {
    const auto& names = check_names();
    for (const auto& [name, reason] : file_.allowed) {
      if (std::find(names.begin(), names.end(), name) == names.end())
        add(1,
            fmt::format("environment.allow names no check: {} (there are {})", name, fmt::join(names, ", ")));
    }
  }

  void check_sides() {
    if (!target_->baseline && target_->variants.empty())
      return add(target_->line, "there is neither a baseline nor a variant");
    if (!target_->baseline) add(target_->line, "a variant without its baseline");
    if (target_->variants.empty()) add(target_->line, "a baseline without a variant");
  }

  void check_expectations() {
    constexpr int64_t kLeastForP99 = 100;
    for (const Expectation& expectation : target_->expectations) {
      if (target_->variants.empty()) {
        add(expectation.line, "an expectation for nothing, since there is no variant: " + expectation.text);
        continue;
      }
      const bool needs_iterations =
          expectation.figure == Figure::kP90Ms || expectation.figure == Figure::kP99Ms ||
          expectation.figure == Figure::kFirstMs || expectation.figure == Figure::kPerSecond;
      const bool has_commands = std::any_of(target_->variants.begin(), target_->variants.end(),
                                            [](const Side& side) { return side.kind == SideKind::kCommand; });
      if (needs_iterations && has_commands)
        add(expectation.line, fmt::format("a command has no {}: its process is timed as a whole",
                                          figure_name(expectation.figure)));
      if (expectation.figure == Figure::kP99Ms && target_->iterations > 0 &&
          target_->iterations < kLeastForP99)
        add(expectation.line, "p99 needs 100 iterations or more");
    }
    constexpr int64_t kLeastToDecide = 4;
    if (target_->stop.runs < kLeastToDecide)
      add(target_->line,
          fmt::format("{} runs a side decide nothing: at least {}", target_->stop.runs, kLeastToDecide));
  }

  void check_files() {
    for (const std::string& input : target_->inputs)
      check_file(target_->line, "this input does not exist", input);
    std::vector<const Side*> sides;
    if (target_->baseline) sides.push_back(&*target_->baseline);
    for (const Side& side : target_->variants) sides.push_back(&side);
    for (const Side* side : sides) check_side(*side);
    if (!target_->check.empty() && !sides.empty())
      check_program(target_->line, "check", target_->check, sides.front()->folder);
  }

  void check_file(int line, const char* what, const std::string& path) {
    if (!path_exists(path)) add(line, fmt::format("{}: {}", what, path));
  }

  void check_side(const Side& side) {
    std::error_code failed;
    if (!std::filesystem::is_directory(side.folder, failed))
      return add(side.line, "no such folder: " + side.folder);
    const auto in_folder = [&](const std::string& path) {
      return (std::filesystem::path(side.folder) / path).lexically_normal().string();
    };
    if (side.kind == SideKind::kCommand) check_program(side.line, side.name, side.command, side.folder);
    if (side.kind == SideKind::kModel)
      check_file(side.line, "this model does not exist", in_folder(side.workload));
    const size_t script = side.workload.find(".py:");
    if (side.kind == SideKind::kPython && script != std::string::npos)
      check_file(side.line, "this script does not exist", in_folder(side.workload.substr(0, script + 3)));
    if (const auto data = side.options.find("data"); data != side.options.end())
      check_file(side.line, "these inputs do not exist", in_folder(data->second));
  }

  void check_program(int line, const std::string& who, const std::vector<std::string>& command,
                     const std::string& folder) {
    const std::string& program = command.front();
    const bool is_path = program.find('/') != std::string::npos;
    const std::string path = (std::filesystem::path(folder) / program).lexically_normal().string();
    if (is_path ? !path_exists(path) : find_in_path(surroundings_, program).empty())
      return add(line, fmt::format("{}: no such program: {}", who, program));
    for (size_t i = 1; i < command.size(); i++) {  // python run.py, bash run.sh
      const bool is_script = command[i].ends_with(".py") || command[i].ends_with(".sh");
      if (is_script && !command[i].starts_with('-') && !has_part(command[i], "{"))
        check_file(line, "this script does not exist",
                   (std::filesystem::path(folder) / command[i]).lexically_normal().string());
    }
  }

  void check_strength() {
    if (target_->variants.empty() || !target_->baseline) return;
    if (target_->check.empty())
      warn(target_->line, "nothing checks that the results of its variants are right");
    if (!target_->seed) warn(target_->line, "its seed is not pinned: write seed: 1");
    if (target_->expectations.empty())
      warn(target_->line, "nothing is expected of it: it is met if it is not slower");
  }

  const BenchFile& file_;
  const Environment& surroundings_;
  std::vector<TargetFault>& faults_;
  const Target* target_ = nullptr;
};

}  // namespace

std::string TargetFault::text() const {
  return fmt::format("{}:{}: {}{}", file, line, target.empty() ? "" : target + ": ", what);
}

std::vector<TargetFault> check_targets(const std::vector<BenchFile>& files, const Environment& surroundings) {
  std::vector<TargetFault> faults;
  std::map<std::string, const BenchFile*> seen;  // by name of the target
  for (const BenchFile& file : files) {
    FileCheck(file, surroundings, faults).run();
    for (const Target& target : file.targets) {
      const auto [known, is_new] = seen.emplace(target.name, &file);
      if (is_new) continue;
      const std::string where = known->second == &file ? "" : " (also in " + known->second->path + ")";
      faults.push_back({file.path, target.line, target.name, "two targets have this name" + where});
    }
  }
  return faults;
}

}  // namespace nl::lab
