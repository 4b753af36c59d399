#pragma once
// Measures of a run: what questions about many runs need. They are computed once from the analysis of the
// whole capture and kept in the bundle as derived files (derived/measures-<version>/). They may be deleted at
// any time and are never part of the run's facts or hashes.

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/known.h"
#include "base/result.h"
#include "ops/runs/run_names.h"

namespace nl::ops {

enum class MeasureDetail {
  kFigures,  ///< without the tables: small, to be read of thousands of runs
  kAll
};

/// {schema, run_id, total_ns, devices [...], steps {source, count, confidence, median_ns, p90_ns, p99_ns}}
/// and, with all detail, steps.durations_ns, kernels, ops, modules, phases, layers, model_layers, roofline,
/// counters, patterns, not_shown.
///
/// A device: device, rank, name, kind, decomposition {..._ns}, idle_causes {cause: ns}, classes {class: ns},
/// metrics {id: value} and absent {reason: [id]}; see measured(). Rows of kernels and ops: device, rank,
/// name, class, calls, total_ns, and of ops op_type and owner.
///
/// Read from the bundle if it holds valid ones of this version; else computed, and kept where that is
/// possible. Safe while others do the same.
Result<nlohmann::json> run_measures(const NamedRun& run, MeasureDetail detail = MeasureDetail::kAll);

/// The same under a user's device peaks; always computed, never kept.
Result<nlohmann::json> run_measures_with_peaks(const NamedRun& run, const std::string& peaks_file);

/// Are the measures that lie in the bundle as they were written? None if there are none.
std::optional<bool> kept_measures_are_intact(const NamedRun& run);

/// A metric of a device of the measures.
Known<double> measured(const nlohmann::json& device, std::string_view metric);

/// Names the measures that this build computes: another version may come to other figures.
std::string measures_version();

}  // namespace nl::ops
