// Perfetto's own format, protobuf: every slice as a begin and an end in integer nanoseconds.
// Readers sort by time and keep the order of the file within one time. So ends are written first, then begins
// in the order of the rows, and last the few begins that must come behind others (exports/slice_places.h): no
// row is sorted with all its columns, only keys are.

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "exports/exporter.h"
#include "exports/safe_utf8.h"
#include "exports/timeline/launch_arrows.h"
#include "exports/timeline/perfetto_packets.h"
#include "exports/timeline/trace_rows.h"
#include "exports/timeline/trace_tracks.h"

namespace nl::exports::perfetto_exporter {
namespace {

// Numbers of tracks in the file, apart from each other. A run has at most 2^20 tracks.
constexpr uint64_t kFirstTrack = 1;
constexpr uint64_t kFirstProcess = uint64_t{1} << 21;
constexpr uint64_t kFirstTableTrack = uint64_t{1} << 22;
constexpr uint64_t kFirstLane = uint64_t{1} << 23;
constexpr uint64_t kCounterTrack = uint64_t{1} << 63;  // the rest is a hash

/// The low bit tells arrows to kernels from those to copies.
constexpr uint64_t kernel_flow(int64_t id) {
  return static_cast<uint64_t>(id) * 2 + 2;
}
constexpr uint64_t copy_flow(int64_t id) {
  return static_cast<uint64_t>(id) * 2 + 3;
}

uint64_t track_uuid(int64_t track) {
  return track >= 0 ? kFirstTrack + static_cast<uint64_t>(track)
                    : kFirstTableTrack + static_cast<uint64_t>(-track);
}

/// FNV-1a.
uint64_t text_hash(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return (hash ^ 0xFF) * 0x100000001B3u;
}

uint64_t counter_uuid(int64_t track, std::string_view name, std::string_view series, std::string_view unit) {
  uint64_t hash = text_hash(0xCBF29CE484222325u, std::to_string(track));
  for (const std::string_view text : {name, series, unit}) hash = text_hash(hash, text);
  return hash | kCounterTrack;
}

std::optional<int32_t> small_id(const std::optional<int64_t>& id) {
  return id && *id > 0 && *id <= INT32_MAX ? std::optional(static_cast<int32_t>(*id)) : std::nullopt;
}

/// Processes and threads. Readers know them by their ids alone, so that of tracks with the same ids (ranks of
/// several machines) only the first one is a thread; the others are tracks with a name.
class PerfettoTracks {
 public:
  PerfettoTracks(PerfettoPackets& packets, const std::vector<TraceTrack>& tracks)
      : packets_(packets), tracks_(tracks), with_rank_(has_several_ranks(tracks)) {}

  Result<void> write() {
    for (size_t id = 0; id < tracks_.size(); id++) {
      NL_TRY(const Parent parent, parent_of(tracks_[id]));
      parents_.push_back(parent.uuid);
      if (tracks_[id].is_process) continue;
      const std::string title = track_title(tracks_[id], static_cast<int64_t>(id));
      TrackPacket packet{track_uuid(static_cast<int64_t>(id)), parent.uuid, title};
      const auto tid = small_id(tracks_[id].thread_id);
      if (!tracks_[id].is_stream && parent.pid && tid && threads_.insert({*parent.pid, *tid}).second) {
        packet.pid = parent.pid;
        packet.tid = tid;
      }
      NL_CHECK(packets_.track(packet));
    }
    return {};
  }

  /// Where counters of a track belong.
  uint64_t process_of(int64_t track) const {
    return track >= 0 && static_cast<size_t>(track) < parents_.size() ? parents_[static_cast<size_t>(track)]
                                                                      : 0;
  }
  std::string title_of(int64_t track) const {
    const auto at = static_cast<size_t>(track);
    if (track >= 0)
      return at < tracks_.size() ? track_title(tracks_[at], track) : fmt::format("track {}", track);
    return std::string(trace_tables()[static_cast<size_t>(-1 - track)].table);
  }

 private:
  struct Parent {
    uint64_t uuid;
    std::optional<int32_t> pid;
  };
  using ProcessKey = std::tuple<bool, std::optional<int64_t>, std::optional<int64_t>, std::string>;

  Result<Parent> parent_of(const TraceTrack& track) {
    const ProcessKey key{track.is_stream, track.rank,
                         track.is_stream && track.device ? track.device : track.process_id,
                         track.source_process};
    const auto [known, is_new] = processes_.try_emplace(key, Parent{kFirstProcess + processes_.size(), {}});
    if (!is_new) return known->second;
    const auto pid = small_id(track.process_id);
    if (!track.is_stream && pid && pids_.insert(*pid).second) known->second.pid = pid;
    const std::string title = process_title(track, with_rank_);
    NL_CHECK(packets_.process({known->second.uuid, title, track.process_labels, known->second.pid}));
    return known->second;
  }

