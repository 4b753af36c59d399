#include "analyze/models/op_model.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/models/op_models.h"

namespace nl::analyze {
namespace {

using Model = Known<OpModel> (*)(const OpCall&);

constexpr std::string_view kComposite[] = {
    "aten::_batch_norm_impl_index",
    "aten::_convolution",
    "aten::_scaled_dot_product_attention_math",
    "aten::_scaled_dot_product_cudnn_attention",
    "aten::_scaled_dot_product_efficient_attention",
    "aten::_scaled_dot_product_efficient_attention_backward",
    "aten::_scaled_dot_product_flash_attention",
    "aten::_scaled_dot_product_flash_attention_backward",
    "aten::_to_copy",
    "aten::adaptive_avg_pool2d",
    "aten::batch_norm",
    "aten::clone",
    "aten::contiguous",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d",
    "aten::conv_transpose3d",
    "aten::convolution",
    "aten::cross_entropy_loss",
    "aten::cudnn_convolution_backward",
    "aten::dropout",
    "aten::einsum",
    "aten::embedding",
    "aten::instance_norm",
    "aten::layer_norm",
    "aten::linear",
    "aten::log_softmax",
    "aten::matmul",
    "aten::max_pool2d",
    "aten::multi_head_attention",
    "aten::reshape",
    "aten::rms_norm",
    "aten::scaled_dot_product_attention",
    "aten::softmax",
    "aten::to",
};

std::unordered_map<std::string_view, Model> all_models() {
  std::unordered_map<std::string_view, Model> models;
  for (const auto table :
       {matrix_models(), convolution_models(), attention_models(), memory_models(), onnx_models()}) {
    for (const auto& [name, model] : table) models.emplace(name, model);
  }
  return models;
}

Model find_model(std::string_view name) {
  static const auto models = all_models();
  const auto found = models.find(name);
  return found == models.end() ? nullptr : found->second;
}

bool is_of_lists(const OpCall& call) {
  return std::any_of(call.args.begin(), call.args.end(), [](const OpArg& arg) { return arg.is_list; });
}

/// aten::add_ writes its first argument.
std::string_view without_mark(std::string_view name) {
  const bool marked = name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
  return marked ? name.substr(0, name.size() - 1) : name;
}

bool names_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// AddmmBackward0 calls aten::mm; so does the engine's frame around it.
bool is_autograd_node(std::string_view name) {
  if (name.starts_with("autograd::engine::")) return true;
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || name.find("::") != std::string_view::npos) return false;
  return name.substr(0, end + 1).ends_with("Backward");
}

bool is_gradient_with_parent(const OpCall& call, const OpFacts* parent) {
  return parent != nullptr && parent->name == "aten::cudnn_convolution_backward" &&
         call.name.starts_with("aten::cudnn_convolution_backward_");
}

}  // namespace

Known<OpModel> model_op(const OpFacts& op, const OpFacts* parent) {
  const auto call = read_op_call(op);
  if (!call) return Absent{call.reason()};
  if (is_gradient_with_parent(*call, parent)) {
    return map(read_op_call(*parent),
               [&](const OpCall& around) { return convolution_gradient(*call, around); });
  }
  if (is_tensorrt(*call)) return tensorrt_model(*call);
  if (const Model model = find_model(call->name)) return model(*call);
  const std::string_view plain = without_mark(call->name);
  if (is_elementwise(plain)) return elementwise_model(*call, plain);
  if (is_of_lists(*call)) return Absent{"the dtype of a list of tensors is not in the source"};
  return Absent{"no model for " + call->name.substr(0, 100)};
}

bool is_composite(std::string_view op_name) {
  return is_autograd_node(op_name) ||
         std::find(std::begin(kComposite), std::end(kComposite), op_name) != std::end(kComposite);
}

std::string compute_dtype(const std::string& op_dtype, std::string_view kernel_names) {
  const bool is_tf32 = names_any(kernel_names, {"tf32", "TF32", "tensorop_s1688"});
  return op_dtype == "fp32" && is_tf32 ? "tf32" : op_dtype;
}

bool saves_operations(std::string_view kernel_names) {
  return names_any(kernel_names, {"winograd", "Winograd", "miopenSp3AsmConv", "fft2d_", "fft1d_"});
}

}  // namespace nl::analyze
