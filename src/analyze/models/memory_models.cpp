// Ops that memory bounds: norms, softmax, elementwise functions, reductions, gathers and copies.
#include <algorithm>

#include "analyze/models/op_models.h"

namespace nl::analyze {
namespace {

constexpr char kNoShape[] = "the input has no shape";

Known<OpModel> per_element(const OpCall& call, int input, int64_t flops, const char* model,
                           std::initializer_list<int> also_read, const Dtype& out) {
  const Tensor* x = call.tensor(input);
  if (x == nullptr) return Absent{kNoShape};
  Tally tally;
  tally.moves(x).moves(x->elements(), out.is_known() ? out : x->dtype);
  for (const int at : also_read) tally.moves(call.tensor(at));
  return tally.result(x->elements() * flops, x->dtype, model);
}

Known<OpModel> layer_norm(const OpCall& call) {  // input, normalized_shape, weight, bias
  return per_element(call, 0, 8, "norm", {2, 3}, {});
}
Known<OpModel> rms_norm(const OpCall& call) {  // input, normalized_shape, weight
  return per_element(call, 0, 4, "norm", {2}, {});
}
Known<OpModel> rms_norm_into(const OpCall& call) {  // out, input, weight
  const Tensor* out = call.tensor(0);
  return per_element(call, 1, 4, "norm", {2}, out == nullptr ? Dtype{} : out->dtype);
}

/// input and residual are both read and written; the sum adds one operation.
Known<OpModel> add_rms_norm_in_place(const OpCall& call) {  // input, residual, weight
  const Tensor* x = call.tensor(0);
  const Tensor* residual = call.tensor(1);
  if (x == nullptr || residual == nullptr) return Absent{kNoShape};
  Tally tally;
  tally.moves(x).moves(x).moves(residual).moves(residual).moves(call.tensor(2));
  return tally.result(x->elements() * 5, x->dtype, "norm");
}

Known<OpModel> add_rms_norm_into(const OpCall& call) {  // out, input, residual_in, residual_out, weight
  const Tensor* x = call.tensor(1);
  if (x == nullptr) return Absent{kNoShape};
  Tally tally;
  for (int i = 0; i < 5; i++) tally.moves(call.tensor(i));
  return tally.result(x->elements() * 5, x->dtype, "norm");
}

Known<OpModel> batch_norm(const OpCall& call) {  // input, weight, bias, running_mean, running_var, training
  const bool given_statistics = call.flag(5) == false;
  return per_element(call, 0, given_statistics ? 4 : 8, "norm", {1, 2, 3, 4}, {});
}

/// Sums for bias and weight (4), then the gradient of the input (4). input, grad_output, weight
Known<OpModel> batch_norm_backward(const OpCall& call) {
  return per_element(call, 0, 8, "norm", {1, 2}, {});
}
Known<OpModel> native_batch_norm_backward(const OpCall& call) {  // grad_out, input, weight
  return per_element(call, 1, 8, "norm", {0, 2}, {});
}

Known<OpModel> softmax(const OpCall& call) {  // input, dim, half_to_float
  return per_element(call, 0, 5, "softmax", {}, call.flag(2) == true ? find_dtype("float") : Dtype{});
}

/// grad_output, output: product, sum, difference, product.
Known<OpModel> softmax_backward(const OpCall& call) {
  return per_element(call, 0, 4, "softmax", {1}, {});
}

/// [..., 2d] into [..., d]: the function of one half times the other.
Known<OpModel> gated(const OpCall& call) {
  const Tensor* out = call.tensor(0);
  if (out == nullptr || call.tensor(1) == nullptr) return Absent{kNoShape};
  Tally tally;
  tally.moves(out).moves(call.tensor(1));
  return tally.result(out->elements() * 2, out->dtype, "elementwise");
}

/// A pair turns by four products and two sums, three per element. positions, query, key, head_size,
/// cos_sin_cache
Known<OpModel> rotary(const OpCall& call) {
  const Tensor* positions = call.tensor(0);
  const Tensor* q = call.tensor(1);
  const Tensor* cache = call.tensor(4);
  const auto head_size = call.number(3);
  if (positions == nullptr || q == nullptr || cache == nullptr || cache->rank() != 2) return Absent{kNoShape};
  if (head_size != cache->last()) return Absent{"no model for a rotation of a part of the head"};
  const Tensor* k = call.tensor(2);
  Count turned = q->elements();
  Tally tally;
  tally.moves(positions).moves(q).moves(q).moves(k).moves(k);
  tally.moves(positions->elements() * cache->last(), cache->dtype);
  if (k != nullptr) turned = turned + k->elements();
  return tally.result(turned * 3, q->dtype, "elementwise");
}

/// key, value, key_cache, value_cache, slots: the cache gets as many elements as there are.
Known<OpModel> store_cache(const OpCall& call) {
  const Tensor* k = call.tensor(0);
  const Tensor* v = call.tensor(1);
  const Tensor* k_cache = call.tensor(2);
  const Tensor* v_cache = call.tensor(3);
  if (k == nullptr || v == nullptr || k_cache == nullptr || v_cache == nullptr) return Absent{kNoShape};
  Tally tally;
  tally.moves(k).moves(v).moves(call.tensor(4));
  tally.moves(k->elements(), k_cache->dtype).moves(v->elements(), v_cache->dtype);
  return tally.result(0, k->dtype, "copy");
}

Known<OpModel> quantise_into(const OpCall& call) {  // out, input, scale
  const Tensor* out = call.tensor(0);
  return per_element(call, 1, 1, "elementwise", {2}, out == nullptr ? Dtype{} : out->dtype);
}

Known<OpModel> copy_into(const OpCall& call) {  // self, src
  const Tensor* to = call.tensor(0);
  const Tensor* from = call.tensor(1);
  if (to == nullptr || from == nullptr) return Absent{kNoShape};
  Tally tally;
  tally.moves(to->elements(), to->dtype).moves(from);
  return tally.result(0, to->dtype, "copy");
}

Known<OpModel> duplicate(const OpCall& call) {
  return per_element(call, 0, 0, "copy", {}, {});
}

Known<OpModel> fill(const OpCall& call) {
  const Tensor* to = call.tensor(0);
  if (to == nullptr) return Absent{kNoShape};
  return Tally().moves(to->elements(), to->dtype).result(0, to->dtype, "copy");
}

/// Rows that several indices name are read once at best; at worst none is named twice.
Known<OpModel> gathered(const OpCall& call, const Tensor& table, int indices, Count out) {
  Tally tally;
  const Count rows = table.elements();
  const bool whole = rows.fits && out.fits && out.value > rows.value;
  tally.moves(call.tensor(indices)).moves(whole ? rows : out, table.dtype).moves(out, table.dtype);
  return tally.result(0, table.dtype, "gather");
}

Known<OpModel> embedding(const OpCall& call) {  // weight, indices
  const Tensor* table = call.tensor(0);
  const Tensor* indices = call.tensor(1);
  if (table == nullptr || indices == nullptr || table->rank() != 2) return Absent{kNoShape};
  return gathered(call, *table, 1, indices->elements() * table->last());
}

/// From the front, with -1 for the last; nothing if it is out of range.
std::optional<size_t> dimension(int64_t given, size_t rank) {
  const auto size = static_cast<int64_t>(rank);
  const int64_t at = given < 0 ? given + size : given;
  return at >= 0 && at < size ? std::optional(static_cast<size_t>(at)) : std::nullopt;
}

Known<OpModel> index_select(const OpCall& call) {  // self, dim, index
  const Tensor* table = call.tensor(0);
  const Tensor* index = call.tensor(2);
  const auto given = call.number(1);
  if (table == nullptr || index == nullptr) return Absent{kNoShape};
  const auto dim = given ? dimension(*given, table->rank()) : std::nullopt;
  if (!dim) return Absent{"the dimension is not in the source"};
  auto dims = table->dims;
  dims[*dim] = 1;
  return gathered(call, *table, 2, product(dims) * index->elements());
}

Known<OpModel> gather(const OpCall& call) {  // self, dim, index
  const Tensor* table = call.tensor(0);
  const Tensor* index = call.tensor(2);
  if (table == nullptr || index == nullptr) return Absent{kNoShape};
  return gathered(call, *table, 2, index->elements());
}

/// Elements of the result when the dimensions of argument 1 fall away; all of them if there is none.
std::optional<Count> reduced(const OpCall& call, const Tensor& x) {
  if (call.args.size() < 2 || call.text(1) == "None") return Count(1);
  if (call.text(1) == "[]") return Count(1);
  const auto given = call.numbers(1);
  if (!given) return std::nullopt;
  auto dims = x.dims;
  for (const int64_t number : *given) {
    const auto dim = dimension(number, x.rank());
    if (!dim) return std::nullopt;
    dims[*dim] = 1;
  }
  return product(dims);
}

Known<OpModel> reduction(const OpCall& call, int64_t flops, const Dtype& out_dtype) {
  const Tensor* x = call.tensor(0);
  if (x == nullptr) return Absent{kNoShape};
  const auto out = reduced(call, *x);
  if (!out) return Absent{"the reduced dimensions are not in the source"};
  Tally tally;
  tally.moves(x).moves(*out, out_dtype.is_known() ? out_dtype : x->dtype);
  return tally.result(x->elements() * flops, x->dtype, "reduction");
}

Known<OpModel> sum(const OpCall& call) {
  return reduction(call, 1, {});
}
Known<OpModel> variance(const OpCall& call) {
  return reduction(call, 4, {});
}
Known<OpModel> place_of_extreme(const OpCall& call) {
  return reduction(call, 1, find_dtype("long"));
}
Known<OpModel> truth(const OpCall& call) {
  return reduction(call, 1, find_dtype("bool"));
}
Known<OpModel> scan(const OpCall& call) {
  return per_element(call, 0, 1, "reduction", {}, {});
}

constexpr NamedModel kMemoryModels[] = {
    {"aten::native_layer_norm", layer_norm},
    {"aten::layer_norm", layer_norm},
    {"aten::rms_norm", rms_norm},
    {"aten::_fused_rms_norm", rms_norm},
    {"_C::rms_norm", rms_norm_into},
    {"aiter::rmsnorm", rms_norm_into},
    {"sgl_kernel::rmsnorm", rms_norm_into},
    {"_C::fused_add_rms_norm", add_rms_norm_in_place},
    {"sgl_kernel::fused_add_rmsnorm", add_rms_norm_in_place},
    {"aiter::add_rmsnorm", add_rms_norm_into},
    {"aten::batch_norm", batch_norm},
    {"aten::native_batch_norm", batch_norm},
    {"aten::cudnn_batch_norm", batch_norm},
    {"aten::miopen_batch_norm", batch_norm},
    {"aten::cudnn_batch_norm_backward", batch_norm_backward},
    {"aten::miopen_batch_norm_backward", batch_norm_backward},
    {"aten::native_batch_norm_backward", native_batch_norm_backward},
    {"aten::_softmax", softmax},
    {"aten::softmax", softmax},
    {"aten::_log_softmax", softmax},
    {"aten::log_softmax", softmax},
    {"aten::_softmax_backward_data", softmax_backward},
    {"aten::_log_softmax_backward_data", softmax_backward},
    {"_C::silu_and_mul", gated},
    {"_C::gelu_and_mul", gated},
    {"sgl_kernel::silu_and_mul", gated},
    {"sgl_kernel::gelu_and_mul", gated},
    {"_C::rotary_embedding", rotary},
    {"sgl_kernel::rotary_embedding", rotary},
    {"_C_cache_ops::reshape_and_cache", store_cache},
    {"_C_cache_ops::reshape_and_cache_flash", store_cache},
    {"sglang::store_cache", store_cache},
    {"_C::static_scaled_fp8_quant", quantise_into},
    {"aten::copy_", copy_into},
    {"aten::clone", duplicate},
    {"aten::contiguous", duplicate},
    {"aten::fill_", fill},
    {"aten::zero_", fill},
    {"aten::embedding", embedding},
    {"aten::index_select", index_select},
    {"aten::gather", gather},
    {"aten::sum", sum},
    {"aten::mean", sum},
    {"aten::amax", sum},
    {"aten::amin", sum},
    {"aten::prod", sum},
    {"aten::max", sum},
    {"aten::min", sum},
    {"aten::var", variance},
    {"aten::std", variance},
    {"aten::argmax", place_of_extreme},
    {"aten::argmin", place_of_extreme},
    {"aten::all", truth},
    {"aten::any", truth},
    {"aten::cumsum", scan},
    {"aten::cumprod", scan},
};

struct Elementwise {
  std::string_view name;
  int inputs;  ///< how many of the first arguments may be tensors that are read
  bool gives_bool = false;
};

constexpr Elementwise kElementwise[] = {
    {"aten::add", 2},
    {"aten::sub", 2},
    {"aten::rsub", 2},
    {"aten::mul", 2},
    {"aten::div", 2},
    {"aten::pow", 2},
    {"aten::maximum", 2},
    {"aten::minimum", 2},
    {"aten::remainder", 2},
    {"aten::floor_divide", 2},
    {"aten::bitwise_and", 2},
    {"aten::bitwise_or", 2},
    {"aten::masked_fill", 2},
    {"aten::mse_loss_backward", 3},
    {"aten::threshold_backward", 2},
    {"aten::gelu_backward", 2},
    {"aten::silu_backward", 2},
    {"aten::sigmoid_backward", 2},
    {"aten::tanh_backward", 2},
    {"aten::addcmul", 3},
    {"aten::addcdiv", 3},
    {"aten::lerp", 3},
    {"aten::where", 3},
    {"aten::eq", 2, true},
    {"aten::ne", 2, true},
    {"aten::lt", 2, true},
    {"aten::le", 2, true},
    {"aten::gt", 2, true},
    {"aten::ge", 2, true},
    {"aten::logical_and", 2, true},
    {"aten::logical_or", 2, true},
    {"aten::logical_not", 1, true},
    {"aten::isnan", 1, true},
    {"aten::relu", 1},
    {"aten::gelu", 1},
    {"aten::silu", 1},
    {"aten::sigmoid", 1},
    {"aten::tanh", 1},
    {"aten::exp", 1},
    {"aten::log", 1},
    {"aten::sqrt", 1},
    {"aten::rsqrt", 1},
    {"aten::reciprocal", 1},
    {"aten::neg", 1},
    {"aten::abs", 1},
    {"aten::sin", 1},
    {"aten::cos", 1},
    {"aten::erf", 1},
    {"aten::floor", 1},
    {"aten::ceil", 1},
    {"aten::round", 1},
    {"aten::clamp", 1},
    {"aten::clamp_min", 1},
    {"aten::clamp_max", 1},
    {"aten::threshold", 1},
    {"aten::hardtanh", 1},
    {"aten::hardswish", 1},
    {"aten::hardsigmoid", 1},
    {"aten::leaky_relu", 1},
    {"aten::elu", 1},
    {"aten::softplus", 1},
    {"aten::bitwise_not", 1},
};

const Elementwise* find_elementwise(std::string_view name) {
  const auto at = std::find_if(std::begin(kElementwise), std::end(kElementwise),
                               [&](const Elementwise& op) { return op.name == name; });
  return at == std::end(kElementwise) ? nullptr : at;
}

/// Sizes of 1 stretch; false if the two do not fit.
bool stretch(std::vector<int64_t>& out, const std::vector<int64_t>& dims) {
  if (dims.size() > out.size()) out.insert(out.begin(), dims.size() - out.size(), 1);
  const size_t skipped = out.size() - dims.size();
  for (size_t i = 0; i < dims.size(); i++) {
    int64_t& size = out[skipped + i];
    if (size != dims[i] && size != 1 && dims[i] != 1) return false;
    if (size == 1) size = dims[i];
  }
  return true;
}

/// As PyTorch promotes: tensors with dimensions count before those without, floats before integers, then
/// width.
Dtype promoted(const Dtype& a, const Dtype& b) {
  if (!a.is_known()) return b;
  if (a.is_float != b.is_float) return a.is_float ? a : b;
  if (a.is_float && a.bytes == 2 && b.bytes == 2 && a.name != b.name) return find_dtype("float");
  return a.bytes >= b.bytes ? a : b;
}

}  // namespace

std::span<const NamedModel> memory_models() {
  return kMemoryModels;
}

bool is_elementwise(std::string_view name) {
  return find_elementwise(name) != nullptr;
}

Known<OpModel> elementwise_model(const OpCall& call, std::string_view name) {
  const Elementwise& op = *find_elementwise(name);
  Tally tally;
  std::vector<int64_t> dims;
  Dtype dtype;
  Dtype scalar_dtype;
  for (int i = 0; i < op.inputs; i++) {
    const Tensor* x = call.tensor(i);
    if (x == nullptr) continue;
    tally.moves(x);
    if (!stretch(dims, x->dims)) return Absent{"the shapes do not fit an elementwise op"};
    Dtype& into = x->rank() == 0 ? scalar_dtype : dtype;
    into = promoted(into, x->dtype);
  }
  if (!dtype.is_known()) dtype = scalar_dtype;
  if (!dtype.is_known() && dims.empty()) return Absent{kNoShape};
  const bool in_place = call.name != name && call.tensor(0) != nullptr;
  const Dtype out = in_place ? call.tensor(0)->dtype : op.gives_bool ? find_dtype("bool") : dtype;
  tally.moves(product(dims), out);
  return tally.result(product(dims), dtype, "elementwise");
}

}  // namespace nl::analyze
