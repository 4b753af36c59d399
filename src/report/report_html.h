#pragma once
// The report as one HTML file that needs nothing else: no network, no script, no font. Made from report.json
// alone.

#include <string>

#include "base/json.h"

namespace nl::report {

std::string html_document(const nlohmann::json& report);

}  // namespace nl::report
