#pragma once
// The content of a run's report, in its order: one section per figure, the same for Markdown and HTML.

#include <vector>

#include "report/report_json.h"
#include "report/sections.h"

namespace nl::report {

/// Devices, steps, phases, layers, coverage, what is unknown, provenance. Findings are apart.
std::vector<Chapter> chapters_of(const Report& report);

Table environment_table(const Report& report);
/// The main metrics of every device.
Table aggregates_table(const Report& report);
/// Kernels and copies of one device; without a device of all, each row with its own. `top` 0: all.
Table kernels_table(const Report& report, const analyze::DeviceName* device, size_t top);
Table ops_table(const Report& report, const analyze::DeviceName* device, size_t top);
Table phases_table(const Report& report);
Table steps_table(const Report& report, const analyze::DeviceName& device, size_t top);
Table utilisation_table(const Report& report);

}  // namespace nl::report
