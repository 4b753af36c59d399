#pragma once
// RecordingFile: appends chunks (wire/recording.h) to a file, several at a time. Flushed chunks survive the
// death of the process. A half-written chunk is found by its checksum and cut off when the file is opened
// again. One thread.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/recording.h"

namespace nl::capture {

class RecordingFile {
 public:
  /// A new file; it must not be there. Locked against others as long as it is open.
  static Result<RecordingFile> create(const std::string& path);
  /// A file that was left behind: `visit` gets every sound chunk, what lies behind them is cut off. A
  /// conflict if a recorder still writes it.
  using Visit = std::function<void(const wire::ChunkHeader&, std::string_view payload)>;
  static Result<RecordingFile> reopen(const std::string& path, const Visit& visit);

  RecordingFile(RecordingFile&& other) noexcept;
  RecordingFile& operator=(RecordingFile&& other) noexcept;
  ~RecordingFile();

  /// Whole chunks; they reach the file with flush.
  void add(std::string_view chunks) { waiting_ += chunks; }
  void add(const wire::ChunkHeader& header, std::string_view payload) {
    wire::append_chunk(waiting_, header, payload);
  }
  /// False if the disk took only a part: then the file is as it was, and what waited is still there.
  Result<bool> flush();
  /// Chunks that are not in the file yet.
  std::string_view waiting() const { return waiting_; }
  void forget_waiting() { waiting_.clear(); }
  /// With what waits.
  int64_t bytes() const { return bytes_ + static_cast<int64_t>(waiting_.size()); }
  const std::string& path() const { return path_; }
  /// Down to the disk.
  Result<void> sync();

 private:
  RecordingFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  static Result<RecordingFile> open(const std::string& path, int flags);
  Result<void> read_chunks(const Visit& visit);

  int fd_ = -1;
  std::string path_;
  std::string waiting_;
  int64_t bytes_ = 0;
};

/// Calls `visit` for each header in text that holds whole chunks.
void for_each_chunk(std::string_view chunks, const std::function<void(const wire::ChunkHeader&)>& visit);

}  // namespace nl::capture