  PerfettoPackets& packets_;
  const std::vector<TraceTrack>& tracks_;
  const bool with_rank_;
  std::map<ProcessKey, Parent> processes_;
  std::set<int32_t> pids_;
  std::set<std::pair<int32_t, int32_t>> threads_;
  std::vector<uint64_t> parents_;
};

/// Rows that are written in a later round or on another lane, as a table of the engine.
class MovedRows {
 public:
  static constexpr char kTable[] = "rows_moved_by_export";

  static Result<MovedRows> create(store::Connection& connection) {
    NL_TRY(store::Connection writer, connection.another());
    NL_CHECK(writer.run(std::string("CREATE OR REPLACE TABLE ") + kTable +
                        "(round BIGINT, tab BIGINT, id BIGINT, place BIGINT, track BIGINT)"));
    NL_TRY(store::Appender appender, writer.append_to(kTable));
    return MovedRows(std::move(writer), std::move(appender));
  }
  MovedRows(MovedRows&&) = default;

  Result<void> add(const SliceKey& key, int round, uint64_t track) {
    auto& moved = moved_[key.table];
    if (moved.size() <= static_cast<size_t>(key.id)) moved.resize(static_cast<size_t>(key.id) + 1);
    moved[static_cast<size_t>(key.id)] = true;
    counts_[{round, key.table}]++;
    for (const int64_t cell :
         {int64_t{round}, int64_t{key.table}, key.id, places_++, static_cast<int64_t>(track)})
      appender_.add(cell);
    return appender_.end_row();
  }
  /// Before they are read.
  Result<void> finish() { return appender_.finish(); }
  Result<void> drop() { return writer_.run(std::string("DROP TABLE ") + kTable); }

  bool contains(int table, int64_t id) const {
    const auto moved = moved_.find(table);
    return moved != moved_.end() && static_cast<size_t>(id) < moved->second.size() &&
           moved->second[static_cast<size_t>(id)];
  }
  /// Rounds and tables that have any, in the order in which they are to be written.
  const std::map<std::pair<int, int>, int64_t>& counts() const { return counts_; }

 private:
  MovedRows(store::Connection writer, store::Appender appender)
      : writer_(std::move(writer)), appender_(std::move(appender)) {}

  store::Connection writer_;
  store::Appender appender_;
  std::map<int, std::vector<bool>> moved_;  ///< by table: a bit for each row up to the last one that is moved
  std::map<std::pair<int, int>, int64_t> counts_;
  int64_t places_ = 0;
};

class PerfettoExport {
 public:
  explicit PerfettoExport(const ExportCall& call) : call_(call), reader_(call), packets_(call.write) {}

  Result<ExportReport> write() {
    NL_TRY(tracks_, read_trace_tracks(reader_));
    PerfettoTracks tracks(packets_, tracks_);
    NL_CHECK(write_clock());
    NL_CHECK(tracks.write());
    if (!tracks_.empty()) report_.written["tracks"] = static_cast<int64_t>(tracks_.size());
    NL_TRY(store::Connection * connection, reader_.ask("spans"));
    NL_TRY(MovedRows moved, MovedRows::create(*connection));
    NL_CHECK(write_ends(tracks, moved));
    // Behind the sort of the keys, so that the memory of the two does not add up.
    NL_TRY(kernel_arrows_, LaunchArrows::read(reader_, kKernelArrows));
    NL_TRY(copy_arrows_, LaunchArrows::read(reader_, kCopyArrows));
    NL_CHECK(write_rows(tracks, moved));
    NL_CHECK(write_counters(tracks));
    NL_CHECK(write_allocations());
    NL_CHECK(packets_.flush());
    NL_CHECK(moved.drop());
    NL_CHECK(count_lost());
    return std::move(report_);
  }

 private:
  Result<void> write_clock() {
    const auto& clocks = call_.run.files().clocks;
    for (const auto& clock : clocks) {
      if (clock.is_unix) return packets_.wall_clock(clock.base_ns);
    }
    return {};
  }

