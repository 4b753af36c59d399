#pragma once
// What stands out in the layer times of a compiled engine: conversions, the first layer, the precision, or
// that nothing stands out.

#include <string>
#include <vector>

#include "analyze/answer/tables.h"
#include "analyze/names/layer_name.h"

namespace nl::analyze {

/// A layer with its time and what the file of the engine's layers says of it; empty where that file is not
/// there.
struct TimedLayer {
  std::string name = {};
  std::string type = {};
  OpClass op_class = OpClass::k_other;
  int64_t ns = 0, calls = 0;
  int64_t order = 0;                    ///< of execution
  std::string input = {}, output = {};  ///< format and type of the first tensor, in the words of the source
  std::string tactic = {};
  LayerName origin = {};  ///< layers of the model that it was made from
};

/// Sums by kind of conversion and by precision, and the remarks. `timed`: every layer with a time.
void add_remarks(EngineLayers& layers, const std::vector<TimedLayer>& timed);

/// For the limiter: what the layers are and which class takes the most.
std::string layers_words(const EngineLayers& layers);

}  // namespace nl::analyze
