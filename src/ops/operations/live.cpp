#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "base/base64.h"
#include "base/files.h"
#include "base/permissions.h"
#include "base/small_json.h"
#include "capture/record/recorder.h"
#include "exports/timeline/trace_tracks.h"
#include "ops/capture/live_followers.h"
#include "ops/capture/recordings.h"
#include "ops/door.h"
#include "ops/runs/run_names.h"
#include "ops/text/text.h"
#include "timeline/packed_tile.h"

namespace nl::ops::live_operation {
namespace {

using follow::Follower;
using nlohmann::json;
using timeline::Viewport;

constexpr char kParameters[] = R"json({
  "type": "object", "additionalProperties": false,
  "properties": {
    "recording": {"type": "string", "minLength": 1, "maxLength": 100, "x-positional": 1,
                  "description": "name of a recording, or how it begins; default: list those that run"},
    "keep": {"x-rare": true, "type": "integer", "minimum": 5, "maximum": 300, "default": 30, "description": "seconds that are kept to look at"},
    "top": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 20, "description": "names to list"},
    "picture": {"x-rare": true, "type": "boolean", "description": "with the picture of a stretch, as base64 of the bytes that src/timeline/packed_tile.h lays out"},
    "end_ns": {"x-rare": true, "type": "integer", "description": "of the picture: its end, from the start of the recording; default: now"},
    "span_ns": {"x-rare": true, "type": "integer", "minimum": 1000, "maximum": 1000000000000, "description": "of the picture: its length; default: all that is kept"},
    "width": {"x-rare": true, "type": "integer", "minimum": 16, "maximum": 2048, "default": 1000, "description": "of the picture: columns that it is drawn in"}
  }})json";

constexpr char kResult[] = R"json({
  "description": "a list of recordings, or one of them; times count from the start of the first recorded process",
  "type": "object",
  "definitions": {
    "lost": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "markers that are not in the recording, by reason"}},
  "properties": {
    "recordings": {"type": "array", "items": {"type": "object",
      "required": ["recording", "command", "state", "started_at_ns"],
      "properties": {"recording": {"type": "string"}, "command": {"type": "string"},
        "state": {"type": "string", "enum": ["running", "ended"]}, "started_at_ns": {"type": "integer", "description": "since 1970"},
        "recorded": {"type": "integer", "description": "absent, as lost, rate_per_s and processes: it is not known any more"}, "lost": {"$ref": "#/definitions/lost"},
        "rate_per_s": {"type": "number", "description": "markers in a second, over the last seconds; at the first question since it began"},
        "processes": {"type": "array", "items": {"type": "integer"}, "description": "ids of processes that have set markers"}}}},
    "recording": {"type": "string"}, "command": {"type": "string"},
    "state": {"type": "string", "enum": ["running", "ended"], "description": "ended: no more comes; the run is there once run_id is"},
    "why": {"type": "string", "description": "why no more comes, if the recording did not end as it should; else empty"},
    "run_id": {"type": ["string", "null"], "description": "the run that the recording became"},
    "started_at_ns": {"type": "integer"},
    "now_ns": {"type": "integer", "description": "absent, as all figures below: it had ended before anybody looked, or long ago"}, "newest_ns": {"type": "integer", "description": "end of the newest span"},
    "keep_ns": {"type": "integer"},
    "totals": {"type": "object", "required": ["recorded", "followed", "kept", "left", "open", "skipped"],
      "properties": {"recorded": {"type": "integer", "description": "markers in the recording"},
        "followed": {"type": "integer", "description": "spans and instants made of them here: kept + left"},
        "kept": {"type": "integer"}, "left": {"type": "integer", "description": "older than keep, or too many"},
        "open": {"type": "integer", "description": "scopes that have not ended"},
        "skipped": {"type": "integer", "description": "markers that were recorded long before anybody looked, and are not shown"}}},
    "lost": {"$ref": "#/definitions/lost"},
    "behind_bytes": {"type": "integer", "description": "written before this question, and not read here yet"},
    "missed_segments": {"type": "integer", "description": "files of a flight recorder that were gone before they could be read"},
    "rate_per_s": {"type": "number", "description": "markers in a second, over the last seconds"},
    "names_ns": {"type": "integer", "description": "names are of so much time before now"},
    "names": {"type": "array", "items": {"type": "object", "required": ["name", "count", "total_ns", "longest_ns"],
      "properties": {"name": {"type": "string"}, "count": {"type": "integer"}, "total_ns": {"type": "integer"}, "longest_ns": {"type": "integer"}}}},
    "tracks": {"type": "array", "items": {"type": "object", "required": ["track", "title", "process", "kind", "device", "stream", "rank"],
      "properties": {"track": {"type": "integer"}, "title": {"type": "string"}, "process": {"type": "string"},
        "kind": {"type": "string", "description": "thread or stream"}, "device": {"type": ["integer", "null"]},
        "stream": {"type": ["integer", "null"]}, "rank": {"type": ["integer", "null"]}}}},
    "rows": {"type": "array", "items": {"type": "object", "required": ["row", "track", "depth", "lane", "spans"],
      "properties": {"row": {"type": "integer"}, "track": {"type": "integer"}, "depth": {"type": "integer"},
        "lane": {"type": "integer", "description": "0: scopes and work of devices; 1: calls; 2: waits"},
        "spans": {"type": "integer", "description": "so far"}}}},
    "picture": {"type": "string", "description": "base64"},
    "begin_ns": {"type": "integer"}, "end_ns": {"type": "integer", "description": "of the picture"}}})json";

