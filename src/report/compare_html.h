#pragma once
// A comparison as one self-contained HTML file: no network, no script, no font.

#include <string>

#include "report/compare_words.h"

namespace nl::report {

/// `comparison`: with figures.
std::string compare_html(const compare::Comparison& comparison, const CompareProvenance& provenance);

}  // namespace nl::report
