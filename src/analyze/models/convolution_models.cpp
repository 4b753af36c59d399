// Convolutions of PyTorch, forwards and backwards. A forward one does 2 x batch x positions of the output x
// elements of the weight [out, in / groups, kernel...]; a transposed one the same over the positions of its
// input.
#include "analyze/models/op_models.h"

namespace nl::analyze {
namespace {

constexpr char kConvolution[] = "convolution";
constexpr char kNoConvolutionOutput[] = "stride and padding of the convolution are not in the source";

using Dims = std::vector<int64_t>;

enum class Transposed { kNever, kAlways, kByFlag };

/// Where the arguments stand; -1 if the op has none.
struct ConvolutionPlaces {
  int bias;
  int stride;
  int padding;
  int dilation;
  Transposed transposed = Transposed::kNever;
  int transposed_flag = -1;
  int output_padding = -1;
  int addend = -1;
};

/// A list for all dimensions or one number for each of them.
std::optional<Dims> per_dimension(const OpCall& call, int at, size_t rank, int64_t usual) {
  if (at < 0) return Dims(rank, usual);
  auto numbers = call.numbers(at);
  if (!numbers) return std::nullopt;
  if (numbers->size() == 1) return Dims(rank, numbers->front());
  return numbers->size() == rank ? numbers : std::nullopt;
}

struct Geometry {
  Dims stride;
  Dims padding;
  Dims dilation;
  Dims output_padding;
};

std::optional<Geometry> geometry_of(const OpCall& call, const ConvolutionPlaces& at, size_t rank) {
  const auto stride = per_dimension(call, at.stride, rank, 1);
  const auto padding = per_dimension(call, at.padding, rank, 0);
  const auto dilation = per_dimension(call, at.dilation, rank, 1);
  const auto output_padding = per_dimension(call, at.output_padding, rank, 0);
  if (!stride || !padding || !dilation) return std::nullopt;
  return Geometry{*stride, *padding, *dilation, output_padding.value_or(Dims(rank, 0))};
}

/// Nothing if the sizes make no sense.
std::optional<int64_t> output_size(int64_t in, int64_t kernel, const Geometry& geometry, size_t i,
                                   bool transposed) {
  const int64_t stride = geometry.stride[i];
  const Count reach = Count(geometry.dilation[i]) * (Count(kernel) - 1);
  const Count margin = Count(2) * geometry.padding[i];
  if (stride < 1 || geometry.padding[i] < 0 || geometry.dilation[i] < 1) return std::nullopt;
  const Count span = transposed ? (Count(in) - 1) * stride - margin + reach + geometry.output_padding[i]
                                : Count(in) + margin - reach - 1;
  if (!span.fits || span.value < 0 || span.value == INT64_MAX) return std::nullopt;
  return transposed ? span.value + 1 : span.value / stride + 1;
}

/// Batch and channels of a tensor of the rank of the weight, or of one less.
Tensor batched(const Tensor& tensor, const Tensor& weight) {
  Tensor out = tensor;
  if (out.rank() + 1 == weight.rank()) out.dims.insert(out.dims.begin(), 1);
  return out;
}

std::optional<Count> output_positions(const OpCall& call, const ConvolutionPlaces& at, const Tensor& in,
                                      const Tensor& weight, bool transposed) {
  const size_t rank = weight.rank() - 2;
  if (const Tensor* out = call.output(); out != nullptr && out->rank() == weight.rank()) {
    return product(std::span(out->dims).subspan(2));
  }
  const auto geometry = geometry_of(call, at, rank);
  if (!geometry) return std::nullopt;
  Count positions = 1;
  for (size_t i = 0; i < rank; i++) {
    const auto size = output_size(in.dim(i + 2), weight.dim(i + 2), *geometry, i, transposed);
    if (!size) return std::nullopt;
    positions = positions * *size;
  }
  return positions;
}

/// Nothing if the flag is needed and not recorded.
std::optional<bool> is_transposed(const OpCall& call, const ConvolutionPlaces& at) {
  if (at.transposed != Transposed::kByFlag) return at.transposed == Transposed::kAlways;
  return call.flag(at.transposed_flag);
}

bool fits(const Tensor& in, const Tensor& weight, bool transposed) {
  if (weight.rank() < 3 || in.rank() != weight.rank() || weight.dim(1) == 0) return false;
  return transposed ? in.dim(1) == weight.dim(0) : in.dim(1) % weight.dim(1) == 0;
}

/// Batch times channels of the output.
Count output_planes(const OpCall& call, const Tensor& in, const Tensor& weight, bool transposed) {
  if (const Tensor* out = call.output(); out != nullptr && out->rank() == weight.rank()) {
    return Count(out->dim(0)) * out->dim(1);
  }
  return Count(in.dim(0)) * weight.dim(transposed ? 1 : 0);
}

Known<OpModel> forward(const OpCall& call, const ConvolutionPlaces& at) {
  const Tensor* given = call.tensor(0);
  const Tensor* weight = call.tensor(1);
  if (given == nullptr || weight == nullptr) return Absent{"input or weight have no shape"};
  const auto transposed = is_transposed(call, at);
  if (!transposed) return Absent{kNoConvolutionOutput};
  const Tensor in = batched(*given, *weight);
  if (!fits(in, *weight, *transposed)) return Absent{"the shapes do not fit a convolution"};
  const auto positions = output_positions(call, at, in, *weight, *transposed);
  if (!positions) return Absent{kNoConvolutionOutput};
  const Count worked = *transposed ? product(std::span(in.dims).subspan(2)) : *positions;
  Tally tally;
  tally.moves(given).moves(weight).moves(call.tensor(at.bias)).moves(call.tensor(at.addend));
  tally.moves(output_planes(call, in, *weight, *transposed) * *positions, in.dtype);
  return tally.result(Count(2) * in.dim(0) * worked * weight->elements(), in.dtype, kConvolution);
}

/// Both gradients do the work of the forward convolution once.
Count gradient_work(const Tensor& in, const Tensor& out, const Tensor& weight, bool transposed) {
  const Tensor& worked = transposed ? in : out;
  return Count(2) * worked.dim(0) * product(std::span(worked.dims).subspan(2)) * weight.elements();
}

bool gradient_fits(const Tensor* in, const Tensor* out, const Tensor* weight) {
  if (in == nullptr || out == nullptr || weight == nullptr) return false;
  const size_t rank = weight->rank();
  return rank >= 3 && in->rank() == rank && out->rank() == rank && in->dim(0) == out->dim(0);
}

// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask
Known<OpModel> backward(const OpCall& call) {
  const Tensor* out = call.tensor(0);
  const Tensor* in = call.tensor(1);
  const Tensor* weight = call.tensor(2);
  if (!gradient_fits(in, out, weight)) return Absent{"the shapes do not fit a convolution"};
  const auto mask = call.flags(10);
  const auto transposed = call.flag(7);
  if (!mask || mask->size() != 3 || !transposed)
    return Absent{"which gradients are computed is not in the source"};
  const int gradients = static_cast<int>((*mask)[0]) + static_cast<int>((*mask)[1]);
  Tally tally;
  tally.moves(out);
  if ((*mask)[0]) tally.moves(weight).moves(in->elements(), in->dtype);
  if ((*mask)[1]) tally.moves(in).moves(weight->elements(), weight->dtype);
  if ((*mask)[2]) tally.moves(out->dim(1), out->dtype);
  return tally.result(Count(gradients) * gradient_work(*in, *out, *weight, *transposed), out->dtype,
                      kConvolution);
}

Known<OpModel> gradient(const Tensor* in, const Tensor* out, const Tensor* weight) {
  if (!gradient_fits(in, out, weight)) return Absent{"the shapes do not fit a convolution"};
  Tally tally;
  tally.moves(in).moves(out).moves(weight);  // two are read, the third is written
  return tally.result(gradient_work(*in, *out, *weight, false), out->dtype, kConvolution);
}

/// size of the result as a list, grad_output, the other input
Known<OpModel> gradient_alone(const OpCall& call, bool of_input) {
  const auto size = call.numbers(0);
  const Tensor* out = call.tensor(1);
  if (!size || out == nullptr) return Absent{"the size of the gradient is not in the source"};
  for (const int64_t dim : *size) {
    if (dim < 0) return Absent{"the shapes do not fit a convolution"};
  }
  const Tensor result{*size, {}, out->dtype};
  return of_input ? gradient(&result, out, call.tensor(2)) : gradient(call.tensor(2), out, &result);
}

constexpr ConvolutionPlaces kGeneral{2, 3, 4, 5, Transposed::kByFlag, 6, 7};
constexpr ConvolutionPlaces kPlain{2, 3, 4, 5};
constexpr ConvolutionPlaces kTransposed{2, 3, 4, 7, Transposed::kAlways, -1, 5};
constexpr ConvolutionPlaces kCudnn{-1, 3, 2, 4};
constexpr ConvolutionPlaces kCudnnTransposed{-1, 4, 2, 5, Transposed::kAlways, -1, 3};
constexpr ConvolutionPlaces kPaddingFirst{2, 4, 3, 5};
constexpr ConvolutionPlaces kAddRelu{4, 5, 6, 7, Transposed::kNever, -1, -1, 2};
constexpr ConvolutionPlaces kWithKernelSize{3, 4, 5, -1};
constexpr ConvolutionPlaces kDilated{3, 4, 5, 6};

template <const ConvolutionPlaces& at>
Known<OpModel> forward_at(const OpCall& call) {
  return forward(call, at);
}
Known<OpModel> input_gradient(const OpCall& call) {
  return gradient_alone(call, true);
}
Known<OpModel> weight_gradient(const OpCall& call) {
  return gradient_alone(call, false);
}

constexpr NamedModel kConvolutionModels[] = {
    {"aten::convolution", forward_at<kGeneral>},
    {"aten::_convolution", forward_at<kGeneral>},
    {"aten::convolution_overrideable", forward_at<kGeneral>},
    {"aten::conv1d", forward_at<kPlain>},
    {"aten::conv2d", forward_at<kPlain>},
    {"aten::conv3d", forward_at<kPlain>},
    {"aten::conv_transpose1d", forward_at<kTransposed>},
    {"aten::conv_transpose2d", forward_at<kTransposed>},
    {"aten::conv_transpose3d", forward_at<kTransposed>},
    {"aten::cudnn_convolution", forward_at<kCudnn>},
    {"aten::cudnn_convolution_transpose", forward_at<kCudnnTransposed>},
    {"aten::cudnn_convolution_relu", forward_at<kPlain>},
    {"aten::cudnn_convolution_add_relu", forward_at<kAddRelu>},
    {"aten::miopen_convolution", forward_at<kPaddingFirst>},
    {"aten::miopen_depthwise_convolution", forward_at<kPaddingFirst>},
    {"aten::mkldnn_convolution", forward_at<kPaddingFirst>},
    {"aten::_slow_conv2d_forward", forward_at<kWithKernelSize>},
    {"aten::thnn_conv2d", forward_at<kWithKernelSize>},
    {"aten::_conv_depthwise2d", forward_at<kDilated>},
    {"aten::conv_depthwise3d", forward_at<kDilated>},
    {"aten::slow_conv_dilated2d", forward_at<kDilated>},
    {"aten::convolution_backward", backward},
    {"aten::cudnn_convolution_backward_input", input_gradient},
    {"aten::cudnn_convolution_backward_weight", weight_gradient},
};

}  // namespace

std::span<const NamedModel> convolution_models() {
  return kConvolutionModels;
}

Known<OpModel> convolution_gradient(const OpCall& call, const OpCall& parent) {
  const bool of_input = call.name == "aten::cudnn_convolution_backward_input";
  const Tensor* in = parent.tensor(0);
  const Tensor* out = call.tensor(1);
  const Tensor* weight = parent.tensor(2);
  const Tensor* told = call.tensor(2);
  const Tensor* same = of_input ? weight : in;
  if (told == nullptr || same == nullptr || told->dims != same->dims)
    return Absent{"the op around it has other shapes"};
  return gradient(in, out, weight);
}

}  // namespace nl::analyze
