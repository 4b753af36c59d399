#pragma once
// Writes a bundle as a run file (model/run_file.h): one JSON document with all facts, one row per line,
// members in the order of tables.def. So the same run and labels always give the same bytes. Memory does not
// grow with the size of the run.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::store {

using ByteSink = std::function<Result<void>(std::string_view)>;

/// `labels` count instead of those in run.json. `cancelled` is asked between pieces of rows.
Result<void> write_run_file(const std::string& bundle, const std::map<std::string, std::string>& labels,
                            const ByteSink& sink, const std::function<bool()>& cancelled);

}  // namespace nl::store
