#include "ops/advice/time_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyze/time/limiter.h"

namespace nl::ops {
namespace {

using analyze::Analysis;

constexpr size_t kMostParts = 5;  // of lists that have no end; the others are one more part

/// Of several reports the one about kernels, else one about the device, else the first by name.
constexpr char kSums[] = R"(
  WITH timed AS (SELECT report, name, round(total)::HUGEINT AS ns FROM summaries
                 WHERE unit = 'ns' AND total > 0 AND total < 9e18 AND name IS NOT NULL AND report IS NOT NULL),
       chosen AS (SELECT report FROM timed GROUP BY report
                  ORDER BY report NOT LIKE '%kern%', report NOT LIKE '%gpu%', report LIMIT 1),
       named AS (SELECT report, name, sum(ns) AS ns FROM timed JOIN chosen USING (report) GROUP BY report, name)
  SELECT report, name, try_cast(ns AS BIGINT), try_cast(sum(ns) OVER () AS BIGINT)
  FROM named ORDER BY ns DESC, name LIMIT 5)";

double part_of(int64_t ns, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(whole);
}

/// Time whose reason the record does not hold.
PartKind kind_of_limiter(std::string_view what) {
  if (what == "compute" || what.starts_with("exposed_")) return PartKind::kWork;
  for (const std::string_view unknown : {"unlinked", "queued", "start", "outside_ops"}) {
    if (what == unknown) return PartKind::kUnknown;
  }
  return PartKind::kIdle;
}

TimeParts parts_of_window(const Analysis& data) {
  TimeParts parts{
      .of = WholeKind::kWindow, .whole_ns = data.window.total_ns, .mean_of_devices = mean_of_devices(data)};
  for (const analyze::LimiterAnswer& one : data.limiters)
    parts.rows.push_back({one.on, one.what, kind_of_limiter(one.what), one.time_ns, one.share, one.words});
  return parts;
}

/// The host of a run whose limiters were taken back: its parts still add up.
TimeParts parts_of_host(const Analysis& data) {
  TimeParts parts{.of = WholeKind::kWindow, .whole_ns = data.window.total_ns};
  const analyze::DeviceAnswer& device = data.devices.front();
  for (const analyze::Limiter& one : analyze::limiters(device.metrics, device.is_host()))
    parts.rows.push_back({device.on, one.what, kind_of_limiter(one.what), one.time_ns, one.share, one.words});
  return parts;
}

/// The first rows; what is left is a row of its own, so that the sum stays.
TimeParts largest_of(WholeKind of, std::vector<TimePart> rows, int64_t whole_ns, std::string_view others) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TimePart& a, const TimePart& b) { return a.time_ns > b.time_ns; });
  if (rows.size() > kMostParts) rows.resize(kMostParts);
  int64_t rest = whole_ns;
  for (const TimePart& row : rows) rest -= row.time_ns;
  if (rest > 0) rows.push_back({{}, "others", PartKind::kWork, rest, 0, std::string(others)});
  for (TimePart& row : rows) row.share = part_of(row.time_ns, whole_ns);
  return {of, whole_ns, std::move(rows), {}, {}};
}

TimePart work_part(const std::string& what, int64_t ns, std::string words) {
  return {.what = what, .time_ns = ns, .words = std::move(words)};
}

TimeParts parts_of_layers(const analyze::EngineLayers& layers) {
  std::vector<TimePart> rows;
  for (const auto& [name, ns] : layers.classes) {
    if (ns > 0) rows.push_back(work_part(name, ns, "layers of the class " + name));
  }
  return largest_of(WholeKind::kLayers, std::move(rows), layers.total_ns, "layers of other classes");
}

TimeParts parts_of_replays(const analyze::CountersAnswer& counters) {
  std::vector<TimePart> rows;
  for (const analyze::CountedKernel& kernel : counters.kernels) {
    if (kernel.replay_ns.value_or(0) > 0)
      rows.push_back(
          work_part(kernel.label, *kernel.replay_ns,
                    kernel.bound ? "bound by " + *kernel.bound : "no counter says what bounds it"));
  }
  return largest_of(WholeKind::kReplays, std::move(rows), counters.replay_ns, "other kernels");
}

