#pragma once
// Reads the two forms of Nsight Compute's CSV, which differ in their header. The details page has one row per
// metric. The raw page has one row per launch and one column per metric. Lines that the profiled program
// printed may stand before and between the rows.

#include "ingest/adapter.h"
#include "ingest/formats/ncu/ncu_launches.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest {

/// Whether a table begins here: "ID" as the first field.
bool starts_ncu_header(std::string_view text);

Result<void> read_ncu_tables(CsvReader& reader, const ReadOptions& options, const ByteSource& source,
                             NcuLaunches& launches, model::RunInfo& info);

/// Counts a line that is part of no table.
void note_foreign_line(std::string_view line, model::RunInfo& info);

}  // namespace nl::ingest
