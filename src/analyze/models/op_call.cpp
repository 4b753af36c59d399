#include "analyze/models/op_call.h"

#include <algorithm>

#include "base/decimal.h"
#include "base/json.h"
#include "base/small_json.h"

namespace nl::analyze {
namespace {

using Json = nlohmann::json;
using Dims = std::vector<int64_t>;

constexpr size_t kMaxBytes = 1 << 20;
constexpr int kMaxDepth = 8;
constexpr size_t kMaxRank = 64;

struct NamedDtype {
  std::string_view spelling;
  Dtype dtype;
};

constexpr NamedDtype kDtypes[] = {
    {"float", {"fp32", 4, true}},
    {"Float", {"fp32", 4, true}},
    {"double", {"fp64", 8, true}},
    {"c10::Half", {"fp16", 2, true}},
    {"Half", {"fp16", 2, true}},
    {"float16", {"fp16", 2, true}},
    {"c10::BFloat16", {"bf16", 2, true}},
    {"BFloat16", {"bf16", 2, true}},
    {"bfloat16", {"bf16", 2, true}},
    {"c10::Float8_e4m3fn", {"fp8", 1, true}},
    {"c10::Float8_e4m3fnuz", {"fp8", 1, true}},
    {"c10::Float8_e5m2", {"fp8", 1, true}},
    {"c10::Float8_e5m2fnuz", {"fp8", 1, true}},
    {"float8e4m3fn", {"fp8", 1, true}},
    {"float8e5m2", {"fp8", 1, true}},
    {"long int", {"int64", 8, false}},
    {"long", {"int64", 8, false}},
    {"int64", {"int64", 8, false}},
    {"int", {"int32", 4, false}},
    {"int32", {"int32", 4, false}},
    {"Int32", {"int32", 4, false}},
    {"short", {"int16", 2, false}},
    {"short int", {"int16", 2, false}},
    {"int16", {"int16", 2, false}},
    {"signed char", {"int8", 1, false}},
    {"int8", {"int8", 1, false}},
    {"Int8", {"int8", 1, false}},
    {"unsigned char", {"uint8", 1, false}},
    {"uint8", {"uint8", 1, false}},
    {"bool", {"bool", 1, false}},
};

/// Inside the words that TensorRT prints for a format.
constexpr NamedDtype kFormats[] = {
    {"BF16", {"bf16", 2, true}},  {"FP16", {"fp16", 2, true}},    {"FP32", {"fp32", 4, true}},
    {"FP8", {"fp8", 1, true}},    {"Int8", {"int8", 1, false}},   {"INT8", {"int8", 1, false}},
    {"Bool", {"bool", 1, false}}, {"Int32", {"int32", 4, false}}, {"Int64", {"int64", 8, false}},
};

Json parse(std::string_view text) {
  if (text.size() > kMaxBytes) return Json(Json::value_t::discarded);
  return parse_small_json(text, kMaxDepth);
}

bool is_shape(const Json& json) {
  return json.is_array() &&
         std::none_of(json.begin(), json.end(), [](const Json& item) { return item.is_array(); });
}

/// Nothing unless all are whole numbers from 0 on.
std::optional<Dims> dims_of(const Json& json) {
  if (!is_shape(json) || json.size() > kMaxRank) return std::nullopt;
  Dims dims;
  for (const auto& item : json) {
    if (!item.is_number_unsigned()) return std::nullopt;
    const auto size = item.get<uint64_t>();
    if (size > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
    dims.push_back(static_cast<int64_t>(size));
  }
  return dims;
}

std::string text_of(const Json& list, size_t at) {
  if (!list.is_array() || at >= list.size()) return {};
  if (list[at].is_string()) return list[at].get<std::string>();
  return list[at].dump(-1, ' ', false, Json::error_handler_t::replace);
}

Dims strides_of(const Json& list, size_t at, size_t rank) {
  if (!list.is_array() || at >= list.size()) return {};
  const auto strides = dims_of(list[at]);
  return strides && strides->size() == rank ? *strides : Dims{};
}

/// A tensor of no dimension and an argument that is no tensor have the same shape; the dtype tells them
/// apart.
Known<OpArg> read_arg(const Json& shape, const std::string& dtype, const std::string& text) {
  OpArg arg;
  arg.text = text;
  arg.is_list = shape.is_array() && !is_shape(shape);
  if (arg.is_list) return arg;
  const auto dims = dims_of(shape);
  if (!dims) return Absent{"the shapes are not lists of sizes"};
  const Dtype known = find_dtype(dtype);
  if (known.is_known() || !dims->empty()) arg.tensor = Tensor{*dims, {}, known};
  return arg;
}

Known<std::vector<OpArg>> read_args(const OpFacts& facts) {
  const Json shapes = parse(facts.shapes);
  if (!shapes.is_array()) return Absent{"the shapes are not a JSON list"};
  const Json dtypes = parse(facts.dtypes);
  const Json strides = parse(facts.strides);
  const Json inputs = parse(facts.inputs);
  std::vector<OpArg> args;
  for (size_t i = 0; i < shapes.size(); i++) {
    auto arg = read_arg(shapes[i], text_of(dtypes, i), text_of(inputs, i));
    if (!arg) return Absent{arg.reason()};
    args.push_back(*std::move(arg));
    auto& tensor = args.back().tensor;
    if (tensor) tensor->strides = strides_of(strides, i, tensor->rank());
  }
  return args;
}

void add_output(std::vector<Tensor>& outputs, const Json& dims, const std::string& dtype) {
  const auto known = dims_of(dims);
  if (known) outputs.push_back({*known, {}, find_dtype(dtype)});
}

/// [{"float":[2,64,128]}]
void read_onnx_outputs(const Json& list, std::vector<Tensor>& outputs) {
  for (const auto& item : list) {
    if (!item.is_object()) continue;
    for (const auto& [dtype, dims] : item.items()) add_output(outputs, dims, dtype);
  }
}

void read_tensorrt_outputs(const Json& list, std::vector<Tensor>& outputs) {
  for (const auto& item : list) {
    if (!item.is_object() || !item.contains("Dimensions")) continue;
    const auto format = item.find("Format/Datatype");
    const bool has_format = format != item.end() && format->is_string();
    add_output(outputs, item["Dimensions"], has_format ? format->get<std::string>() : "");
  }
}

std::vector<Tensor> read_outputs(const OpFacts& facts) {
  std::vector<Tensor> outputs;
  const Json given = facts.output_shapes.empty() ? Json() : parse(facts.output_shapes);
  if (given.is_array()) {
    for (const auto& dims : given) add_output(outputs, dims, "");
  }
  const Json args = facts.args.empty() || !outputs.empty() ? Json() : parse(facts.args);
  if (!args.is_object()) return outputs;
  const auto onnx = args.find("output_type_shape");
  const auto tensorrt = args.find("Outputs");
  if (onnx != args.end() && onnx->is_array()) read_onnx_outputs(*onnx, outputs);
  if (tensorrt != args.end() && tensorrt->is_array()) read_tensorrt_outputs(*tensorrt, outputs);
  return outputs;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// "[1, 1]" and "[True, False]" alike; one value is a list of one.
std::vector<std::string_view> items_of(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    items.push_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::optional<bool> flag_of(std::string_view text) {
  if (text == "True" || text == "true") return true;
  if (text == "False" || text == "false") return false;
  return std::nullopt;
}

}  // namespace

Dtype find_dtype(std::string_view text) {
  for (const auto& [spelling, dtype] : kDtypes) {
    if (text == spelling) return dtype;
  }
  if (text.find(' ') == std::string_view::npos) return {};
  for (const auto& [spelling, dtype] : kFormats) {
    if (text.find(spelling) != std::string_view::npos) return dtype;
  }
  return {};
}

Dtype find_scalar_type(int64_t number) {
  switch (number) {
    case 0:
      return find_dtype("unsigned char");
    case 1:
      return find_dtype("signed char");
    case 2:
      return find_dtype("short");
    case 3:
      return find_dtype("int");
    case 4:
      return find_dtype("long");
    case 5:
      return find_dtype("c10::Half");
    case 6:
      return find_dtype("float");
    case 7:
      return find_dtype("double");
    case 11:
      return find_dtype("bool");
    case 15:
      return find_dtype("c10::BFloat16");
    case 23:
      return find_dtype("c10::Float8_e5m2");
    case 24:
      return find_dtype("c10::Float8_e4m3fn");
    default:
      return {};
  }
}

Count Tensor::stored_elements() const {
  Count count = 1;
  for (size_t i = 0; i < dims.size(); i++) {
    const bool is_expanded = i < strides.size() && strides[i] == 0 && dims[i] > 0;
    count = count * (is_expanded ? 1 : dims[i]);
  }
  return count;
}

const Tensor* OpCall::tensor(int at) const {
  if (at < 0 || static_cast<size_t>(at) >= args.size()) return nullptr;
  const auto& tensor = args[static_cast<size_t>(at)].tensor;
  return tensor ? &*tensor : nullptr;
}

std::string_view OpCall::text(int at) const {
  if (at < 0 || static_cast<size_t>(at) >= args.size()) return {};
  return args[static_cast<size_t>(at)].text;
}

std::optional<int64_t> OpCall::number(int at) const {
  int64_t out = 0;
  return parse_int64(text(at), out) ? std::optional(out) : std::nullopt;
}

std::optional<bool> OpCall::flag(int at) const {
  return flag_of(text(at));
}

std::optional<std::vector<int64_t>> OpCall::numbers(int at) const {
  std::vector<int64_t> out;
  for (const auto item : items_of(text(at))) {
    int64_t number = 0;
    if (!parse_int64(item, number)) return std::nullopt;
    out.push_back(number);
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::optional<std::vector<bool>> OpCall::flags(int at) const {
  std::vector<bool> out;
  for (const auto item : items_of(text(at))) {
    const auto flag = flag_of(item);
    if (!flag) return std::nullopt;
    out.push_back(*flag);
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

Known<OpCall> read_op_call(const OpFacts& facts) {
  if (facts.shapes.empty()) return Absent{"no shapes in the source"};
  auto args = read_args(facts);
  if (!args) return Absent{args.reason()};
  const auto name = facts.op_type.empty() ? facts.name : facts.op_type;
  return OpCall{std::string(name), *std::move(args), read_outputs(facts), facts.args};
}

}  // namespace nl::analyze
