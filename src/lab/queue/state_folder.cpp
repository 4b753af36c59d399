#include "lab/queue/state_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/permissions.h"

namespace nl::lab {
namespace {

constexpr const char* kElsewhere = "or name another folder with NEUROLENS_STATE";

}  // namespace

Result<std::string> state_folder_name(const Environment& surroundings) {
  if (const std::string own = surroundings.get("NEUROLENS_STATE"); !own.empty())
    return surroundings.absolute(own);
  if (const std::string xdg = surroundings.get("XDG_STATE_HOME"); xdg.starts_with('/'))
    return xdg + "/neurolens";
  const std::string home = surroundings.get("HOME");
  if (home.empty())
    return Error{ErrorCode::kBadInput, "no place for the queue: HOME is not set",
                 "name a folder with NEUROLENS_STATE"};
  return home + "/.local/state/neurolens";
}

Result<void> check_private(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno_error("cannot look at", path, errno);
  std::string why;
  if (S_ISLNK(info.st_mode)) {
    why = "is a link";
  } else if (info.st_uid != ::geteuid()) {
    why = "belongs to somebody else";
  } else if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    why = "can be written by others";
  }
  if (why.empty()) return {};
  return Error{ErrorCode::kPermission,
               fmt::format("the queue is not kept in what {}, since its commands run as you: {}", why, path),
               fmt::format("chmod go-w {}, {}", path, kElsewhere)};
}

Result<std::string> make_state_folder(const Environment& surroundings) {
  NL_TRY(const std::string folder, state_folder_name(surroundings));
  if (!path_exists(folder)) {
    NL_CHECK(make_folders(parent_folder(folder)));
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      Error error = errno_error("cannot create the folder of the queue", folder, errno);
      error.hint = fmt::format("make it possible to write there, {}", kElsewhere);
      return error;
    }
  }
  NL_CHECK(check_private(folder));
  return folder;
}

std::string attempt_path(const std::string& folder, int64_t job, int64_t attempt) {
  return fmt::format("{}/queue-logs/{}/{}", folder, job, attempt);
}

}  // namespace nl::lab
