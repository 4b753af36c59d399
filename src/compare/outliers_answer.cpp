#include "compare/outliers_answer.h"

namespace nl::compare {

std::string_view outlier_kind_name(OutlierKind kind) {
  static constexpr std::string_view kKinds[] = {"run", "class", "layer", "step"};
  return kKinds[static_cast<size_t>(kind)];
}

}  // namespace nl::compare
