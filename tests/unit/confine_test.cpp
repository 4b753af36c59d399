// What a process that gave up its rights can still do. Each case runs in a child, because rights do not come
// back.

#include "base/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/files.h"

namespace nl {
namespace {

class Confine : public testing::Test {
 protected:
  Confine() : folder_(testing::TempDir() + "neurolens-confine-" + std::to_string(::getpid())) {
    EXPECT_TRUE(make_folders(folder_ + "/inside"));
    EXPECT_TRUE(replace_file(folder_ + "/inside/file", "inside"));
    EXPECT_TRUE(replace_file(folder_ + "/outside", "outside"));
  }
  ~Confine() override { remove_tree(folder_); }

  /// The exit code of a child that is confined to the folder `inside` and a file that is open.
  template <class Work>
  int in_child(bool Confinement::*wanted, Work work) const {
    const int open_file = ::open((folder_ + "/result").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    const pid_t child = ::fork();
    if (child == 0) {
      const Confinement done = confine_process({{folder_ + "/inside"}, {open_file}});
      ::_exit(done.*wanted ? work(open_file) : kNotThere);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(open_file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static int error_of(int result) { return result < 0 ? errno : 0; }

  static constexpr int kNotThere = 99;
  std::string folder_;
};

#define SKIP_WITHOUT_KERNEL(code) \
  if ((code) == kNotThere) GTEST_SKIP() << "the kernel has no such confinement"

TEST_F(Confine, FilesOutsideCannotBeOpened) {
  const int code = in_child(&Confinement::files, [&](int) {
    return error_of(::open((folder_ + "/outside").c_str(), O_RDONLY | O_CLOEXEC));
  });
  SKIP_WITHOUT_KERNEL(code);
  EXPECT_EQ(code, EACCES);
}

TEST_F(Confine, FilesInsideCanBeReadAndNotWritten) {
  const std::string inside = folder_ + "/inside/file";
  const int code = in_child(&Confinement::files,
                            [&](int) { return error_of(::open(inside.c_str(), O_RDONLY | O_CLOEXEC)); });
  SKIP_WITHOUT_KERNEL(code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(in_child(&Confinement::files,
                     [&](int) { return error_of(::open(inside.c_str(), O_WRONLY | O_CLOEXEC)); }),
            EACCES);
  EXPECT_EQ(in_child(&Confinement::files, [&](int) { return error_of(::truncate(inside.c_str(), 0)); }),
            EACCES);
  EXPECT_EQ(read_file(inside).value(), "inside");
}

TEST_F(Confine, AnOpenFileCanBeOpenedAgain) {
  const int code = in_child(&Confinement::files, [&](int file) {
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    return error_of(::open(path.c_str(), O_RDWR | O_TRUNC | O_CLOEXEC));
  });
  SKIP_WITHOUT_KERNEL(code);
  EXPECT_EQ(code, 0);
}

TEST_F(Confine, ThreadsThatItStartsAreConfinedToo) {
  const int code = in_child(&Confinement::files, [&](int) {
    int seen = 0;
    std::thread([&] { seen = error_of(::open("/etc/passwd", O_RDONLY | O_CLOEXEC)); }).join();
    return seen;
  });
  SKIP_WITHOUT_KERNEL(code);
  EXPECT_EQ(code, EACCES);
}

TEST_F(Confine, NoSocketsProgramsOrProcesses) {
  const int code = in_child(&Confinement::calls,
                            [](int) { return error_of(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); });
  SKIP_WITHOUT_KERNEL(code);
  EXPECT_EQ(code, EPERM);
  EXPECT_EQ(
      in_child(&Confinement::calls, [](int) { return error_of(::execl("/bin/true", "true", nullptr)); }),
      EPERM);
  EXPECT_EQ(in_child(&Confinement::calls, [](int) { return error_of(::fork()); }), EPERM);
  EXPECT_EQ(
      in_child(&Confinement::calls, [&](int) { return error_of(::unlink((folder_ + "/outside").c_str())); }),
      EPERM);
  EXPECT_TRUE(path_exists(folder_ + "/outside"));
}

}  // namespace
}  // namespace nl
