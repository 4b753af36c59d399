// Revisions of a real git repository, and clones in which they are checked out.

#include "lab/bisect/git_points.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace nl::lab {
namespace {

class GitPoints : public testing::Test {
 protected:
  GitPoints() : folder_(testing::TempDir() + "git-points-XXXXXX") {
    if (::mkdtemp(folder_.data()) == nullptr) folder_.clear();
    repository_ = folder_ + "/it's -a repo";
    (void)make_folders(repository_);
    git({"init", "--quiet", "--initial-branch=main"});
    for (int i = 0; i < 4; i++) {
      (void)write_file_durably(repository_ + "/file", std::to_string(i));
      git({"add", "file"});
      git({"commit", "--quiet", "-m", "change " + std::to_string(i)});
    }
  }
  ~GitPoints() override { remove_tree(folder_); }

  std::string git(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {find_in_path(Environment::of_process(), "git"), "-C", repository_});
    ProcessOptions options;
    options.environment = {"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
                           "GIT_COMMITTER_EMAIL=a@example.org", "GIT_CONFIG_GLOBAL=/dev/null"};
    const auto end = run_process(arguments, options);
    EXPECT_TRUE(end && end->exit_code == 0) << arguments[3] << (end ? end->errors : "");
    return end ? std::string(trimmed(end->output)) : "";
  }
  GitRepository opened() { return *GitRepository::open(Environment::of_process(), repository_); }

  std::string folder_, repository_;
};

TEST_F(GitPoints, ListsTheHistoryBetweenBothEnds) {
  const auto points = *opened().points("HEAD~2", "main");
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points.front().id, git({"rev-parse", "HEAD~2"}));
  EXPECT_EQ(points.back().id, git({"rev-parse", "HEAD"}));
  EXPECT_NE(points[1].name.find("change 2"), std::string::npos);
}

TEST_F(GitPoints, RefusesWhatIsNoHistory) {
  const GitRepository repository = opened();
  for (const auto& [good, bad] : {std::pair{"main", "HEAD~1"},
                                  {"main", "main"},
                                  {"nothing", "main"},
                                  {"--all", "main"},
                                  {"--output=/tmp/x", "main"},
                                  {"main", ""}}) {
    const auto points = repository.points(good, bad);
    ASSERT_FALSE(points) << good;
    EXPECT_EQ(points.error().code, ErrorCode::kBadInput) << good;
  }
  EXPECT_EQ(GitRepository::open(Environment::of_process(), "/proc").error().code, ErrorCode::kNotFound);
}

TEST_F(GitPoints, ChecksOutBesideTheUsersOwnFiles) {
  const GitRepository repository = opened();
  (void)write_file_durably(repository_ + "/file", "not committed");
  const std::string hook = repository_ + "/.git/hooks/post-checkout";
  (void)write_file_durably(hook, "#!/bin/sh\ntouch '" + folder_ + "/hooked'\n");
  ::chmod(hook.c_str(), 0755);
  const auto points = *repository.points("HEAD~3", "HEAD");
  const std::string there = folder_ + "/candidate";
  for (size_t i = 0; i < points.size(); i++) {
    ASSERT_TRUE(repository.check_out(points[i].id, there).has_value());
    EXPECT_EQ(*read_file(there + "/file"), std::to_string(i));
    EXPECT_FALSE(path_exists(there + "/built")) << "left by the build of another commit";
    (void)write_file_durably(there + "/built", "");
  }
  EXPECT_EQ(*read_file(repository_ + "/file"), "not committed");
  EXPECT_EQ(git({"status", "--porcelain"}), "M file");
  EXPECT_EQ(git({"worktree", "list", "--porcelain"}).find("candidate"), std::string::npos);
  EXPECT_FALSE(path_exists(folder_ + "/hooked"));
}

TEST_F(GitPoints, VariablesOfAHookDoNotLeadElsewhere) {
  auto variables = Environment::of_process().variables();
  variables.insert(variables.end(), {"GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere/index"});
  const Environment inside_a_hook(variables, "/");
  const auto repository = GitRepository::open(inside_a_hook, repository_);
  ASSERT_TRUE(repository.has_value());
  EXPECT_EQ(repository->points("HEAD~3", "HEAD")->size(), 4U);
}

}  // namespace
}  // namespace nl::lab
