#include "timeline/timeline_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "timeline/lanes.h"
#include "timeline/name_table.h"
#include "timeline/timeline_writer.h"

namespace nl::timeline {
namespace {

using store::Chunk;

// So many spans are held at once, in 24 bytes each. Larger runs are read several times, some rows each time.
constexpr int64_t kMostSpans = 12'000'000;
// Times that a time line has room for, up to the year 2079: from the first to the last is less than 2^62 ns.
constexpr int64_t kEarliest = -(int64_t{1} << 60);
constexpr int64_t kLatest = (int64_t{1} << 62) - (int64_t{1} << 60) - 2;
constexpr uint32_t kMostDepth = UINT16_MAX;
constexpr uint32_t kSyncDepth = 1;  ///< below the work of the stream
constexpr int32_t kNoTrack = -1;

/// The track, and the depth on it.
using Group = std::pair<int32_t, uint32_t>;

/// Reads what lies on the time line, table by table.
class SpanReader {
 public:
  explicit SpanReader(store::OpenRun& run) : run_(run) {}

  /// Before anything else.
  Result<void> read_depths() {
    if (!run_.has("spans")) return {};
    depths_.resize(static_cast<size_t>(rows("spans")));
    NL_TRY(store::Connection * connection, run_.ask({"span_tree"}));
    return connection->stream("SELECT span_id::BIGINT, depth::INTEGER FROM span_tree",
                              [&](const Chunk& chunk) -> Result<void> {
                                const int64_t* const ids = chunk.int64s(0);
                                const int32_t* const depths = chunk.int32s(1);
                                for (size_t i = 0; i < chunk.size(); i++) {
                                  if (ids[i] < 0 || static_cast<size_t>(ids[i]) >= depths_.size()) continue;
                                  depths_[static_cast<size_t>(ids[i])] =
                                      static_cast<uint16_t>(std::clamp<int32_t>(depths[i], 0, kMostDepth));
                                }
                                return {};
                              });
  }

  int64_t rows(const std::string& table) const {
    const auto it = run_.files().tables.find(table);
    return it == run_.files().tables.end() ? 0 : it->second;
  }

  int64_t all_rows() const {
    int64_t sum = 0;
    for (const auto table : kTables) sum += rows(std::string(table));
    return sum;
  }

  /// How many rows have no time; `each` gets the group and the span of the others.
  template <class Each>
  Result<uint64_t> read(NameTable& names, const Each& each) {
    uint64_t not_placed = 0;
    for (uint32_t table = 0; table < kTables.size(); table++) {
      const std::string name(kTables[table]);
      if (rows(name) == 0) continue;
      if (rows(name) > ItemId::kMostNumber)
        return Error{ErrorCode::kLimit, "there are too many " + name + " for a time line"};
      NL_TRY(store::Connection * connection, run_.ask({name}));
      const std::string sql =
          fmt::format("SELECT {}::BIGINT, coalesce(track_id, {})::INTEGER, start_ns, dur_ns, name FROM {}",
                      kIdColumns[table], kNoTrack - static_cast<int32_t>(table), name);
      NL_CHECK(connection->stream(sql, [&](const Chunk& chunk) -> Result<void> {
        not_placed += read_chunk(chunk, table, names, each);
        return {};
      }));
    }
    return not_placed;
  }

 private:
  uint32_t depth_of(uint32_t table, int64_t id) const {
    if (table == 3) return kSyncDepth;
    return table == 0 && static_cast<size_t>(id) < depths_.size() ? depths_[static_cast<size_t>(id)] : 0;
  }

  template <class Each>
  uint64_t read_chunk(const Chunk& chunk, uint32_t table, NameTable& names, const Each& each) const {
    const int64_t *const ids = chunk.int64s(0), *const starts = chunk.int64s(2),
                         *const lengths = chunk.int64s(3);
    const int32_t* const tracks = chunk.int32s(1);
    const store::TextCells texts = chunk.texts(4);
    names.begin_chunk();
    uint64_t not_placed = 0;
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t start = starts[i];
      const bool has_place = !chunk.is_null(2, i) && start >= kEarliest && start < kLatest;
      if (!has_place) {
        not_placed++;
        continue;
      }
      const int64_t length = chunk.is_null(3, i) ? 0 : std::clamp<int64_t>(lengths[i], 0, kLatest - start);
      const auto number = static_cast<uint32_t>(ids[i]);
      each(Group{tracks[i], depth_of(table, ids[i])},
           Span{start, length, ItemId(table, number),
                names.number_of(texts.is_null(i) ? std::string_view() : texts[i])});
    }
    return not_placed;
  }

