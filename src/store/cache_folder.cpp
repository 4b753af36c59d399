#include "store/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <vector>

#include "base/decimal.h"
#include "base/files.h"

namespace nl::store {
namespace {

constexpr char kDerived[] = "/derived";
constexpr char kPacked[] = "/packed";

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

Result<std::string> packed_in_cache(const Environment& surroundings) {
  NL_TRY(const std::string cache, cache_folder(surroundings));
  return cache + kPacked + "/";
}

namespace {

constexpr int64_t kMostCacheMb = 10'240;
constexpr int64_t kInUseSeconds = 3600;  // whoever asked for it so lately may still read it

/// One folder of the cache that can be made again.
struct CacheEntry {
  std::string path;
  int64_t bytes = 0;
  int64_t used_at = 0;  ///< seconds of Unix time
};

int64_t bytes_below(const std::string& folder) {
  int64_t bytes = 0;
  const std::string inside = folder + "/";
  for (const auto& name : list_folder(folder)) {
    struct stat info {};
    const std::string path = inside + name;
    if (::lstat(path.c_str(), &info) != 0) continue;
    bytes += S_ISDIR(info.st_mode) ? bytes_below(path) : int64_t{info.st_blocks} * 512;
  }
  return bytes;
}

std::vector<CacheEntry> entries_of(const std::string& cache) {
  std::vector<CacheEntry> entries;
  for (const char* part : {kDerived, kPacked}) {
    if (!is_own_folder(cache + part)) continue;
    const std::string inside = cache + part + "/";
    for (const auto& name : list_folder(inside)) {
      struct stat info {};
      std::string path = inside + name;
      if (name.starts_with(".") || ::lstat(path.c_str(), &info) != 0) continue;
      const int64_t bytes = bytes_below(path);
      entries.push_back({std::move(path), bytes, info.st_mtime});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const CacheEntry& a, const CacheEntry& b) { return a.used_at < b.used_at; });
  return entries;
}

}  // namespace

void note_cache_use(const std::string& folder) {
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

int64_t most_cache_bytes(const Environment& surroundings) {
  int64_t mb = 0;
  const bool is_given = parse_int64(surroundings.get("NEUROLENS_CACHE_MB"), mb) && mb >= 0;
  return (is_given ? std::min(mb, INT64_MAX >> 20) : kMostCacheMb) << 20;
}

int64_t tidy_cache(const Environment& surroundings, int days) {
  const auto entries = entries_of(chosen_folder(surroundings));
  const int64_t now = std::time(nullptr), most = most_cache_bytes(surroundings);
  int64_t bytes = 0, removed = 0;
  for (const CacheEntry& entry : entries) bytes += entry.bytes;
  for (const CacheEntry& entry : entries) {
    const int64_t idle = now - entry.used_at;
    const bool is_old = idle > int64_t{days} * 86'400;
    if (!is_old && (bytes <= most || idle < kInUseSeconds)) continue;
    remove_tree(entry.path);
    bytes -= entry.bytes;
    removed++;
  }
  return removed;
}

}  // namespace nl::store