constexpr Cut kCuts[] = {{"/picture"},
                         {"/names", 5},
                         {"/rows", 10, "spans"},
                         {"/tracks", 10},
                         {"/recordings", 5, kOldestFirst},
                         {"/names"},
                         {"/rows"},
                         {"/tracks"},
                         {"/recordings"}};

constexpr auto kCatchUp = std::chrono::milliseconds(300);
constexpr int64_t kSecondNs = 1'000'000'000;

// ---- Which recordings there are, and for whom

/// What a program says is its owner's: on a server for several people only an administrator sees it. The
/// owner of a server on this machine is one.
bool may_look(const Context& context) {
  return context.face != Face::kHttp || context.may >= Effect::kManage;
}

std::string folder_of(const Context& context, const std::string& recording) {
  return recordings_folder(context.ledger_folder) + "/" + recording;
}

/// What the recorder wrote of the program before it started; null if it is not there.
json capture_of(const std::string& folder) {
  constexpr int64_t kMostBytes = 4 << 20;
  const std::string path = folder + "/artifacts/capture.json";
  const auto size = file_size(path);
  if (!size || *size > kMostBytes) return {};
  const auto text = read_file(path);
  return text ? parse_small_json(*text) : json();
}

/// As it was typed; empty if that is not known.
std::string command_of(const std::string& folder) {
  const json document = capture_of(folder);
  const bool is_known =
      document.is_object() && document.contains("command") && document["command"].is_string();
  return is_known ? document["command"].get<std::string>() : "";
}

/// Its markers have gone to its artifacts to become a run, and these may have gone there, too.
bool is_over(const std::string& folder) {
  const std::string artifacts = folder + "/artifacts";
  return !path_exists(artifacts) || path_exists(artifacts + "/" + capture::kRecordingName);
}

const char* state_of(const Follower& follower) {
  return follower.is_running() && follower.why().empty() ? "running" : "ended";
}

/// Figures that are not known are left out. Zeros are true only of one that is starting.
json listed(const Context& context, const std::string& name, std::vector<std::string>& warnings) {
  const std::string folder = folder_of(context, name);
  const auto held = LiveFollowers::of_process().get_counts(folder + "/markers");
  const bool is_running = !is_over(folder);  // asked last: its files may have gone in between
  json one = {{"recording", name},
              {"command", command_of(folder)},
              {"state", is_running ? "running" : "ended"},
              {"started_at_ns", started_at_ns(name)}};
  if (held) {
    const std::lock_guard lock((*held)->mutex);
    Follower& follower = *(*held)->follower;
    follower.catch_up(kCatchUp, context.cancelled);
    one["state"] = state_of(follower);
    one["recorded"] = follower.recorded();
    one["lost"] = capture::losses_json(follower.lost());
    one["rate_per_s"] = follower.rate_per_s();
    one["processes"] = follower.processes();
  } else if (held.error().code != ErrorCode::kNotFound) {
    warnings.push_back(name + ": " + held.error().message);
  } else if (is_running) {
    one.update(
        {{"recorded", 0}, {"lost", json::object()}, {"rate_per_s", 0.0}, {"processes", json::array()}});
  }
  return one;
}

