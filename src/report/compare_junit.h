#pragma once
// A comparison as JUnit XML, which CI systems show as tests. The window, each limit, each judged part and
// each judged change is one test. A regression fails, and so does a limit that is exceeded. What the runs
// cannot decide is skipped, unless the gate fails because of it.

#include <string>

#include "report/compare_words.h"

namespace nl::report {

std::string compare_junit(const compare::Comparison& comparison, const CompareProvenance& provenance);

}  // namespace nl::report
