#pragma once
// ChunkTail: reads a recording while it is written, chunk by chunk, from its own offset. The recorder is not
// slowed by it and does not know of it. Of a flight recorder it goes from file to file. A file that is cut,
// damaged or gone ends it, with a sentence. One thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/recording.h"

namespace nl::follow {

class ChunkTail {
 public:
  enum class State {
    kRunning,
    kComplete,  ///< the recorder wrote its last chunk
    kKilled,    ///< nobody writes it any more, and its last chunk is not there
    kBroken,    ///< cut, damaged or missing
  };
  using Take = std::function<Result<void>(const wire::ChunkHeader&, std::string_view payload)>;
  /// Asked between pieces: false ends the reading for now.
  using GoOn = std::function<bool()>;

  /// `folder` holds recording.nlr, or the segments of a flight recorder. not_found if neither is there yet.
  static Result<ChunkTail> open(const std::string& folder);
  ChunkTail(ChunkTail&& other) noexcept;
  ChunkTail& operator=(ChunkTail&&) = delete;
  ~ChunkTail();

  /// Of a long file: reads what defines processes and names, and passes over the markers up to the last
  /// `bytes`. These are counted.
  Result<void> skip_to(int64_t bytes, const Take& take);
  /// All whole chunks that were written since.
  Result<void> read(const Take& take, const GoOn& goes_on);

  State state() const { return state_; }
  const std::string& why() const { return why_; }  ///< a sentence, if it is broken or was killed
  const std::string& boot_id() const { return boot_id_; }
  uint64_t records() const { return records_; }  ///< that were in the chunks, also in those passed over
  /// Of these, in files that are there: a flight recorder removes its oldest file.
  uint64_t recorded() const { return before_ + in_file_; }
  uint64_t skipped() const { return skipped_; }  ///< of these: passed over
  /// Segments of a flight recorder that were gone before they could be read.
  uint64_t missed_segments() const { return missed_segments_; }
  /// Numbers of the processes that these records are of.
  const std::set<uint32_t>& processes() const { return processes_; }
  int64_t behind_bytes() const;

 private:
  ChunkTail(std::string folder, std::string path, int fd, int segment)
      : folder_(std::move(folder)), path_(std::move(path)), fd_(fd), segment_(segment) {}

  Result<bool> read_header();
  Result<bool> read_piece(const Take& take);
  bool has_newer_segment() const;
  Result<bool> next_segment();
  bool look_for_end();
  void suspect(const char* what);
  void end(State state, std::string why);
  void count(const wire::ChunkHeader& header);

  std::string folder_;
  std::string path_;
  int fd_;
  int segment_;         ///< of a flight recorder; -1: there is one file
  int64_t offset_ = 0;  ///< of the next chunk
  bool has_header_ = false;
  std::string piece_ = {};
  std::string boot_id_ = {};
  State state_ = State::kRunning;
  std::string why_ = {};
  uint64_t records_ = 0, skipped_ = 0, missed_segments_ = 0;
  uint64_t in_file_ = 0, before_ = 0;  ///< records of this file, and of the one before if it is kept
  std::set<uint32_t> processes_ = {};
  std::optional<std::chrono::steady_clock::time_point> suspected_ = {};
  std::chrono::steady_clock::time_point looked_ = {};
};

}  // namespace nl::follow
