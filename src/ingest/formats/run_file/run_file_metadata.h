#pragma once
// The parts of a run file around its rows: reads `metadata` into RunInfo, and compares `summary` with what
// was read.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <vector>

#include "base/json_schema.h"
#include "ingest/formats/run_file/run_file_window.h"
#include "model/run_info.h"

namespace nl::ingest {

/// Rows of one array of the document, and the sum of their durations.
struct ArrayTotals {
  bool given = false;
  int64_t rows = 0;
  WideSum total_ns = 0;
};

/// Whole numbers that were written as 1e3 or 5.0 become integers, and integers that int64 cannot hold become
/// floating point, so that a schema sees what they are. `extensions` and `origin` stay as they are.
void settle_numbers(nlohmann::json& envelope);

/// `metadata` follows the schema. `active`: devices with kernels or copies.
std::vector<JsonFault> read_metadata(const nlohmann::json& metadata, const std::set<int32_t>& active,
                                     model::RunInfo& info);

/// A cut or edited document differs from its summary. `arrays` in the order of run_file_tables().
std::vector<JsonFault> check_summary(const nlohmann::json& summary, const std::vector<ArrayTotals>& arrays);

}  // namespace nl::ingest
