#pragma once
// A comparison as a comment on a pull request: verdict first, a few dozen lines, details folded.

#include <string>

#include "report/compare_words.h"

namespace nl::report {

/// Ends with a hidden mark by which a pipeline finds its own comment again.
std::string compare_markdown(const compare::Comparison& comparison, const CompareProvenance& provenance);

}  // namespace nl::report
