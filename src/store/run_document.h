#pragma once
// run.json: made from what the adapters and the bundle writer report, and validated against
// schema/run.schema.json on every write and read. Deterministic: the same sources and options give the same
// bytes. Documents of older versions are converted while they are read; their files are not changed.
//
// run.json lists the sha256 of every table. Its own is in run.json.sha256, in the form that `sha256sum -c`
// reads; bundles of earlier versions do not have that file.

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_schema.h"
#include "base/result.h"
#include "model/run_info.h"
#include "store/table_writer.h"

namespace nl::store {

inline constexpr int kSchemaVersion = 2;

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

/// bad_input with the JSON pointer of the first fault if the document does not follow the schema.
Result<void> validate_run_document(const nlohmann::json& document);

/// The document in the present version; `unsupported` if it is newer than that.
Result<nlohmann::json> migrated_run_document(nlohmann::json document);

/// Writes run.json into the folder of a bundle, and beside it the hash that tells every change of it.
Result<void> write_run_document(const std::string& bundle, const nlohmann::json& document);

/// Reads, parses, migrates and validates a run.json. bad_input if it is not what was written.
Result<nlohmann::json> read_run_document(const std::string& path);
/// The same. The process keeps the last ones that were asked for; a file that has been replaced since is read
/// again. Any thread may ask.
Result<std::shared_ptr<const nlohmann::json>> shared_run_document(const std::string& path);
/// The same without the schema, for every question that is asked.
Result<nlohmann::json> read_run_document_quickly(const std::string& path);
/// Everything that is wrong with a document of any version, at most `most` faults.
Result<std::vector<JsonFault>> run_document_faults(nlohmann::json document, size_t most);

/// The file of a table that the document lists, if its bytes are those that were written; else an error.
Result<std::string> intact_table_file(const std::string& bundle, const nlohmann::json& document,
                                      std::string_view table);

/// Sum of an object of counts by reason.
int64_t sum_of_counts(const nlohmann::json& counts);

/// A bundle may come from anywhere: its run.json is not read beyond these.
inline constexpr int64_t kMaxRunDocument = 64 << 20;
inline constexpr int kMaxRunDocumentDepth = 256;

/// The text to write: sorted keys, one line; small runs would otherwise be mostly blanks.
std::string run_document_text(const nlohmann::json& document);

}  // namespace nl::store
