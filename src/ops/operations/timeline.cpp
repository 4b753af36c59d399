#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "exports/timeline/trace_tracks.h"
#include "ops/runs/named_analysis.h"
#include "ops/runs/run_timeline.h"
#include "ops/text/text.h"
#include "timeline/area.h"
#include "timeline/packed_tile.h"

namespace nl::ops::timeline_operation {
namespace {

using nlohmann::json;
using timeline::Row;
using timeline::Stretch;
using timeline::TimelineFile;
using timeline::Viewport;

constexpr char kParameters[] = R"({
  "type": "object", "additionalProperties": false, "required": ["run"],
  "properties": {
    "run": {"x-run": true},
    "what": {"type": "string", "enum": ["rows", "tile", "area", "search"], "default": "rows", "x-positional": 2,
             "description": "rows: which there are; tile: a stretch as it is drawn; area: sums by name; search: spans by name"},
    "rows": {"x-rare": true, "type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 4096, "x-many": true,
             "description": "numbers of the rows to look at; default: all"},
    "level": {"x-rare": true, "type": "integer", "minimum": 0, "maximum": 50,
              "description": "of a tile: it has 512 buckets of 2^level ns; default: the whole run in one"},
    "tile": {"x-rare": true, "type": "integer", "description": "of a tile: its number; it starts so many tiles after origin_ns"},
    "begin_ns": {"type": "integer", "description": "of an area: its begin, from origin_ns; default: that of the run"},
    "end_ns": {"type": "integer", "description": "of an area: its end; default: that of the run"},
    "text": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "of a search: a part of the name, in upper or lower case"},
    "from_ns": {"x-rare": true, "type": "integer", "description": "of a search: the nearest spans around this time, from origin_ns, are told; default: 0"},
    "top": {"x-rare": true, "type": "integer", "minimum": 1, "maximum": 10000, "default": 20, "description": "of an area: names to list"},
    "page": {"x-rare": true, "type": "string", "enum": ["packed"], "description": "of a tile: as bytes that a page draws, laid out as src/timeline/packed_tile.h says"}
  }})";

