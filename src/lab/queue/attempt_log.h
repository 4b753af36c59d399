#pragma once
// What an attempt writes to one of its outputs, in files of bounded size: its beginning and its end, which
// say most about a failure. While it runs the end lies in pieces beside the beginning, so that a process that
// is killed at any moment leaves all that it had written; they are put together when it is over.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::lab {

class AttemptLog {
 public:
  /// Keeps the first half of `most_bytes` in the file `path`, and of the rest the last quarter to half.
  static Result<AttemptLog> create(const std::string& path, int64_t most_bytes);
  AttemptLog(AttemptLog&& other) noexcept;
  AttemptLog& operator=(AttemptLog&&) = delete;
  ~AttemptLog();

  /// A full disk costs bytes of the log, which are counted, and not the job.
  void add(std::string_view bytes);
  int64_t seen_bytes() const { return seen_; }
  /// Not in any file any more.
  int64_t lost_bytes() const { return lost_; }

 private:
  AttemptLog(std::string path, int file, int64_t most)
      : path_(std::move(path)), head_(file), head_left_(most / 2), piece_bytes_(most / 4) {}
  void add_to_tail(std::string_view bytes);
  void begin_piece();
  size_t write_to(int file, std::string_view bytes);

  std::string path_;
  int head_;
  int64_t head_left_;
  const int64_t piece_bytes_;
  int tail_ = -1;
  int64_t in_piece_ = 0;
  int64_t in_last_piece_ = 0;
  int64_t seen_ = 0;
  int64_t lost_ = 0;
};

/// Puts the pieces behind the beginning, with a line between them that says how many bytes are missing
/// (below 0: that is not known). Does nothing where there are none.
Result<void> join_log(const std::string& path, int64_t lost_bytes);

/// Its last bytes, as far as it is written; empty if there is none.
Result<std::string> read_log(const std::string& path, int64_t most_bytes);

/// Bytes of it now, with its pieces.
int64_t log_size(const std::string& path);

}  // namespace nl::lab
