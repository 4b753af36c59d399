#pragma once
// LoadedRun: everything that questions about one run need, read once from its bundle. It shares ownership of
// the open run.

#include <memory>
#include <string>

#include "analyze/analysis.h"
#include "base/json.h"
#include "store/open_run.h"

namespace nl::analyze {

struct LoadedRun {
  std::shared_ptr<store::OpenRun> open;
  PreparedRun run;
  Sources sources;
};

Result<LoadedRun> load_run(std::shared_ptr<store::OpenRun> open, const Taxonomy& taxonomy,
                           const AnalysisOptions& options);

}  // namespace nl::analyze