constexpr char kResult[] = R"({
  "description": "times count from origin_ns, the first start on the clock of the run",
  "type": "object", "required": ["run_id", "what", "origin_ns"],
  "definitions": {
    "span": {"type": "object", "required": ["row", "table", "id", "name", "start_ns", "dur_ns"],
      "properties": {"row": {"type": "integer"}, "table": {"type": "string", "description": "spans, kernels, copies or syncs"},
        "id": {"type": "integer", "description": "row of that table"}, "name": {"type": "string"},
        "start_ns": {"type": "integer"}, "dur_ns": {"type": "integer", "description": "0 also for an instant"}}},
    "numbers": {"type": "array", "items": {"type": "integer"}}},
  "properties": {
    "run_id": {"type": "string"}, "what": {"type": "string"},
    "origin_ns": {"type": "integer", "description": "add it to a time to get the start_ns of the tables"},
    "begin_ns": {"type": "integer"}, "end_ns": {"type": "integer"},
    "spans": {"type": "integer", "description": "on all rows"},
    "not_placed": {"type": "integer", "description": "rows of the tables that have no time, so that they are on no row"},
    "tracks": {"type": "array", "items": {"type": "object", "required": ["track", "title", "process", "kind"],
      "properties": {"track": {"type": "integer"}, "title": {"type": "string"}, "process": {"type": "string"},
        "kind": {"type": "string", "description": "thread or stream"}, "device": {"type": ["integer", "null"]},
        "stream": {"type": ["integer", "null"]}, "rank": {"type": ["integer", "null"]}}}},
    "rows": {"type": "array", "items": {"type": "object", "required": ["row", "track", "depth", "lane", "spans", "busy_ns", "begin_ns", "end_ns"],
      "properties": {"row": {"type": "integer"}, "track": {"type": "integer"}, "depth": {"type": "integer"},
        "lane": {"type": "integer", "description": "above 0: spans that overlap others of this depth"},
        "spans": {"type": "integer"}, "busy_ns": {"type": "integer"}, "begin_ns": {"type": "integer"}, "end_ns": {"type": "integer"}}}},
    "level": {"type": "integer"}, "tile": {"type": "integer"}, "buckets": {"type": "integer"},
    "names": {"type": "array", "items": {"type": "string"}},
    "items": {"type": "object", "description": "of a tile, by column: neighbouring buckets that show the same span, the longest that overlaps them",
      "properties": {"row": {"$ref": "#/definitions/numbers"}, "bucket": {"$ref": "#/definitions/numbers"},
        "buckets": {"$ref": "#/definitions/numbers"}, "name": {"$ref": "#/definitions/numbers"},
        "table": {"$ref": "#/definitions/numbers"}, "id": {"$ref": "#/definitions/numbers"},
        "start_ns": {"$ref": "#/definitions/numbers"}, "dur_ns": {"$ref": "#/definitions/numbers"},
        "count": {"$ref": "#/definitions/numbers"}, "busy_ns": {"$ref": "#/definitions/numbers"}}},
    "count": {"type": "integer", "description": "spans that overlap the area, or that the search finds"},
    "sum_ns": {"type": "integer", "description": "of what lies in the area"},
    "by_name": {"type": "array", "items": {"type": "object", "required": ["name", "count", "sum_ns", "union_ns", "mean_ns", "min_ns", "max_ns"],
      "properties": {"name": {"type": "string"}, "count": {"type": "integer"},
        "sum_ns": {"type": "integer", "description": "of what lies in the area"},
        "union_ns": {"type": "object", "description": "time that at least one of them covers: {value} or {absent_reason}"},
        "mean_ns": {"type": "number", "description": "of whole spans, as are min_ns and max_ns"},
        "min_ns": {"type": "integer"}, "max_ns": {"type": "integer"}}}},
    "not_shown": {"type": "integer", "description": "names that are left out, see top"},
    "next": {"anyOf": [{"$ref": "#/definitions/span"}, {"type": "null"}]},
    "previous": {"anyOf": [{"$ref": "#/definitions/span"}, {"type": "null"}]}}})";

constexpr Cut kCuts[] = {{"/items"},      {"/names"},   {"/by_name", 5},         {"/rows", 10, "busy_ns"},
                         {"/tracks", 10}, {"/by_name"}, {"/rows", 0, "busy_ns"}, {"/tracks"}};

constexpr uint32_t kTileBuckets = 512;
constexpr size_t kMostRowsOfTile = 512;

// ---- What was asked for

/// The stretch that all rows lie in; nothing if there are none.
Stretch extent_of(const TimelineFile& file) {
  Stretch all{INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < file.rows(); i++) {
    const Row row = file.row(i);
    all = {std::min(all.begin_ns, row.begin_ns()), std::max(all.end_ns, row.end_ns())};
  }
  return file.rows() == 0 ? Stretch{0, 0} : all;
}

Result<std::vector<uint32_t>> rows_asked(const TimelineFile& file, const json& parameters) {
  std::vector<uint32_t> rows(file.rows());
  std::iota(rows.begin(), rows.end(), 0);
  if (!parameters.contains("rows")) return rows;
  rows.clear();
  std::set<int64_t> seen;
  for (const json& one : parameters["rows"]) {
    const int64_t number = one.get<int64_t>();
    if (std::cmp_greater_equal(number, file.rows()))
      return Error{ErrorCode::kNotFound, fmt::format("the time line has no row {}", number),
                   fmt::format("its rows are 0 to {}", static_cast<int64_t>(file.rows()) - 1)};
    if (seen.insert(number).second) rows.push_back(static_cast<uint32_t>(number));
  }
  return rows;
}

/// The level at which the stretch fits into one tile that begins at a multiple of its length.
Viewport whole_tile(const Stretch& all) {
  uint32_t level = 0;
  const auto tile_of = [&](int64_t ns) { return ns >> (level + 9); };
  while (level < 50 && tile_of(all.begin_ns) != tile_of(std::max(all.begin_ns, all.end_ns - 1))) level++;
  return {level, tile_of(all.begin_ns) * kTileBuckets, kTileBuckets};
}

