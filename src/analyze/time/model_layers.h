#pragma once
// The layer view: device time by the layers of the model. See answer/model_layers.h.

#include <array>
#include <vector>

#include "analyze/answer/model_layers.h"
#include "analyze/load/layer_frames.h"
#include "analyze/names/op_class.h"
#include "analyze/time/engine_remarks.h"
#include "analyze/time/prepared_run.h"
#include "analyze/time/row_places.h"

namespace nl::analyze {

/// Sums work by layer. A stack of which only one layer has work is none: its work lies outside.
class LayerTally {
 public:
  /// The layers must outlive it.
  LayerTally(const std::vector<LayerId>& layers, size_t pieces);

  struct Piece {
    uint32_t layer = kNoRow;  ///< kNoRow: in none
    bool is_self = false;
    int64_t ns = 0;
    OpClass op_class = OpClass::k_other;
  };
  void add(const Piece& piece);
  /// How often the layer ran; of several the largest counts.
  void ran(uint32_t layer, int64_t calls);

  /// Nothing if no stack has layers with work.
  std::optional<DeviceLayers> answer(LayerSource source, const std::optional<DeviceName>& on) const;

 private:
  struct Sums {
    int64_t ns = 0, self_ns = 0, pieces = 0, calls = 0;
    std::array<int64_t, kOpClasses> classes{};
  };
  Sums& sums_of(uint32_t layer);
  const LayerId& layer_of(size_t sums) const { return layers_[with_sums_[sums]]; }
  std::vector<size_t> layers_of_stacks() const;

  const std::vector<LayerId>& layers_;
  RowPlaces places_;                 ///< of layers in the lists below
  std::vector<uint32_t> with_sums_;  ///< layers, in the order in which work came
  std::vector<Sums> sums_;
  Sums outside_;
};

/// The layers that the frames, ranges or ops around the work name; absent with a reason if they name none.
ModelLayersAnswer model_layers(const PreparedRun& run, const IntervalSet& window);

/// Layers of the model by the names of an engine's layers. An engine's layer that was made from several
/// layers of the model lies in none of them.
std::optional<DeviceLayers> model_layers_of_engine(const std::vector<TimedLayer>& timed);

}  // namespace nl::analyze
