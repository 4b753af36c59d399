#include "analyze/names/kernel_traits.h"

#include <re2/re2.h>

#include <utility>

namespace nl::analyze {
namespace {

constexpr size_t kMaxBytesRead = 4096;

struct Spelling {
  std::string_view text;
  std::string_view dtype;
};

/// As a word between underscores.
constexpr Spelling kWords[] = {
    {"bf16", "bf16"}, {"bfloat16", "bf16"}, {"fp16", "fp16"},  {"f16", "fp16"},  {"half", "fp16"},
    {"tf32", "tf32"}, {"fp32", "fp32"},     {"float", "fp32"}, {"f32", "fp32"},  {"fp64", "fp64"},
    {"f64", "fp64"},  {"fp8", "fp8"},       {"e4m3", "fp8"},   {"e5m2", "fp8"},  {"e2m1", "fp4"},
    {"mxfp8", "fp8"}, {"mxfp4", "fp4"},     {"nvfp4", "fp4"},  {"int8", "int8"}, {"i8", "int8"},
    {"int4", "int4"},
};
/// Only in the names of products, where s8 is no counter.
constexpr Spelling kProductWords[] = {
    {"s8", "int8"}, {"u8", "int8"}, {"s4", "int4"}, {"u4", "int4"}, {"f8", "fp8"}};

/// Types of C++ as the last part of a template argument.
constexpr Spelling kTypes[] = {
    {"float", "fp32"},          {"double", "fp64"},         {"BFloat16", "bf16"},
    {"bfloat16_t", "bf16"},     {"__nv_bfloat16", "bf16"},  {"__hip_bfloat16", "bf16"},
    {"hip_bfloat16", "bf16"},   {"nv_bfloat16", "bf16"},    {"__bf16", "bf16"},
    {"__nv_bfloat162", "bf16"}, {"Half", "fp16"},           {"half", "fp16"},
    {"half_t", "fp16"},         {"__half", "fp16"},         {"__half2", "fp16"},
    {"_Float16", "fp16"},       {"tfloat32_t", "tf32"},     {"Float8_e4m3fn", "fp8"},
    {"Float8_e5m2", "fp8"},     {"Float8_e4m3fnuz", "fp8"}, {"Float8_e5m2fnuz", "fp8"},
    {"__nv_fp8_e4m3", "fp8"},   {"__nv_fp8_e5m2", "fp8"},   {"float_e4m3_t", "fp8"},
    {"float_e5m2_t", "fp8"},    {"float_e2m1_t", "fp4"},    {"int8_t", "int8"},
    {"int4b_t", "int4"},
};

template <size_t N>
std::string_view find(const Spelling (&table)[N], std::string_view text) {
  for (const auto& [spelling, dtype] : table) {
    if (spelling == text) return dtype;
  }
  return {};
}

bool is_product(std::string_view label) {
  static const RE2 pattern("gemm|tensorop|fprop|dgrad|wgrad|conv|matmul");
  return RE2::PartialMatch(label, pattern);
}

/// tf32f32 and bf16bf16xmxfp4: several types in one word, of which the first counts.
std::string_view dtype_of_joined(std::string_view word) {
  static const RE2 joined(
      "((?:t?f|b?f|fp|i|e)[0-9]+(?:m[0-9])?)x?(?:(?:mx|nv)?(?:t|b)?(?:f|fp|i|e)[0-9]+(?:m[0-9])?)+"
      "(?:x(?:mx|nv)?b?fp?[0-9]+)*");
  std::string first;
  if (!RE2::FullMatch(word, joined, &first)) return {};
  return find(kWords, first);
}

std::string_view dtype_of_words(std::string_view label) {
  const bool product = is_product(label);
  while (!label.empty()) {
    const size_t end = label.find('_');
    const std::string_view word = label.substr(0, end);
    if (const auto dtype = find(kWords, word); !dtype.empty()) return dtype;
    if (const auto dtype = dtype_of_joined(word); product && !dtype.empty()) return dtype;
    if (const auto dtype = find(kProductWords, word); product && !dtype.empty()) return dtype;
    if (end == std::string_view::npos) break;
    label.remove_prefix(end + 1);
  }
  return {};
}

/// One letter for a type, as BLAS and its heirs write it.
std::string_view dtype_of_letter(char letter) {
  switch (letter) {
    case 's':
      return "fp32";
    case 'd':
      return "fp64";
    case 'h':
      return "fp16";
    case 't':
      return "bf16";
    case 'b':
      return "bf16";
    case 'q':
      return "fp8";
    default:
      return {};
  }
}

/// Patterns whose group is a type or the letter of one.
std::string_view dtype_of_library_name(const std::string& label) {
  static const RE2 blas("(?:^|_)([sdh])(?:gemm|gemv|cudnn)(?:_|$)");
  static const RE2 nvjet("^nvjet_(?:sm[0-9]+_)?([a-z])[a-z]{2,}_");
  static const RE2 tensile("^Cij[a-z]*_A[a-z]+_B[a-z]+_(I8|F8|B8|[BHSD])");
  static const RE2 fmha("_Qkv(E4m3|E5m2|Bfloat16|Fp16)");
  std::string found;
  if (RE2::PartialMatch(label, blas, &found)) return dtype_of_letter(found[0]);
  if (RE2::PartialMatch(label, nvjet, &found)) return dtype_of_letter(found[0]);
  if (RE2::PartialMatch(label, tensile, &found)) {
    if (found == "I8") return "int8";
    if (found.size() == 2) return "fp8";
    return dtype_of_letter(static_cast<char>(found[0] + ('a' - 'A')));
  }
  if (!RE2::PartialMatch(label, fmha, &found)) return {};
  return found[0] == 'E' ? "fp8" : found[0] == 'B' ? "bf16" : "fp16";
}

std::string_view dtype_of_functors(const KernelName& name) {
  for (const auto& functor : name.functors) {
    if (const auto dtype = find(kTypes, last_component(functor)); !dtype.empty()) return dtype;
  }
  return {};
}

/// direct_copy_kernel_cuda(...)::{lambda(c10::BFloat16)#1} has its type only there.
std::string_view dtype_of_lambda(std::string_view text) {
  constexpr std::string_view kMark = "lambda(";
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    const std::string_view first = text.substr(at, text.substr(at).find_first_of(",)"));
    if (const auto dtype = find(kTypes, last_component(first)); !dtype.empty()) return dtype;
  }
  return {};
}

std::string label_of(const KernelName& name) {
  return name.short_name.substr(0, kMaxBytesRead);
}

}  // namespace

