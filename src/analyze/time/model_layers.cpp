#include "analyze/time/model_layers.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "analyze/names/layer_place.h"
#include "analyze/time/attribution.h"
#include "analyze/time/seen_spans.h"
#include "base/call_control.h"
#include "base/number_text.h"

namespace nl::analyze {
namespace {

constexpr size_t kMostLayers = 1000;
constexpr size_t kStacksTold = 3;
constexpr double kUneven = 1.5;             // times the median
constexpr size_t kLeastForUneven = 3;       // of two layers the median says nothing
constexpr double kLeastUnevenShare = 0.01;  // of the time, from which a slow layer is worth a sentence

constexpr char kNoNames[] =
    "the file names no layers: it has no nn.Module frames, and no ranges or ops with names of layers";
constexpr char kNoWork[] = "no work of the window was launched in a named layer";

// ---- Stacks and what is said of them

int64_t middle_of(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : values[half - 1] + (values[half] - values[half - 1]) / 2;
}

/// Of the layers of one stack, which follow each other in the list.
LayerStack stack_of(const ModelLayer* first, const ModelLayer* last, int64_t total) {
  LayerStack stack{.name = first->stack, .layers = last - first};
  std::vector<int64_t> means;
  for (const ModelLayer* layer = first; layer != last; layer++) {
    stack.device_ns += layer->device_ns;
    stack.calls = std::max(stack.calls, layer->calls);
    means.push_back(layer->mean_ns());
    if (means.back() > stack.slowest_ns || layer == first) {
      stack.slowest_ns = means.back();
      stack.slowest = layer->index;
    }
  }
  stack.share = share_of(stack.device_ns, total);
  stack.fastest_ns = *std::min_element(means.begin(), means.end());
  stack.median_ns = middle_of(means);
  for (const ModelLayer* layer = first; layer != last && means.size() >= kLeastForUneven; layer++) {
    if (static_cast<double>(layer->mean_ns()) > kUneven * static_cast<double>(stack.median_ns))
      stack.uneven.push_back(layer->index);
  }
  return stack;
}

std::vector<LayerStack> stacks_of(const std::vector<ModelLayer>& layers, int64_t total) {
  std::vector<LayerStack> stacks;
  const ModelLayer* const end = layers.data() + layers.size();
  for (const ModelLayer* first = layers.data(); first != end;) {
    const ModelLayer* last =
        std::find_if(first, end, [&](const ModelLayer& layer) { return layer.stack != first->stack; });
    stacks.push_back(stack_of(first, last, total));
    first = last;
  }
  std::stable_sort(stacks.begin(), stacks.end(),
                   [](const LayerStack& a, const LayerStack& b) { return a.device_ns > b.device_ns; });
  return stacks;
}

/// Whose time the shares are of.
const char* time_words(const DeviceLayers& layers) {
  if (!layers.on) return "the time of the engine's layers";
  return layers.on->device.is_host ? "the time of the ops" : "the device time";
}

std::string range_text(const LayerStack& stack) {
  const std::string fastest = duration_text(stack.fastest_ns), slowest = duration_text(stack.slowest_ns);
  return (fastest == slowest ? slowest : fastest + " to " + slowest) +
         (stack.calls > 1 ? " a call" : " each");
}

/// "layers of BertLayer", but "layers (model.layers)".
std::string stack_words(const LayerStack& stack, const DeviceLayers& layers) {
  return layers.source == LayerSource::kModules ? "layers of " + stack.name : "layers (" + stack.name + ")";
}

Remark stack_remark(const LayerStack& stack, const DeviceLayers& layers) {
  std::string text =
      fmt::format("{} {}: {} of {}, {}", grouped(stack.layers), stack_words(stack, layers),
                  percent_text(stack.share.value_or(0)), time_words(layers), range_text(stack));
  if (stack.slowest_ns > stack.fastest_ns) text += fmt::format("; the slowest is layer {}", stack.slowest);
  return {"layers", text + "."};
}

std::optional<Remark> uneven_remark(const LayerStack& stack, const DeviceLayers& of) {
  if (stack.uneven.empty() || stack.median_ns == 0) return std::nullopt;
  const auto slowest = std::find_if(of.layers.begin(), of.layers.end(), [&](const ModelLayer& layer) {
    return layer.stack == stack.name && layer.index == stack.slowest;
  });
  if (share_of(slowest->device_ns, of.total_ns).value_or(0) < kLeastUnevenShare) return std::nullopt;
  const double times = static_cast<double>(stack.slowest_ns) / static_cast<double>(stack.median_ns);
  std::string text = fmt::format("The {} are uneven: ", stack_words(stack, of));
  if (stack.uneven.size() > 1)
    text += fmt::format("{} of {} take more than {} times the median, and ", stack.uneven.size(),
                        stack.layers, kUneven);
  text += fmt::format("layer {} takes {:.1f} times the median of {}.", stack.slowest, times,
                      duration_text(stack.median_ns));
  return Remark{"layers_uneven", std::move(text)};
}

void add_layer_remarks(DeviceLayers& out) {
  for (size_t i = 0; i < std::min(kStacksTold, out.stacks.size()); i++) {
    out.remarks.push_back(stack_remark(out.stacks[i], out));
    if (auto uneven = uneven_remark(out.stacks[i], out)) out.remarks.push_back(std::move(*uneven));
  }
}

void cut_layers(DeviceLayers& out) {
  for (size_t i = kMostLayers; i < out.layers.size(); i++) {
    out.not_shown.rows++;
    out.not_shown.total_ns += out.layers[i].device_ns;
  }
  if (out.layers.size() > kMostLayers) out.layers.resize(kMostLayers);
}

// ---- Of a device

/// The span that tells where a piece of work belongs.
uint32_t span_of(const Work& work) {
  if (work.launch != kNoRow) return work.launch;
  return work.table == WorkTable::kSpans ? work.row : work.op;
}

OpClass class_of(const PreparedRun& run, const Work& work) {
  if (work.table == WorkTable::kCopies) return OpClass::k_memory;
  if (work.table == WorkTable::kSpans && run.timeline.spans.kind[work.row] == model::SpanKind::op)
    return run.classes.op[run.timeline.spans.op_type[work.row]];
  return run.classes.kernel[work.name];
}

/// How often each layer ran: a layer that is told by its ops as often as the most frequent of them.
class CallCount {
 public:
  explicit CallCount(const Spans& spans) : spans_(spans), seen_(spans.size()) {}

