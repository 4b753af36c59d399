#pragma once
// OpClass: what a kernel or an op does, in one word, such as a matrix product or a copy. The list is
// op_classes.def.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/described.h"

namespace nl::analyze {

enum class OpClass : uint8_t {
#define NL_CLASS(name, doc) k_##name,
#include "analyze/names/op_classes.def"
#undef NL_CLASS
};

inline constexpr size_t kOpClasses = static_cast<size_t>(OpClass::k_other) + 1;

std::string_view op_class_name(OpClass op_class);
std::string_view op_class_doc(OpClass op_class);
std::optional<OpClass> find_op_class(std::string_view name);

}  // namespace nl::analyze

namespace nl {

template <>
struct DescribedAs<analyze::OpClass>
    : DescribedEnum<analyze::OpClass, analyze::op_class_name, analyze::kOpClasses> {};

}  // namespace nl
