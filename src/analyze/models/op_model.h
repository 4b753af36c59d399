#pragma once
// Models of how many operations and bytes an op needs, computed from what a source records about the call.
// Pure functions of untrusted text.
//
// How operations are counted: a multiply-add is two. Matrix products, convolutions and attention count only
// their products (no bias, scale or softmax). A causal mask counts Nq(2Nk - Nq) instead of 2 Nq Nk. Per
// element: 1 for an elementwise function, 5 for softmax (maximum, difference, exponential, sum, quotient), 4
// for an RMS norm, 8 for layer and batch norm (4 with given statistics). Copies, gathers and fills count 0.
// bytes_min: each input is read once and each output written once; an expanded dimension is read once.
//
// Ops nest: aten::linear calls aten::addmm, and both describe the same work. To count it only once, a caller
// models the innermost op that owns a kernel (kernels.op_id), and leaves out the ops that is_composite()
// names if their children are recorded.

#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/models/op_call.h"
#include "base/known.h"

namespace nl::analyze {

struct OpModel {
  int64_t flops = 0;
  int64_t bytes_min = 0;
  std::string dtype;  ///< of the arithmetic: bf16, fp32 ...
  std::string
      model;  ///< matrix_product, convolution, attention, norm, softmax, elementwise, reduction, gather, copy
};

/// Absent with a reason for an op without shapes, with an unknown dtype or without a model. `parent` is the
/// op around this one, if any: cuDNN's backward ops of old PyTorch tell one of their three shapes only there.
Known<OpModel> model_op(const OpFacts& op, const OpFacts* parent = nullptr);

/// Whether the op only calls other ops, which are recorded as its children.
bool is_composite(std::string_view op_name);

/// Work in fp32 runs as tf32 if the kernel says so, and then the peak of tf32 counts.
std::string compute_dtype(const std::string& op_dtype, std::string_view kernel_names);

/// Winograd's and Fourier's convolutions, whose operations are fewer than those of the direct one.
bool saves_operations(std::string_view kernel_names);

}  // namespace nl::analyze
