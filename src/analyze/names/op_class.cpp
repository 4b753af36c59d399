#include "analyze/names/op_class.h"

#include <algorithm>
#include <array>

namespace nl::analyze {
namespace {

struct Described {
  std::string_view name;
  std::string_view doc;
};

constexpr std::array<Described, kOpClasses> kClasses = {{
#define NL_CLASS(name, doc) {#name, doc},
#include "analyze/names/op_classes.def"
#undef NL_CLASS
}};

}  // namespace

std::string_view op_class_name(OpClass op_class) {
  return kClasses[static_cast<size_t>(op_class)].name;
}

std::string_view op_class_doc(OpClass op_class) {
  return kClasses[static_cast<size_t>(op_class)].doc;
}

std::optional<OpClass> find_op_class(std::string_view name) {
  const auto at =
      std::find_if(kClasses.begin(), kClasses.end(), [&](const Described& c) { return c.name == name; });
  if (at == kClasses.end()) return std::nullopt;
  return static_cast<OpClass>(at - kClasses.begin());
}

}  // namespace nl::analyze