Result<Outcome> list(const Context& context) {
  Outcome outcome;
  outcome.data["recordings"] = json::array();
  const std::vector<std::string> names = list_recordings(context.ledger_folder);
  int64_t hidden = 0;
  for (const std::string& name : names) {
    const std::string folder = folder_of(context, name);
    if (!may_look(context) || !other_owner(folder).empty() || !is_recording_name(name)) {
      hidden++;
      continue;
    }
    outcome.data["recordings"].push_back(listed(context, name, outcome.warnings));
  }
  if (hidden > 0)
    outcome.warnings.push_back(counted(hidden, "recording") + (may_look(context)
                                                                   ? " of other people"
                                                                   : ": only an administrator sees them"));
  const json& all = outcome.data["recordings"];
  if (all.empty())
    outcome.next = {suggested("record", {{"live", true}, {"command", {"python", "serve.py"}}})};
  else
    outcome.next = {suggested("live", {{"recording", all.back()["recording"]}})};
  return outcome;
}

Error not_running(const std::string& asked) {
  return Error{ErrorCode::kNotFound, "there is no such recording: " + asked, "{}", {suggested("live")}};
}

/// A whole name, or how exactly one of them begins. What has ended is found by its whole name.
Result<std::string> recording_named(const Context& context, const std::string& asked) {
  if (!is_recording_name(asked)) return not_running(asked);
  std::vector<std::string> found;
  for (const std::string& name : list_recordings(context.ledger_folder)) {
    if (name == asked) return name;
    if (name.starts_with(asked)) found.push_back(name);
  }
  if (found.size() > 1)
    return Error{ErrorCode::kBadInput, "several recordings begin with " + asked, "give more of the name"};
  return found.empty() ? asked : found[0];
}

// ---- One of them

/// One of the newest runs says that it was this recording.
std::optional<std::string> run_of_ended(Context& context, const std::string& recording) {
  constexpr int kNewest = 20;
  const auto runs = call("runs", {{"limit", kNewest}}, context);
  if (!runs) return std::nullopt;
  for (const json& run : runs->data["runs"]) {
    const std::string run_id = run["run_id"];
    const json document = capture_of(context.ledger_folder + "/runs/" + run_id);
    if (document.is_object() && document.value("recording", json()) == json(recording)) return run_id;
  }
  return std::nullopt;
}

json known_or_null(int64_t number) {
  return number == model::kNull ? json(nullptr) : json(number);
}

std::optional<int64_t> known(int64_t number) {
  return number == model::kNull ? std::nullopt : std::optional(number);
}

json track_json(int32_t number, const ingest::DecodedTrack& track) {
  exports::TraceTrack shown;
  shown.is_stream = track.is_stream;
  shown.process_id = known(track.process_id);
  shown.thread_id = known(track.thread_id);
  shown.device = known(track.device);
  shown.stream = known(track.stream);
  shown.process_name = track.program;
  shown.thread_name = track.name;
  return {{"track", number},
          {"title", exports::track_title(shown, number)},
          {"process", exports::process_title(shown, false)},
          {"kind", track.is_stream ? "stream" : "thread"},
          {"device", known_or_null(track.device)},
          {"stream", known_or_null(track.stream)},
          {"rank", nullptr}};
}

void tell_rows(Follower& follower, json& data) {
  std::set<int32_t> tracks;
  data["rows"] = json::array();
  for (const auto& [number, row] : follower.picture().rows()) {
    tracks.insert(row.key.track);
    data["rows"].push_back({{"row", number},
                            {"track", row.key.track},
                            {"depth", row.key.depth},
                            {"lane", row.key.group},
                            {"spans", row.spans}});
  }
  data["tracks"] = json::array();
  for (const int32_t track : tracks) data["tracks"].push_back(track_json(track, follower.track(track)));
}

