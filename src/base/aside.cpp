#include "base/aside.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/permissions.h"
#include "base/random.h"

namespace nl {
namespace {

constexpr std::string_view kLockSuffix = ".lock";
constexpr int64_t kYoungSeconds = 60;

enum class Take { kTaken, kHeld, kGone };

/// Takes the lock of an open file, unless another one holds it or has removed the file meanwhile.
Take take_lock(int fd) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return Take::kHeld;
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink == 0 ? Take::kGone : Take::kTaken;
}

/// A link counts as there, wherever it leads.
bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

/// Removes `work` and its lock unless somebody holds that. It is held meanwhile, so that a maker who has not
/// locked it yet sees it taken or gone. Where there are no locks nobody can tell, and all stays. Work that is
/// not ours to remove keeps its lock.
bool remove_if_free(const std::string& work, const std::string& lock_path) {
  const int fd = ::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool gone = false;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) {
    if (work != lock_path) remove_tree(work);
    gone = (work == lock_path || !is_there(work)) && ::unlink(lock_path.c_str()) == 0;
  }
  ::close(fd);
  return gone;
}

/// Work of a version that had no locks.
bool remove_if_old(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || std::time(nullptr) - info.st_mtime < kYoungSeconds) return false;
  remove_tree(folder);
  return !is_there(folder);
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// In a sticky folder strangers can put files beside ours: only what is ours is looked at.
bool is_sticky(const std::string& folder) {
  struct stat info {};
  return ::stat(folder.c_str(), &info) == 0 && (info.st_mode & S_ISVTX) != 0;
}

bool is_of_caller(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid();
}

}  // namespace

std::string unique_text() {
  constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuv";
  std::string text = random_bytes(12);
  for (char& c : text) c = kLetters[static_cast<unsigned char>(c) % kLetters.size()];
  return text;
}

// ---- Files

Result<NewFile> NewFile::create(const std::string& start) {
  for (;;) {
    std::string aside = start + unique_text();
    const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return errno_error("cannot create", aside, errno);
    if (take_lock(fd) == Take::kTaken) return NewFile(fd, std::move(aside));
    ::close(fd);  // taken for abandoned before it was locked
  }
}

// ---- Folders

/// Only its owner can look into it until it gets its name. The lock is for whoever may use the folder around
/// it, who may then remove what a killed process left.
Result<FolderAside> FolderAside::create(const std::string& start) {
  for (;;) {
    std::string path = start + unique_text();
    const std::string lock_path = path + std::string(kLockSuffix);
    const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock < 0 && errno == EEXIST) continue;
    if (lock < 0) return errno_error("cannot create", lock_path, errno);
    if (take_lock(lock) != Take::kTaken) {  // taken for abandoned before it was locked
      ::close(lock);
      continue;
    }
    // One that is there already is somebody else's, who saw the name of the lock.
    if (::mkdir(path.c_str(), 0700) == 0) {
      if (!is_sticky(parent_folder(path))) share_file(lock_path);
      return FolderAside(std::move(path), lock);
    }
    const int number = errno;
    ::unlink(lock_path.c_str());
    ::close(lock);
    if (number != EEXIST) return errno_error("cannot create folder", path, number);
  }
}

FolderAside::FolderAside(FolderAside&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

FolderAside::~FolderAside() {
  if (lock_ < 0) return;
  remove_tree(path_);
  ::unlink((path_ + std::string(kLockSuffix)).c_str());
  ::close(lock_);
}

Result<void> FolderAside::replace(const std::string& to) {
  share_tree(path_, parent_folder(to));
  NL_TRY(const bool is_first, rename_to_new(path_, to));
  if (is_first) return {};
  auto exchanged = exchange_paths(path_, to);  // what was there vanishes with this object
  if (exchanged) return {};
  if (path_exists(path_)) remove_tree(to);  // a file system that cannot exchange
  NL_TRY(const bool placed, rename_to_new(path_, to));
  return placed ? Result<void>() : std::move(exchanged);
}

// ---- Left-overs

int64_t remove_abandoned(const std::string& start) {
  const size_t slash = start.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : start.substr(0, slash);
  const std::string first_letters = start.substr(slash + 1);
  const bool only_own = is_sticky(folder);
  int64_t removed = 0;
  for (const std::string& name : list_folder(folder)) {
    if (!name.starts_with(first_letters)) continue;
    const std::string path = folder + "/" + name;
    if (only_own && !is_of_caller(path)) continue;
    bool gone = false;
    if (name.ends_with(kLockSuffix)) {
      gone = remove_if_free(path.substr(0, path.size() - kLockSuffix.size()), path);
    } else if (!is_folder(path)) {
      gone = remove_if_free(path, path);
    } else if (!path_exists(path + std::string(kLockSuffix))) {
      gone = remove_if_old(path);
    }
    removed += gone ? 1 : 0;
  }
  return removed;
}

}  // namespace nl
