#include "base/permissions.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/files.h"

namespace nl {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kFolderBits = S_ISGID | 0777;
constexpr mode_t kFileBits = 0666;

/// Nobody but the owner, if it cannot be told.
mode_t mode_of(const std::string& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 ? info.st_mode : 0700;
}

bool is_own(uid_t user) {
  return user == ::geteuid() || user == 0;
}

bool is_member(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(static_cast<size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  return count > 0 && std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

/// getpwuid is not for threads.
std::string user_text(uid_t user) {
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  const bool is_known = ::getpwuid_r(user, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr;
  return is_known ? std::string(found->pw_name) : "user " + std::to_string(user);
}

std::string fault_of(const struct stat& info) {
  if (S_ISLNK(info.st_mode)) return "is a link of " + user_text(info.st_uid);
  return "belongs to " + user_text(info.st_uid);
}

}  // namespace

std::string parent_folder(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Result<void> make_shared_folders(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno == ENOENT && parent_folder(path) != path) {
      NL_CHECK(make_shared_folders(parent_folder(path)));
      return make_shared_folders(path);
    }
    std::error_code ignored;
    if (errno == EEXIST && fs::is_directory(path, ignored)) return {};
    return errno_error("cannot create folder", path, errno);
  }
  (void)::chmod(path.c_str(), mode_of(parent_folder(path)) & kFolderBits);
  return {};
}

Result<void> make_trusted_folder(const std::string& path) {
  const std::string around = parent_folder(path);
  NL_CHECK(check_writers(parent_folder(around)));
  NL_CHECK(check_writers(around));
  NL_CHECK(make_shared_folders(path));
  return check_writers(path);
}

void share_file(const std::string& path) {
  (void)::chmod(path.c_str(), mode_of(parent_folder(path)) & kFileBits);
}

void share_tree(const std::string& folder, const std::string& like, const std::string& except) {
  const mode_t mode = mode_of(like);
  const auto share = [mode](const fs::directory_entry& entry) {
    std::error_code ignored;
    if (entry.is_symlink(ignored)) return;
    (void)::chmod(entry.path().c_str(), mode & (entry.is_directory(ignored) ? kFolderBits : kFileBits));
  };
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    if (!except.empty() && it->path() == except) {
      it.disable_recursion_pending();
      continue;
    }
    share(*it);
  }
  share(fs::directory_entry(folder, failed));
}

Result<void> check_writers(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) return errno_error("cannot look at", folder, errno);
  const bool is_link = S_ISLNK(info.st_mode);
  if (is_link && !is_own(info.st_uid))
    return Error{ErrorCode::kPermission, "nothing is written there: it " + fault_of(info) + ": " + folder,
                 "name another place with --ledger DIR"};
  if (is_link && ::stat(folder.c_str(), &info) != 0) return errno_error("cannot look at", folder, errno);
  // In a sticky folder nobody can move or replace what belongs to somebody else.
  if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0)
    return Error{ErrorCode::kPermission, "nothing is written there: every user may change it: " + folder,
                 "chmod o-w " + folder + ", or name another place with --ledger DIR"};
  const bool is_shared = (info.st_mode & S_IWGRP) != 0 && is_member(info.st_gid);
  if (is_own(info.st_uid) || is_shared) return {};
  return Error{
      ErrorCode::kPermission, "nothing is written there: it " + fault_of(info) + ": " + folder,
      "its owner can share it with a group that you are in (chmod g+rwxs), or name another place with "
      "--ledger DIR"};
}

std::string other_owner(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || is_own(info.st_uid)) return {};
  return user_text(info.st_uid);
}

}  // namespace nl
