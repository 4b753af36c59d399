#include "base/aside.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <thread>

#include "assemble/assemble.h"
#include "base/files.h"
#include "ops/import/import_file.h"
#include "source_folder.h"
#include "store/open_run.h"
#include "store/run_views.h"

namespace nl {
namespace {

constexpr int kThreads = 8;

/// `work` on eight threads at once, each with its number.
void at_once(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) threads.emplace_back([&work, i] { work(i); });
  for (auto& thread : threads) thread.join();
}

/// In a process that begins `work` and is then killed.
void killed_while(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

class Aside : public testing::Test {
 protected:
  Aside() {
    std::string name = testing::TempDir() + "aside-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Aside() override { remove_tree(folder_); }
  std::string folder_;
};

TEST_F(Aside, NamesAreUnlikeAnyOther) {
  std::set<std::string> names;
  for (int i = 0; i < 10'000; i++) names.insert(unique_text());
  EXPECT_EQ(names.size(), 10'000u);
}

TEST_F(Aside, ThreadsThatReplaceOneFileLeaveAWholeOne) {
  const std::string path = folder_ + "/file";
  at_once([&](int i) {
    for (int n = 0; n < 20; n++)
      EXPECT_TRUE(replace_file(path, std::string(100'000, static_cast<char>('a' + i))));
  });
  const std::string text = read_file(path).value();
  EXPECT_EQ(text, std::string(100'000, text[0]));
  EXPECT_EQ(list_folder(folder_), std::vector<std::string>{"file"});
}

TEST_F(Aside, ThreadsThatReplaceOneFolderLeaveAWholeOne) {
  const std::string to = folder_ + "/tables";
  at_once([&](int i) {
    for (int n = 0; n < 20; n++) {
      remove_abandoned(folder_ + "/.new-");
      auto aside = FolderAside::create(folder_ + "/.new-");
      ASSERT_TRUE(aside) << aside.error().message;
      const std::string text = std::to_string(i);
      ASSERT_TRUE(write_file_durably(aside->path() + "/a", text));
      ASSERT_TRUE(write_file_durably(aside->path() + "/b", text));
      ASSERT_TRUE(aside->replace(to));
    }
  });
  EXPECT_EQ(read_file(to + "/a").value(), read_file(to + "/b").value());
  EXPECT_EQ(list_folder(folder_), std::vector<std::string>{"tables"});
}

TEST_F(Aside, WhatAKilledProcessLeftIsRemovedAndLiveWorkIsNot) {
  killed_while([&] {
    (void)new FolderAside(FolderAside::create(folder_ + "/.new-").value());
    (void)new NewFile(NewFile::create(folder_ + "/.new-").value());
  });
  ASSERT_EQ(list_folder(folder_).size(), 3u) << "a folder with its lock, and a file";
  const auto live_folder = FolderAside::create(folder_ + "/.new-").value();
  const auto live_file = NewFile::create(folder_ + "/.new-").value();
  EXPECT_EQ(remove_abandoned(folder_ + "/other-"), 0);
  EXPECT_EQ(remove_abandoned(folder_ + "/.new-"), 2);
  EXPECT_EQ(list_folder(folder_).size(), 3u);
  EXPECT_TRUE(path_exists(live_folder.path()));
}

class DerivedAtOnce : public Aside {
 protected:
  void SetUp() override {
    ops::Context context;
    context.ledger_folder = folder_;
    auto ledger = store::Ledger::open(folder_);
    ASSERT_TRUE(ledger);
    const auto report =
        ops::import_files(context, *ledger, {source_folder() + "/samples/kineto_small.json"}, {});
    ASSERT_TRUE(report);
    run_id_ = report->run_id;
    bundle_ = ledger->run_folder(run_id_);
  }
  Result<void> derive() const {
    NL_TRY(const auto run, store::OpenRun::open(store::place_in_ledger(bundle_)));
    return assemble::ensure_derived(*run);
  }
  std::string run_id_, bundle_;
};

TEST_F(DerivedAtOnce, ThreadsBuildTheSameTables) {
  const std::string derived = store::derived_folder(bundle_ + "/derived");
  const auto expected = store::derived_files(derived).value();
  remove_tree(bundle_ + "/derived");
  at_once([&](int) {
    const auto built = derive();
    EXPECT_TRUE(built) << built.error().message;
    EXPECT_EQ(store::derived_files(derived).value(), expected) << "never half of them";
  });
  EXPECT_EQ(list_folder(bundle_ + "/derived").size(), 1u);
}

TEST_F(DerivedAtOnce, AKilledBuildIsNotInTheWay) {
  const std::string derived = store::derived_folder(bundle_ + "/derived");
  const auto expected = store::derived_files(derived).value();
  remove_tree(bundle_ + "/derived");
  ASSERT_TRUE(make_folders(bundle_ + "/derived"));
  killed_while([&] {
    (void)new FolderAside(FolderAside::create(bundle_ + "/derived/" + store::kDerivedAside).value());
  });
  ASSERT_TRUE(derive());
  EXPECT_EQ(store::derived_files(derived).value(), expected);
  EXPECT_EQ(list_folder(bundle_ + "/derived").size(), 1u);
}

TEST_F(DerivedAtOnce, ThreadsExportToOneFile) {
  const std::string path = folder_ + "/exported.json";
  at_once([&](int) {
    ops::Context context;
    context.ledger_folder = folder_;
    context.host_paths = true;
    const auto done =
        ops::find_operation("export")->run(context, {{"run", run_id_}, {"output", path}, {"force", true}});
    EXPECT_TRUE(done) << done.error().message;
  });
  std::string expected;
  ops::Context context;
  context.ledger_folder = folder_;
  context.bytes = [&](std::string_view bytes) {
    expected += bytes;
    return Result<void>();
  };
  ASSERT_TRUE(ops::find_operation("export")->run(context, {{"run", run_id_}}));
  EXPECT_EQ(read_file(path).value(), expected);
  for (const std::string& name : list_folder(folder_)) EXPECT_EQ(name.find(".new-"), std::string::npos);
}

}  // namespace
}  // namespace nl
