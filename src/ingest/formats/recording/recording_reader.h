#pragma once
// RecordingReader: returns the valid chunks of a recording (wire/recording.h) one after the other, and counts
// the damage between them. Needs memory for one chunk; one thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ingest/source/byte_source.h"
#include "wire/recording.h"

namespace nl::ingest {

bool is_recording(std::string_view head);
/// A recording whose first chunk says so.
bool is_of_samples(std::string_view head);

class RecordingReader {
 public:
  explicit RecordingReader(ByteSource& source) : source_(source) {}

  /// Checks the file header; before the first next.
  Result<void> start();
  /// False at the end. `payload` stays until the next call.
  Result<bool> next(wire::ChunkHeader& header, std::string_view& payload);

  const std::string& boot_id() const { return boot_id_; }
  int64_t damaged_chunks() const { return damaged_chunks_; }
  int64_t damaged_records() const { return damaged_records_; }  ///< in chunks whose header is sound
  int64_t skipped_bytes() const { return skipped_bytes_; }      ///< without a sound header
  bool is_cut_off() const { return is_cut_off_; }
  int64_t cut_off_records() const { return cut_off_records_; }

 private:
  /// False if the source ends before so many bytes.
  Result<bool> fill(size_t bytes);
  std::string_view rest() const { return std::string_view(buffer_).substr(begin_); }

  ByteSource& source_;
  std::string buffer_;
  std::string boot_id_;
  size_t begin_ = 0;  // of what is not taken yet
  int64_t damaged_chunks_ = 0;
  int64_t damaged_records_ = 0;
  int64_t skipped_bytes_ = 0;
  bool is_cut_off_ = false;
  int64_t cut_off_records_ = 0;
};

}  // namespace nl::ingest