  /// Ends, and the descriptors of lanes; begins that must come late are noted.
  Result<void> write_ends(const PerfettoTracks& tracks, MovedRows& moved) {
    SlicePlaces places;
    NL_CHECK(reader_.for_each_slice([&](const SliceKey& key) -> Result<void> {
      if (key.start_ns < 0) return {};
      const auto place = places.place(key);
      if (!place) return lose_crossing(key, moved);
      NL_TRY(const uint64_t track, lane_uuid(tracks, key.track, place->lane));
      if (place->lane > 0 || place->round > 0) NL_CHECK(moved.add(key, place->round, track));
      return key.dur_ns == 0 ? Result<void>() : packets_.end(end_of(key.start_ns, key.dur_ns), track);
    }));
    return moved.finish();
  }

  /// No round has it, so that it is not written.
  Result<void> lose_crossing(const SliceKey& key, MovedRows& moved) {
    report_.lost["slices that cross too many others"]++;
    return moved.add(key, kNoRound, 0);
  }

  Result<uint64_t> lane_uuid(const PerfettoTracks& tracks, int64_t track, int lane) {
    if (track != lanes_of_) lane_uuids_.clear();
    lanes_of_ = track;
    if (lane == 0) {
      if (track < 0) NL_CHECK(describe_table_track(tracks, track));
      return track_uuid(track);
    }
    while (lane_uuids_.size() < static_cast<size_t>(lane)) {
      lane_uuids_.push_back(kFirstLane + lanes_++);
      const std::string title = fmt::format("{} ({})", tracks.title_of(track), lane_uuids_.size() + 1);
      NL_CHECK(packets_.track({lane_uuids_.back(), track_uuid(track), title}));
    }
    return lane_uuids_[static_cast<size_t>(lane) - 1];
  }

  Result<void> describe_table_track(const PerfettoTracks& tracks, int64_t track) {
    if (!table_tracks_.insert(track).second) return {};
    return packets_.track({track_uuid(track), 0, tracks.title_of(track)});
  }

  Result<void> write_rows(const PerfettoTracks& tracks, const MovedRows& moved) {
    const int tables = static_cast<int>(trace_tables().size());
    for (int table = 0; table < tables; table++) {
      NL_CHECK(reader_.for_each_row(table, {}, [&](TraceRow& row) -> Result<void> {
        if (moved.contains(table, row.id)) return {};
        if (row.track < 0) NL_CHECK(describe_table_track(tracks, row.track));
        return write_row(row, track_uuid(row.track));
      }));
    }
    for (const auto& [round_and_table, rows] : moved.counts()) {
      const auto [round, table] = round_and_table;
      if (round != kNoRound) NL_CHECK(write_moved(round, table));
    }
    return {};
  }

  Result<void> write_moved(int round, int table) {
    const RowChoice choice{
        fmt::format("JOIN {} m ON m.id = r.{} AND m.round = {} AND m.tab = {} ORDER BY m.place",
                    MovedRows::kTable, trace_tables()[static_cast<size_t>(table)].id, round, table),
        "m.track"};
    return reader_.for_each_row(
        table, choice, [&](TraceRow& row) { return write_row(row, static_cast<uint64_t>(row.along)); });
  }

  Result<void> write_row(const TraceRow& row, uint64_t track) {
    if (row.start_ns < 0) {
      report_.lost["rows before the start of the clock"]++;
      return {};
    }
    const std::string_view table = trace_tables()[static_cast<size_t>(row.table)].table;
    written_[static_cast<size_t>(row.table)]++;
    find_arrows(row, table);
    const PerfettoPackets::Arrows arrows{arrows_from_, arrows_to_};
    if (!row.dur_ns) return packets_.instant(row, track, arrows);
    NL_CHECK(packets_.begin(row, track, arrows));
    return *row.dur_ns == 0 ? packets_.end(row.start_ns, track) : Result<void>();
  }

  void find_arrows(const TraceRow& row, std::string_view table) {
    arrows_from_.clear();
    arrows_to_.clear();
    if (table == "spans") {
      for (const auto& arrow : kernel_arrows_.from(row.id)) arrows_from_.push_back(kernel_flow(arrow.work));
      for (const auto& arrow : copy_arrows_.from(row.id)) arrows_from_.push_back(copy_flow(arrow.work));
    } else if (table == "kernels" && kernel_arrows_.arrives_at(row.id)) {
      arrows_to_.push_back(kernel_flow(row.id));
    } else if (table == "copies" && copy_arrows_.arrives_at(row.id)) {
      arrows_to_.push_back(copy_flow(row.id));
    }
  }

