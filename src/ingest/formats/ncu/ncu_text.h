#pragma once
// Reads the details page of Nsight Compute as text. Each section is a table with one line per metric and
// columns drawn with dashes; advice stands between the tables. It contains the same facts as the details page
// in CSV, except for the names of the rules.

#include "ingest/adapter.h"
#include "ingest/formats/ncu/ncu_launches.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest {

/// Whether the text holds such a table.
bool has_ncu_text(std::string_view text);

Result<void> read_ncu_text(CsvReader& reader, const ReadOptions& options, const ByteSource& source,
                           NcuLaunches& launches, model::RunInfo& info);

}  // namespace nl::ingest
