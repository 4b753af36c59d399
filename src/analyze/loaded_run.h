#pragma once
// LoadedRun: all that questions about one run need, read from its bundle once.

#include <memory>
#include <string>

#include "analyze/analysis.h"
#include "base/json.h"
#include "store/engine.h"

namespace nl::analyze {

struct LoadedRun {
  std::shared_ptr<store::Engine> engine;
  store::Connection connection;
  store::RunFiles files;
  PreparedRun run;
  Sources sources;
};

/// `start` as timeline_engine says, `document` is run.json.
Result<LoadedRun> load_run(store::EngineStart& start, const std::string& bundle, nlohmann::json document,
                           const Taxonomy& taxonomy, const AnalysisOptions& options);

}  // namespace nl::analyze