  void add(const SpanLayer& place) {
    if (seen_.is_new(place.span)) calls_[{place.layer, spans_.name[place.span]}]++;
  }
  void give(LayerTally& tally) const {
    for (const auto& [key, calls] : calls_) tally.ran(key.first, calls);
  }

 private:
  const Spans& spans_;
  SeenSpans seen_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> calls_;  ///< by layer and name
};

std::optional<DeviceLayers> layers_on(const PreparedRun& run, const Device& device, const IntervalSet& window,
                                      LayerFrames& frames, LayerSource source) {
  LayerTally tally(frames.layers(), device.work.size());
  CallCount calls(run.timeline.spans);
  for (const Work& work : device.work) {
    if (!touches(work, window)) continue;
    const uint32_t span = span_of(work);
    const SpanLayer place = span == kNoRow ? SpanLayer{} : frames.around(span);
    tally.add({place.layer, place.is_self, clipped_ns(work, window), class_of(run, work)});
    if (place.layer != kNoRow) calls.add(place);
  }
  calls.give(tally);
  return tally.answer(source, device_name(device));
}

std::vector<DeviceLayers> layers_by(const PreparedRun& run, const IntervalSet& window, LayerFrames& frames,
                                    LayerSource source) {
  std::vector<DeviceLayers> list;
  if (!frames.any()) return list;
  for (const DeviceState& state : run.devices) {
    stop_if_cancelled();
    if (auto one = layers_on(run, state.device, window, frames, source)) list.push_back(std::move(*one));
  }
  return list;
}

// ---- Of an engine

/// The layer of the model that all parts of an engine's layer lie in, as far as they tell one. Of a range
/// both ends must tell it, since what is between them is not named.
std::optional<LayerPlace> place_of_parts(const LayerName& origin) {
  std::optional<LayerPlace> found;
  for (const std::string& part : origin.parts) {
    auto place = layer_place_of(part);
    if (!place && origin.fusion == LayerFusion::kRange) return std::nullopt;
    if (!place) continue;
    if (found && (found->stack != place->stack || found->index != place->index)) return std::nullopt;
    if (found) place->depth = std::min(place->depth, found->depth);
    found = std::move(place);
  }
  return found;
}

}  // namespace

std::string_view layer_source_name(LayerSource source) {
  static constexpr std::string_view kNames[] = {"modules", "names", "engine"};
  return kNames[static_cast<size_t>(source)];
}

LayerTally::LayerTally(const std::vector<LayerId>& layers, size_t pieces)
    : layers_(layers), places_(layers.size(), pieces) {}

LayerTally::Sums& LayerTally::sums_of(uint32_t layer) {
  uint32_t& place = places_[layer];
  if (place == kNoRow) {
    place = static_cast<uint32_t>(sums_.size());
    with_sums_.push_back(layer);
    sums_.emplace_back();
  }
  return sums_[place];
}

void LayerTally::add(const Piece& piece) {
  Sums& sums = piece.layer == kNoRow ? outside_ : sums_of(piece.layer);
  sums.ns += piece.ns;
  if (piece.is_self) sums.self_ns += piece.ns;
  sums.pieces++;
  sums.classes[static_cast<size_t>(piece.op_class)] += piece.ns;
}

void LayerTally::ran(uint32_t layer, int64_t calls) {
  Sums& sums = sums_of(layer);
  sums.calls = std::max(sums.calls, calls);
}

/// By stack and index; without stacks of a single layer.
std::vector<size_t> LayerTally::layers_of_stacks() const {
  std::map<std::string_view, int64_t> count;
  for (size_t i = 0; i < sums_.size(); i++) count[layer_of(i).stack] += sums_[i].pieces > 0;
  std::vector<size_t> order;
  for (size_t i = 0; i < sums_.size(); i++) {
    if (sums_[i].pieces > 0 && count[layer_of(i).stack] > 1) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(layer_of(a), with_sums_[a]) < std::tie(layer_of(b), with_sums_[b]);
  });
  return order;
}

