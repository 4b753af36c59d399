#pragma once
// TrackTable: numbers timelines in the order in which they first appear, collects the names that metadata
// events give them, and writes the table `tracks`. It must be fed in the order of the source, by one thread
// at a time.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "model/batch.h"

namespace nl::ingest {

/// Classified by what runs on it, never by the process id: python frames may claim the process id of GPU 0.
enum class TrackDomain : uint8_t { kHost, kDevice };

/// A process or thread id as the source writes it: a number, or a text.
struct SourceId {
  std::optional<int64_t> number;
  std::string text = {};

  /// From a JSON token. Quoted digits are a number, "stream 7" is 7.
  static SourceId of_token(std::string_view token);
  auto operator<=>(const SourceId&) const = default;
};

struct TrackKey {
  TrackDomain domain;
  SourceId process;
  SourceId thread;
  auto operator<=>(const TrackKey&) const = default;
};

/// A metadata event: `what` of process (and thread) is `args`, raw JSON.
struct TrackMetadata {
  std::string what;
  SourceId process;
  SourceId thread;
  std::string args;
};

class TrackTable {
 public:
  static constexpr size_t kMaxTracks = 1 << 20;
  static constexpr size_t kMaxTextBytes = 64 << 20;      ///< of ids and names, as they are gathered
  static constexpr size_t kMaxWrittenBytes = 128 << 20;  ///< names of a process repeat in each of its tracks

  Result<int32_t> id_of(const TrackKey& key);
  Result<void> add_metadata(const TrackMetadata& metadata);
  /// All rows, named. Call once, at the end.
  Result<std::shared_ptr<model::Batch>> write(std::optional<int32_t> rank);
  size_t size() const { return keys_.size(); }

 private:
  struct Names {
    std::map<std::string, std::string> args;  // metadata name -> raw JSON args
    size_t bytes = 0;
  };
  Result<void> gather(size_t bytes);
  Result<void> write_row(model::Batch& batch, const TrackKey& key, bool named_only,
                         std::optional<int32_t> rank);

  std::map<TrackKey, int32_t> ids_;
  std::vector<TrackKey> keys_;
  std::map<SourceId, Names> processes_;
  std::map<std::pair<SourceId, SourceId>, Names> threads_;
  size_t names_ = 0;
  size_t text_bytes_ = 0;
  size_t written_bytes_ = 0;
};

}  // namespace nl::ingest