Result<Viewport> tile_asked(const TimelineFile& file, const json& parameters) {
  if (parameters.contains("level") != parameters.contains("tile"))
    return Error{ErrorCode::kBadInput, "level and tile belong together",
                 "give both, or none for the whole run in one tile"};
  if (!parameters.contains("level")) return whole_tile(extent_of(file));
  const auto level = parameters["level"].get<uint32_t>();
  const int64_t tile = parameters["tile"], most = INT64_MAX >> (level + 11);
  if (tile > most || tile < -most)
    return Error{ErrorCode::kBadInput, "there is no such tile: its time is out of range"};
  return Viewport{level, tile * kTileBuckets, kTileBuckets};
}

// ---- Answers

json number_or_null(const std::optional<int64_t>& number) {
  return number ? json(*number) : json(nullptr);
}

Result<json> tracks_json(const NamedRun& named, const TimelineFile& file) {
  NL_TRY(const auto open, open_derived(named));
  exports::ExportCall call{*open, {}, {}};
  exports::TraceReader reader(call);
  NL_TRY(const auto tracks, exports::read_trace_tracks(reader));
  const bool with_rank = exports::has_several_ranks(tracks);
  std::set<int32_t> used;
  for (size_t i = 0; i < file.rows(); i++) used.insert(file.row(i).name().track);
  json list = json::array();
  for (const int32_t track : used) {
    const bool is_known = track >= 0 && static_cast<size_t>(track) < tracks.size();
    const exports::TraceTrack one = is_known ? tracks[static_cast<size_t>(track)] : exports::TraceTrack{};
    list.push_back({{"track", track},
                    {"title", is_known ? exports::track_title(one, track) : "no track"},
                    {"process", exports::process_title(one, with_rank)},
                    {"kind", one.is_stream ? "stream" : "thread"},
                    {"device", number_or_null(one.device)},
                    {"stream", number_or_null(one.stream)},
                    {"rank", number_or_null(one.rank)}});
  }
  return list;
}

Result<void> tell_rows(const NamedRun& named, const TimelineFile& file, const std::vector<uint32_t>& rows,
                       json& data) {
  const Stretch all = extent_of(file);
  data["begin_ns"] = all.begin_ns;
  data["end_ns"] = all.end_ns;
  data["spans"] = file.spans();
  data["not_placed"] = file.not_placed();
  NL_TRY(data["tracks"], tracks_json(named, file));
  data["rows"] = json::array();
  for (const uint32_t number : rows) {
    const Row row = file.row(number);
    data["rows"].push_back({{"row", number},
                            {"track", row.name().track},
                            {"depth", row.name().depth},
                            {"lane", row.name().lane},
                            {"spans", row.size()},
                            {"busy_ns", row.busy_ns()},
                            {"begin_ns", row.begin_ns()},
                            {"end_ns", row.end_ns()}});
  }
  return {};
}

json span_json(const TimelineFile& file, uint32_t row, const timeline::Span& span) {
  return {{"row", row},
          {"table", timeline::kTables[span.item.table()]},
          {"id", span.item.number()},
          {"name", file.name(span.name)},
          {"start_ns", span.start_ns},
          {"dur_ns", span.dur_ns}};
}

void tell_tile(const TimelineFile& file, const timeline::TileColumns& columns, const Viewport& view,
               json& data) {
  data["level"] = view.exponent;
  data["tile"] = view.first / kTileBuckets;
  data["buckets"] = view.buckets;
  data["begin_ns"] = view.begin_ns(0);
  data["end_ns"] = view.begin_ns(view.buckets);
  json row = json::array(), table = json::array(), id = json::array(), names = json::array();
  for (size_t i = 0; i < columns.rows.size(); i++)
    row.insert(row.end(), columns.ends[i] - row.size(), columns.rows[i]);
  for (const timeline::ItemId item : columns.items) {
    table.push_back(item.table());
    id.push_back(item.number());
  }
  for (const uint32_t name : columns.names) names.push_back(file.name(name));
  data["names"] = std::move(names);
  data["items"] = {{"row", std::move(row)},        {"bucket", columns.bucket},  {"buckets", columns.buckets},
                   {"name", columns.name},         {"table", std::move(table)}, {"id", std::move(id)},
                   {"start_ns", columns.start_ns}, {"dur_ns", columns.dur_ns},  {"count", columns.count},
                   {"busy_ns", columns.busy_ns}};
}

