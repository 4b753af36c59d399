#include "exports/stacks/stack_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/call_control.h"
#include "exports/window_cut.h"

namespace nl::exports {
namespace {

using store::Chunk;

std::optional<int32_t> small_cell(const Chunk& chunk, size_t column, size_t row) {
  if (chunk.is_null(column, row)) return std::nullopt;
  return chunk.int32s(column)[row];
}

std::optional<int64_t> large_cell(const Chunk& chunk, size_t column, size_t row) {
  if (chunk.is_null(column, row)) return std::nullopt;
  return chunk.int64s(column)[row];
}

std::string text_cell(const Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? std::string() : std::string(chunk.text(column, row));
}

Result<int64_t> untimed(store::Connection& connection, const std::string& table, const char* condition) {
  return connection.integer("SELECT count(*) FROM " + table + " WHERE " + condition);
}

constexpr char kNoTime[] = "start_ns IS NULL OR dur_ns IS NULL";
constexpr char kNegative[] = "start_ns IS NOT NULL AND dur_ns < 0";
constexpr char kTimed[] = "start_ns IS NOT NULL AND dur_ns >= 0";

/// Outer spans before inner ones, as the span tree has it.
std::string spans_in_order(bool with_shapes) {
  return std::string(R"(
  SELECT coalesce(track_id, -1)::INTEGER AS track, span_id, start_ns, dur_ns, coalesce(name, '') AS name,
         CASE kind WHEN 'op' THEN 1 WHEN 'runtime' THEN 2 WHEN 'annotation' THEN -1 ELSE 0 END::INTEGER AS rank)") +
         (with_shapes ? ", coalesce(shapes, '') AS shapes" : "") + R"(
  FROM spans WHERE start_ns IS NOT NULL AND dur_ns >= 0
  ORDER BY track, start_ns, dur_ns DESC, greatest(rank, 0), span_id)";
}

HostSpan host_span(const Chunk& chunk, size_t row, bool with_shapes) {
  const int64_t start = chunk.int64s(2)[row];
  const int32_t rank = chunk.int32s(5)[row];
  return {chunk.int32s(0)[row],
          chunk.int64s(1)[row],
          start,
          start + chunk.int64s(3)[row],
          chunk.text(4, row),
          rank == 1,
          rank == 2,
          rank == -1,
          with_shapes ? chunk.text(6, row) : std::string_view()};
}

}  // namespace

Result<void> count_untimed(const ExportCall& call, store::Connection& connection, const std::string& table,
                           ExportReport& report) {
  if (!call.window.empty()) return {};
  NL_TRY(const int64_t without, untimed(connection, table, kNoTime));
  NL_TRY(const int64_t negative, untimed(connection, table, kNegative));
  count_lost(report, table == "spans" ? "instants and spans without a duration" : table + " without a time",
             without);
  count_lost(report, table + " with a negative duration", negative);
  return {};
}

void count_lost(ExportReport& report, const std::string& what, int64_t count) {
  if (count > 0) report.lost[what] += count;
}

Result<void> for_host_spans(const ExportCall& call, bool with_shapes,
                            const std::function<Result<void>(const HostSpan&)>& each, ExportReport& report) {
  if (!call.run.has("spans")) return {};
  NL_TRY(store::Connection * connection, call.run.ask({"spans"}));
  NL_CHECK(count_untimed(call, *connection, "spans", report));
  return connection->stream(spans_in_order(with_shapes), [&](const Chunk& chunk) -> Result<void> {
    NL_CHECK(check_cancelled());
    for (size_t row = 0; row < chunk.size(); row++) NL_CHECK(each(host_span(chunk, row, with_shapes)));
    return {};
  });
}

