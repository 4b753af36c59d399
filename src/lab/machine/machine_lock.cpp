#include "lab/machine/machine_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
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

std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::to_string(::geteuid()) : found->pw_name;
}

/// All users of the machine meet there: anybody may add a file, nobody may remove one of another.
Result<std::string> locks_folder(const Environment& surroundings) {
  const std::string named = surroundings.get("NEUROLENS_LOCKS");
  const std::string folder = named.empty() ? "/tmp/neurolens-locks" : named;
  if (::mkdir(folder.c_str(), 01777) == 0) ::chmod(folder.c_str(), 01777);  // whatever the umask says
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return errno_error("cannot create folder", folder, errno);
  if (!S_ISDIR(status.st_mode))
    return Error{ErrorCode::kPermission, "this is no folder: " + folder,
                 "remove it, or name another folder with NEUROLENS_LOCKS"};
  return folder;
}

/// The file of another user may be opened, but in such a folder not with O_CREAT.
Result<int> open_lock(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  int file = ::open(path.c_str(), kFlags);
  if (file < 0 && errno == ENOENT) {
    file = ::open(path.c_str(), kFlags | O_CREAT, 0666);
    if (file >= 0) ::fchmod(file, 0666);
  }
  if (file < 0 && errno == EACCES) file = ::open(path.c_str(), kFlags);
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

std::string clock_text(int64_t unix_ns) {
  const time_t seconds = unix_ns / 1'000'000'000;
  tm local{};
  ::localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}", local.tm_hour, local.tm_min);
}

Error in_use(const std::string& device, const std::optional<LockHolder>& holder) {
  const std::string what = device == kWholeMachine ? "the machine" : device;
  const std::string by = holder ? fmt::format("{} for \"{}\" (process {}, since {})", holder->user,
                                              holder->purpose, holder->pid, clock_text(holder->since_unix_ns))
                                : "somebody who left no name";
  return Error{ErrorCode::kConflict, fmt::format("{} is in use by {}", what, by),
               "wait until it is free, or measure beside others if the figures may be disturbed"};
}

Result<int> take_one(const std::string& folder, const std::string& device, Use use,
                     const std::string& purpose, std::chrono::steady_clock::time_point end) {
  NL_TRY(const int file, open_lock(folder + "/" + device));
  const int how = use == Use::kAlone ? LOCK_EX : LOCK_SH;
  while (::flock(file, how | LOCK_NB) != 0) {
    const bool is_over = std::chrono::steady_clock::now() >= end;
    const auto cancelled = check_cancelled();
    if (is_over || !cancelled) {
      const auto holder = who_says(file);
      ::close(file);
      return cancelled ? in_use(device, holder) : cancelled.error();
    }
    std::this_thread::sleep_for(kPause);
  }
  say_who(file, purpose);
  return file;
}

bool is_taken(int file) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  ::flock(file, LOCK_UN);
  return false;
}

}  // namespace

bool is_device_name(const std::string& name) {
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
}

MachineLock::~MachineLock() {
  for (const int file : files_) ::close(file);
}

Result<MachineLock> MachineLock::take(const Environment& surroundings, const std::string& device, Use use,
                                      const std::string& purpose, std::chrono::milliseconds wait) {
  if (!is_device_name(device)) return Error{ErrorCode::kBadInput, "not the name of a device: " + device};
  const auto end = std::chrono::steady_clock::now() + wait;
  NL_TRY(const std::string folder, locks_folder(surroundings));
  MachineLock lock({});
  const bool is_whole = device == kWholeMachine;
  NL_TRY(const int machine, take_one(folder, kWholeMachine, is_whole ? use : Use::kShared, purpose, end));
  lock.files_.push_back(machine);
  if (is_whole) return lock;
  NL_TRY(const int file, take_one(folder, device, use, purpose, end));
  lock.files_.push_back(file);
  return lock;
}

std::optional<LockHolder> MachineLock::holder(const Environment& surroundings, const std::string& device) {
  const auto folder = locks_folder(surroundings);
  if (!folder || !is_device_name(device)) return std::nullopt;
  for (const std::string& name : {device, std::string(kWholeMachine)}) {
    const auto file = open_lock(*folder + "/" + name);
    if (!file) continue;
    std::optional<LockHolder> found;
    if (is_taken(*file)) found = who_says(*file).value_or(LockHolder{"somebody", "", 0, 0});
    ::close(*file);
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace nl::lab
