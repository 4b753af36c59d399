// Matrix products: torch.mm and its relatives, linear layers, scaled products of quantised matrices.
#include <algorithm>

#include "analyze/models/op_models.h"

namespace nl::analyze {
namespace {

constexpr char kModel[] = "matrix_product";

struct OperandPlaces {
  int a;
  int b;
  int bias = -1;
  int out = -1;       ///< an output that is an argument
  int out_type = -1;  ///< PyTorch's number of the result's dtype
  int scale_a = -1;
  int scale_b = -1;
};

using Dims = std::vector<int64_t>;

/// The batch of a product, where a size of 1 stretches; nothing if the two do not fit.
std::optional<Count> batch_of(const Dims& a, const Dims& b) {
  Count batch = 1;
  const size_t rank = std::max(a.size(), b.size());
  for (size_t i = 0; i + 2 < rank; i++) {  // from the back, behind the two of the matrix
    const int64_t x = i + 2 < a.size() ? a[a.size() - 3 - i] : 1;
    const int64_t y = i + 2 < b.size() ? b[b.size() - 3 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    batch = batch * (x == 1 ? y : x);
  }
  return batch;
}

Dtype output_dtype(const OpCall& call, const OperandPlaces& at, const Dtype& usual) {
  if (const Tensor* out = call.tensor(at.out)) return out->dtype;
  const auto number = call.number(at.out_type);
  return number ? find_scalar_type(*number) : usual;
}

Known<OpModel> product_of(const OpCall& call, const OperandPlaces& at) {
  const Tensor* a = call.tensor(at.a);
  const Tensor* b = call.tensor(at.b);
  if (a == nullptr || b == nullptr || a->rank() == 0 || b->rank() == 0)
    return Absent{"a matrix has no shape"};
  Dims left = a->dims;
  Dims right = b->dims;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const auto batch = batch_of(left, right);
  const int64_t m = left[left.size() - 2];
  const int64_t k = left.back();
  const int64_t n = right.back();
  if (!batch || right[right.size() - 2] != k) return Absent{"the shapes do not fit a matrix product"};
  const Count out = *batch * m * n;
  Tally tally;
  tally.moves(a).moves(b).moves(call.tensor(at.bias));
  tally.moves(call.tensor(at.scale_a))
      .moves(call.tensor(at.scale_b))
      .moves(out, output_dtype(call, at, a->dtype));
  return tally.result(Count(2) * out * k, a->dtype, kModel);
}

/// x [..., k] and w [n, k].
Known<OpModel> linear(const OpCall& call) {
  const Tensor* x = call.tensor(0);
  const Tensor* w = call.tensor(1);
  if (x == nullptr || w == nullptr || x->rank() == 0 || w->rank() != 2)
    return Absent{"a matrix has no shape"};
  if (x->last() != w->last()) return Absent{"the shapes do not fit a linear layer"};
  const Count rows = product(std::span(x->dims).first(x->rank() - 1));
  const Count out = rows * w->dim(0);
  Tally tally;
  tally.moves(x).moves(w).moves(call.tensor(2)).moves(out, x->dtype);
  return tally.result(Count(2) * out * w->dim(1), x->dtype, kModel);
}

Known<OpModel> scaled(const OpCall& call) {  // self, mat2, scale_a, scale_b, bias, scale_result, out_dtype
  return product_of(call, {.a = 0, .b = 1, .bias = 4, .out_type = 6, .scale_a = 2, .scale_b = 3});
}

Known<OpModel> whole_numbers(const OpCall& call) {  // the result of int8 is int32
  const Tensor* a = call.tensor(0);
  const Tensor* b = call.tensor(1);
  if (a == nullptr || b == nullptr || a->rank() != 2 || b->rank() != 2)
    return Absent{"a matrix has no shape"};
  if (a->dim(1) != b->dim(0)) return Absent{"the shapes do not fit a matrix product"};
  const Count out = Count(a->dim(0)) * b->dim(1);
  Tally tally;
  tally.moves(a).moves(b).moves(out, find_dtype("int"));
  return tally.result(Count(2) * out * a->dim(1), a->dtype, kModel);
}

Known<OpModel> plain(const OpCall& call) {
  return product_of(call, {.a = 0, .b = 1});
}
Known<OpModel> with_addend(const OpCall& call) {
  return product_of(call, {.a = 1, .b = 2, .bias = 0});
}
Known<OpModel> into_first(const OpCall& call) {  // out, a, b, scale_a, scale_b, bias
  return product_of(call, {.a = 1, .b = 2, .bias = 5, .out = 0, .scale_a = 3, .scale_b = 4});
}
Known<OpModel> einsum(const OpCall&) {
  return Absent{"the equation of an einsum is not in the source"};
}

constexpr NamedModel kMatrixModels[] = {
    {"aten::mm", plain},
    {"aten::bmm", plain},
    {"aten::matmul", plain},
    {"aten::mv", plain},
    {"aten::dot", plain},
    {"aten::addmm", with_addend},
    {"aten::addmm_", with_addend},
    {"aten::_addmm_activation", with_addend},
    {"aten::addmv", with_addend},
    {"aten::baddbmm", with_addend},
    {"aten::linear", linear},
    {"aten::mkldnn_linear", linear},
    {"mkldnn::_linear_pointwise", linear},
    {"vllm::rocm_unquantized_gemm", linear},
    {"vllm::rocm_unquantized_gemm_impl", linear},
    {"aten::_scaled_mm", scaled},
    {"aten::_int_mm", whole_numbers},
    {"_C::cutlass_scaled_mm", into_first},
    {"aten::einsum", einsum},
};

}  // namespace

std::span<const NamedModel> matrix_models() {
  return kMatrixModels;
}

Known<OpModel> product_by_output(const OpCall& call) {
  const Tensor* a = call.tensor(0);
  const Tensor* out = call.output();
  if (a == nullptr || out == nullptr || a->rank() < 2 || out->rank() < 2) {
    return Absent{"the shapes of the result are not in the source"};
  }
  const int64_t m = out->last(1);
  if (a->last(1) != m && a->last() != m) return Absent{"the shapes do not fit a matrix product"};
  const int64_t k = a->last(1) == m ? a->last() : a->last(1);
  const Tensor* second = call.tensor(1);
  const bool has_b =
      second != nullptr && second->rank() >= 2;  // a packed weight is left out, a bias has rank 1
  Tally tally;
  for (size_t i = 0; i < call.args.size(); i++) tally.moves(call.tensor(static_cast<int>(i)));
  if (!has_b) tally.moves(Count(k) * out->last(), a->dtype);
  tally.moves(out);
  return tally.result(Count(2) * out->elements() * k, a->dtype, kModel);
}

}  // namespace nl::analyze
