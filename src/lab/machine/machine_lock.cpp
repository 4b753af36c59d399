#include "lab/machine/machine_lock.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "base/files.h"

namespace nl::lab {
namespace {

/// All users of the machine meet there: anybody may add a file, nobody may remove one of another.
Result<std::string> locks_folder(const Environment& surroundings) {
  const std::string named = surroundings.get(kLocksVariable);
  const std::string folder = named.empty() ? "/tmp/neurolens-locks" : named;
  if (::mkdir(folder.c_str(), 01777) == 0) (void)::chmod(folder.c_str(), 01777);  // whatever the umask says
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0) return errno_error("cannot create folder", folder, errno);
  if (!S_ISDIR(status.st_mode))
    return Error{ErrorCode::kPermission, "this is no folder: " + folder,
                 "remove it, or name another folder with NEUROLENS_LOCKS"};
  return folder;
}

bool holds_for_us(const Environment& surroundings, const std::string& path) {
  const std::string pid = surroundings.get(kHolderVariable);
  if (pid.empty()) return false;
  const auto holder = NamedLock::holder(path, Use::kShared);
  return holder && std::to_string(holder->pid) == pid;
}

Result<NamedLock> take_one(const std::string& folder, const std::string& device, Use use,
                           const std::string& purpose, std::chrono::steady_clock::time_point end) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  const std::string what = device == kWholeMachine ? "the machine" : device;
  auto lock = NamedLock::take(folder + "/" + device, use, what, purpose, left);
  if (!lock && lock.error().code == ErrorCode::kConflict)
    lock.error().hint = "wait until it is free, or measure beside others if the figures may be disturbed";
  return lock;
}

}  // namespace

bool is_device_name(const std::string& name) {
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
}

Result<MachineLock> MachineLock::take(const Environment& surroundings, const std::string& device, Use use,
                                      const std::string& purpose, std::chrono::milliseconds wait) {
  if (!is_device_name(device)) return Error{ErrorCode::kBadInput, "not the name of a device: " + device};
  const auto end = std::chrono::steady_clock::now() + wait;
  NL_TRY(const std::string folder, locks_folder(surroundings));
  MachineLock lock;
  for (const std::string& name : {device, std::string(kWholeMachine)})
    if (holds_for_us(surroundings, folder + "/" + name)) return lock;
  const bool is_whole = device == kWholeMachine;
  NL_TRY(auto machine, take_one(folder, kWholeMachine, is_whole ? use : Use::kShared, purpose, end));
  lock.locks_.push_back(std::move(machine));
  if (is_whole) return lock;
  NL_TRY(auto own, take_one(folder, device, use, purpose, end));
  lock.locks_.push_back(std::move(own));
  return lock;
}

std::optional<LockHolder> MachineLock::holder(const Environment& surroundings, const std::string& device) {
  const auto folder = locks_folder(surroundings);
  if (!folder || !is_device_name(device)) return std::nullopt;
  if (auto found = NamedLock::holder(*folder + "/" + device)) return found;
  // Who uses another device shares the machine, and is in nobody's way.
  return NamedLock::holder(*folder + "/" + kWholeMachine, Use::kShared);
}

}  // namespace nl::lab
