#pragma once
// Reports in Markdown, made from the report alone. Names from the profile are shown as text and never
// interpreted as Markdown.

#include <string>
#include <utility>
#include <vector>

#include "report/report_json.h"

namespace nl::report {

/// File names and texts: report.md, kernels.md, operators.md, stakeholder_summary.md.
std::vector<std::pair<std::string, std::string>> markdown_documents(const Report& report);

}  // namespace nl::report
