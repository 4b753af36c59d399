#pragma once
// The revisions between two ends of a git history, and folders in which they are checked out. The user's own
// checkout, index and refs are never touched: revisions are checked out in clones that share the objects of
// the repository (git clone --shared). A worktree of the repository itself would leave an entry in it if we
// were killed. Hooks are off; names of revisions and files never become options. One thread.

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "lab/bisect/bisect.h"

namespace nl::lab {

class GitRepository {
 public:
  /// `folder`: anywhere in a checkout, or a bare repository. not_found: it is none, or there is no git.
  static Result<GitRepository> open(const Environment& surroundings, const std::string& folder);

  /// From the good one to the bad one, both with them, along first parents. bad_input: no such revision, or
  /// the good one is no ancestor of the bad one.
  Result<std::vector<BisectPoint>> points(const std::string& good, const std::string& bad) const;

  /// The files of a commit, in that folder, which may hold those of another one; files that the commit does
  /// not have are removed, what builds left, too.
  Result<void> check_out(const std::string& commit, const std::string& folder) const;

  const std::string& path() const { return path_; }

 private:
  GitRepository(std::string git, Environment surroundings, std::string path)
      : git_(std::move(git)), surroundings_(std::move(surroundings)), path_(std::move(path)) {}
  /// What it prints. bad_input, with what git says, if it fails.
  Result<std::string> said(const std::string& folder, std::vector<std::string> arguments) const;
  Result<std::string> commit_of(const std::string& revision) const;

  std::string git_;
  Environment surroundings_;  ///< without the variables that point git at another repository
  std::string path_;
};

}  // namespace nl::lab
