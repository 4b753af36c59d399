#include "lab/bisect/point_runs.h"

#include <re2/re2.h>

#include <charconv>

#include "base/call_control.h"
#include "base/files.h"
#include "base/printed_values.h"
#include "base/text.h"
#include "capture/run/workload.h"
#include "stats/sample.h"

namespace nl::lab {
namespace {

constexpr int64_t kMostPrinted = 16 << 20;
constexpr size_t kMostOfLine = 200;

std::optional<double> time_of(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return stats::is_time(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> by_key(const std::string& text, const std::string& key) {
  std::optional<double> last;
  for (const std::string_view printed : printed_values(text, key)) {
    if (const auto value = time_of(printed)) last = value;
  }
  return last;
}

std::optional<double> by_pattern(const std::string& text, const std::string& pattern) {
  const RE2 expression(pattern, RE2::Quiet);
  std::optional<double> last;
  re2::StringPiece rest(text);
  std::string found;
  while (expression.ok() && RE2::FindAndConsume(&rest, expression, &found)) {
    if (const auto value = time_of(found)) last = value;
    if (rest.empty()) break;
    if (found.empty()) rest.remove_prefix(1);  // a match of nothing takes nothing away
  }
  return last;
}

std::string last_line(const std::string& path) {
  const auto text = read_plain_file(path, kMostPrinted);
  if (!text) return {};
  const std::string_view lines = trimmed(*text);
  const size_t before = lines.rfind('\n');
  return std::string(before == std::string_view::npos ? lines : lines.substr(before + 1))
      .substr(0, kMostOfLine);
}

std::string how_it_ended(const capture::WorkloadEnd& end, const std::string& artifacts) {
  const std::string how = end.process.cut_short     ? end.process.cut_short->message
                          : end.process.signal != 0 ? "signal " + std::to_string(end.process.signal)
                                                    : "exit code " + std::to_string(end.process.exit_code);
  const std::string said = last_line(artifacts + "/stderr.txt");
  return said.empty() ? how : how + ": " + said;
}

bool is_fine(const capture::WorkloadEnd& end) {
  return end.process.exit_code == 0 && !end.process.cut_short;
}

capture::WorkloadOptions workload(const PointRunsOptions& options, const BisectPoint& point,
                                  const std::string& folder, int64_t seconds) {
  capture::WorkloadOptions workload;
  workload.folder = folder;
  workload.surroundings = options.surroundings;
  workload.environment = {std::string(kPointVariable) + "=" + point.id};
  workload.ends_with_us = true;
  workload.artifacts = folder + ".log";
  workload.time_limit = std::chrono::seconds(seconds);
  workload.watch = check_cancelled;
  return workload;
}

/// A program beside the point's files is named from there, not from where we are.
std::string program_in(const std::string& folder, const std::string& program) {
  const bool is_relative_path = program.find('/') != std::string::npos && program.front() != '/';
  return is_relative_path ? folder + "/" + program : program;
}

std::string with_point(std::string word, const std::string& point) {
  for (size_t at = word.find("{}"); at != std::string::npos; at = word.find("{}", at + point.size()))
    word.replace(at, 2, point);
  return word;
}

}  // namespace

Known<double> printed_time(const std::string& text, const std::string& key, const std::string& pattern) {
  const auto value = key.empty() ? by_pattern(text, pattern) : by_key(text, key);
  if (value) return *value;
  return Absent{key.empty() ? "it printed no time that the pattern finds: " + pattern
                            : "it printed no time as a line " + key + "=VALUE"};
}

Result<PointRuns> PointRuns::make(PointRunsOptions options, const BisectPoint& good) {
  if (options.command.empty()) return Error{ErrorCode::kBadInput, "no command to measure"};
  if (!options.pattern.empty() && options.printed.empty()) {
    const RE2 expression(options.pattern, RE2::Quiet);
    if (!expression.ok())
      return Error{ErrorCode::kBadInput, "not a regular expression: " + expression.error()};
    if (expression.NumberOfCapturingGroups() != 1)
      return Error{ErrorCode::kBadInput,
                   "the pattern needs one group (...) around the time: " + options.pattern};
  }
  return PointRuns(std::move(options), good.id);
}

std::string PointRuns::folder_of(const BisectPoint& point) const {
  return options_.folder + (point.id == good_ ? "/good" : "/candidate");
}

std::vector<std::string> PointRuns::command_of(const BisectPoint& point) const {
  std::vector<std::string> command;
  for (const std::string& word : options_.command) command.push_back(with_point(word, point.id));
  command[0] = program_in(folder_of(point), command[0]);
  return command;
}

Result<Known<bool>> PointRuns::prepare(const BisectPoint& point) const {
  const std::string folder = folder_of(point);
  if (options_.fill) {
    NL_CHECK(options_.fill(point, folder));
  } else {
    remove_tree(folder);
    NL_CHECK(make_folders(folder));
  }
  if (options_.build.empty()) return Known<bool>(true);
  auto build = workload(options_, point, folder, options_.build_seconds);
  build.command = {"/bin/sh", "-c", options_.build};
  NL_TRY(const auto end, capture::run_workload(build));
  NL_CHECK(check_cancelled());
  if (is_fine(end)) return Known<bool>(true);
  return Known<bool>::absent("it does not build: " + how_it_ended(end, build.artifacts));
}

Result<Known<double>> PointRuns::measure(const BisectPoint& point) const {
  auto run = workload(options_, point, folder_of(point), options_.run_seconds);
  run.command = command_of(point);
  const auto done = capture::run_workload(run);
  NL_CHECK(check_cancelled());
  if (!done && done.error().code == ErrorCode::kNotFound) return Known<double>::absent(done.error().message);
  if (!done) return done.error();
  if (!is_fine(*done)) return Known<double>::absent("it does not run: " + how_it_ended(*done, run.artifacts));
  if (options_.printed.empty() && options_.pattern.empty())
    return Known<double>(static_cast<double>(done->process.wall_ns));
  NL_TRY(const std::string text, read_plain_file(run.artifacts + "/stdout.txt", kMostPrinted));
  return printed_time(text, options_.printed, options_.pattern);
}

}  // namespace nl::lab