json known_json(const Known<int64_t>& figure) {
  return figure ? json{{"value", *figure}} : json{{"absent_reason", figure.reason()}};
}

Result<void> tell_area(const TimelineFile& file, const std::vector<uint32_t>& rows, const json& parameters,
                       json& data) {
  const Stretch all = extent_of(file);
  const Stretch area{parameters.value("begin_ns", all.begin_ns), parameters.value("end_ns", all.end_ns)};
  if (area.begin_ns > area.end_ns) return Error{ErrorCode::kBadInput, "the area ends before it begins"};
  const timeline::AreaSums sums = timeline::sums_of(file, rows, area);
  data["begin_ns"] = area.begin_ns;
  data["end_ns"] = area.end_ns;
  data["count"] = sums.count;
  data["sum_ns"] = sums.sum_ns;
  data["by_name"] = json::array();
  const auto shown = std::min(sums.names.size(), parameters["top"].get<size_t>());
  for (size_t i = 0; i < shown; i++) {
    const timeline::NameSums& one = sums.names[i];
    data["by_name"].push_back(
        {{"name", file.name(one.name)},
         {"count", one.count},
         {"sum_ns", one.sum_ns},
         {"union_ns", known_json(one.union_ns)},
         {"mean_ns", static_cast<double>(one.whole_ns) / static_cast<double>(one.count)},
         {"min_ns", one.min_ns},
         {"max_ns", one.max_ns}});
  }
  data["not_shown"] = sums.names.size() - shown;
  return {};
}

Result<void> tell_matches(const TimelineFile& file, const std::vector<uint32_t>& rows, const json& parameters,
                          json& data) {
  const std::string text = parameters.value("text", "");
  if (text.empty())
    return Error{ErrorCode::kBadInput, "a search needs a text", "give a part of a name as text"};
  const auto found = timeline::find_spans(file, rows, timeline::names_with(file, text),
                                          parameters.value("from_ns", extent_of(file).begin_ns));
  const auto told = [&](const std::optional<timeline::Match>& match) {
    return match ? span_json(file, match->row, match->span) : json(nullptr);
  };
  data["count"] = found.count;
  data["next"] = told(found.next);
  data["previous"] = told(found.previous);
  return {};
}

Result<void> tell_drawing(Context& context, const TimelineFile& file, const std::vector<uint32_t>& rows,
                          const json& parameters, json& data) {
  if (rows.size() > kMostRowsOfTile)
    return Error{ErrorCode::kLimit, fmt::format("a tile has at most {} rows", kMostRowsOfTile),
                 "name the rows that are to be drawn"};
  NL_TRY(const Viewport view, tile_asked(file, parameters));
  const timeline::TileColumns columns = timeline::tile_columns(file, rows, view);
  if (!parameters.contains("page")) {
    tell_tile(file, columns, view, data);
    return {};
  }
  if (!context.bytes) return Error{ErrorCode::kUnsupported, "there is no way to send bytes from here"};
  return context.bytes(timeline::packed_tile(file, columns, view));
}

Result<Outcome> run(Context& context, const json& parameters) {
  NL_TRY(const NamedRun named, resolve_run(context, parameters["run"]));
  NL_TRY(const auto file, run_timeline(context, named));
  NL_TRY(const auto rows, rows_asked(*file, parameters));
  const std::string what = parameters["what"];
  if (parameters.contains("page") && what != "tile")
    return Error{ErrorCode::kBadInput, "only a tile comes as bytes", "leave out page, or ask for a tile"};
  Outcome outcome;
  outcome.data = {{"run_id", named.run_id}, {"what", what}, {"origin_ns", file->origin_ns()}};
  if (what == "rows") NL_CHECK(tell_rows(named, *file, rows, outcome.data));
  if (what == "tile") NL_CHECK(tell_drawing(context, *file, rows, parameters, outcome.data));
  if (what == "area") NL_CHECK(tell_area(*file, rows, parameters, outcome.data));
  if (what == "search") NL_CHECK(tell_matches(*file, rows, parameters, outcome.data));
  if (what == "rows")
    outcome.next = {
        suggested("timeline", {{"run", named.call_name()}, {"what", "area"}}),
        suggested("timeline", {{"run", named.call_name()}, {"what", "search"}, {"text", "gemm"}})};
  return outcome;
}

