#include "store/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/files.h"

namespace nl::store {
namespace {

constexpr char kDerived[] = "/derived";

std::string chosen_folder(const Environment& surroundings) {
  const std::string xdg = surroundings.get("XDG_CACHE_HOME");
  if (!xdg.empty()) return xdg + "/neurolens";
  const std::string home = surroundings.get("HOME");
  return home.empty() ? "/tmp/neurolens-cache-" + std::to_string(::geteuid()) : home + "/.cache/neurolens";
}

bool is_own_folder(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

}  // namespace

Result<std::string> cache_folder(const Environment& surroundings) {
  std::string folder = chosen_folder(surroundings);
  if (const size_t slash = folder.rfind('/'); slash != 0) NL_CHECK(make_folders(folder.substr(0, slash)));
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error("cannot create folder", folder, errno);
  if (is_own_folder(folder)) return folder;
  return Error{ErrorCode::kPermission, "the cache is not a folder of yours: " + folder,
               "name another one with XDG_CACHE_HOME"};
}

std::string derived_in_cache(const Environment& surroundings, const std::string& document_sha256) {
  const auto cache = cache_folder(surroundings);
  return cache ? *cache + kDerived + "/" + document_sha256.substr(0, 32) : std::string();
}

int64_t remove_old_derived(const Environment& surroundings, int days) {
  const std::string all = chosen_folder(surroundings) + kDerived;
  if (!is_own_folder(all)) return 0;
  int64_t removed = 0;
  for (const auto& name : list_folder(all)) {
    struct stat info {};
    const std::string path = all + "/" + name;
    const bool is_old =
        ::lstat(path.c_str(), &info) == 0 && std::time(nullptr) - info.st_mtime > int64_t{days} * 86'400;
    if (!is_old) continue;
    remove_tree(path);
    removed++;
  }
  return removed;
}

}  // namespace nl::store
