#pragma once
// The layers of a compiled engine with their times, for runs that were profiled layer by layer.

#include <optional>

#include "analyze/answer/model_layers.h"
#include "analyze/answer/tables.h"
#include "analyze/answer/window.h"
#include "analyze/names/taxonomy.h"
#include "base/result.h"
#include "store/open_run.h"

namespace nl::analyze {

struct EngineAnswer {
  EngineLayers layers;
  std::optional<DeviceLayers> of_model =
      {};  ///< the same time by layers of the model; none if they are not named
};

/// Nothing without layers.
Result<std::optional<EngineAnswer>> engine_layers(store::OpenRun& open, const Taxonomy& taxonomy,
                                                  int64_t top);

/// Of a run whose only times are those of layers: the layers are all of it.
std::vector<LimiterAnswer> engine_limiters(const EngineLayers& layers);

}  // namespace nl::analyze
