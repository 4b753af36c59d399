#pragma once
// run.json: made from what adapters and the bundle writer say, validated against schema/run.schema.json on
// every write and read. Deterministic: the same sources and options give the same bytes.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/run_info.h"
#include "store/table_writer.h"

namespace nl::store {

inline constexpr int kSchemaVersion = 1;

struct SourceFile {
  std::string role;
  std::string sha256;
  int64_t bytes = 0;
  int64_t text_bytes = 0;
  std::string compression;
  std::string format;
  int adapter_version = 1;
  std::string tool = {};
  std::string tool_version = {};
};

/// sha256 over the sorted (role, sha256) of the sources and the options that change facts; nothing else.
std::string run_id_of(const std::vector<SourceFile>& sources, const nlohmann::json& options);

nlohmann::json make_run_document(const std::vector<SourceFile>& sources, const nlohmann::json& options,
                                 const model::RunInfo& info, const std::vector<TableFile>& tables);

/// The text of schema/run.schema.json.
const std::string& run_schema_text();

/// bad_input with the JSON pointer of the first fault if the document does not follow the schema.
Result<void> validate_run_document(const nlohmann::json& document);

/// Reads, parses and validates a run.json.
Result<nlohmann::json> read_run_document(const std::string& path);

/// Sum of an object of counts by reason.
int64_t sum_of_counts(const nlohmann::json& counts);

/// The text to write: sorted keys, one line; small runs would otherwise be mostly blanks.
std::string run_document_text(const nlohmann::json& document);

}  // namespace nl::store
