#pragma once
// The figures of a report and, for each, the SQL that gives its exact values again, with those values as the
// analysis found them.

#include <string>

#include "base/json.h"

namespace nl::report {

/// [{id, title, sql or null, no_query (why there is none), columns, rows}]. `top`: rows of tables.
nlohmann::json figures_of(const nlohmann::json& analysis, int64_t top);

/// The figure of an id; null if there is none.
nlohmann::json figure_named(const nlohmann::json& figures, const std::string& id);

}  // namespace nl::report
