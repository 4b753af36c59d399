#pragma once
// Files and folders, with errors returned as values. Writes that must survive a crash go through
// write_file_durably.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl {

/// An open file descriptor; closed on destruction.
class File {
 public:
  static Result<File> open_to_read(const std::string& path);
  /// The same, but a pipe is opened even if nobody writes into it, and reading from it does not wait.
  static Result<File> open_without_waiting(const std::string& path);
  /// The same, but not through a symbolic link.
  static Result<File> open_plain(const std::string& path);
  File(File&& other) noexcept : fd_(other.fd_), path_(std::move(other.path_)) { other.fd_ = -1; }
  File& operator=(File&&) = delete;
  ~File();

  /// Bytes read, 0 at the end.
  Result<size_t> read(void* out, size_t size);
  int fd() const { return fd_; }

 private:
  static Result<File> open(const std::string& path, int flags);
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  int fd_;
  std::string path_;
};

/// A file that is written under a name aside and gets its own when it is complete; it vanishes otherwise. The
/// name aside is unlike any other and locked, see base/aside.h.
class NewFile {
 public:
  /// The name aside begins with `start`, such as "report.html.new-".
  static Result<NewFile> create(const std::string& start);
  NewFile(NewFile&& other) noexcept : fd_(other.fd_), aside_(std::move(other.aside_)) { other.fd_ = -1; }
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Result<void> write(std::string_view bytes);
  /// Flushes and renames. False if `path` is there and may not be replaced.
  Result<bool> finish(const std::string& path, bool replace);

 private:
  NewFile(int fd, std::string aside) : fd_(fd), aside_(std::move(aside)) {}
  int fd_;
  std::string aside_;
};

/// An open file without a name in a folder: nothing remains of it, however the process ends. The caller
/// closes it.
Result<int> open_nameless(const std::string& folder);

/// What the system calls an error of that number.
std::string errno_text(int number);
/// An Error from errno; `what` reads like "cannot open".
Error errno_error(const std::string& what, const std::string& path, int number);

Result<std::string> read_file(const std::string& path);
/// For what people write: a regular file (a pipe might never end) of at most so many bytes, else not_found,
/// bad_input or limit.
Result<std::string> read_small_file(const std::string& path, int64_t most_bytes);
/// For what lies in a folder that somebody else may have made: a regular file of at most so many bytes, and
/// no symbolic link.
Result<std::string> read_plain_file(const std::string& path, int64_t most_bytes);
Result<void> write_file_durably(const std::string& path, std::string_view text);
/// Written aside and renamed: a name never stands for half a file.
Result<void> replace_file(const std::string& path, std::string_view text);
/// Flushes a file or folder to the disk.
Result<void> sync_path(const std::string& path);
Result<void> make_folders(const std::string& path);
/// False if `to` exists already; `from` then stays where it is.
Result<bool> rename_to_new(const std::string& from, const std::string& to);
/// Both exist, and each gets the name of the other, at once.
Result<void> exchange_paths(const std::string& from, const std::string& to);
void remove_tree(const std::string& path);
bool path_exists(const std::string& path);
Result<int64_t> file_size(const std::string& path);
/// Names in a folder, sorted; empty if there is no such folder.
std::vector<std::string> list_folder(const std::string& path);

}  // namespace nl
