#include "store/file_check.h"

#include <sys/stat.h>

#include <map>
#include <mutex>

#include "base/sha256.h"

namespace nl::store {
namespace {

/// Hashes of files that this process has read.
class KnownFiles {
 public:
  std::optional<std::string> find(const FileIdentity& file) {
    const std::lock_guard lock(mutex_);
    const auto known = sha256_.find(file);
    return known == sha256_.end() ? std::nullopt : std::optional(known->second);
  }
  void keep(const FileIdentity& file, const std::string& sha256) {
    const std::lock_guard lock(mutex_);
    if (sha256_.size() >= kMost) sha256_.clear();
    sha256_[file] = sha256;
  }

 private:
  static constexpr size_t kMost = 10'000;
  std::mutex mutex_;
  std::map<FileIdentity, std::string> sha256_;
};

KnownFiles& known_files() {
  static auto* const known = new KnownFiles;  // threads may ask until the process ends
  return *known;
}

}  // namespace

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileIdentity{info.st_dev, info.st_ino, info.st_size,
                      static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Result<FileSeal> seal_of_file(const std::string& path) {
  // Looked at before it is read: a file that changes meanwhile is then read once more.
  const auto identity = identity_of(path);
  if (!identity) return Error{ErrorCode::kNotFound, "not a file: " + path};
  if (auto known = known_files().find(*identity)) return FileSeal{identity->bytes, *std::move(known)};
  NL_TRY(const std::string sha256, sha256_of_file(path));
  known_files().keep(*identity, sha256);
  return FileSeal{identity->bytes, sha256};
}

bool is_intact(const std::string& path, const FileSeal& seal) {
  const auto identity = identity_of(path);
  if (!identity || identity->bytes != seal.bytes) return false;
  const auto found = seal_of_file(path);
  // A cancelled call ends before anybody sees what it read.
  return found ? *found == seal : found.error().code == ErrorCode::kCancelled;
}

}  // namespace nl::store
