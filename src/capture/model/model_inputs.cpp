#include "capture/model/model_inputs.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace nl::capture {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;

const Tensor* find_given(const std::vector<Tensor>& given, const std::string& name) {
  const auto at = std::find_if(given.begin(), given.end(), [&](const Tensor& t) { return t.name == name; });
  return at == given.end() ? nullptr : &*at;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t n : shape) text += (text.empty() ? "" : "x") + (n < 0 ? "?" : std::to_string(n));
  return text.empty() ? "scalar" : text;
}

bool fits(const InputSpec& spec, const std::vector<int64_t>& shape) {
  if (spec.shape.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); i++) {
    if (spec.shape[i] >= 0 && spec.shape[i] != shape[i]) return false;
  }
  return true;
}

Error other_shape(const InputSpec& spec, const std::vector<int64_t>& shape) {
  return Error{ErrorCode::kBadInput, "input " + spec.name + " is " + shape_text(spec.shape) +
                                         " in the model, not " + shape_text(shape)};
}

Result<std::vector<int64_t>> shape_of(const InputSpec& spec, const InputOptions& options,
                                      ModelInputs& inputs) {
  const auto said = options.shapes.find(spec.name);
  if (said != options.shapes.end()) {
    if (!fits(spec, said->second)) return other_shape(spec, said->second);
    return said->second;
  }
  std::vector<int64_t> shape = spec.shape;
  for (size_t i = 0; i < shape.size(); i++) {
    if (shape[i] >= 0) continue;
    const std::string& symbol = spec.symbols[i];
    const auto size = options.sizes.find(symbol);
    shape[i] = size == options.sizes.end() ? 1 : size->second;
    if (size == options.sizes.end())
      inputs.guessed.push_back(spec.name + "[" + std::to_string(i) + "]" +
                               (symbol.empty() ? "" : " (" + symbol + ")"));
  }
  return shape;
}

template <class T>
void append(std::string& bytes, T value) {
  const auto at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Of numbers from 0 to 1, without rounding.
uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const int exponent = static_cast<int>(bits >> 23) - 127 + 15;
  return exponent <= 0 ? 0 : static_cast<uint16_t>((exponent << 10) | ((bits >> 13) & 0x3ff));
}

void append_element(std::string& bytes, const std::string& type, float number) {
  if (type == "float32") return append(bytes, number);
  if (type == "float64") return append(bytes, static_cast<double>(number));
  if (type == "float16") return append(bytes, half_bits(number));
  if (type == "bfloat16") return append(bytes, static_cast<uint16_t>(std::bit_cast<uint32_t>(number) >> 16));
  const size_t size = element_bytes(type);
  bytes.push_back(1);
  bytes.append(size - 1, '\0');
}

Result<Tensor> made(const InputSpec& spec, std::vector<int64_t> shape) {
  int64_t elements = 1;
  for (const int64_t n : shape) {
    if (__builtin_mul_overflow(elements, n, &elements) || elements > kMostElements)
      return Error{ErrorCode::kLimit, "input " + spec.name + " is too large: " + shape_text(shape)};
  }
  Tensor tensor{spec.name, spec.type, std::move(shape)};
  if (element_bytes(spec.type) == 0) return tensor;
  std::mt19937 random(20'260'101);  // the standard fixes its numbers
  tensor.bytes.reserve(static_cast<size_t>(elements) * element_bytes(spec.type));
  for (int64_t i = 0; i < elements; i++)
    append_element(tensor.bytes, spec.type, static_cast<float>(random() >> 8) / static_cast<float>(1 << 24));
  return tensor;
}

}  // namespace

Result<ModelInputs> make_inputs(const std::vector<InputSpec>& specs, const InputOptions& options) {
  ModelInputs inputs;
  for (const Tensor& tensor : options.given) {
    const bool wanted =
        std::any_of(specs.begin(), specs.end(), [&](const auto& s) { return s.name == tensor.name; });
    if (!wanted) return Error{ErrorCode::kBadInput, "the model has no input " + tensor.name};
  }
  for (const InputSpec& spec : specs) {
    const Tensor* const given = find_given(options.given, spec.name);
    if (given != nullptr) {
      if (!fits(spec, given->shape)) return other_shape(spec, given->shape);
      if (given->type != spec.type)
        return Error{ErrorCode::kBadInput,
                     "input " + spec.name + " is " + spec.type + " in the model, not " + given->type};
      inputs.tensors.push_back(*given);
      continue;
    }
    NL_TRY(auto shape, shape_of(spec, options, inputs));
    NL_TRY(Tensor tensor, made(spec, std::move(shape)));
    inputs.tensors.push_back(std::move(tensor));
    inputs.generated.push_back(spec.name);
  }
  return inputs;
}

}  // namespace nl::capture
