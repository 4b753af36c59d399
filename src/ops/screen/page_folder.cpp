#include "ops/screen/page_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "ops/runs/run_names.h"

namespace nl::ops {
namespace {

/// Only absolute paths: what a relative one means depends on where one stands.
std::string folder_in(const Environment& surroundings, const char* variable) {
  const std::string value = surroundings.get(variable);
  return value.starts_with('/') ? value : "";
}

std::vector<std::string> candidates(const Environment& surroundings) {
  std::vector<std::string> folders;
  const std::string cache = folder_in(surroundings, "XDG_CACHE_HOME"), home = folder_in(surroundings, "HOME"),
                    given = folder_in(surroundings, "TMPDIR");
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

constexpr int64_t kKeptSeconds = 30 * 24 * 3600;

bool is_short_id(std::string_view text) {
  return text.size() == kShortId && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// run-ID.html, run-ID.pftrace, compare-ID-ID.html, .new-XXXXXX
bool is_ours(std::string_view name) {
  if (name.starts_with(".new-")) return name.size() == std::string_view(".new-XXXXXX").size();
  if (!name.ends_with(".html") && !name.ends_with(".pftrace")) return false;
  name.remove_suffix(name.size() - name.rfind('.'));
  if (name.starts_with("run-")) return is_short_id(name.substr(4));
  return name.starts_with("compare-") && name.size() == 8 + 2 * kShortId + 1 &&
         is_short_id(name.substr(8, kShortId)) && name[8 + kShortId] == '-' &&
         is_short_id(name.substr(9 + kShortId));
}

bool is_old(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && std::time(nullptr) - info.st_mtime > kKeptSeconds;
}

}  // namespace

void remove_old_pages(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> old;
  for (std::filesystem::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (is_ours(it->path().filename().string()) && is_old(it->path().string()))
      old.push_back(it->path().string());
  }
  for (const std::string& path : old) remove_tree(path);
}

Result<std::string> page_folder(const Environment& surroundings) {
  std::string tried;
  for (const std::string& folder : candidates(surroundings)) {
    if (make_private(folder)) return folder;
    tried += (tried.empty() ? "" : ", ") + folder;
  }
  return Error{ErrorCode::kIo,
               "no folder that only you can read, for the page: " + tried,
               "name one with TMPDIR, or write the page where you like: {}",
               {suggested("report", {{"run", "RUN"}, {"output", "DIR"}})}};
}

}  // namespace nl::ops
