#pragma once
// A figure of a run in words, with its unit: "1.204 ms", "37.5 %", "123,456".

#include <string>

#include "analyze/rules/finding.h"

namespace nl::ops {

/// `unit` as metrics name it: ns, B, count, ratio, …
std::string figure_text(double value, const std::string& unit);

/// Of a metric or an expression by its text. Some metrics are plain numbers and no shares, such as
/// compute_capability: their unit is ratio, too.
std::string figure_text_of(std::string_view metric, double value, const std::string& unit);

/// "Share of the window in which …: 41.5 %."
std::string evidence_text(const analyze::FindingEvidence& evidence);

}  // namespace nl::ops
