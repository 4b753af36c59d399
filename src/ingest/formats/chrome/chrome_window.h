#pragma once
// Parses one window of a Chrome trace into a batch of rows. What depends on other windows is returned beside
// the rows and settled later, in the order of the source (see chrome_trace.cpp). So the rows do not depend on
// where windows begin. Each thread has its own WindowParser.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ingest/formats/chrome/chrome_dialect.h"
#include "ingest/formats/chrome/track_table.h"
#include "ingest/rows/batch_text.h"
#include "model/batch.h"

namespace nl::ingest {

/// What makes a flow arrow say nothing that the event before it does not say.
struct EventKey {
  std::string process, thread;
  int64_t time_ns = model::kNull;
  int64_t correlation = model::kNull;
  auto operator<=>(const EventKey&) const = default;
};

/// A flow at the start of a window, whose event may end the window before.
struct OpenFlow {
  size_t row;
  EventKey key;
};

/// Half of a begin/end pair. An end has a row that its begin completes; a begin has none yet.
struct HalfEvent {
  bool is_begin;
  size_t row = 0;
  int64_t track = 0;  ///< number in ParsedWindow::tracks
  int64_t time_ns = 0;
  model::SpanKind kind = model::SpanKind::other;
  int64_t name = model::kNull;  ///< these three are strings of the batch
  int64_t category = model::kNull;
  int64_t args = model::kNull;
};

struct ParsedWindow {
  std::shared_ptr<model::Batch> batch;
  std::vector<TrackKey> tracks;
  std::vector<TrackMetadata> metadata;
  std::vector<OpenFlow> open_flows;
  std::vector<HalfEvent> halves;
  std::vector<size_t> orphan_kernels;  ///< rows of kernels before the window's first op
  int64_t last_op = model::kNull;      ///< position of the last op, if ops own kernels
  int64_t ops_after_last_window = 0;   ///< since the last marked window, or in all if there is none
  std::optional<EventKey> last_event;
  std::vector<model::Window> windows;
  std::set<int32_t> devices;
  std::map<std::string, int64_t> by_phase, by_category, folded, dropped, health;
  int64_t seen = 0;
  int64_t stored = 0;
  int64_t min_start_ns = INT64_MAX;
  bool has_nanoseconds = false;
};

/// Which column an argument of a class goes to: a perfect hash of the key.
class ArgTargets {
 public:
  struct Target {
    model::TableId table = model::TableId::kCount;  // kCount: no column
    int column = 0;
    ArgValue value = ArgValue::kInt;
  };

  explicit ArgTargets(std::span<const KnownArg> args);
  const Target& find(std::string_view key, EventClass c) const {
    static constexpr Target kNone;
    const Slot& slot = slots_[slot_of(key)];
    return same_text(slot.key, key) ? slot.targets[static_cast<size_t>(c)] : kNone;
  }
  /// Two keys share a slot: to be found by a test, not by a user.
  bool collides() const { return collides_; }

 private:
  struct Slot {
    std::string_view key;
    std::array<Target, static_cast<size_t>(EventClass::kCount)> targets;
  };
  static size_t slot_of(std::string_view key) {
    if (key.size() < 4) return 0;
    uint32_t first = 0, last = 0;
    std::memcpy(&first, key.data(), 4);
    std::memcpy(&last, key.data() + key.size() - 4, 4);
    return ((first * 0x9E3779B1u) ^ (last * 0x85EBCA77u) ^
            (static_cast<uint32_t>(key.size()) * 0xC2B2AE3Du)) >>
           21;
  }
  std::array<Slot, 2048> slots_;
  bool collides_ = false;
};

class WindowParser {
 public:
  WindowParser(const ChromeDialect& dialect, const ArgTargets& targets, model::BatchPool& pool)
      : dialect_(dialect), targets_(targets), pool_(pool) {}

  Result<ParsedWindow> parse(JsonWindow& window);

 private:
  struct Category {
    int64_t text = model::kNull;
    EventClass of = EventClass::kOther;
    int64_t events = 0;
  };
  struct LastEvent {
    std::string_view process, thread;
    int64_t time_ns = model::kNull;
    int64_t correlation = model::kNull;
  };
  struct LastTrack {
    std::string_view process, thread;
    size_t number = SIZE_MAX;
  };

  bool read_events(JsonCursor& cursor, bool may_be_empty);
  bool take_event();
  bool drop(const char* reason);
  bool take_complete();
  bool take_instant();
  bool take_half(bool is_begin, bool is_async);
  bool take_counter();
  bool take_flow();
  bool take_metadata();

  bool store(EventClass c, int64_t category);
  bool read_times(int64_t& start, int64_t& duration);
  void read_duration(int64_t& duration);
  void set(model::TableId table, size_t row, int column, int64_t value) {
    if (value != model::kNull && column >= 0) batch_->set(table, row, column, value);
  }
  void set_kind(EventClass c, model::TableId table, size_t row);
  void mark_window(EventClass c, int64_t name, int64_t start, int64_t duration);
  void own_kernels(EventClass c, model::TableId table, size_t row);
  void complete_device(model::TableId table, size_t row);
  bool set_flow(size_t row, int64_t start, int64_t id);

  bool set_args(EventClass c, model::TableId table, size_t row);
  bool set_value(const ArgTargets::Target& target, size_t row, std::string_view raw);
  bool set_int(const ArgTargets::Target& target, size_t row, std::string_view text);
  bool set_typed_shapes(size_t row, std::string_view raw);
  /// The arguments in rest_ and the event's extras as one JSON object of the batch; false if they are not
  /// JSON.
  bool rest_text(int64_t& text);
  bool set_rest(model::TableId table, size_t row);

  bool name_text(int64_t& name);
  Category* category_of(std::string_view token);
  int64_t track_of(TrackDomain domain);
  int64_t async_track();
  void finish();

  const ChromeDialect& dialect_;
  const ArgTargets& targets_;
  model::BatchPool& pool_;
  BatchText texts_;
  TraceEvent event_;
  int64_t position_ = 0;  // of the event in the decompressed input
  int64_t window_offset_ = 0;
  std::vector<const JsonMember*> rest_;
  std::vector<Category> categories_;
  std::vector<size_t> category_numbers_;  // by the number of their text, plus 1; 0: none yet
  std::unordered_map<std::string, size_t> track_numbers_;
  std::array<LastTrack, 2> last_tracks_;
  std::array<int64_t, 256> phases_{};
  std::string_view last_category_token_;
  size_t last_category_ = 0;
  LastEvent last_;
  int64_t correlation_ = model::kNull;
  bool valid_ids_ = true;
  int64_t last_device_ = model::kNull;
  ParsedWindow* out_ = nullptr;
  model::Batch* batch_ = nullptr;
};

}  // namespace nl::ingest
