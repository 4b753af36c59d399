#pragma once
// The layer view of an analysis: how the device time divides among the layers of the model, as far as the
// source names them. Outermost layers and what lies in none of them add up to the device's work in the
// window.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/device_name.h"
#include "analyze/answer/remark.h"
#include "analyze/answer/tables.h"

namespace nl::analyze {

/// What names the layers.
enum class LayerSource : uint8_t { kModules, kNames, kEngine };
inline constexpr size_t kLayerSources = 3;
/// modules, names, engine
std::string_view layer_source_name(LayerSource source);

struct ModelLayer {
  std::string stack = {};
  int64_t index = 0;
  int64_t device_ns = 0;
  int64_t self_ns = 0;
  int64_t kernels = 0;
  int64_t calls = 0;
  std::optional<double> share = {};

  /// Of one call, so that a layer that ran more often can be held against the others.
  int64_t mean_ns() const { return calls == 0 ? device_ns : device_ns / calls; }

  static constexpr auto fields() {
    using M = ModelLayer;
    return std::tuple{
        field("stack", &M::stack, "what layers that follow each other have in common: a path or a class"),
        field("index", &M::index, "number of the layer in the source"),
        field("device_ns", &M::device_ns, "sum of the work launched in it, clipped to the window"),
        field("self_ns", &M::self_ns, "part of device_ns from the layer's own ops, outside of its modules"),
        field("kernels", &M::kernels, "kernels and copies; ops of a host, layers of an engine"),
        field("calls", &M::calls, "how often it ran with work in the window"),
        field("share", &M::share, "of total_ns")};
  }
};

/// Layers of one kind.
struct LayerStack {
  std::string name = {};
  int64_t layers = 0;
  int64_t calls = 0;
  int64_t device_ns = 0;
  std::optional<double> share = {};
  int64_t fastest_ns = 0, median_ns = 0, slowest_ns = 0;
  int64_t slowest = 0;
  std::vector<int64_t> uneven = {};

  static constexpr auto fields() {
    using L = LayerStack;
    return std::tuple{field("name", &L::name, "path or class"),
                      field("layers", &L::layers, "how many with work in the window"),
                      field("calls", &L::calls, "calls of the layer that ran most often"),
                      field("device_ns", &L::device_ns, "their sum"),
                      field("share", &L::share, "of total_ns"),
                      field("fastest_ns", &L::fastest_ns, "mean of a call of the fastest layer"),
                      field("median_ns", &L::median_ns, "median of the means of the layers"),
                      field("slowest_ns", &L::slowest_ns, "mean of a call of the slowest layer"),
                      field("slowest", &L::slowest, "index of that layer"),
                      field("uneven", &L::uneven, "layers whose mean is more than 1.5 times the median")};
  }
};

struct DeviceLayers {
  std::optional<DeviceName> on = {};  ///< none of an engine
  LayerSource source = LayerSource::kModules;
  int64_t total_ns = 0;
  int64_t in_layers_ns = 0;
  int64_t outside_ns = 0;
  int64_t outside_kernels = 0;
  std::vector<LayerStack> stacks = {};
  std::vector<ModelLayer> layers = {};
  LeftOut not_shown = {};
  std::map<std::string, int64_t> classes = {};
  std::vector<Remark> remarks = {};

  static constexpr auto fields() {
    using D = DeviceLayers;
    return std::tuple{
        merged(&D::on),
        field("source", &D::source,
              "what names the layers: modules (nn.Module frames), names (of ranges or ops) or engine (its "
              "layers)"),
        field("total_ns", &D::total_ns, "sum of the work in the window: in_layers_ns + outside_ns"),
        field("in_layers_ns", &D::in_layers_ns, "part of total_ns inside layers"),
        field("outside_ns", &D::outside_ns, "part of total_ns in no layer, or without a launch"),
        field("outside_kernels", &D::outside_kernels, "kernels and copies of outside_ns"),
        field("stacks", &D::stacks, "by time"),
        field("layers", &D::layers, "by stack and index"),
        field("not_shown", &D::not_shown, "what the list of layers leaves out"),
        field("classes", &D::classes, "ns of in_layers_ns by class"),
        field("remarks", &D::remarks, "what the figures tell, for people")};
  }
};

struct ModelLayersAnswer {
  std::optional<std::string> absent = {};
  std::vector<DeviceLayers> devices = {};

  static constexpr auto fields() {
    using M = ModelLayersAnswer;
    return std::tuple{field("absent", &M::absent, "why there are no layers; null if there are some"),
                      field("devices", &M::devices, "the layers of each device; of an engine one entry")};
  }
};

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::LayerSource>
    : DescribedEnum<analyze::LayerSource, analyze::layer_source_name, analyze::kLayerSources> {};

}  // namespace nl
