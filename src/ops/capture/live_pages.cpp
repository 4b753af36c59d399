#include "ops/capture/live_pages.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <vector>

#include "base/files.h"

namespace nl::ops {
namespace {

/// What posix_spawn is told; freed in any case.
struct SpawnRequest {
  SpawnRequest() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnRequest(const SpawnRequest&) = delete;
  SpawnRequest& operator=(const SpawnRequest&) = delete;
  ~SpawnRequest() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

/// A session of its own: Ctrl+C is for the recorded program, and the pages then say how it ended. They write
/// to standard error alone, since standard output is the program's.
Result<LivePages> LivePages::start(const Environment& surroundings, const std::string& ledger,
                                   const std::string& recording) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("cannot make", "a pipe", errno);
  LivePages pages(ends[1]);
  SpawnRequest request;
  ::posix_spawn_file_actions_adddup2(&request.files, ends[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&request.files, STDERR_FILENO, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&request.attributes, &none);
  ::posix_spawnattr_setflags(&request.attributes,
                             static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK));
  std::vector<std::string> arguments = {"neurolens", kLivePages, surroundings.absolute(ledger), recording};
  std::vector<std::string> variables = surroundings.variables();
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &request.files, &request.attributes,
                                   pointers_to(arguments).data(), pointers_to(variables).data());
  ::close(ends[0]);
  if (failed != 0) return errno_error("cannot start", "the pages of the recording", failed);
  return pages;
}

LivePages::~LivePages() {
  if (pipe_ >= 0) ::close(pipe_);
}

}  // namespace nl::ops
