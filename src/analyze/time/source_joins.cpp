#include "analyze/time/source_joins.h"

#include <algorithm>
#include <numeric>

#include "assemble/clock_fit.h"

namespace nl::analyze {
namespace {

using nlohmann::json;
using store::Chunk;

json integer_or_null(const Chunk& chunk, size_t column, size_t row) {
  return chunk.is_null(column, row) ? json() : json(chunk.int64s(column)[row]);
}

constexpr char kFits[] =
    "SELECT clock_id, device, reference_clock_id, method, applied, drift_ppm, anchors, residual_p50_ns, "
    "residual_p99_ns, violations_before, violations_after, bound_ns, offset_ns, from_ns, corrupt_records, "
    "min_rtt_ns "
    "FROM clock_fits ORDER BY fit_id";

json fit_json(const Chunk& chunk, size_t row) {
  return {{"clock", chunk.int32s(0)[row]},
          {"device", chunk.is_null(1, row) ? json() : json(chunk.int32s(1)[row])},
          {"reference", chunk.int32s(2)[row]},
          {"method", std::string(chunk.text(3, row))},
          {"applied", chunk.int32s(4)[row] == 1},
          {"drift_ppm", chunk.is_null(5, row) ? json() : json(chunk.doubles(5)[row])},
          {"anchors", integer_or_null(chunk, 6, row)},
          {"residual_p50_ns", integer_or_null(chunk, 7, row)},
          {"residual_p99_ns", integer_or_null(chunk, 8, row)},
          {"violations_before", integer_or_null(chunk, 9, row)},
          {"violations_after", integer_or_null(chunk, 10, row)},
          {"bound_ns", integer_or_null(chunk, 11, row)},
          {"offset_ns", integer_or_null(chunk, 12, row)},
          {"from_ns", integer_or_null(chunk, 13, row)},
          {"corrupt_records", integer_or_null(chunk, 14, row)},
          {"min_rtt_ns", integer_or_null(chunk, 15, row)}};
}

/// What a fit explains is the clock's fault, what none explains the record's. A fit of several segments tells
/// its sums in each of its rows.
json early_starts(const json& fits, const Timeline& run) {
  using enum assemble::EarlyStart;
  int64_t clock_errors = 0, corrupt = 0;
  for (size_t i = 0; i < fits.size(); i++) {
    const json& fit = fits[i];
    const bool repeated =
        i > 0 && fits[i - 1]["clock"] == fit["clock"] && fits[i - 1]["device"] == fit["device"];
    if (fit["device"].is_null() || repeated || fit["violations_before"].is_null()) continue;
    const int64_t before = fit["violations_before"];
    const int64_t left = fit["applied"] ? fit["violations_after"].get<int64_t>() : before;
    clock_errors += before - left;
    corrupt += left;
  }
  const auto name = [](assemble::EarlyStart early) { return std::string(early_start_name(early)); };
  return {{name(kClockError), clock_errors},
          {name(kRecordCorruption), corrupt},
          {name(kProgrammaticOverlap), overlapping_kernels(run)}};
}

}  // namespace

int64_t overlapping_kernels(const Timeline& run) {
  const DeviceRows& kernels = run.kernels;
  std::vector<uint32_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(kernels.track[a], kernels.start[a], a) < std::tie(kernels.track[b], kernels.start[b], b);
  });
  int64_t overlapping = 0, last_end = 0;
  int32_t track = -1;
  for (const uint32_t row : order) {
    if (kernels.track[row] < 0 || !kernels.timed(row)) continue;
    if (kernels.track[row] == track && kernels.start[row] < last_end) overlapping++;
    last_end = kernels.track[row] == track ? std::max(last_end, kernels.end[row]) : kernels.end[row];
    track = kernels.track[row];
  }
  return overlapping;
}

Result<json> clocks_json(store::Connection& connection, const Timeline& run) {
  json fits = json::array();
  NL_CHECK(connection.stream(kFits, [&](const Chunk& chunk) -> Result<void> {
    for (size_t row = 0; row < chunk.size(); row++) fits.push_back(fit_json(chunk, row));
    return {};
  }));
  json early = early_starts(fits, run);
  return json{{"fits", std::move(fits)}, {"early_starts", std::move(early)}};
}

Result<json> launch_matches_json(store::Connection& connection, const store::RunFiles& files) {
  if (!files.tables.contains("profiled_launches") || !files.tables.contains("kernels")) return json();
  json counts = json::object();
  NL_CHECK(connection.stream(
      "SELECT count(*), count(kernel_id), count(*) FILTER (matched_by = 'moved'), count(*) FILTER (name_by = "
      "'function'), count(same_ranges), (SELECT count(*) FROM kernels) - count(kernel_id) FROM "
      "launch_matches",
      [&](const Chunk& chunk) -> Result<void> {
        const char* const names[] = {"replayed",    "matched",   "moved",
                                     "by_function", "by_ranges", "kernels_without"};
        for (size_t i = 0; i < std::size(names); i++) counts[names[i]] = chunk.int64s(i)[0];
        return {};
      }));
  return counts;
}

}  // namespace nl::analyze