const std::vector<analyze::RecordedFunction>* sampled(const Analysis& data) {
  if (!data.recorded_times) return nullptr;
  const auto& [scopes, functions, python, waits, queries] = *data.recorded_times;
  for (const auto* list : {&python, &functions}) {
    if (!list->empty() && list->front().all_ns.value_or(0) > 0) return list;
  }
  return nullptr;
}

TimeParts parts_of_samples(const std::vector<analyze::RecordedFunction>& functions) {
  std::vector<TimePart> rows;
  for (const analyze::RecordedFunction& one : functions) {
    if (one.own_ns.value_or(0) > 0)
      rows.push_back(work_part(one.name.value_or("(no name)"), *one.own_ns, "sampled in this function"));
  }
  return largest_of(WholeKind::kSamples, std::move(rows), *functions.front().all_ns, "other functions");
}

std::string why_no_parts(const Analysis& data) {
  if (data.undecided) return data.undecided->text;
  if (data.layers) return "the file lists layers without their times";
  if (data.counters) return "the counters come without the durations of their launches";
  if (!data.notes.empty()) return data.notes.front().text;
  return "the file holds no times of work";
}

}  // namespace

std::string_view part_kind_name(PartKind kind) {
  constexpr std::string_view kNames[kPartKinds] = {"work", "idle", "unknown"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view whole_kind_name(WholeKind kind) {
  constexpr std::string_view kNames[kWholeKinds] = {"window",  "layers", "replayed_launches",
                                                    "samples", "sums",   "nothing"};
  return kNames[static_cast<size_t>(kind)];
}

Result<std::optional<SummedReport>> summed_report(store::OpenRun& run) {
  if (!run.has("summaries")) return std::optional<SummedReport>();
  NL_TRY(store::Connection* const connection, run.ask({"summaries"}));
  std::string report;
  std::vector<TimePart> rows;
  int64_t whole = 0;
  NL_CHECK(connection->stream(kSums, [&](const store::Chunk& chunk) -> Result<void> {
    for (size_t i = 0; i < chunk.size(); i++) {
      if (chunk.is_null(2, i) || chunk.is_null(3, i)) continue;  // too long for a number of ns
      report = chunk.text(0, i);
      whole = chunk.int64s(3)[i];
      rows.push_back(work_part(std::string(chunk.text(1, i)), chunk.int64s(2)[i], "of the report " + report));
    }
    return {};
  }));
  if (rows.empty()) return std::optional<SummedReport>();
  return std::optional(
      SummedReport{report, largest_of(WholeKind::kSums, std::move(rows), whole, "other rows of the report")});
}

std::optional<int64_t> mean_of_devices(const Analysis& data) {
  std::set<int32_t> ranks;
  for (const analyze::DeviceAnswer& device : data.devices) {
    if (device.on.device.is_host || !device.on.rank) return std::nullopt;
    ranks.insert(*device.on.rank);
  }
  if (ranks.size() < 2) return std::nullopt;
  return static_cast<int64_t>(data.devices.size());
}

TimeParts time_parts(const Analysis& data, const std::optional<SummedReport>& sums) {
  // Idle time that is none, since kernels are missing, would be a false part.
  const bool is_false = data.undecided && data.undecided->id != "unknown_idle";
  if (!data.devices.empty() && data.window.total_ns > 0 && !is_false)
    return data.limiters.empty() ? parts_of_host(data) : parts_of_window(data);
  if (data.devices.empty() && data.layers && data.layers->total_ns > 0) return parts_of_layers(*data.layers);
  if (data.devices.empty() && data.counters && data.counters->replay_ns > 0)
    return parts_of_replays(*data.counters);
  if (const auto* functions = sampled(data); data.devices.empty() && functions != nullptr)
    return parts_of_samples(*functions);
  if (data.devices.empty() && sums) return sums->parts;
  return {.absent = why_no_parts(data)};
}

}  // namespace nl::ops
