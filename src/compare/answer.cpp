#include "compare/answer.h"

namespace nl::compare {

std::string_view mode_name(Mode mode) {
  static constexpr std::string_view kNames[] = {"same", "other_hardware", "other_backend"};
  return kNames[static_cast<size_t>(mode)];
}

std::string_view factor_state_name(FactorState state) {
  static constexpr std::string_view kNames[] = {"equal", "different", "unknown"};
  return kNames[static_cast<size_t>(state)];
}

std::string_view part_kind_name(PartKind kind) {
  static constexpr std::string_view kNames[] = {"compute", "communication", "copy", "idle", "rest"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view change_kind_name(ChangeKind kind) {
  static constexpr std::string_view kNames[] = {"changed", "moved", "renamed", "fused",
                                                "split",   "added", "removed"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view across_level_name(AcrossLevel level) {
  return level == AcrossLevel::kOp ? "op" : "class";
}

}  // namespace nl::compare