Result<void> for_device_work(const ExportCall& call, const std::string& table,
                             const std::function<Result<void>(const DeviceWork&)>& each,
                             ExportReport& report) {
  if (!call.run.has(table)) return {};
  const std::string key = table == "kernels" ? "kernel_id" : "copy_id";
  const std::string links = table == "kernels" ? "kernel_links" : "copy_links";
  NL_TRY(store::Connection * connection, call.run.ask({table, links}));
  NL_CHECK(count_untimed(call, *connection, table, report));
  const std::string sql = "SELECT w." + key +
                          ", coalesce(track_id, -1)::INTEGER AS track, device, stream, start_ns, dur_ns, "
                          "coalesce(name, ''), coalesce(l.launch_span_id, l.op_id, -1) FROM " +
                          table + " w LEFT JOIN " + links + " l ON l." + key + " = w." + key + " WHERE " +
                          kTimed;
  return connection->stream(sql, [&](const Chunk& chunk) -> Result<void> {
    NL_CHECK(check_cancelled());
    for (size_t row = 0; row < chunk.size(); row++) {
      const int64_t start = chunk.int64s(4)[row];
      NL_CHECK(each({chunk.int64s(0)[row], chunk.int32s(1)[row], small_cell(chunk, 2, row),
                     large_cell(chunk, 3, row), start, start + chunk.int64s(5)[row], chunk.text(6, row),
                     chunk.int64s(7)[row]}));
    }
    return {};
  });
}

Result<void> for_streams(const ExportCall& call, const std::function<Result<void>(const StreamWork&)>& each,
                         ExportReport& report) {
  if (!call.run.has("kernels") && !call.run.has("copies")) return {};
  NL_TRY(store::Connection * connection, call.run.ask({"kernels", "copies"}));
  NL_CHECK(count_untimed(call, *connection, "kernels", report));
  NL_CHECK(count_untimed(call, *connection, "copies", report));
  const auto rows_of = [](const std::string& table, const std::string& key, int is_copy) {
    return "SELECT coalesce(track_id, -1)::INTEGER AS track, start_ns, dur_ns, coalesce(name, '') AS name, " +
           std::to_string(is_copy) + "::INTEGER AS is_copy, " + key + " AS key FROM " + table + " WHERE " +
           kTimed;
  };
  const std::string sql = rows_of("kernels", "kernel_id", 0) + " UNION ALL " +
                          rows_of("copies", "copy_id", 1) +
                          " ORDER BY track, start_ns, dur_ns DESC, is_copy, key";
  return connection->stream(sql, [&](const Chunk& chunk) -> Result<void> {
    NL_CHECK(check_cancelled());
    for (size_t row = 0; row < chunk.size(); row++) {
      const int64_t start = chunk.int64s(1)[row];
      NL_CHECK(each({chunk.int32s(0)[row], start, start + chunk.int64s(2)[row], chunk.text(3, row),
                     chunk.int32s(4)[row] != 0}));
    }
    return {};
  });
}

Result<std::optional<Stretch>> time_range(const ExportCall& call) {
  if (!call.window.empty())
    return std::optional(Stretch{call.window.front().begin_ns, call.window.back().end_ns});
  std::optional<Stretch> range;
  for (const std::string table : {"spans", "kernels", "copies", "requests", "samples"}) {
    if (!call.run.has(table)) continue;
    NL_TRY(store::Connection * connection, call.run.ask({table}));
    const std::string end = table == "samples" ? "start_ns" : "start_ns + coalesce(dur_ns, 0)";
    NL_CHECK(connection->stream(
        "SELECT min(start_ns), max(" + end + ") FROM " + table, [&](const Chunk& chunk) -> Result<void> {
          const auto first = large_cell(chunk, 0, 0);
          const auto last = large_cell(chunk, 1, 0);
          if (!first || !last) return {};
          if (!range) range = Stretch{*first, *last};
          range = Stretch{std::min(range->begin_ns, *first), std::max(range->end_ns, *last)};
          return {};
        }));
  }
  return range;
}

bool is_unix_time(const store::OpenRun& run) {
  const auto& clocks = run.files().clocks;
  return std::any_of(clocks.begin(), clocks.end(),
                     [](const store::ClockBase& clock) { return clock.is_unix; });
}

