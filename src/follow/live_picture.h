#pragma once
// LivePicture: the last seconds of a recording, in bounded memory. It takes the rows that the decoder of
// recordings makes and keeps the newest spans, coarse buckets of each row for views from afar, and sums by
// name. What leaves is counted: followed = kept + left, always. Times count from the origin. One thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "follow/live_buckets.h"
#include "follow/live_spans.h"
#include "follow/name_sums.h"
#include "ingest/formats/recording/recording_decoder.h"
#include "model/run_sink.h"
#include "timeline/tile_columns.h"

namespace nl::follow {

struct PictureLimits {
  int64_t keep_ns = 30'000'000'000;
  size_t most_spans = 2'000'000;
  size_t most_rows = 512;
  size_t most_names = 64 << 10;
};

/// Rows of a track: its scopes by depth, and below them what others tell of it, e.g. calls of CUDA.
struct RowKey {
  int32_t track = 0;
  uint32_t group = 0;
  uint32_t depth = 0;
  auto operator<=>(const RowKey&) const = default;
};

struct LiveRow {
  RowKey key = {};
  uint64_t spans = 0;  ///< followed so far
  int64_t end_ns = 0;  ///< of the newest
  LiveBuckets buckets = {};
};

/// A stretch as it is drawn; see timeline/packed_tile.h.
struct DrawnTile {
  timeline::Viewport viewport;
  timeline::TileColumns columns;
  std::vector<std::string_view> names;  ///< valid until the next batch
};

class LivePicture : public model::RunSink {
 public:
  explicit LivePicture(PictureLimits limits) : limits_(limits), spans_(limits.most_spans) {
    choose_exponent();
  }

  /// Which knows the depths of the spans that are pushed.
  void set_decoder(const ingest::RecordingDecoder& decoder) { decoder_ = &decoder; }
  void set_origin(int64_t monotonic_ns) { origin_ns_ = monotonic_ns; }
  /// Another number of seconds from now on; those that have left stay away.
  void keep(int64_t keep_ns);

  Result<void> push(std::shared_ptr<model::Batch> batch) override;
  /// Lets go of what is older than keep_ns before this time.
  void leave(int64_t now_ns);

  uint64_t followed() const { return followed_; }
  uint64_t kept() const { return spans_.size(); }
  uint64_t left() const { return left_; }
  uint64_t without_row() const { return without_row_; }  ///< of those that left: there were too many rows
  int64_t newest_ns() const { return newest_ns_; }
  int64_t keep_ns() const { return limits_.keep_ns; }
  const std::map<uint32_t, LiveRow>& rows() const { return rows_; }
  std::vector<NameSum> top_names(int64_t now_ns, size_t most) const { return sums_.top(now_ns, most); }
  std::string_view name(uint32_t number) const { return *names_[number]; }

  /// Scopes that are still open reach up to now_ns. The answer is coarser than asked for where single spans
  /// are kept no more.
  DrawnTile draw(const timeline::Viewport& asked, int64_t now_ns);

 private:
  using Cells = std::map<uint32_t, std::vector<LiveBucket>>;
  struct Columns {
    model::TableId table;
    uint32_t number;  ///< in timeline::kTables
    int track, name, start, duration;
  };

  void choose_exponent();
  void push_table(const model::Batch& batch, const Columns& columns);
  void add(const RowKey& key, int64_t start_ns, int64_t dur_ns, uint32_t name, uint32_t table);
  std::optional<uint32_t> row_of(const RowKey& key);
  bool forget_an_old_row();
  uint32_t number_of(std::string_view text);
  uint32_t number_of(const model::Batch& batch, int64_t text);
  void fill_from_spans(const timeline::Viewport& view, Cells& cells) const;
  void fill_from_buckets(const timeline::Viewport& view, Cells& cells) const;
  void add_open(const timeline::Viewport& view, int64_t now_ns, Cells& cells);

  PictureLimits limits_;
  uint32_t exponent_ = 0;  ///< of the buckets
  const ingest::RecordingDecoder* decoder_ = nullptr;
  int64_t origin_ns_ = 0;
  LiveSpans spans_;
  NameSums sums_;
  std::map<uint32_t, LiveRow> rows_;  ///< by number; numbers are not used again
  std::map<RowKey, uint32_t> row_numbers_;
  uint32_t next_row_ = 0;
  std::unordered_map<std::string, uint32_t> name_numbers_;
  std::vector<const std::string*> names_;
  std::vector<int64_t> batch_names_;  ///< of texts of the batch; -1: not looked up
  uint32_t next_item_ = 0;
  uint64_t followed_ = 0, left_ = 0, without_row_ = 0;
  int64_t newest_ns_ = 0;
};

}  // namespace nl::follow
