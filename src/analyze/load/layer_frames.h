#pragma once
// LayerFrames: the layer of the model that each span belongs to. Layers are told by the nn.Module frames of
// PyTorch's profiler, or by the names of ranges and ops (data/layers/names.yaml). Of nested layers the
// outermost counts.

#include <string>
#include <vector>

#include "analyze/load/span_memo.h"

namespace nl::analyze {

struct LayerId {
  std::string stack;
  int64_t index = 0;
  auto operator<=>(const LayerId&) const = default;
};

/// Where a span lies.
struct SpanLayer {
  uint32_t layer = kNoRow;  ///< in LayerFrames::layers()
  uint32_t span = kNoRow;   ///< the frame, range or op that tells the layer
  bool is_self = false;     ///< in no module inside of the layer
};

class LayerFrames {
 public:
  /// A class of modules is one of layers if several of its instances lie in one module and hold modules
  /// themselves.
  static LayerFrames by_modules(const Timeline& run);
  static LayerFrames by_names(const Timeline& run);

  bool any() const { return !layers_.empty(); }
  const std::vector<LayerId>& layers() const { return layers_; }
  SpanLayer around(uint32_t span);

 private:
  explicit LayerFrames(const Timeline& run);
  void add(uint32_t name, LayerId layer, bool is_self);
  SpanLayer extended(const SpanLayer& outside, uint32_t span) const;

  /// What a name tells of the spans that bear it.
  struct NameFacts {
    uint32_t layer = kNoRow;
    bool is_self = false;   ///< the layer itself or one of its ops, nothing deeper
    bool is_scope = false;  ///< a module; what is in it is no more the layer's own
  };
  const Timeline& run_;
  std::vector<NameFacts> facts_;  ///< by the id of the name
  std::vector<LayerId> layers_;
  SpanMemo<SpanLayer> known_;
};

}  // namespace nl::analyze
