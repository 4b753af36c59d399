#include "analyze/time/source_joins.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "model/batch.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

using store::ColumnScan;

std::optional<int64_t> integer_of(ColumnScan& scan, size_t column, size_t row) {
  const int64_t value = scan.numbers(column)[row];
  return value == model::kNull ? std::nullopt : std::optional(value);
}

std::optional<int32_t> small_integer_of(ColumnScan& scan, size_t column, size_t row) {
  const auto value = integer_of(scan, column, row);
  return value ? std::optional(static_cast<int32_t>(*value)) : std::nullopt;
}

Result<ColumnScan> scan_fits(store::OpenRun& open) {
  return open.scan(model::TableId::clock_fits,
                   {"clock_id", "device", "reference_clock_id", "method", "applied", "drift_ppm", "anchors",
                    "residual_p50_ns", "residual_p99_ns", "violations_before", "violations_after", "bound_ns",
                    "offset_ns", "from_ns", "corrupt_records", "min_rtt_ns", "fit_id"});
}

ClockFitAnswer fit_of(ColumnScan& scan, size_t row) {
  return {.clock = small_integer_of(scan, 0, row).value_or(0),
          .device = small_integer_of(scan, 1, row),
          .reference = small_integer_of(scan, 2, row).value_or(0),
          .method = std::string(scan.text(3, row)),
          .applied = integer_of(scan, 4, row) == 1,
          .drift_ppm = integer_of(scan, 5, row) ? std::optional(scan.real(5, row)) : std::nullopt,
          .anchors = integer_of(scan, 6, row),
          .residual_p50_ns = integer_of(scan, 7, row),
          .residual_p99_ns = integer_of(scan, 8, row),
          .violations_before = integer_of(scan, 9, row),
          .violations_after = integer_of(scan, 10, row),
          .bound_ns = integer_of(scan, 11, row),
          .offset_ns = integer_of(scan, 12, row),
          .from_ns = integer_of(scan, 13, row),
          .corrupt_records = integer_of(scan, 14, row),
          .min_rtt_ns = integer_of(scan, 15, row)};
}

/// A drift that moves no time of the capture by more than the bound cannot be told from none.
bool is_resolved(const ClockFitAnswer& fit, int64_t capture_ns) {
  if (!fit.drift_ppm || !fit.bound_ns) return false;
  return std::abs(*fit.drift_ppm) * 1e-6 * static_cast<double>(capture_ns) >
         static_cast<double>(*fit.bound_ns);
}

/// What a fit explains is the clock's fault, what none explains the record's. A fit of several segments tells
/// its sums in each of its rows.
EarlyStarts early_starts(const std::vector<ClockFitAnswer>& fits, const Timeline& run) {
  EarlyStarts early{.programmatic_overlap = overlapping_kernels(run)};
  for (size_t i = 0; i < fits.size(); i++) {
    const ClockFitAnswer& fit = fits[i];
    const bool repeated = i > 0 && fits[i - 1].clock == fit.clock && fits[i - 1].device == fit.device;
    if (!fit.device || repeated || !fit.violations_before) continue;
    const int64_t left = fit.applied ? fit.violations_after.value() : *fit.violations_before;
    early.clock_error += *fit.violations_before - left;
    early.record_corruption += left;
  }
  return early;
}

}  // namespace

int64_t overlapping_kernels(const Timeline& run) {
  const DeviceRows& kernels = run.kernels;
  PagedVector<uint32_t> order(kernels.size());
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

Result<ClocksAnswer> clocks_of(store::OpenRun& open, const Timeline& run) {
  ClocksAnswer clocks;
  std::multimap<int64_t, ClockFitAnswer> by_id;
  NL_TRY(ColumnScan scan, scan_fits(open));
  NL_CHECK(scan.for_pieces([&] {
    for (size_t row = 0; row < scan.size(); row++)
      by_id.emplace(integer_of(scan, 16, row).value_or(INT64_MAX), fit_of(scan, row));
  }));
  for (auto& [id, fit] : by_id) {
    if (!is_resolved(fit, run.capture.length())) fit.drift_ppm.reset();
    clocks.fits.push_back(std::move(fit));
  }
  clocks.early_starts = early_starts(clocks.fits, run);
  return clocks;
}

Result<std::optional<LaunchMatches>> launch_matches(store::OpenRun& open) {
  if (!open.has("profiled_launches") || !open.has("kernels")) return std::optional<LaunchMatches>();
  NL_TRY(store::Connection * connection, open.ask({"launch_matches", "kernels"}));
  LaunchMatches matches;
  NL_CHECK(connection->stream(
      "SELECT count(*), count(kernel_id), count(*) FILTER (matched_by = 'moved'), count(*) FILTER (name_by = "
      "'function'), count(same_ranges), (SELECT count(*) FROM kernels) - count(kernel_id) FROM "
      "launch_matches",
      [&](const store::Chunk& chunk) -> Result<void> {
        const auto value = [&](size_t column) { return chunk.int64s(column)[0]; };
        matches = {value(0), value(1), value(2), value(3), value(4), value(5)};
        return {};
      }));
  return std::optional(matches);
}

}  // namespace nl::analyze
