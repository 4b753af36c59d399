#include "redact/name_redactor.h"

#include "analyze/names/kernel_kinds.h"
#include "analyze/names/stated_name.h"

namespace nl::redact {

using analyze::OpClass;

std::string NameRedactor::name(std::string_view given, NameRole role) {
  std::string redacted = texts_.text(given);
  if (redacted == given) return redacted;
  has_changed_ops_ |= role != NameRole::kOther && role != NameRole::kKernel;
  return analyze::with_statement(redacted, lost(given, redacted, role));
}

NameRedactor::Statement NameRedactor::lost(std::string_view original, std::string_view redacted,
                                           NameRole role) const {
  const auto unless_equal = [](const char* key, OpClass before, OpClass after) {
    return before == after ? Statement() : Statement{{key, std::string(analyze::op_class_name(before))}};
  };
  switch (role) {
    case NameRole::kKernel:
      return lost_of_kernel(original, redacted);
    case NameRole::kOp:
      return unless_equal("op", taxonomy_.op(original), taxonomy_.op(redacted));
    case NameRole::kLayer:
      return unless_equal("layer", taxonomy_.layer("", original), taxonomy_.layer("", redacted));
    case NameRole::kLayerType:
      return unless_equal("layer", taxonomy_.layer(original, ""), taxonomy_.layer(redacted, ""));
    case NameRole::kOther:
      break;
  }
  return {};
}

NameRedactor::Statement NameRedactor::lost_of_kernel(std::string_view original,
                                                     std::string_view redacted) const {
  const auto before = taxonomy_.kernel(original), after = taxonomy_.kernel(redacted);
  Statement statement;
  if (before.op_class != after.op_class || before.family != after.family)
    statement["kernel"] = std::string(analyze::op_class_name(before.op_class)) + "/" + before.family;
  if (before.name.dtype != after.name.dtype) statement["dtype"] = before.name.dtype;
  if (before.name.tile != after.name.tile) statement["tile"] = before.name.tile;
  const std::string kinds = analyze::kinds_text(analyze::kernel_kinds(original));
  if (kinds != analyze::kinds_text(analyze::kernel_kinds(redacted))) statement["kinds"] = kinds;
  return statement;
}

}  // namespace nl::redact
