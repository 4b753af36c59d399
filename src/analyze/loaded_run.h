#pragma once
// LoadedRun: everything that questions about one run need, read once from its bundle. It shares ownership of
// the open run; connection and files are references into it.

#include <memory>
#include <string>

#include "analyze/analysis.h"
#include "base/json.h"
#include "store/open_run.h"

namespace nl::analyze {

struct LoadedRun {
  std::shared_ptr<store::OpenRun> open;
  store::Connection& connection;  ///< of `open`, with a view of every table that questions are about
  const store::RunFiles& files;   ///< of `open`
  PreparedRun run;
  Sources sources;
};

Result<LoadedRun> load_run(std::shared_ptr<store::OpenRun> open, const Taxonomy& taxonomy,
                           const AnalysisOptions& options);

}  // namespace nl::analyze
