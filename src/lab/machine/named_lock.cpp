#include "lab/machine/named_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <thread>

#include "base/call_control.h"
#include "base/files.h"
#include "base/json.h"

namespace nl::lab {
namespace {

using nlohmann::json;

constexpr auto kPause = std::chrono::milliseconds(20);
constexpr size_t kMostSaid = 1024;  // of what a holder says
/// Whoever asks for the holder has the lock for a moment: one refusal may be theirs.
constexpr int kLeastTries = 3;

std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::to_string(::geteuid()) : found->pw_name;
}

/// The file of another user may be opened, but in a folder that all may write to not with O_CREAT. One that
/// may only be read can still be locked.
Result<int> open_lock(const std::string& path, bool create) {
  constexpr int kFlags = O_NOFOLLOW | O_CLOEXEC;
  int file = ::open(path.c_str(), O_RDWR | kFlags);
  if (file < 0 && errno == ENOENT && create) {
    file = ::open(path.c_str(), O_RDWR | O_CREAT | kFlags, 0666);
    if (file >= 0) (void)::fchmod(file, 0666);  // whatever the umask says
  }
  if (file < 0 && errno == EACCES) file = ::open(path.c_str(), O_RDWR | kFlags);  // others were first
  if (file < 0 && (errno == EACCES || errno == EROFS)) file = ::open(path.c_str(), O_RDONLY | kFlags);
  if (file < 0) return errno_error("cannot open", path, errno);
  return file;
}

void say_who(int file, const std::string& purpose) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const json holder = {{"user", user_name()},
                       {"purpose", purpose.substr(0, 200)},
                       {"pid", ::getpid()},
                       {"since_unix_ns", int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec}};
  const std::string text = holder.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
  // A full disk costs the name of the holder, not the lock.
  if (::ftruncate(file, 0) == 0 && ::pwrite(file, text.data(), text.size(), 0) < 0) return;
}

std::optional<LockHolder> who_says(int file) {
  std::array<char, kMostSaid> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  const json said = json::parse(text.data(), text.data() + size, nullptr, false);
  if (!said.is_object()) return std::nullopt;
  try {
    return LockHolder{said.at("user"), said.at("purpose"), said.at("pid"), said.at("since_unix_ns")};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string minute_text(int64_t unix_ns) {
  const time_t seconds = unix_ns / 1'000'000'000;
  tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local)};
}

Error in_use(const std::string& what, const std::optional<LockHolder>& holder) {
  return Error{ErrorCode::kConflict, fmt::format("{} is in use by {}", what, holder_text(holder)),
               "wait until it is free"};
}

int flock_of(Use use) {
  return use == Use::kAlone ? LOCK_EX : LOCK_SH;
}

bool is_taken(int file, Use wanted) {
  if (::flock(file, flock_of(wanted) | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(file, LOCK_UN);
  return false;
}

}  // namespace

std::string holder_text(const std::optional<LockHolder>& holder) {
  if (!holder) return "somebody who left no name";
  return fmt::format("{} for \"{}\" (process {}, since {})", holder->user, holder->purpose, holder->pid,
                     minute_text(holder->since_unix_ns));
}

NamedLock::~NamedLock() {
  if (file_ >= 0) ::close(file_);
}

Result<NamedLock> NamedLock::take(const std::string& path, Use use, const std::string& what,
                                  const std::string& purpose, std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  NL_TRY(const int file, open_lock(path, true));
  NamedLock lock(file);
  for (int tries = 1; ::flock(file, flock_of(use) | LOCK_NB) != 0; tries++) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("cannot lock", path, errno);
    NL_CHECK(check_cancelled());
    if (tries >= kLeastTries && std::chrono::steady_clock::now() >= end) return in_use(what, who_says(file));
    std::this_thread::sleep_for(kPause);
  }
  say_who(file, purpose);
  return lock;
}

std::optional<LockHolder> NamedLock::holder(const std::string& path, Use wanted) {
  const auto file = open_lock(path, false);
  if (!file) return std::nullopt;
  const NamedLock open(*file);
  if (!is_taken(*file, wanted)) return std::nullopt;
  return who_says(*file).value_or(LockHolder{"somebody", "", 0, 0});
}

}  // namespace nl::lab