std::string stated_dtype(const KernelName& name) {
  const std::string label = label_of(name);
  // The words of a product are its inputs; elsewhere they may be what it makes (scaled_fp8_quant).
  const auto words = dtype_of_words(label);
  const auto product = is_product(label) ? words : std::string_view();
  for (const auto dtype : {dtype_of_library_name(label), product, dtype_of_functors(name), words}) {
    if (!dtype.empty()) return std::string(dtype);
  }
  return std::string(dtype_of_lambda(std::string_view(name.demangled).substr(0, kMaxBytesRead)));
}

std::string stated_tile(const KernelName& name) {
  static const RE2 whole("(?:_tilesize|_MT|_bt|_t)([0-9]+x[0-9]+x[0-9]+)(?:_|u[0-9]|$)");
  static const RE2 matmul("matmul_.*_([0-9]+x[0-9]+x[0-9]+)(?:x[0-9]+)?(?:_|$)");
  static const RE2 staged(
      "(?:gemm|fprop|dgrad|wgrad|^nvjet).*?_([0-9]+x[0-9]+)_(?:.*_stages_)?([0-9]+)x[0-9]+(?:_|$)");
  static const RE2 flat("(?:gemm|gemv|cudnn).*?_([0-9]+x[0-9]+)(?:_|$)");
  static const RE2 shape("GemmShape<(?:\\(int\\))?([0-9]+), (?:\\(int\\))?([0-9]+), (?:\\(int\\))?([0-9]+)>");
  const std::string label = label_of(name);
  std::string a;
  std::string b;
  std::string c;
  if (RE2::PartialMatch(label, whole, &a) || RE2::PartialMatch(label, matmul, &a)) return a;
  if (RE2::PartialMatch(label, staged, &a, &b)) return a + "x" + b;
  if (RE2::PartialMatch(label, flat, &a)) return a;
  const std::string text = name.demangled.substr(0, kMaxBytesRead);
  if (text.find("GemmShape<") == std::string::npos || !RE2::PartialMatch(text, shape, &a, &b, &c)) return {};
  return a + "x" + b + "x" + c;
}

}  // namespace nl::analyze