  Result<void> write_counters(const PerfettoTracks& tracks) {
    if (!reader_.has("counters")) return {};
    NL_TRY(store::Connection * connection, reader_.ask("counters"));
    constexpr char kSeries[] =
        "SELECT DISTINCT coalesce(track_id, -1)::BIGINT, coalesce(name, ''), coalesce(series, ''), "
        "coalesce(unit, '') "
        "FROM counters WHERE start_ns IS NOT NULL AND isfinite(value) ORDER BY ALL";
    NL_CHECK(connection->stream(kSeries, [&](const store::Chunk& chunk) -> Result<void> {
      for (size_t i = 0; i < chunk.size(); i++) {
        NL_CHECK(describe_counter(tracks, chunk.int64s(0)[i], chunk.text(1, i), chunk.text(2, i),
                                  chunk.text(3, i)));
      }
      return {};
    }));
    return reader_.for_each_counter([&](const CounterRow& row) -> Result<void> {
      report_.written["counters"]++;
      return packets_.counter(row.start_ns, counter_uuid(row.track, row.name, row.series, row.unit),
                              row.value);
    });
  }

  Result<void> describe_counter(const PerfettoTracks& tracks, int64_t track, std::string_view name,
                                std::string_view series, std::string_view unit) {
    std::string title(name);
    if (!series.empty() && series != name) title += title.empty() ? series : " " + std::string(series);
    std::string safe_title, safe_unit;
    const TrackPacket packet{counter_uuid(track, name, series, unit), tracks.process_of(track),
                             safe_utf8(title, safe_title)};
    return packets_.counter_track(packet, safe_utf8(unit, safe_unit));
  }

  /// The two totals behind each call of the allocator. Single blocks have no place.
  Result<void> write_allocations() {
    return reader_.for_each_allocation([&](const AllocationRow& row) -> Result<void> {
      if (!row.total_allocated && !row.total_reserved) {
        report_.lost["allocations without totals"]++;
        return {};
      }
      report_.written["allocations"]++;
      if (row.total_allocated) NL_CHECK(write_total(row, "allocated", *row.total_allocated));
      return row.total_reserved ? write_total(row, "reserved", *row.total_reserved) : Result<void>();
    });
  }

  Result<void> write_total(const AllocationRow& row, std::string_view what, int64_t bytes) {
    std::string title = fmt::format("memory {}", what);
    if (row.device) title += *row.device < 0 ? " on the host" : fmt::format(" on device {}", *row.device);
    if (row.device_type) title += fmt::format(" (type {})", *row.device_type);
    const uint64_t uuid = counter_uuid(-1, "allocations", title, "B");
    if (memory_tracks_.insert(title).second) NL_CHECK(packets_.counter_track({uuid, 0, title}, "B"));
    return packets_.counter(row.start_ns, uuid, bytes);
  }

  Result<void> count_lost() {
    for (size_t table = 0; table < written_.size(); table++) {
      if (written_[table] > 0) report_.written[std::string(trace_tables()[table].table)] = written_[table];
    }
    const int64_t backward = kernel_arrows_.backward() + copy_arrows_.backward();
    if (backward > 0) report_.lost["arrows to work that begins before its launch"] = backward;
    if (kernel_arrows_.size() > 0)
      report_.written["kernel_links"] = static_cast<int64_t>(kernel_arrows_.size());
    if (copy_arrows_.size() > 0) report_.written["copy_links"] = static_cast<int64_t>(copy_arrows_.size());
    NL_CHECK(reader_.for_each_flow([&](const FlowRow&) -> Result<void> {
      report_.lost["ends of arrows that the source draws"]++;
      return {};
    }));
    return reader_.count_lost(report_);
  }

  static constexpr int kNoRound = -1;

  const ExportCall& call_;
  TraceReader reader_;
  PerfettoPackets packets_;
  std::vector<TraceTrack> tracks_;
  LaunchArrows kernel_arrows_, copy_arrows_;
  std::vector<uint64_t> arrows_from_, arrows_to_;
  std::vector<uint64_t> lane_uuids_;  ///< of the track lanes_of_, from its second lane on
  int64_t lanes_of_ = INT64_MIN;
  uint64_t lanes_ = 0;
  std::set<int64_t> table_tracks_;
  std::set<std::string> memory_tracks_;
  std::vector<int64_t> written_ = std::vector<int64_t>(trace_tables().size());
  ExportReport report_;
};

Result<ExportReport> write_perfetto(const ExportCall& call) {
  return PerfettoExport(call).write();
}

}  // namespace

const Exporter& exporter() {
  static constexpr Exporter kExporter{"perfetto", "https://ui.perfetto.dev, trace_processor", write_perfetto};
  return kExporter;
}

}  // namespace nl::exports::perfetto_exporter
