#pragma once
// The use case "import": ingest -> store -> assemble -> ledger, for the files of one run.

#include <string>
#include <vector>

#include "ops/operation.h"
#include "store/ledger.h"

namespace nl::ops {

struct ImportOptions {
  std::string format = {};      ///< empty: detected
  int threads = 0;              ///< parser threads; 0: as many as the machine has
  bool refresh = false;         ///< replace a run that is there already
  bool on_the_way = false;      ///< another command named the file
  bool as_one = false;          ///< the files are sources of one run, whatever they are called
  bool rank_from_name = false;  ///< "rank3" in a file name is the rank of a file that names none
  std::string add_to = {};      ///< id of a run: the new one has its sources and these
  std::string artifacts = {};   ///< folder on the disk of the ledger that becomes the run's own
};

struct ImportReport {
  std::string run_id;
  bool created = false;
  std::vector<std::string> paths;
  nlohmann::json document;  ///< run.json
};

/// Several paths are the files of one run, each with a role of its own; their order does not matter.
Result<ImportReport> import_files(Context& context, store::Ledger& ledger,
                                  const std::vector<std::string>& paths, const ImportOptions& options);

/// `data` of the operation import for one run.
nlohmann::json import_json(const ImportReport& report);

}  // namespace nl::ops
