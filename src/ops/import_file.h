#pragma once
// The use case "import": ingest -> store -> assemble -> ledger, for one input.

#include <string>

#include "ops/operation.h"
#include "store/ledger.h"

namespace nl::ops {

struct ImportOptions {
  std::string format = {};  ///< empty: detected
  int threads = 0;          ///< parser threads; 0: as many as the machine has
  bool refresh = false;     ///< replace a run that is there already
  bool on_the_way = false;  ///< another command named the file
};

struct ImportReport {
  std::string run_id;
  bool created = false;
  std::string path;
  nlohmann::json document;  ///< run.json
};

Result<ImportReport> import_file(Context& context, store::Ledger& ledger, const std::string& path,
                                 const ImportOptions& options);

/// `data` of the operation import for one run.
nlohmann::json import_json(const ImportReport& report);

}  // namespace nl::ops
