#pragma once
// LayerName: which layers of the model a layer of a TensorRT engine was made from, parsed from its name.
// Linear in the length of the name. A name that does not follow the known grammar is one part, exactly as
// written.

#include <string>
#include <string_view>
#include <vector>

namespace nl::analyze {

enum class LayerFusion {
  kNone,        ///< one layer of the model
  kVertical,    ///< A + B: one after the other
  kHorizontal,  ///< A || B: side by side
  kPointwise,   ///< PWN(A, B): elementwise layers in one kernel
  kRange,  ///< {ForeignNode[A...B]}: everything from A to B, compiled as a whole; parts are only the two ends
  kReformat,  ///< a copy that the engine put in; parts are the layers it serves
  kEngine,    ///< [trainStation1] and the like: the engine's own, no parts
};

/// "none", "vertical", ...
std::string_view layer_fusion_name(LayerFusion fusion);

struct LayerName {
  LayerFusion fusion = LayerFusion::kNone;
  std::vector<std::string> parts;  ///< names of layers of the model, in order
};

/// `metadata` is the layer's text "[ONNX Layer: a]\x1E[ONNX Layer: b]"; where it names layers, they are the
/// parts.
LayerName parse_layer_name(std::string_view name, std::string_view metadata = {});

}  // namespace nl::analyze
