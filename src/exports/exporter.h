#pragma once
// Exporters: what a run can be written as for other tools. Each format is one file of a room. An
// exporter streams: it asks the run's views, hands out bytes piece by piece and keeps no more than one
// stretch of rows. Times are those of the common clock of the run (store/common_time.h), integer nanoseconds
// wherever the format has room for them.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/open_run.h"

namespace nl::exports {

struct Stretch {
  int64_t begin_ns;
  int64_t end_ns;
};

struct ExportCall {
  store::OpenRun& run;          ///< with its derived tables
  std::vector<Stretch> window;  ///< sorted and disjoint; a row is written if it touches one; empty: all rows
  std::function<Result<void>(std::string_view)> write;
};

/// What was written, and what the format has no room for.
struct ExportReport {
  std::map<std::string, int64_t> written;  ///< rows by table
  std::map<std::string, int64_t> lost;  ///< by plain words such as "samples of stacks"; only what there was
};

struct Exporter {
  std::string_view format;
  std::string_view opens_with;  ///< for people: the tool that reads the file
  Result<ExportReport> (*write)(const ExportCall& call);
};

/// In the order of their names. A file <name>_exporter.cpp of a room is an entry; nothing central
/// changes.
std::vector<const Exporter*> all_exporters();
/// Null if there is none of this name.
const Exporter* find_exporter(std::string_view format);

}  // namespace nl::exports
