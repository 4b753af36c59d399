#pragma once
// Packed runs (store/packed_run.h) as they come and go. One that comes from elsewhere proves nothing: its
// tables are read to their end once in a process without rights before this process looks at them, and the
// run counts as claimed unless the profiles that it was made from come along.

#include <string>
#include <vector>

#include "ops/import/import_file.h"
#include "ops/operation.h"
#include "ops/runs/run_names.h"
#include "ops/runs/sidecar.h"
#include "store/packed_run.h"

namespace nl::ops {

/// The bundle of a packed run: a folder in the cache, named after its content. It is unpacked there when it
/// is asked for the first time.
Result<std::string> unpacked_in_cache(const Context& context, const store::PackedRun& packed);

/// Labels, tags and notes that came along.
Result<Sidecar> packed_sidecar(const store::PackedRun& packed);

struct PackedImport {
  ImportReport report;
  bool is_claimed = false;  ///< nothing proves its facts
};
/// Puts the run into the ledger, with what people said of it.
Result<PackedImport> import_packed(Context& context, store::Ledger& ledger, const std::string& path);

struct PackOptions {
  bool labels = true;
  bool notes = true;
  bool derived = false;
  std::vector<std::string> sources = {};  ///< the profiles of the run, to go along
};
/// The sha256 that names the content.
Result<std::string> pack_run(const Context& context, const NamedRun& named, const PackOptions& options,
                             const std::function<Result<void>(std::string_view)>& write);

}  // namespace nl::ops
