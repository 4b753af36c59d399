#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace nl {
namespace fs = std::filesystem;

namespace {

ErrorCode code_of_errno(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermission;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:  // a socket, or a device that is not there
    case ENODEV:
      return ErrorCode::kBadInput;
    default:
      return ErrorCode::kIo;
  }
}

const char* hint_of_errno(int number) {
  switch (number) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
      return "check the permissions";
    case EROFS:
      return "the file system is read-only; choose another ledger with --ledger DIR";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full; free some space or choose another ledger with --ledger DIR";
    default:
      return "";
  }
}

}  // namespace

Result<int> open_nameless(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string name = folder + "/neurolens-XXXXXX";  // not every file system has files without a name
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) return errno_error("cannot write a temporary file in", folder, errno);
  ::unlink(name.c_str());
  return named;
}

std::string errno_text(int number) {
  char buffer[256];
  return ::strerror_r(number, buffer, sizeof buffer);  // unlike strerror it is for threads
}

Error errno_error(const std::string& what, const std::string& path, int number) {
  return Error{code_of_errno(number), what + ": " + errno_text(number) + ": " + path, hint_of_errno(number)};
}

Result<File> File::open_to_read(const std::string& path) {
  return open(path, 0);
}

Result<File> File::open_without_waiting(const std::string& path) {
  return open(path, O_NONBLOCK);
}

Result<File> File::open_plain(const std::string& path) {
  return open(path, O_NONBLOCK | O_NOFOLLOW);
}

Result<File> File::open(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
  if (fd < 0) return errno_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(fd);
    return errno_error("cannot read", path, EISDIR);
  }
  return File(fd, path);
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<size_t> File::read(void* out, size_t size) {
  for (;;) {
    const ssize_t n = ::read(fd_, out, size);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno != EINTR) return errno_error("cannot read", path_, errno);
  }
}

namespace {

/// Everything up to the end; an error if that is more.
Result<std::string> rest_of(File& file, const std::string& path, int64_t most_bytes) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    NL_TRY(const size_t n, file.read(buffer, sizeof buffer));
    if (n == 0) return text;
    text.append(buffer, n);
    if (std::cmp_greater(text.size(), most_bytes)) {
      return Error{ErrorCode::kLimit, "the file is too large: " + path,
                   "at most " + std::to_string(most_bytes) + " bytes"};
    }
  }
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  NL_TRY(File file, File::open_to_read(path));
  return rest_of(file, path, INT64_MAX);
}

Result<std::string> read_small_file(const std::string& path, int64_t most_bytes) {
  if (!path_exists(path)) return Error{ErrorCode::kNotFound, "no such file: " + path};
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown))
    return Error{ErrorCode::kBadInput, "not a file: " + path};
  NL_TRY(const int64_t bytes, file_size(path));
  if (bytes > most_bytes) {
    return Error{ErrorCode::kLimit, "the file has " + std::to_string(bytes) + " bytes: " + path,
                 "at most " + std::to_string(most_bytes)};
  }
  return read_file(path);
}

Result<std::string> read_plain_file(const std::string& path, int64_t most_bytes) {
  NL_TRY(File file, File::open_plain(path));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return errno_error("cannot look at", path, errno);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kBadInput, "not a file: " + path};
  return rest_of(file, path, most_bytes);
}

namespace {

/// 0, or errno.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

}  // namespace

Result<void> write_file_durably(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return errno_error("cannot create", path, errno);
  int number = write_all(fd, text);
  if (number == 0 && ::fsync(fd) != 0) number = errno;
  if (::close(fd) != 0 && number == 0) number = errno;
  if (number != 0) return errno_error("cannot write", path, number);
  return {};
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  ::unlink(aside_.c_str());
  ::close(fd_);
}

Result<void> NewFile::write(std::string_view bytes) {
  const int number = write_all(fd_, bytes);
  if (number != 0) return errno_error("cannot write", aside_, number);
  return {};
}

Result<bool> NewFile::finish(const std::string& path, bool replace) {
  if (::fsync(fd_) != 0 && errno != EINVAL) return errno_error("cannot flush", aside_, errno);
  if (!replace) {
    NL_TRY(const bool placed, rename_to_new(aside_, path));
    if (!placed) return false;
  } else if (::rename(aside_.c_str(), path.c_str()) != 0) {
    return errno_error("cannot rename to", path, errno);
  }
  ::close(fd_);
  fd_ = -1;
  return true;
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  NL_TRY(NewFile file, NewFile::create(path + ".new-"));
  NL_CHECK(file.write(text));
  NL_TRY(const bool placed, file.finish(path, true));
  (void)placed;
  return {};
}

Result<void> sync_path(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno_error("cannot open", path, errno);
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  if (failed != 0 && failed != EINVAL && failed != EROFS) return errno_error("cannot flush", path, failed);
  return {};
}

Result<void> make_folders(const std::string& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) return errno_error("cannot create folder", path, failed.value());
  return {};
}

Result<bool> rename_to_new(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  if (errno != EINVAL && errno != ENOSYS) return errno_error("cannot rename to", to, errno);
  // A file system without RENAME_NOREPLACE: a folder never replaces a folder that has content.
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  return errno_error("cannot rename to", to, errno);
}

Result<void> exchange_paths(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return {};
  return errno_error("cannot replace", to, errno);
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

bool path_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<int64_t> file_size(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_error("cannot look at", path, errno);
  return static_cast<int64_t>(info.st_size);
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace nl
