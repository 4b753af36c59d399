#pragma once
// The use case "import" for the files of one run: an adapter reads them, the store writes the bundle, the
// derived tables are built, and the ledger records the run.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ingest/source/byte_source.h"
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

/// Where the bytes of one source of a run come from: a file of this machine, an upload, an object of a
/// bucket.
struct ImportSource {
  std::string name;  ///< what messages and the receipt call it; its end may tell the format
  /// The bytes from their beginning; may be asked for more than once.
  std::function<Result<std::unique_ptr<ingest::ByteSource>>()> open;
  bool is_file = false;  ///< the name is a path of this machine
};

/// Several sources are those of one run, each with a role of its own; their order does not matter.
Result<ImportReport> import_sources(Context& context, store::Ledger& ledger,
                                    const std::vector<ImportSource>& sources, const ImportOptions& options);
/// The same with files.
Result<ImportReport> import_files(Context& context, store::Ledger& ledger,
                                  const std::vector<std::string>& paths, const ImportOptions& options);

/// Who imports these paths, how and when.
store::Receipt make_receipt(const Context& context, const std::string& paths, bool on_the_way);

/// `data` of the operation import for one run.
nlohmann::json import_json(const ImportReport& report);

}  // namespace nl::ops
