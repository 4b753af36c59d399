#pragma once
// The work pattern of a device: which types of ops take its time, and how long their pieces of work are
// compared with each other. It tells models apart even where their total times are similar.

#include <array>

#include "analyze/time/prepared_run.h"
#include "base/json.h"

namespace nl::analyze {

/// Sizes are counted in steps of two octaves around the typical one.
inline constexpr int kSizeSteps = 7;

/// A piece of so many octaves above the typical one, spread over the two nearest sizes; they add up to 1.
std::array<double, kSizeSteps> size_shares(double octaves);

/// The shapes that the source writes to each op, each text once.
struct OpShapes {
  Names texts;
  PagedVector<uint32_t> by_span;  ///< kNoRow where there is none
};
Result<OpShapes> load_op_shapes(store::OpenRun& open, const PreparedRun& run);

/// 48x96 of [[96],[2,48,96]]: the first tensor of two dimensions or more, without its first one; if there is
/// none, the first size; empty if the text has no plain list of sizes.
std::string shape_of_first_tensor(std::string_view shapes);

/// {pieces, total_ns, typical_log2_ns, rows [...], left_out {rows, total_ns}, shapes [...]}. A piece is a
/// kernel, a copy or, on the host, an outermost op that starts in the window. typical_log2_ns is the mean of
/// log2(duration) over the time.
///
/// A row is about one op type, or one class where no op is known: {token, class, calls, total_ns, p50_ns,
/// p90_ns, p99_ns, sizes}; p90 needs 10 pieces and p99 needs 100, else they are null. sizes: how the row's
/// time is spread over durations of 2^-6, 2^-4 ... 2^6 times the typical one, pieces in between in both
/// neighbours.
///
/// shapes [{shape, total_ns}], by time: the time by the shape of the op's first tensor without its first
/// dimension, which is the batch as a rule; pieces without a shape are in none.
nlohmann::json work_pattern(const PreparedRun& run, const OpShapes& shapes, const Device& device,
                            const IntervalSet& window);

}  // namespace nl::analyze
