#include "base/permissions.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/files.h"
#include "base/mapping_guard.h"
#include "base/private_folder.h"
#include "recorded.h"

namespace nl {
namespace {

mode_t mode_at(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

struct PermissionsTest : testing::Test {
  TestFolder folder;
  void SetUp() override { ASSERT_EQ(::mkdir(folder.path().c_str(), 0700), 0); }
  std::string at(const std::string& name) const { return folder.path() + "/" + name; }
};

TEST_F(PermissionsTest, NewFoldersAndFilesAreAsTheFolderAround) {
  for (const mode_t mode : {0700u, 02770u, 0755u}) {
    const std::string top = at("top-" + std::to_string(mode));
    ASSERT_EQ(::mkdir(top.c_str(), 0700), 0);
    ASSERT_EQ(::chmod(top.c_str(), mode), 0);
    ASSERT_TRUE(make_shared_folders(top + "/a/b"));
    EXPECT_EQ(mode_at(top + "/a"), mode);
    EXPECT_EQ(mode_at(top + "/a/b"), mode);
    ASSERT_TRUE(write_file_durably(top + "/a/file", "x"));
    share_file(top + "/a/file");
    EXPECT_EQ(mode_at(top + "/a/file"), mode & 0666);
  }
}

TEST_F(PermissionsTest, WorkAsideIsOfItsOwnerUntilItHasItsName) {
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  auto aside = FolderAside::create(at("work-"));
  ASSERT_TRUE(aside);
  EXPECT_EQ(mode_at(aside->path()), 0700u);
  ASSERT_TRUE(write_file_durably(aside->path() + "/file", "x"));
  ASSERT_EQ(::chmod((aside->path() + "/file").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (aside->path() + "/link").c_str()), 0);
  const mode_t before = mode_at("/etc/passwd");
  ASSERT_TRUE(aside->replace(at("done")));
  EXPECT_EQ(mode_at(at("done")), 0755u);
  EXPECT_EQ(mode_at(at("done/file")), 0644u);
  EXPECT_EQ(mode_at("/etc/passwd"), before) << "links are not followed";
}

TEST_F(PermissionsTest, NothingIsWrittenWhereAnybodyWrites) {
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
  EXPECT_TRUE(check_writers(folder.path()));
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const auto refused = check_writers(folder.path());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermission);
  EXPECT_NE(refused.error().hint.find("chmod o-w"), std::string::npos);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
}

TEST_F(PermissionsTest, APrivateFolderIsPrivate) {
  const Environment here({"TMPDIR=" + folder.path()}, "/");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
  std::string path;
  {
    const auto made = make_private_folder(here, PrivateUse::kFiles);
    ASSERT_TRUE(made);
    path = made->path();
    EXPECT_TRUE(path.starts_with(folder.path()));
    EXPECT_EQ(mode_at(path), 0700u);
  }
  EXPECT_FALSE(path_exists(path));
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const auto elsewhere = make_private_folder(here, PrivateUse::kFiles);
  ASSERT_TRUE(elsewhere);
  EXPECT_TRUE(elsewhere->path().starts_with("/tmp/")) << "anybody could rename what lies in the other one";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0700), 0);
}

TEST_F(PermissionsTest, AFileThatIsCutOffReadsAsZeros) {
  const std::string path = at("mapped");
  ASSERT_TRUE(write_file_durably(path, std::string(3 << 12, 'x')));
  const int fd = ::open(path.c_str(), O_RDWR);
  void* const memory = ::mmap(nullptr, 3 << 12, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<volatile char*>(memory);
  {
    const MappingGuard guard(memory, 3 << 12);
    ASSERT_TRUE(guard.is_on());
    EXPECT_EQ(bytes[5000], 'x');
    EXPECT_FALSE(guard.is_cut());
    ASSERT_EQ(::ftruncate(fd, 100), 0);
    EXPECT_EQ(bytes[5000], 0);
    bytes[9000] = 'y';  // writing is as harmless
    EXPECT_TRUE(guard.is_cut());
  }
  ::munmap(memory, 3 << 12);
  ::close(fd);
}

/// A sanitizer takes the signal, says so and ends the process itself.
bool died_of_sigbus(int status) {
  return testing::KilledBySignal(SIGBUS)(status) || testing::ExitedWithCode(1)(status);
}

TEST_F(PermissionsTest, WhatIsNotGuardedStillDies) {
  const std::string path = at("mapped");
  ASSERT_TRUE(write_file_durably(path, std::string(2 << 12, 'x')));
  EXPECT_EXIT(
      {
        const int fd = ::open(path.c_str(), O_RDWR);
        void* const one = ::mmap(nullptr, 2 << 12, PROT_READ, MAP_SHARED, fd, 0);
        void* const other = ::mmap(nullptr, 2 << 12, PROT_READ, MAP_SHARED, fd, 0);
        const MappingGuard guard(one, 2 << 12);
        if (::ftruncate(fd, 0) != 0) ::_exit(2);
        ::_exit(static_cast<volatile char*>(other)[0]);
      },
      died_of_sigbus, "");
}

}  // namespace
}  // namespace nl