std::optional<DeviceLayers> LayerTally::answer(LayerSource source,
                                               const std::optional<DeviceName>& on) const {
  DeviceLayers out{.on = on, .source = source, .outside_ns = outside_.ns, .outside_kernels = outside_.pieces};
  const std::vector<size_t> shown = layers_of_stacks();
  if (shown.empty()) return std::nullopt;
  for (const Sums& sums : sums_) {
    out.outside_ns += sums.ns;
    out.outside_kernels += sums.pieces;
  }
  std::array<int64_t, kOpClasses> classes{};
  for (const size_t i : shown) {
    const Sums& sums = sums_[i];
    out.layers.push_back(
        {layer_of(i).stack, layer_of(i).index, sums.ns, sums.self_ns, sums.pieces, sums.calls});
    out.in_layers_ns += sums.ns;
    out.outside_ns -= sums.ns;
    out.outside_kernels -= sums.pieces;
    for (size_t c = 0; c < kOpClasses; c++) classes[c] += sums.classes[c];
  }
  out.total_ns = out.in_layers_ns + out.outside_ns;
  for (ModelLayer& layer : out.layers) layer.share = share_of(layer.device_ns, out.total_ns);
  for (size_t c = 0; c < kOpClasses; c++) {
    if (classes[c] > 0) out.classes[std::string(op_class_name(static_cast<OpClass>(c)))] = classes[c];
  }
  out.stacks = stacks_of(out.layers, out.total_ns);
  add_layer_remarks(out);
  cut_layers(out);
  return out;
}

ModelLayersAnswer model_layers(const PreparedRun& run, const IntervalSet& window) {
  LayerFrames modules = LayerFrames::by_modules(run.timeline);
  ModelLayersAnswer out{.devices = layers_by(run, window, modules, LayerSource::kModules)};
  if (!out.devices.empty()) return out;
  LayerFrames names = LayerFrames::by_names(run.timeline);
  out.devices = layers_by(run, window, names, LayerSource::kNames);
  if (out.devices.empty()) out.absent = modules.any() || names.any() ? kNoWork : kNoNames;
  return out;
}

std::optional<DeviceLayers> model_layers_of_engine(const std::vector<TimedLayer>& timed) {
  std::map<LayerId, uint32_t> ids;
  std::vector<LayerId> layers;
  std::vector<LayerTally::Piece> pieces;
  for (const TimedLayer& one : timed) {
    LayerTally::Piece piece{.ns = one.ns, .op_class = one.op_class};
    if (const auto place = place_of_parts(one.origin)) {
      const LayerId id{place->stack, place->index};
      const auto [it, added] = ids.try_emplace(id, static_cast<uint32_t>(layers.size()));
      if (added) layers.push_back(id);
      piece.layer = it->second;
      piece.is_self = place->depth <= 1;
    }
    pieces.push_back(piece);
  }
  LayerTally tally(layers, pieces.size());
  for (size_t i = 0; i < timed.size(); i++) {
    tally.add(pieces[i]);
    if (pieces[i].layer != kNoRow) tally.ran(pieces[i].layer, timed[i].calls);
  }
  return tally.answer(LayerSource::kEngine, std::nullopt);
}

}  // namespace nl::analyze
