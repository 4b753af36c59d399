#pragma once
// A comparison as JUnit XML, which CI systems show as tests: the window, each limit, each judged part and
// each judged change is one. A regression and a limit that is not kept fail; what the runs cannot tell is
// skipped, unless the gate fails because of it.

#include <string>

#include "report/compare_words.h"

namespace nl::report {

std::string compare_junit(const compare::Comparison& comparison, const CompareProvenance& provenance);

}  // namespace nl::report
