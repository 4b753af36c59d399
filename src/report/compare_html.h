#pragma once
// A comparison as one HTML file that needs nothing else: no network, no script, no font.

#include <string>

#include "base/json.h"
#include "report/compare_words.h"

namespace nl::report {

/// `comparison`: the data of `compare`, with figures.
std::string compare_html(const nlohmann::json& comparison, const CompareProvenance& provenance);

}  // namespace nl::report
