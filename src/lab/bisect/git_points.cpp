#include "lab/bisect/git_points.h"

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace nl::lab {
namespace {

constexpr size_t kMostOfHistory = size_t{64} << 20;  // of a list of commits

/// Variables that lead git to another repository or index, as hooks set them.
bool points_elsewhere(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  for (const std::string_view other :
       {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES"}) {
    if (name == other) return true;
  }
  return false;
}

Environment for_git(const Environment& surroundings) {
  std::vector<std::string> variables;
  for (const std::string& variable : surroundings.variables()) {
    if (!points_elsewhere(variable)) variables.push_back(variable);
  }
  return {std::move(variables), surroundings.folder()};
}

std::string first_line(std::string_view text) {
  text = trimmed(text);
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

Result<std::string> GitRepository::said(const std::string& folder, std::vector<std::string> arguments) const {
  std::vector<std::string> command = {git_,
                                      "-C",
                                      folder,
                                      "-c",
                                      "core.hooksPath=/dev/null",
                                      "-c",
                                      "core.fsmonitor=false",
                                      "-c",
                                      "advice.detachedHead=false"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProcessOptions options;
  options.time = std::chrono::minutes(30);
  options.output_bytes = kMostOfHistory;
  options.surroundings = &surroundings_;
  options.environment = {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"};
  NL_TRY(const auto end, run_process(command, options));
  if (end.exit_code == 0) return end.output;
  return Error{ErrorCode::kBadInput, "git " + arguments[0] + " failed: " + first_line(end.errors)};
}

Result<GitRepository> GitRepository::open(const Environment& surroundings, const std::string& folder) {
  const std::string git = find_in_path(surroundings, "git");
  if (git.empty()) return Error{ErrorCode::kNotFound, "there is no git in PATH", "install git"};
  GitRepository repository(git, for_git(surroundings), surroundings.absolute(folder));
  const auto inside = repository.said(repository.path_, {"rev-parse", "--absolute-git-dir"});
  if (!inside)
    return Error{ErrorCode::kNotFound,
                 "no git repository: " + repository.path_ + ": " + inside.error().message};
  repository.path_ = std::string(trimmed(*inside));
  return repository;
}

Result<std::string> GitRepository::commit_of(const std::string& revision) const {
  const auto commit =
      said(path_, {"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"});
  if (!commit)
    return Error{ErrorCode::kBadInput, "no such revision: " + revision, "git log --oneline lists them"};
  return std::string(trimmed(*commit));
}

Result<std::vector<BisectPoint>> GitRepository::points(const std::string& good,
                                                       const std::string& bad) const {
  NL_TRY(const std::string first, commit_of(good));
  NL_TRY(const std::string last, commit_of(bad));
  if (first == last) return Error{ErrorCode::kBadInput, "good and bad are the same commit: " + first};
  if (!said(path_, {"merge-base", "--is-ancestor", first, last}))
    return Error{ErrorCode::kBadInput, good + " is no ancestor of " + bad,
                 "a bisection follows the history from the good revision to the bad one"};
  constexpr const char* kFormat = "--format=%H %h %s";
  NL_TRY(std::string lines, said(path_, {"log", "--no-walk", "--no-show-signature", kFormat, first, "--"}));
  NL_TRY(const std::string rest, said(path_, {"log", "--first-parent", "--reverse", "--no-show-signature",
                                              kFormat, last, "^" + first, "--"}));
  std::vector<BisectPoint> points;
  for (const std::string& line : split(lines + rest, '\n')) {
    const size_t blank = line.find(' ');
    if (blank != std::string::npos) points.push_back({line.substr(0, blank), line.substr(blank + 1)});
  }
  return points;
}

Result<void> GitRepository::check_out(const std::string& commit, const std::string& folder) const {
  if (!path_exists(folder + "/.git")) {
    NL_CHECK(
        said(path_, {"clone", "--quiet", "--shared", "--no-checkout", "--no-tags", "--", path_, folder}));
  }
  NL_CHECK(said(folder, {"checkout", "--quiet", "--force", "--detach", commit, "--"}));
  NL_CHECK(said(folder, {"clean", "--quiet", "-ffdx"}));
  return {};
}

}  // namespace nl::lab
