#pragma once
// Work pattern of a device: which types of ops its time goes to and how long their pieces of work are, each
// against the others. It tells models apart where sums of time do not.

#include <array>
#include <nlohmann/json.hpp>

#include "analyze/prepared_run.h"

namespace nl::analyze {

/// Sizes are counted in steps of two octaves around the typical one.
inline constexpr int kSizeSteps = 7;

/// A piece of so many octaves above the typical one, spread over the two nearest sizes; they add up to 1.
std::array<double, kSizeSteps> size_shares(double octaves);

/// {pieces, total_ns, typical_log2_ns, rows [...], left_out {rows, total_ns}}. A piece is a kernel, a copy
/// or, on the host, an outermost op that starts in the window. typical_log2_ns is the mean of log2(duration)
/// over the time. A row is about one op type, or one class where no op is known: {token, class, calls,
/// total_ns, p50_ns, p90_ns, p99_ns, sizes}; p90 needs 10 pieces and p99 needs 100, else they are null.
/// sizes: how the row's time is spread over durations of 2^-6, 2^-4 ... 2^6 times the typical one, pieces in
/// between in both neighbours.
nlohmann::json work_pattern(const PreparedRun& run, const Device& device, const IntervalSet& window);

}  // namespace nl::analyze
