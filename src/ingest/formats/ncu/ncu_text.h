#pragma once
// The details page of Nsight Compute as text: a line a metric, in tables whose columns are drawn with dashes,
// one table a section; advice between them. The same facts as the long form of the CSV, without the names of
// rules.

#include "ingest/adapter.h"
#include "ingest/formats/ncu/ncu_launches.h"
#include "ingest/source/csv_reader.h"

namespace nl::ingest {

/// Whether the text holds such a table.
bool has_ncu_text(std::string_view text);

Result<void> read_ncu_text(CsvReader& reader, const ReadOptions& options, const ByteSource& source,
                           NcuLaunches& launches, model::RunInfo& info);

}  // namespace nl::ingest
