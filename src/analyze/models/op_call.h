#pragma once
// OpCall: an op as a source recorded it, with its arguments parsed from the JSON texts of the view ops. The
// texts are untrusted: if one is not a list of plain sizes, the whole call is absent.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/models/count.h"
#include "base/known.h"

namespace nl::analyze {

/// The columns of the view ops; empty for NULL. The texts have to outlive nothing but the call.
struct OpFacts {
  std::string_view name = {};
  std::string_view op_type = {};  ///< counts before the name if there is one
  std::string_view shapes = {};
  std::string_view dtypes = {};
  std::string_view strides = {};
  std::string_view inputs = {};
  std::string_view args = {};           ///< what else the source wrote: ONNX Runtime's and TensorRT's outputs
  std::string_view output_shapes = {};  ///< a JSON list of shapes, if the caller knows it from elsewhere
};

struct Dtype {
  std::string_view name = {};  ///< bf16, fp32, int64 ...; empty if unknown
  int64_t bytes = 0;
  bool is_float = false;

  bool is_known() const { return bytes > 0; }
};

/// By the spelling of PyTorch ("c10::BFloat16"), ONNX Runtime ("float16") or TensorRT ("Row major linear
/// FP32").
Dtype find_dtype(std::string_view text);
/// By PyTorch's number of a scalar type, as it stands in concrete inputs.
Dtype find_scalar_type(int64_t number);

struct Tensor {
  std::vector<int64_t> dims = {};
  std::vector<int64_t> strides = {};  ///< empty if not recorded
  Dtype dtype = {};

  size_t rank() const { return dims.size(); }
  int64_t dim(size_t from_front) const { return dims[from_front]; }
  int64_t last(size_t from_back = 0) const { return dims[dims.size() - 1 - from_back]; }
  Count elements() const { return product(dims); }
  /// An expanded dimension (stride 0) lies in memory once.
  Count stored_elements() const;
};

struct OpArg {
  std::optional<Tensor> tensor = {};
  bool is_list = false;   ///< a list of tensors, whose dtype no source tells
  std::string text = {};  ///< the concrete value, "" if not recorded
};

struct OpCall {
  std::string name;
  std::vector<OpArg> args = {};
  std::vector<Tensor> outputs = {};  ///< empty if the source does not tell them
  std::string_view extra = {};       ///< OpFacts::args

  /// nullptr if there is no tensor at this place.
  const Tensor* tensor(int at) const;
  const Tensor* output() const { return outputs.empty() ? nullptr : &outputs[0]; }
  std::string_view text(int at) const;
  std::optional<int64_t> number(int at) const;
  std::optional<bool> flag(int at) const;
  std::optional<std::vector<int64_t>> numbers(int at) const;
  std::optional<std::vector<bool>> flags(int at) const;
};

Known<OpCall> read_op_call(const OpFacts& facts);

}  // namespace nl::analyze
