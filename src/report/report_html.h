#pragma once
// The report as one self-contained HTML file: no network, no script, no font. Made from the report alone.

#include <string>

#include "report/report_json.h"

namespace nl::report {

std::string html_document(const Report& report);

}  // namespace nl::report