Result<void> for_samples(const ExportCall& call, const std::function<Result<void>(const StackSample&)>& each,
                         ExportReport& report) {
  if (!call.run.has("samples")) return {};
  NL_TRY(store::Connection * connection, call.run.ask({"samples"}));
  NL_TRY(const int64_t without,
         connection->integer("SELECT count(*) FROM samples WHERE stack IS NULL OR weight IS NULL"));
  count_lost(report, "samples without a stack or weight", without);
  const WindowCut window(call.window);
  return connection->stream(
      "SELECT coalesce(track_id, -1)::INTEGER AS track, start_ns, stack, weight FROM samples WHERE stack IS "
      "NOT NULL AND weight IS NOT NULL ORDER BY track, start_ns, sample_id",
      [&](const Chunk& chunk) -> Result<void> {
        NL_CHECK(check_cancelled());
        for (size_t row = 0; row < chunk.size(); row++) {
          const auto start = large_cell(chunk, 1, row);
          if (!window.is_all() && (!start || !window.touches(*start, *start))) continue;
          NL_CHECK(each({chunk.int32s(0)[row], start, chunk.text(2, row), chunk.int64s(3)[row]}));
        }
        return {};
      });
}

Result<void> for_layers(const ExportCall& call, const std::function<void(const LayerTime&)>& each,
                        ExportReport& report) {
  if (!call.run.has("layer_times")) return {};
  NL_TRY(store::Connection * connection, call.run.ask({"layer_times"}));
  NL_TRY(const int64_t without,
         connection->integer("SELECT count(*) FROM layer_times WHERE total_ns IS NULL"));
  count_lost(report, "layers without a time", without);
  return connection->stream(
      "SELECT coalesce(name, ''), total_ns, coalesce(iterations, 1) FROM layer_times WHERE total_ns IS NOT "
      "NULL",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t row = 0; row < chunk.size(); row++)
          each({chunk.text(0, row), chunk.int64s(1)[row], chunk.int64s(2)[row]});
        return {};
      });
}

// ---- Names of timelines

namespace {

std::string number_text_of(std::optional<int64_t> number) {
  return number ? std::to_string(*number) : "?";
}

/// Without the number of the thread, e.g. "thread (python)" of "thread 4712 (python)".
std::string without_number(std::string name, std::optional<int64_t> number) {
  if (!number) return name;
  const std::string digits = std::to_string(*number);
  const size_t at = name.find(digits);
  if (at == std::string::npos) return name;
  name.erase(at, digits.size());
  if (at > 0 && at < name.size() && name[at - 1] == ' ' && name[at] == ' ') name.erase(at, 1);
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

std::string named_thread(const std::string& name) {
  return name.starts_with("thread") || name.starts_with("Thread") ? name : "thread " + name;
}

}  // namespace

Result<TrackNames> TrackNames::read(store::OpenRun& run) {
  TrackNames names;
  if (!run.has("tracks")) return names;
  NL_TRY(store::Connection * connection, run.ask({"tracks"}));
  std::set<int32_t> ranks;
  NL_CHECK(connection->stream(
      "SELECT coalesce(kind, ''), coalesce(process_name, source_process), "
      "coalesce(nullif(thread_name, ''), source_thread), process_id, thread_id, stream, device, rank "
      "FROM tracks ORDER BY track_id",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t row = 0; row < chunk.size(); row++) {
          names.tracks_.push_back({text_cell(chunk, 0, row), text_cell(chunk, 1, row),
                                   text_cell(chunk, 2, row), large_cell(chunk, 3, row),
                                   large_cell(chunk, 4, row), large_cell(chunk, 5, row),
                                   small_cell(chunk, 6, row), small_cell(chunk, 7, row)});
          if (names.tracks_.back().rank) ranks.insert(*names.tracks_.back().rank);
        }
        return {};
      }));
  names.has_ranks_ = ranks.size() > 1;
  names.name_tracks();
  return names;
}

std::string TrackNames::rank_prefix(const Track& track) const {
  return has_ranks_ && track.rank ? "rank " + std::to_string(*track.rank) + " " : "";
}

std::string TrackNames::plain_name(const Track& track) const {
  if (track.kind == "stream")
    return "ranges on device " + number_text_of(track.device) + " stream " + number_text_of(track.stream);
  const bool is_python = track.kind == "python";
  if (track.kind == "thread" || is_python) {
    const std::string name = track.thread_name.empty() ? "thread " + number_text_of(track.thread_id)
                                                       : named_thread(track.thread_name);
    return is_python ? name + ", python" : name;
  }
  if (!track.thread_name.empty()) return "timeline " + track.thread_name;
  return "timeline " + (track.process_name.empty() ? number_text_of(track.thread_id) : track.process_name);
}

