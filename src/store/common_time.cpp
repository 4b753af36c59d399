#include "store/common_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "model/batch.h"
#include "model/tables.h"
#include "store/column_scan.h"

namespace nl::store {
namespace {

using Segment = CommonTime::Segment;

struct TrackClock {
  int32_t clock = 0;
  std::optional<int32_t> device = {};
};
/// Clock, and device or none for the host.
using FitKey = std::pair<int32_t, std::optional<int32_t>>;
using Fits = std::map<FitKey, std::vector<Segment>>;

Result<std::vector<TrackClock>> read_tracks(const std::string& path) {
  std::vector<TrackClock> tracks;
  NL_TRY(ColumnScan scan,
         ColumnScan::open(path, model::table(model::TableId::tracks), {"clock_id", "device"}));
  NL_CHECK(scan.for_pieces([&] {
    const auto &clocks = scan.numbers(0), &devices = scan.numbers(1);
    for (size_t i = 0; i < scan.size(); i++) {
      TrackClock& track = tracks.emplace_back();
      if (clocks[i] != model::kNull) track.clock = static_cast<int32_t>(clocks[i]);
      if (devices[i] != model::kNull) track.device = static_cast<int32_t>(devices[i]);
    }
  }));
  return tracks;
}

Result<Fits> read_fits(const std::string& path) {
  Fits fits;
  NL_TRY(ColumnScan scan, ColumnScan::open(path, model::table(model::TableId::clock_fits),
                                           {"clock_id", "device", "from_ns", "offset_ns", "drift_ppm",
                                            "origin_ns", "applied"}));
  NL_CHECK(scan.for_pieces([&] {
    const auto &clocks = scan.numbers(0), &devices = scan.numbers(1), &from = scan.numbers(2);
    for (size_t i = 0; i < scan.size(); i++) {
      if (scan.numbers(6)[i] != 1) continue;
      FitKey key{static_cast<int32_t>(clocks[i]), std::nullopt};
      if (devices[i] != model::kNull) key.second = static_cast<int32_t>(devices[i]);
      fits[key].push_back({from[i], scan.numbers(3)[i], scan.real(4, i) * 1e-6, scan.numbers(5)[i]});
    }
  }));
  for (auto& [key, segments] : fits) {
    std::stable_sort(segments.begin(), segments.end(),
                     [](const Segment& a, const Segment& b) { return a.from_ns < b.from_ns; });
  }
  return fits;
}

std::vector<Segment> fit_of(const Fits& fits, const FitKey& key) {
  const auto it = fits.find(key);
  if (it == fits.end()) return {Segment{}};
  std::vector<Segment> segments = it->second;
  segments.front().from_ns = INT64_MIN;
  return segments;
}

int64_t moved(const Segment& by, int64_t start) {
  return start + by.offset_ns +
         static_cast<int64_t>(std::llround(by.drift * static_cast<double>(start - by.origin_ns)));
}

/// First `inner`, then `outer`, as one line.
Segment behind(const Segment& inner, const Segment& outer) {
  Segment line;
  line.origin_ns = inner.origin_ns;
  line.offset_ns = moved(outer, moved(inner, inner.origin_ns)) - inner.origin_ns;
  line.drift = inner.drift + outer.drift + inner.drift * outer.drift;
  const int64_t begins = outer.from_ns == INT64_MIN ? INT64_MIN : outer.from_ns - inner.offset_ns;
  line.from_ns = std::max(inner.from_ns, begins);
  return line;
}

/// The segments of a track: from its device's clock to that of its host, and from there to the run's.
std::vector<Segment> segments_of(const TrackClock& track, const Fits& fits, int64_t base) {
  const auto host = fit_of(fits, {track.clock, std::nullopt});
  const auto device = track.device ? fit_of(fits, {track.clock, track.device}) : std::vector{Segment{}};
  std::vector<Segment> segments;
  for (const Segment& inner : device) {
    for (const Segment& outer : host) segments.push_back(behind(inner, outer));
  }
  // Of segments that begin together, only the last one is ever reached.
  std::stable_sort(segments.begin(), segments.end(),
                   [](const Segment& a, const Segment& b) { return a.from_ns < b.from_ns; });
  for (Segment& segment : segments) segment.offset_ns += base;
  return segments;
}

/// A list of the tracks' values, taken at the row's track.
template <class Value>
std::string by_track(const std::vector<std::vector<Segment>>& tracks, size_t segment, const char* type,
                     Value value) {
  std::string list;
  for (const auto& segments : tracks) {
    list += list.empty() ? "" : ",";
    list += segment < segments.size() ? fmt::format("{}", value(segments[segment])) : "NULL";
  }
  return "([" + list + "]::" + type + "[])[track_id + 1]";
}

std::string line_at(const std::vector<std::vector<Segment>>& tracks, size_t segment) {
  const auto list = [&](const char* type, auto value) { return by_track(tracks, segment, type, value); };
  std::string sql = "start_ns + " + list("BIGINT", [](const Segment& s) { return s.offset_ns; });
  const bool drifts = std::any_of(tracks.begin(), tracks.end(), [&](const auto& segments) {
    return segment < segments.size() && segments[segment].drift != 0;
  });
  if (!drifts) return sql;
  return sql + " + round(" + list("DOUBLE", [](const Segment& s) { return s.drift; }) + " * (start_ns - " +
         list("BIGINT", [](const Segment& s) { return s.origin_ns; }) + "))::BIGINT";
}

/// The last segment that has begun counts.
std::string expression(const std::vector<std::vector<Segment>>& tracks, int64_t base) {
  size_t most = 1;
  for (const auto& segments : tracks) most = std::max(most, segments.size());
  std::string sql = "CASE";
  for (size_t segment = most - 1; segment > 0; segment--) {
    const auto from = by_track(tracks, segment, "BIGINT", [](const Segment& s) { return s.from_ns; });
    sql += " WHEN start_ns >= " + from + " THEN " + line_at(tracks, segment);
  }
  const std::string first = line_at(tracks, 0);
  const std::string all = most == 1 ? first : sql + " ELSE " + first + " END";
  return "coalesce(" + all + ", start_ns + (" + std::to_string(base) + ")::BIGINT)";
}

bool same_for_all(const std::vector<std::vector<Segment>>& tracks, int64_t base) {
  return std::all_of(tracks.begin(), tracks.end(), [&](const auto& segments) {
    return segments.size() == 1 && segments[0].offset_ns == base && segments[0].drift == 0;
  });
}

/// The last one that has begun; the first one holds before, too.
const Segment& segment_at(const std::vector<Segment>& segments, int64_t start) {
  size_t last = segments.size() - 1;
  while (last > 0 && start < segments[last].from_ns) last--;
  return segments[last];
}

/// What a segment makes of a time; nothing if that does not fit.
std::optional<int64_t> moved_safely(const Segment& by, int64_t start) {
  constexpr double kMost = 9.2e18;
  int64_t time = 0, since = 0;
  if (__builtin_add_overflow(start, by.offset_ns, &time)) return std::nullopt;
  if (by.drift == 0) return time;
  if (__builtin_sub_overflow(start, by.origin_ns, &since)) return std::nullopt;
  const double drifted = std::round(by.drift * static_cast<double>(since));
  const bool fits = std::abs(drifted) < kMost;
  if (!fits || __builtin_add_overflow(time, static_cast<int64_t>(drifted), &time)) return std::nullopt;
  return time;
}

}  // namespace

int64_t base_of(const std::vector<ClockBase>& clocks, int32_t clock) {
  const auto at = static_cast<size_t>(clock);
  if (clock >= 0 && at < clocks.size() && clocks[at].is_unix) return clocks[at].base_ns;
  const auto known = std::find_if(clocks.begin(), clocks.end(), [](const ClockBase& c) { return c.is_unix; });
  return known == clocks.end() ? 0 : known->base_ns;
}

Result<CommonTime> CommonTime::read(const std::vector<ClockBase>& clocks, const ClockFiles& files) {
  CommonTime time;
  time.base_ns_ = base_of(clocks, 0);
  NL_TRY(const Fits fits, read_fits(files.fits));
  if (clocks.size() < 2 && fits.empty()) return time;  // as most runs have it: one clock, which nothing moves
  NL_TRY(const auto tracks, read_tracks(files.tracks));
  std::vector<std::vector<Segment>> segments;
  segments.reserve(tracks.size());
  for (const TrackClock& track : tracks) {
    segments.push_back(segments_of(track, fits, base_of(clocks, track.clock)));
  }
  if (!same_for_all(segments, time.base_ns_)) time.of_track_ = std::move(segments);
  return time;
}

std::string CommonTime::start(bool has_track) const {
  if (has_track && !of_track_.empty()) return expression(of_track_, base_ns_);
  return base_ns_ == 0 ? "start_ns" : "start_ns + (" + std::to_string(base_ns_) + ")::BIGINT";
}

Result<void> CommonTime::move(std::vector<int64_t>& starts, const std::vector<int64_t>& tracks) const {
  if (of_track_.empty() && base_ns_ == 0) return {};
  const Segment base{.offset_ns = base_ns_};
  for (size_t i = 0; i < starts.size(); i++) {
    if (starts[i] == model::kNull) continue;
    const bool known = tracks[i] >= 0 && static_cast<size_t>(tracks[i]) < of_track_.size();
    const auto time = moved_safely(
        known ? segment_at(of_track_[static_cast<size_t>(tracks[i])], starts[i]) : base, starts[i]);
    if (!time) {
      return Error{ErrorCode::kBadInput,
                   "a time of the run does not fit into 64 bits: " + std::to_string(starts[i])};
    }
    starts[i] = *time;
  }
  return {};
}

}  // namespace nl::store
