#pragma once
// RawFile: the bytes of a regular file or a pipe. For a file it detects that somebody wrote to it while it
// was read; for a pipe it never waits forever. One thread reads.

#include <sys/stat.h>

#include <string>

#include "base/files.h"
#include "ingest/source/byte_source.h"

namespace nl::ingest {

class RawFile {
 public:
  static Result<RawFile> open(const std::string& path, PipeWait wait);

  /// Bytes read, 0 at the end; the end of a file that was written to since it was opened is a conflict.
  Result<size_t> read(void* out, size_t size);
  Result<void> unchanged() const;
  /// -1 for a pipe.
  int regular_fd() const { return S_ISREG(opened_.st_mode) ? file_.fd() : -1; }

 private:
  RawFile(File file, std::string path, const struct stat& opened, PipeWait wait);
  Result<size_t> read_pipe(void* out, size_t size);
  /// Until the pipe may have something to read; false if its writers are gone.
  Result<bool> wait_for_pipe();

  File file_;
  std::string path_;
  struct stat opened_;
  PipeWait wait_;
  bool has_writer_ = false;
  std::chrono::milliseconds waited_{0};
};

}  // namespace nl::ingest
