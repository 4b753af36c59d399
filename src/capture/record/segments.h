#pragma once
// Segments: the files that a recorder writes its chunks to. Usually that is one file with a size limit. A
// flight recorder has two, each with half of the limit: when the newer one is full, the older one is removed.
// One thread.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/record/recording_file.h"

namespace nl::capture {

/// The one file of a recording, and what a flight recorder has made of its files in the end.
inline constexpr char kRecordingName[] = "recording.nlr";
/// Files of a flight recorder count up.
std::string segment_name(int number);
std::optional<int> segment_number(std::string_view name);

struct SegmentOptions {
  std::string folder;
  int64_t limit_bytes = 0;
  bool is_flight_recorder = false;
};

/// Markers that had to be given up.
struct GivenUp {
  uint64_t disk_limit = 0;
  uint64_t overwritten = 0;
};

class Segments {
 public:
  static Result<Segments> create(const SegmentOptions& options);
  /// What a killed recorder left; of which kind it was is told by the files.
  static Result<Segments> reopen(const std::string& folder, const RecordingFile::Visit& visit);

  /// Chunks that others refer to; a flight recorder repeats them in each file.
  void define(uint32_t process, const std::string& chunks);
  /// Markers of one thread.
  void add(const wire::ChunkHeader& header, std::string_view payload);
  /// Losses so far.
  void add_losses(const wire::ChunkHeader& header, std::string_view payload);
  size_t waiting_bytes() const { return files_.back().file.waiting().size(); }
  /// Down to the file system, so that our death loses nothing of it.
  Result<GivenUp> flush();
  /// The recording that ends with these chunks; `records` are the markers in it.
  struct Ending {
    std::string path;
    uint64_t records = 0;
  };
  Result<Ending> finish(const std::string& chunks);
  /// A flight recorder's recording so far, under a name of its own.
  Result<Ending> dump(const std::string& name, const std::string& chunks);

 private:
  struct Segment {
    RecordingFile file;
    uint64_t records = 0;  ///< in the file
    uint64_t waiting = 0;
  };

  explicit Segments(SegmentOptions options) : options_(std::move(options)) {}
  Result<void> start_file();
  Result<void> rotate();

  SegmentOptions options_;
  std::vector<Segment> files_;  ///< the last one is written
  int next_ = 0;
  bool is_full_ = false;
  GivenUp given_up_;
  std::map<uint32_t, std::string> definitions_;
};

}  // namespace nl::capture
