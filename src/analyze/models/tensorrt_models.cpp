// Layers of TensorRT, by what its layer information tells about them: outputs, kernel, counts of weights. A
// fused layer counts its main operation; what is fused to it (bias, activation, sum) adds bytes, no
// operations.
#include "analyze/models/op_models.h"
#include "base/json.h"
#include "base/small_json.h"

namespace nl::analyze {
namespace {

using Json = nlohmann::json;

constexpr char kNoResultShapes[] = "the shapes of the result are not in the source";
constexpr size_t kMaxLayerBytes = 1 << 20;
constexpr int kMaxLayerDepth = 16;

std::string layer_text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

Json extra_of(const OpCall& call) {
  if (call.extra.empty() || call.extra.size() > kMaxLayerBytes) return Json(Json::value_t::discarded);
  return parse_small_json(call.extra, kMaxLayerDepth);
}

struct Weights {
  Count count;
  Dtype dtype;
};

/// {"Type": "Half", "Count": 1179648}
std::optional<Weights> weights_of(const Json& layer, const char* key) {
  const auto it = layer.find(key);
  if (it == layer.end() || !it->is_object()) return std::nullopt;
  const auto count = whole_number(*it, "Count");
  if (!count) return std::nullopt;
  return Weights{*count, find_dtype(layer_text_of(*it, "Type"))};
}

/// Layers write a matrix product with weights as a layer_convolution too.
Known<OpModel> layer_convolution(const OpCall& call, const Json& layer, bool transposed) {
  const Tensor* in = call.tensor(0);
  const Tensor* out = call.output();
  const auto weights = weights_of(layer, "Weights");
  const auto bias = weights_of(layer, "Bias");
  if (in == nullptr || out == nullptr || in->rank() < 2 || out->rank() < 2) return Absent{kNoResultShapes};
  if (!weights) return Absent{"the count of weights is not in the source"};
  const Tensor& worked = transposed ? *in : *out;
  const Count positions = product(std::span(worked.dims).subspan(2));
  Tally tally = all_moved(call);
  tally.moves(weights->count, weights->dtype);
  if (bias && bias->count.value > 0) tally.moves(bias->count, bias->dtype);
  return tally.result(Count(2) * worked.dim(0) * positions * weights->count, weights->dtype, "convolution");
}

/// The operations of a layer over every element of its result.
Known<OpModel> per_layer_output(const OpCall& call, Count flops, const char* model) {
  const Tensor* out = call.output();
  if (out == nullptr) return Absent{kNoResultShapes};
  const Tensor* in = call.tensor(0);
  return all_moved(call).result(out->elements() * flops, in == nullptr ? out->dtype : in->dtype, model);
}

Known<OpModel> pooling(const OpCall& call, const Json& layer) {
  const auto window = layer.find("WindowSize");
  if (window == layer.end() || !window->is_array())
    return Absent{"the window of the pooling is not in the source"};
  Count size = 1;
  for (const auto& item : *window) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT32_MAX)
      return Absent{"the window is not a list of sizes"};
    size = size * static_cast<int64_t>(item.get<uint64_t>());
  }
  return per_layer_output(call, size, "reduction");
}

Known<OpModel> pointwise(const OpCall& call, const Json& layer) {
  const auto operations = whole_number(layer, "NbOperations");
  return per_layer_output(call, operations ? *operations : 1, "elementwise");
}

Known<OpModel> layer_reduction(const OpCall& call) {
  const Tensor* in = call.tensor(0);
  if (in == nullptr || call.output() == nullptr) return Absent{kNoResultShapes};
  return all_moved(call).result(in->elements(), in->dtype, "reduction");
}

}  // namespace

bool is_tensorrt(const OpCall& call) {
  return call.extra.find("\"ParameterType\"") != std::string_view::npos;
}

Known<OpModel> tensorrt_model(const OpCall& call) {
  const Json layer = extra_of(call);
  if (!layer.is_object()) return Absent{"the layer information is not valid JSON"};
  const std::string type = layer_text_of(layer, "ParameterType");
  if (type == "Convolution") return layer_convolution(call, layer, false);
  if (type == "Deconvolution") return layer_convolution(call, layer, true);
  if (type == "MatrixMultiply") return product_by_output(call);
  if (type == "Pooling") return pooling(call, layer);
  if (type == "SoftMax" || type == "Softmax") return per_layer_output(call, 5, "softmax");
  if (type == "Reduce") return layer_reduction(call);
  if (type == "PointWise" || type == "PointWiseV2") return pointwise(call, layer);
  if (type == "Scale" || type == "ElementWise" || type == "Activation" || type == "Unary") {
    return per_layer_output(call, 1, "elementwise");
  }
  if (type == "Reformat" || type == "Shuffle" || type == "Slice") return per_layer_output(call, 0, "copy");
  return Absent{"no model for " + (type.empty() ? call.name : type).substr(0, 64)};
}

}  // namespace nl::analyze
