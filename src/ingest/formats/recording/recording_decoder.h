#pragma once
// RecordingDecoder: turns the chunks of a recording (wire/recording.h) into rows. A begin and its end become
// one span and a mark becomes an instant. Each thread is a track, and so is each lane of a thread. The import
// gives it a whole file and calls finish; who follows a recording that is still written gives it chunk after
// chunk, and asks in between what is known so far. Memory is bounded whatever the chunks hold; one thread.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ingest/formats/recording/recording_reader.h"
#include "model/batch.h"
#include "model/run_info.h"
#include "model/run_sink.h"
#include "wire/recording.h"

namespace nl::ingest {

/// A track, before the end writes its row.
struct DecodedTrack {
  int64_t process_id = model::kNull;
  int64_t thread_id = model::kNull;  ///< of a stream: its number
  int64_t device = model::kNull;
  int64_t stream = model::kNull;
  std::string program = {};
  std::string name = {};
  bool is_stream = false;
};

/// A scope that has begun and not ended.
struct DecodedOpen {
  int32_t track;
  uint32_t depth;
  std::string_view name;
  int64_t start_ns;
};

/// What the chunks so far say that a process lost; the key is empty for losses of no process.
struct DecodedLosses {
  std::string key;
  std::array<uint64_t, wire::kLossCount> lost;
};

class RecordingDecoder {
 public:
  RecordingDecoder(model::RunSink& sink, model::RunInfo& info);
  ~RecordingDecoder();

  Result<void> take(const wire::ChunkHeader& chunk, std::string_view payload);
  /// Chunks were missed: how the scopes and ranges that are open ended will never be known.
  void forget_open();
  /// Passes on the rows so far.
  Result<void> flush();
  /// After the last chunk: scopes that never ended, counts, tracks. `reader` says what was damaged.
  Result<void> finish(const RecordingReader& reader);

  /// How many scopes were open around a span, by its row in the batch that is passed on right now.
  uint32_t depth(size_t row) const;
  DecodedTrack track(int32_t number) const;
  /// Of a process by its number in the file.
  std::optional<int64_t> process_id(uint32_t number) const;
  size_t open_scopes() const;
  void for_each_open(const std::function<void(const DecodedOpen&)>& visit) const;
  std::vector<DecodedLosses> losses() const;
  /// When a process of the recording began to record, on CLOCK_MONOTONIC.
  std::optional<int64_t> started_ns() const;

 private:
  class Recording;
  std::unique_ptr<Recording> recording_;
};

}  // namespace nl::ingest