void tell_names(Follower& follower, size_t top, json& data) {
  data["names_ns"] = follow::NameSums::kSeconds * kSecondNs;
  data["names"] = json::array();
  for (const follow::NameSum& sum : follower.picture().top_names(follower.now_ns(), top))
    data["names"].push_back({{"name", follower.picture().name(sum.name)},
                             {"count", sum.count},
                             {"total_ns", sum.total_ns},
                             {"longest_ns", sum.longest_ns}});
}

/// Buckets as wide as a column or a little narrower.
Viewport view_asked(const json& parameters, const Follower& follower, int64_t keep_ns) {
  constexpr int64_t kFarthest = INT64_C(1) << 60;
  const int64_t end = std::clamp(parameters.value("end_ns", follower.now_ns()), -kFarthest, kFarthest);
  const int64_t span = parameters.value("span_ns", keep_ns);
  const int64_t of_column = std::max<int64_t>(1, span / parameters["width"].get<int64_t>());
  const auto exponent = static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(of_column)) - 1);
  const int64_t first = (end - span) >> exponent;
  return {exponent, first, static_cast<uint32_t>(((end - 1) >> exponent) - first + 1)};
}

void tell_picture(Follower& follower, const json& parameters, json& data) {
  const auto drawn = follower.picture().draw(view_asked(parameters, follower, follower.picture().keep_ns()),
                                             follower.now_ns());
  data["begin_ns"] = drawn.viewport.begin_ns(0);
  data["end_ns"] = drawn.viewport.begin_ns(drawn.viewport.buckets);
  data["picture"] = base64(timeline::packed_tile(drawn.names, drawn.columns, drawn.viewport));
}

/// Of a recording that is starting.
json nothing_yet() {
  return {
      {"now_ns", 0},
      {"newest_ns", 0},
      {"keep_ns", 0},
      {"totals", {{"recorded", 0}, {"followed", 0}, {"kept", 0}, {"left", 0}, {"open", 0}, {"skipped", 0}}},
      {"lost", json::object()},
      {"behind_bytes", 0},
      {"missed_segments", 0},
      {"rate_per_s", 0.0},
      {"names_ns", follow::NameSums::kSeconds * kSecondNs},
      {"names", json::array()},
      {"tracks", json::array()},
      {"rows", json::array()}};
}

void tell(Follower& follower, const json& parameters, json& data) {
  follow::LivePicture& picture = follower.picture();
  // Drawn first: a scope that is open may bring a row with it.
  if (parameters.value("picture", false)) tell_picture(follower, parameters, data);
  // The follower may not have noticed the end so far.
  if (data["state"] != "ended" || follower.behind_bytes() > 0) data["state"] = state_of(follower);
  data["why"] = follower.why();
  data["now_ns"] = follower.now_ns();
  data["newest_ns"] = picture.newest_ns();
  data["keep_ns"] = picture.keep_ns();
  data["totals"] = {{"recorded", follower.recorded()}, {"followed", picture.followed()},
                    {"kept", picture.kept()},          {"left", picture.left()},
                    {"open", follower.open_scopes()},  {"skipped", follower.skipped()}};
  data["lost"] = capture::losses_json(follower.lost());
  data["behind_bytes"] = follower.behind_bytes();
  data["missed_segments"] = follower.missed_segments();
  data["rate_per_s"] = follower.rate_per_s();
  tell_rows(follower, data);
  tell_names(follower, parameters["top"].get<size_t>(), data);
}