  store::OpenRun& run_;
  std::vector<uint16_t> depths_;  ///< of spans, by their number
};

/// The spans of some groups, in memory.
class Groups {
 public:
  void reserve(const Group& group, int64_t spans) { of(group).reserve(static_cast<size_t>(spans)); }
  bool has(const Group& group) const {
    const auto& [track, depth] = group;
    const auto it = by_track_.find(track);
    return it != by_track_.end() && depth < it->second.size() && it->second[depth].capacity() > 0;
  }
  void add(const Group& group, const Span& span) {
    if (last_ == nullptr || group.first != last_track_) {
      last_ = &by_track_[group.first];
      last_track_ = group.first;
    }
    if (group.second >= last_->size()) last_->resize(group.second + 1);
    (*last_)[group.second].push_back(span);
  }

  /// Times count from `origin_ns` then.
  Result<void> write(int64_t origin_ns, TimelineWriter& writer) {
    for (auto& [track, depths] : by_track_) {
      for (uint32_t depth = 0; depth < depths.size(); depth++) {
        if (depths[depth].empty()) continue;
        for (Span& span : depths[depth]) span.start_ns -= origin_ns;
        const auto lanes = lanes_of(std::move(depths[depth]));
        for (uint32_t lane = 0; lane < lanes.size(); lane++)
          NL_CHECK(writer.add_row({track, depth, lane}, lanes[lane]));
      }
    }
    return {};
  }

 private:
  std::vector<Span>& of(const Group& group) {
    auto& depths = by_track_[group.first];
    if (group.second >= depths.size()) depths.resize(group.second + 1);
    return depths[group.second];
  }

  std::map<int32_t, std::vector<std::vector<Span>>> by_track_;
  std::vector<std::vector<Span>>* last_ = nullptr;
  int32_t last_track_ = 0;
};

Result<void> build_at_once(SpanReader& reader, const std::string& aside, const std::string& path) {
  NameTable names;
  Groups groups;
  int64_t first_ns = kLatest;
  NL_TRY(const uint64_t not_placed, reader.read(names, [&](const Group& group, const Span& span) {
    groups.add(group, span);
    first_ns = std::min(first_ns, span.start_ns);
  }));
  NL_TRY(TimelineWriter writer, TimelineWriter::create(aside, names.size()));
  NL_CHECK(groups.write(first_ns, writer));
  return writer.finish(path, names.texts(), first_ns, not_placed);
}

Result<void> build_in_parts(SpanReader& reader, const std::string& aside, const std::string& path) {
  NameTable names;
  std::map<Group, int64_t> counts;
  int64_t first_ns = kLatest;
  NL_TRY(const uint64_t not_placed, reader.read(names, [&](const Group& group, const Span& span) {
    counts[group]++;
    first_ns = std::min(first_ns, span.start_ns);
  }));
  NL_TRY(TimelineWriter writer, TimelineWriter::create(aside, names.size()));
  for (auto it = counts.begin(); it != counts.end();) {
    Groups part;
    int64_t spans = 0;
    do {
      part.reserve(it->first, it->second);
      spans += it->second;
      ++it;
    } while (it != counts.end() && spans + it->second <= kMostSpans);
    NL_CHECK(reader.read(names, [&](const Group& group, const Span& span) {
      if (part.has(group)) part.add(group, span);
    }));
    NL_CHECK(part.write(first_ns, writer));
  }
  return writer.finish(path, names.texts(), first_ns, not_placed);
}

}  // namespace

Result<void> build_timeline(store::OpenRun& run, const std::string& aside, const std::string& path) {
  SpanReader reader(run);
  NL_CHECK(reader.read_depths());
  return reader.all_rows() <= kMostSpans ? build_at_once(reader, aside, path)
                                         : build_in_parts(reader, aside, path);
}

}  // namespace nl::timeline
