#pragma once
// What the files with op models share: a sum of the bytes that a call moves, and the tables in which
// op_model.cpp looks up the name of an op.

#include <span>
#include <string_view>

#include "analyze/models/op_model.h"

namespace nl::analyze {

/// Adds up what a call moves. A tensor of unknown dtype makes the result absent.
class Tally {
 public:
  Tally& moves(const Tensor* tensor) {
    if (tensor != nullptr) moves(tensor->stored_elements(), tensor->dtype);
    return *this;
  }
  Tally& moves(Count elements, const Dtype& dtype) {
    is_known_ = is_known_ && dtype.is_known();
    bytes_ = bytes_ + elements * dtype.bytes;
    return *this;
  }
  Known<OpModel> result(Count flops, const Dtype& dtype, const char* model) const {
    if (!is_known_ || !dtype.is_known()) return Absent{"a dtype of the op is unknown"};
    if (!flops.fits || !bytes_.fits) return Absent{"the shapes are too large to count"};
    return OpModel{flops.value, bytes_.value, std::string(dtype.name), model};
  }

 private:
  Count bytes_ = 0;
  bool is_known_ = true;
};

/// All inputs read and all outputs written once.
inline Tally all_moved(const OpCall& call) {
  Tally tally;
  for (size_t i = 0; i < call.args.size(); i++) tally.moves(call.tensor(static_cast<int>(i)));
  for (const auto& out : call.outputs) tally.moves(&out);
  return tally;
}

struct NamedModel {
  std::string_view name;
  Known<OpModel> (*model)(const OpCall&);
};

std::span<const NamedModel> matrix_models();
std::span<const NamedModel> convolution_models();
std::span<const NamedModel> attention_models();
std::span<const NamedModel> memory_models();
std::span<const NamedModel> onnx_models();

/// `name` without the mark of an in-place op.
Known<OpModel> elementwise_model(const OpCall& call, std::string_view name);
bool is_elementwise(std::string_view name);

/// cudnn_convolution_backward_input and _weight with the shapes of the op around them.
Known<OpModel> convolution_gradient(const OpCall& call, const OpCall& parent);

/// A layer of TensorRT by its ParameterType.
Known<OpModel> tensorrt_model(const OpCall& call);
bool is_tensorrt(const OpCall& call);

/// The product of matrices of which the first and the result are known: ONNX Runtime leaves out weights.
Known<OpModel> product_by_output(const OpCall& call);

}  // namespace nl::analyze
