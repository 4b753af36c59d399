#pragma once
// Which layer of a model a name tells: "/model/layers.3/self_attn/MatMul" is in layer 3 of model.layers. The
// patterns are data/layers/names.yaml. A name without such a path tells nothing, whatever numbers are in it.
// Thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nl::analyze {

struct LayerPlace {
  std::string stack;  ///< "model.layers"
  int64_t index = 0;
  size_t depth = 0;  ///< elements of the path behind the layer
  bool operator==(const LayerPlace&) const = default;
};

/// The outermost layer that the name of a range or an op tells.
std::optional<LayerPlace> layer_place_of(std::string_view name);

/// What the class of an nn.Module says of its instances.
enum class ModuleRole : uint8_t {
  kUnknown,
  kLayer,    ///< they are layers by their name
  kWrapper,  ///< they are only around others
  kOther     ///< they are no layers: a model, what holds its layers, or a part of a layer
};
ModuleRole module_role(std::string_view class_name);

}  // namespace nl::analyze
