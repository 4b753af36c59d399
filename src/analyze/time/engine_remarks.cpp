#include "analyze/time/engine_remarks.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyze/load/launches.h"
#include "base/number_text.h"

namespace nl::analyze {
namespace {

constexpr double kMuchConversion = 0.05;  // share of the time from which conversions are worth a remark
constexpr double kDominantLayer = 0.1;    // a layer below this share does not dominate
constexpr double kNextLayer = 0.5;        // and the next one takes less than this part of a dominant one
constexpr int64_t kManyLayers = 20;
constexpr int64_t kSmallLayerNs = 10'000;  // near what a launch takes by itself
constexpr double kNearlyAll = 0.9;

double share_of_sum(int64_t ns, const EngineLayers& layers) {
  return layers.total_ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(layers.total_ns);
}

bool is_matrix_work(const TimedLayer& layer) {
  return layer.op_class == OpClass::k_conv || layer.op_class == OpClass::k_gemm;
}

/// The type that a format of TensorRT names, such as "Channel major FP16 format where channel % 8 == 0";
/// empty if it names none.
std::string precision_of(std::string_view format) {
  static constexpr std::pair<std::string_view, const char*> kTypes[] = {
      {"BF16", "bf16"}, {"BFloat16", "bf16"}, {"FP8", "fp8"},   {"FP32", "fp32"}, {"Float", "fp32"},
      {"FP16", "fp16"}, {"Half", "fp16"},     {"Int8", "int8"}, {"INT8", "int8"}};
  for (const auto& [word, type] : kTypes) {
    if (format.find(word) != std::string_view::npos) return type;
  }
  return "";
}

bool is_fused(std::string_view name) {
  return name.find(" + ") != std::string_view::npos;
}

bool is_copy_of_builder(std::string_view name) {
  return name.starts_with("Reformatting ");  // it goes on with the name of the layer that it serves
}

/// A layer that only turns one type into another. The builder gives it the type Scale, Reformat or none; so
/// its name tells, or types that differ.
bool is_quantize(const TimedLayer& layer) {
  if (is_fused(layer.name) || is_copy_of_builder(layer.name)) return false;
  if (layer.name.find("QuantizeLinear") != std::string::npos) return true;
  if (layer.name.find("DequantizeLinear") != std::string::npos) return true;
  const std::string from = precision_of(layer.input), to = precision_of(layer.output);
  return layer.type == "Scale" && !from.empty() && !to.empty() && from != to;
}

bool is_reformat(const TimedLayer& layer) {
  return !is_quantize(layer) && (layer.type == "Reformat" || is_copy_of_builder(layer.name));
}

void add_sums(EngineLayers& out, const std::vector<TimedLayer>& timed) {
  for (const TimedLayer& layer : timed) {
    if (is_quantize(layer)) out.quantize_ns += layer.ns;
    if (is_reformat(layer)) out.reformat_ns += layer.ns;
    const std::string type = precision_of(layer.input);
    if (is_matrix_work(layer) && !type.empty()) out.precisions[type] += layer.ns;
  }
  if (out.iterations > 0) out.inference_ns = out.total_ns / out.iterations;
}

std::string conversions_text(const EngineLayers& layers) {
  const std::string quantize = percent_text(share_of_sum(layers.quantize_ns, layers));
  const std::string reformat = percent_text(share_of_sum(layers.reformat_ns, layers));
  if (layers.quantize_ns == 0)
    return fmt::format("Reformat layers, which only change layout or type, take {} of the time.", reformat);
  if (layers.reformat_ns == 0)
    return fmt::format("Layers that only quantise or dequantise take {} of the time.", quantize);
  return fmt::format(
      "Layers that only convert take {} of the time: those that quantise or dequantise {}, Reformat layers "
      "{}.",
      percent_text(share_of_sum(layers.quantize_ns + layers.reformat_ns, layers)), quantize, reformat);
}

void add_conversions(EngineLayers& out) {
  if (share_of_sum(out.quantize_ns + out.reformat_ns, out) < kMuchConversion) return;
  std::string text = conversions_text(out);
  if (share_of_sum(out.quantize_ns, out) >= kMuchConversion)
    text +=
        " Tensors that keep the narrow type from layer to layer need none of them; check where the Q/DQ "
        "nodes are.";
  out.remarks.push_back({"conversions", text});
}

std::string types_text(const TimedLayer& layer) {
  const std::string from = precision_of(layer.input), to = precision_of(layer.output);
  if (from.empty() || to.empty()) return "";
  return fmt::format(" It reads {} and writes {}{}.", from, to,
                     layer.tactic.empty() ? "" : " (kernel " + layer.tactic + ")");
}

/// The first convolution or product of the engine has few channels, which suits no fast kernel well.
void add_first_layer(EngineLayers& out, const std::vector<TimedLayer>& timed) {
  const TimedLayer* first = nullptr;
  int64_t longest_other = 0;
  for (const TimedLayer& layer : timed) {
    if (is_matrix_work(layer) && (first == nullptr || layer.order < first->order)) first = &layer;
  }
  if (first == nullptr) return;
  for (const TimedLayer& layer : timed) {
    if (&layer != first) longest_other = std::max(longest_other, layer.ns);
  }
  const bool dominates = share_of_sum(first->ns, out) >= kDominantLayer &&
                         static_cast<double>(longest_other) < kNextLayer * static_cast<double>(first->ns);
  if (!dominates) return;
  out.remarks.push_back(
      {"first_layer", fmt::format("The first {}, {}, takes {} of the time; the next largest layer "
                                  "takes {}.{}",
                                  first->op_class == OpClass::k_conv ? "convolution" : "matrix product",
                                  first->name, percent_text(share_of_sum(first->ns, out)),
                                  percent_text(share_of_sum(longest_other, out)), types_text(*first))});
}

/// How long a layer usually takes in one inference.
int64_t usual_layer_ns(const std::vector<TimedLayer>& timed) {
  PagedVector<int64_t> times;
  for (const TimedLayer& layer : timed) {
    if (layer.ns > 0) times.push_back(layer.ns / std::max<int64_t>(layer.calls, 1));
  }
  return times.empty() ? 0 : median(times);
}

void add_flat_profile(EngineLayers& out, const std::vector<TimedLayer>& timed) {
  int64_t with_time = 0, longest = 0;
  for (const TimedLayer& layer : timed) {
    with_time += layer.ns > 0;
    longest = std::max(longest, layer.ns);
  }
  if (with_time < kManyLayers || share_of_sum(longest, out) >= kDominantLayer) return;
  std::string text =
      fmt::format("No layer dominates: the time is spread over {} layers, and the largest takes {}.",
                  with_time, percent_text(share_of_sum(longest, out)));
  if (const int64_t usual = usual_layer_ns(timed); usual < kSmallLayerNs)
    text += fmt::format(
        " They are small layers (median {}), not much longer than a launch itself; a larger batch would fill "
        "them.",
        duration_text(usual));
  out.remarks.push_back({"flat_profile", text});
}

/// Only where the types of all matrix work are known and no layer has a narrower one.
void add_fp32(EngineLayers& out, const std::vector<TimedLayer>& timed) {
  int64_t matrix = 0, fp32 = 0;
  for (const TimedLayer& layer : timed) {
    const std::string from = precision_of(layer.input), to = precision_of(layer.output);
    const bool narrow = (!from.empty() && from != "fp32") || (!to.empty() && to != "fp32");
    if (narrow) return;
    if (!is_matrix_work(layer)) continue;
    matrix += layer.ns;
    fp32 += from == "fp32" && to == "fp32" ? layer.ns : 0;
  }
  if (matrix == 0 || static_cast<double>(fp32) < kNearlyAll * static_cast<double>(matrix)) return;
  out.remarks.push_back(
      {"fp32_engine", fmt::format("All layers read and write fp32, also the convolutions and products ({} of "
                                  "the time). Build the engine with --fp16 if the accuracy allows it.",
                                  percent_text(share_of_sum(matrix, out)))});
}

}  // namespace

void add_remarks(EngineLayers& layers, const std::vector<TimedLayer>& timed) {
  add_sums(layers, timed);
  add_conversions(layers);
  add_first_layer(layers, timed);
  add_flat_profile(layers, timed);
  add_fp32(layers, timed);
}

std::string layers_words(const EngineLayers& layers) {
  const auto top = std::max_element(layers.classes.begin(), layers.classes.end(),
                                    [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string each =
      layers.inference_ns ? ", " + duration_text(*layers.inference_ns) + " per inference" : "";
  if (top == layers.classes.end() || top->second == 0) return "layers of the engine" + each;
  return fmt::format("layers of the engine{}, mostly {} ({} of their sum)", each, top->first,
                     percent_text(share_of_sum(top->second, layers)));
}

}  // namespace nl::analyze
