#include "ops/page_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "base/files.h"

namespace nl::ops {
namespace {

/// Only absolute paths: what a relative one means depends on where one stands.
std::string folder_in(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

std::vector<std::string> candidates() {
  std::vector<std::string> folders;
  const std::string cache = folder_in("XDG_CACHE_HOME"), home = folder_in("HOME"),
                    given = folder_in("TMPDIR");
  if (!cache.empty()) folders.push_back(cache + "/neurolens/pages");
  if (!home.empty()) folders.push_back(home + "/.cache/neurolens/pages");
  const std::string name = "/neurolens-" + std::to_string(::geteuid());
  if (!given.empty()) folders.push_back(given + name);
  folders.push_back("/tmp" + name);
  return folders;
}

/// Ours alone: in /tmp somebody else may have made it, or a link to elsewhere.
bool is_private(const std::string& folder) {
  struct stat info {};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() &&
         (info.st_mode & 077) == 0 && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

bool make_private(const std::string& folder) {
  if (!make_folders(folder.substr(0, folder.rfind('/')))) return false;
  (void)::mkdir(folder.c_str(), 0700);
  return is_private(folder);
}

}  // namespace

Result<std::string> page_folder() {
  std::string tried;
  for (const std::string& folder : candidates()) {
    if (make_private(folder)) return folder;
    tried += (tried.empty() ? "" : ", ") + folder;
  }
  return Error{ErrorCode::kIo, "no folder for the page that only you can read: " + tried,
               "name one with TMPDIR, or write the page where you like: neurolens report RUN --output DIR"};
}

}  // namespace nl::ops