/// The follower outlives the folder, which goes when the run is imported.
Result<Outcome> show(Context& context, const json& parameters) {
  if (!may_look(context))
    return Error{ErrorCode::kPermission, "only an administrator may look at a recording while it runs"};
  NL_TRY(const std::string name, recording_named(context, parameters["recording"]));
  const std::string folder = folder_of(context, name);
  const bool is_there = path_exists(folder);
  if (is_there && !other_owner(folder).empty())
    return Error{ErrorCode::kPermission, "the recording belongs to " + other_owner(folder)};
  const auto run_id = is_there ? std::nullopt : run_of_ended(context, name);
  Outcome outcome;
  json& data = outcome.data;
  data["recording"] = name;
  data["command"] =
      command_of(run_id ? context.ledger_folder + "/runs/" + *run_id : folder);  // the folder has moved there
  data["started_at_ns"] = started_at_ns(name);
  data["run_id"] = run_id ? json(*run_id) : json(nullptr);
  const auto held = LiveFollowers::of_process().get(folder + "/markers");
  data["state"] = is_over(folder) ? "ended" : "running";  // asked last: its files may have gone in between
  data["why"] = "";
  if (held) {
    const std::lock_guard lock((*held)->mutex);
    Follower& follower = *(*held)->follower;
    follower.picture().keep((*held)->most_wished(parameters["keep"].get<int64_t>()) * kSecondNs);
    follower.catch_up(kCatchUp, context.cancelled);
    tell(follower, parameters, data);
  } else if (held.error().code != ErrorCode::kNotFound) {
    return held.error();
  } else if (!is_there && !run_id) {
    return not_running(name);
  } else if (data["state"] == "running") {
    data.update(nothing_yet());
  }
  if (run_id)
    outcome.next = {suggested("show", {{"run", short_id(*run_id)}}),
                    suggested("view", {{"runs", json::array({short_id(*run_id)})}})};
  return outcome;
}

Result<Outcome> run(Context& context, const json& parameters) {
  return parameters.contains("recording") ? show(context, parameters) : list(context);
}

// ---- For people

std::string losses_text(const json& lost) {
  int64_t sum = 0;
  for (const auto& [reason, count] : lost.items()) sum += count.get<int64_t>();
  return sum == 0 ? "none lost" : grouped(sum) + " lost";
}

std::string figures_text(const json& recorded, const json& of) {
  const bool is_running = of["state"] == "running";
  return fmt::format("{} markers, {}{}", grouped(recorded.get<int64_t>()),
                     is_running ? fmt::format("{:.0f} in a second, ", of["rate_per_s"].get<double>()) : "",
                     losses_text(of["lost"]));
}

std::string list_text(const json& recordings, const TextStyle& style) {
  if (recordings.empty()) return "nothing is being recorded\n";
  std::string out;
  for (const json& one : recordings)
    out += fmt::format("{}  {}\n  {}{}\n", bold(one["recording"].get<std::string>(), style),
                       shortened(one["command"].get<std::string>(), 60), one["state"].get<std::string>(),
                       one.contains("recorded") ? "; " + figures_text(one["recorded"], one) : "");
  return out;
}

std::string text(const Outcome& outcome, const TextStyle& style) {
  const json& data = outcome.data;
  if (data.contains("recordings")) return list_text(data["recordings"], style);
  std::string out = fmt::format("{}  {}\n", bold(data["recording"].get<std::string>(), style),
                                shortened(data["command"].get<std::string>(), 60));
  // Of one that had ended before anybody looked, the run is all that is known.
  if (data.contains("totals"))
    out += fmt::format("  {} after {}; {}\n", data["state"].get<std::string>(),
                       duration_text(data["now_ns"].get<int64_t>()),
                       figures_text(data["totals"]["recorded"], data));
  else if (data["run_id"].is_null())
    out += "  it has ended; its run is being imported, or that failed\n";
  if (const std::string why = data["why"]; !why.empty()) out += "  " + why + "\n";
  if (data["run_id"].is_string())
    out += fmt::format("  it has ended; the run is {}\n", short_id(data["run_id"]));
  if (!data.contains("names") || data["names"].empty()) return out;
  using Align = TextTable::Align;
  TextTable table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.add({"time", "count", "longest", "name (last seconds)"});
  for (const json& one : data["names"])
    table.add({duration_text(one["total_ns"].get<int64_t>()), grouped(one["count"].get<int64_t>()),
               duration_text(one["longest_ns"].get<int64_t>()),
               shortened(one["name"].get<std::string>(), 60)});
  return out + table.text("", true, style);
}

}  // namespace

const Operation& operation() {
  static constexpr Operation kOperation{
      .name = "live",
      .summary = "Look at a recording that is running now: rates, loss, top names",
      .use_when = "a program is still being recorded at this moment and you want to see its progress",
      .not_when = "it has ended: show",
      .example = R"({})",
      .parameters = kParameters,
      .result = kResult,
      .effect = Effect::kRead,
      .reach = {.cli = true, .http = true},
      .cuts = kCuts,
      .run = run,
      .text = text,
  };
  return kOperation;
}

}  // namespace nl::ops::live_operation
