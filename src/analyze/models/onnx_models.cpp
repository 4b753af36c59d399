// Nodes of ONNX Runtime, which records the shapes of activations and of the result, but leaves out weights
// that it has packed.
#include "analyze/models/op_models.h"

namespace nl::analyze {
namespace {

constexpr char kNoOnnxOutput[] = "the shapes of the result are not in the source";

Known<OpModel> per_output(const OpCall& call, int64_t flops, const char* model) {
  const Tensor* out = call.output();
  const Tensor* x = call.tensor(0);
  if (out == nullptr || x == nullptr) return Absent{kNoOnnxOutput};
  return all_moved(call).result(out->elements() * flops, x->dtype, model);
}

Known<OpModel> convolution(const OpCall& call) {
  const Tensor* in = call.tensor(0);
  const Tensor* weight = call.tensor(1);
  const Tensor* out = call.output();
  if (out == nullptr) return Absent{kNoOnnxOutput};
  if (in == nullptr || weight == nullptr || weight->rank() < 3) return Absent{"the weight has no shape"};
  const bool fits =
      in->rank() == weight->rank() && out->rank() == weight->rank() && out->dim(1) == weight->dim(0);
  if (!fits) return Absent{"the shapes do not fit a convolution"};
  const Count positions = product(std::span(out->dims).subspan(2));
  const Count flops = Count(2) * out->dim(0) * positions * weight->elements();
  return all_moved(call).result(flops, in->dtype, "convolution");
}

/// input [batch, length, in], weight [in, 3 x out], bias: the projection and the attention over the whole
/// length.
Known<OpModel> attention(const OpCall& call) {
  const Tensor* x = call.tensor(0);
  const Tensor* weight = call.tensor(1);
  const Tensor* out = call.output();
  if (x == nullptr || weight == nullptr || out == nullptr) return Absent{kNoOnnxOutput};
  const bool fits = x->rank() == 3 && weight->rank() == 2 && out->rank() == 3 &&
                    weight->dim(0) == x->last() && weight->last() % 3 == 0 &&
                    weight->last() / 3 == out->last();
  if (!fits) return Absent{"the shapes do not fit an attention"};
  if (call.tensor(4) != nullptr) return Absent{"the length of the past is not in the source"};
  const Count rows = Count(x->dim(0)) * x->dim(1);
  const Count projection = Count(2) * rows * weight->elements();
  const Count scores = Count(4) * rows * x->dim(1) * out->last();
  return all_moved(call).result(projection + scores, x->dtype, "attention");
}

Known<OpModel> multi_head_attention(
    const OpCall& call) {  // query, key, value as [batch, length, heads x size]
  const Tensor* q = call.tensor(0);
  const Tensor* k = call.tensor(1);
  const Tensor* v = call.tensor(2);
  if (q == nullptr || k == nullptr || v == nullptr) return Absent{"queries, keys or values have no shape"};
  if (q->rank() != 3 || k->rank() != 3 || v->rank() != 3)
    return Absent{"no model for this layout of attention"};
  const bool fits = q->dim(0) == k->dim(0) && k->dim(1) == v->dim(1) && q->last() == k->last();
  if (!fits || call.output() == nullptr) return Absent{"the shapes do not fit an attention"};
  const Count pairs = Count(q->dim(0)) * q->dim(1) * k->dim(1);
  return all_moved(call).result(Count(2) * pairs * (Count(q->last()) + v->last()), q->dtype, "attention");
}

Known<OpModel> onnx_reduction(const OpCall& call) {
  const Tensor* x = call.tensor(0);
  if (x == nullptr || call.output() == nullptr) return Absent{kNoOnnxOutput};
  return all_moved(call).result(x->elements(), x->dtype, "reduction");
}

Known<OpModel> onnx_gather(const OpCall& call) {
  const Tensor* indices = call.tensor(1);
  const Tensor* out = call.output();
  if (indices == nullptr || out == nullptr) return Absent{kNoOnnxOutput};
  return Tally().moves(indices).moves(out).moves(out).result(0, out->dtype, "gather");
}

/// Operations for each element of the result.
template <int kOperations>
Known<OpModel> elementwise(const OpCall& call) {
  return per_output(call, kOperations, "elementwise");
}
template <int kOperations>
Known<OpModel> norm(const OpCall& call) {
  return per_output(call, kOperations, "norm");
}
Known<OpModel> onnx_softmax(const OpCall& call) {
  return per_output(call, 5, "softmax");
}
Known<OpModel> copy(const OpCall& call) {
  return per_output(call, 0, "copy");
}

constexpr NamedModel kOnnxModels[] = {
    {"MatMul", product_by_output},
    {"FusedMatMul", product_by_output},
    {"Gemm", product_by_output},
    {"FusedGemm", product_by_output},
    {"Conv", convolution},
    {"FusedConv", convolution},
    {"Attention", attention},
    {"MultiHeadAttention", multi_head_attention},
    {"LayerNormalization", norm<8>},
    {"SkipLayerNormalization", norm<9>},
    {"SimplifiedLayerNormalization", norm<4>},
    {"SkipSimplifiedLayerNormalization", norm<5>},
    {"BatchNormalization", norm<4>},
    {"Softmax", onnx_softmax},
    {"LogSoftmax", onnx_softmax},
    {"BiasGelu", elementwise<2>},
    {"Gelu", elementwise<1>},
    {"FastGelu", elementwise<1>},
    {"QuickGelu", elementwise<1>},
    {"Add", elementwise<1>},
    {"Sub", elementwise<1>},
    {"Mul", elementwise<1>},
    {"Div", elementwise<1>},
    {"Pow", elementwise<1>},
    {"Sqrt", elementwise<1>},
    {"Erf", elementwise<1>},
    {"Exp", elementwise<1>},
    {"Log", elementwise<1>},
    {"Neg", elementwise<1>},
    {"Abs", elementwise<1>},
    {"Relu", elementwise<1>},
    {"LeakyRelu", elementwise<1>},
    {"Sigmoid", elementwise<1>},
    {"Tanh", elementwise<1>},
    {"Clip", elementwise<1>},
    {"Where", elementwise<1>},
    {"Equal", elementwise<1>},
    {"Greater", elementwise<1>},
    {"Less", elementwise<1>},
    {"ReduceMean", onnx_reduction},
    {"ReduceSum", onnx_reduction},
    {"ReduceMax", onnx_reduction},
    {"GlobalAveragePool", onnx_reduction},
    {"Gather", onnx_gather},
    {"Transpose", copy},
    {"Concat", copy},
    {"ReorderInput", copy},
    {"ReorderOutput", copy},
};

}  // namespace

std::span<const NamedModel> onnx_models() {
  return kOnnxModels;
}

}  // namespace nl::analyze
