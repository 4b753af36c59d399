#pragma once
// Work aside: files (NewFile in base/files.h) and folders that are written under a temporary name and get
// their final name when they are complete.
//
// The invariant: whoever works aside holds a lock (flock) until the work has its final name or is removed.
// The lock of a file is on the file itself, that of a folder is on the file "<folder>.lock" beside it. The
// kernel drops the lock when the process ends, however it ends. So whoever gets the lock knows that nobody
// works there any more, and may remove what is left. A process id would not be enough: it is the same for all
// threads, and it means nothing in another container or on another host that uses the same disk.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace nl {

/// Letters and digits that no other call gives, in this process or another.
std::string unique_text();

/// A folder that vanishes with this object unless it was renamed. Any thread may use it, one at a time.
class FolderAside {
 public:
  /// Its name begins with `start`, the path of a folder and perhaps the first letters of the name.
  static Result<FolderAside> create(const std::string& start);
  FolderAside(FolderAside&& other) noexcept;
  FolderAside& operator=(FolderAside&&) = delete;
  ~FolderAside();

  const std::string& path() const { return path_; }
  /// Gives the folder its name. One that is there is replaced, and readers see one or the other at all times.
  Result<void> replace(const std::string& to);

 private:
  FolderAside(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
};

/// Removes what ended processes left of the work aside that they began with `start`; how many.
int64_t remove_abandoned(const std::string& start);

}  // namespace nl