/// Those that are alike get the numbers of their process and thread, and if that does not help, their row.
void TrackNames::name_tracks() {
  std::map<std::string, int> times;
  for (Track& track : tracks_) {
    track.name = rank_prefix(track) + plain_name(track);
    track.kind_name = track.kind == "stream" ? track.name : without_number(track.name, track.thread_id);
    times[track.name]++;
  }
  std::set<std::string> taken;
  for (size_t i = 0; i < tracks_.size(); i++) {
    Track& track = tracks_[i];
    if (times[track.name] > 1)
      track.name += " [" + number_text_of(track.process_id) + ":" + number_text_of(track.thread_id) + "]";
    if (!taken.insert(track.name).second) taken.insert(track.name += " track " + std::to_string(i));
  }
}

const TrackNames::Track* TrackNames::find(int32_t track_id) const {
  const auto at = static_cast<size_t>(track_id);
  return track_id >= 0 && at < tracks_.size() ? &tracks_[at] : nullptr;
}

const std::string& TrackNames::track(int32_t track_id) const {
  const Track* track = find(track_id);
  return track == nullptr ? none_ : track->name;
}

const std::string& TrackNames::kind_of_track(int32_t track_id) const {
  const Track* track = find(track_id);
  return track == nullptr ? none_ : track->kind_name;
}

bool TrackNames::is_stream(int32_t track_id) const {
  const Track* track = find(track_id);
  return track != nullptr && track->kind == "stream";
}

std::optional<int32_t> TrackNames::rank(int32_t track_id) const {
  const Track* track = find(track_id);
  return track == nullptr || !has_ranks_ ? std::nullopt : track->rank;
}

std::optional<int64_t> TrackNames::process(int32_t track_id) const {
  const Track* track = find(track_id);
  return track == nullptr ? std::nullopt : track->process_id;
}

std::optional<int64_t> TrackNames::thread(int32_t track_id) const {
  const Track* track = find(track_id);
  return track == nullptr ? std::nullopt : track->thread_id;
}

std::string TrackNames::device(int32_t track_id, std::optional<int32_t> device) const {
  const Track* track = find(track_id);
  if (!device && track != nullptr) device = track->device;
  return (track == nullptr ? "" : rank_prefix(*track)) + "device " + number_text_of(device);
}

std::string TrackNames::stream(int32_t track_id) const {
  const Track* track = find(track_id);
  if (track == nullptr) return "no stream";
  return device(track_id, std::nullopt) + " stream " +
         (track->stream ? number_text_of(track->stream) : number_text_of(track->thread_id));
}

// ---- What is left out

namespace {

std::string words_of(std::string table) {
  std::replace(table.begin(), table.end(), '_', ' ');
  return table;
}

/// Rows that touch the window, of a table that has times; all rows of one that has none.
Result<int64_t> rows_in_window(const ExportCall& call, const std::string& table, int64_t rows) {
  if (call.window.empty()) return rows;
  NL_TRY(store::Connection * connection, call.run.ask({table}));
  NL_TRY(const auto columns, connection->column_names("SELECT * FROM " + table));
  const auto has = [&](const char* name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  if (!has("start_ns")) return rows;
  const WindowCut window(call.window);
  int64_t count = 0;
  NL_CHECK(connection->stream(
      std::string("SELECT start_ns, ") + (has("dur_ns") ? "coalesce(dur_ns, 0)" : "0::BIGINT") + " FROM " +
          table + " WHERE start_ns IS NOT NULL",
      [&](const Chunk& chunk) -> Result<void> {
        NL_CHECK(check_cancelled());
        for (size_t row = 0; row < chunk.size(); row++) {
          const int64_t start = chunk.int64s(0)[row];
          count += window.touches(start, start + std::max<int64_t>(chunk.int64s(1)[row], 0)) ? 1 : 0;
        }
        return {};
      }));
  return count;
}

}  // namespace

Result<void> count_tables_left_out(const ExportCall& call, const std::vector<std::string>& written,
                                   ExportReport& report) {
  for (const auto& [table, rows] : call.run.files().tables) {
    if (table == "tracks" || std::find(written.begin(), written.end(), table) != written.end()) continue;
    NL_TRY(const int64_t count, rows_in_window(call, table, rows));
    count_lost(report, words_of(table), count);
  }
  return {};
}

}  // namespace nl::exports