// ---- For people

std::string rows_text(const json& data, const TextStyle& style) {
  using Align = TextTable::Align;
  TextTable table({Align::kRight, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.add({"row", "track", "depth", "spans", "busy"});
  std::map<int64_t, std::string> titles;
  for (const json& track : data["tracks"])
    titles[track["track"]] =
        fmt::format("{} / {}", track["process"].get<std::string>(), track["title"].get<std::string>());
  for (const json& row : data["rows"]) {
    const int64_t lane = row["lane"];
    table.add({std::to_string(row["row"].get<int64_t>()), shortened(titles[row["track"]], 50),
               fmt::format("{}{}", row["depth"].get<int64_t>(), lane > 0 ? fmt::format("+{}", lane) : ""),
               grouped(row["spans"].get<int64_t>()), duration_text(row["busy_ns"].get<int64_t>())});
  }
  return table.text("", true, style);
}

std::string area_text(const json& data, const TextStyle& style) {
  using Align = TextTable::Align;
  TextTable table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"sum", "count", "mean", "min", "max", "name"});
  for (const json& one : data["by_name"]) {
    table.add({duration_text(one["sum_ns"].get<int64_t>()), grouped(one["count"].get<int64_t>()),
               duration_text(static_cast<int64_t>(one["mean_ns"].get<double>())),
               duration_text(one["min_ns"].get<int64_t>()), duration_text(one["max_ns"].get<int64_t>()),
               shortened(one["name"].get<std::string>(), 60)});
  }
  std::string out = table.text("", true, style);
  if (data["not_shown"] > 0)
    out += dim(fmt::format("and {} more names", data["not_shown"].get<int64_t>()), style) + "\n";
  return out;
}

std::string search_text(const json& data, const TextStyle& style) {
  std::string out = fmt::format("{} found\n", counted(data["count"].get<int64_t>(), "span"));
  for (const char* which : {"previous", "next"}) {
    const json& span = data[which];
    if (span.is_null()) continue;
    out += fmt::format(
        "{:9} {} ({} {}) at {}, {}\n", which, bold(shortened(span["name"].get<std::string>(), 60), style),
        span["table"].get<std::string>(), span["id"].get<int64_t>(),
        duration_text(span["start_ns"].get<int64_t>()), duration_text(span["dur_ns"].get<int64_t>()));
  }
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  if (data["what"] == "rows") return rows_text(data, style);
  if (data["what"] == "area") return area_text(data, style);
  if (data["what"] == "search") return search_text(data, style);
  if (!data.contains("items")) return "";
  return fmt::format("{} in a tile of {} at {}\n",
                     counted(static_cast<int64_t>(data["items"]["id"].size()), "item"),
                     duration_text(data["end_ns"].get<int64_t>() - data["begin_ns"].get<int64_t>()),
                     duration_text(data["begin_ns"].get<int64_t>()));
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "timeline",
      .summary =
          "Look at spans on the time line (timeline): what ran when, at a moment or between two times, on "
          "which stream or thread; search by name",
      .use_when =
          "you ask what happened in an interval, around, at or between second 2 and 3 or ms, in or before a "
          "gap, when a kernel starts or ends, what ran at the same time, in parallel, concurrently, right "
          "before, after or during something, in which order, or where the first, next or last occurrence of "
          "a name is",
      .not_when = "you want conclusions: analyze",
      .example = R"({"run": "@latest", "what": "search", "text": "gemm"})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true, .mcp = true},
      .stream = Stream::kPage,
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::timeline_operation
