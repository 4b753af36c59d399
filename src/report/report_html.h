#pragma once
// The report as one HTML file that needs nothing else: no network, no script, no font. Made from report.json
// alone.

#include <nlohmann/json.hpp>
#include <string>

namespace nl::report {

std::string html_document(const nlohmann::json& report);

}  // namespace nl::report
