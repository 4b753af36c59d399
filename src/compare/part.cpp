#include "compare/part.h"

namespace nl::compare {

PartKind Part::kind() const {
  if (index_ < analyze::kOpClasses) return PartKind::kCompute;
  if (*this == communication()) return PartKind::kCommunication;
  if (*this == copy()) return PartKind::kCopy;
  return *this == rest() ? PartKind::kRest : PartKind::kIdle;
}

std::string_view Part::name() const {
  if (kind() == PartKind::kCompute) return analyze::op_class_name(static_cast<analyze::OpClass>(index_));
  if (kind() == PartKind::kIdle)
    return analyze::idle_cause_name(static_cast<analyze::IdleCause>(index_ - analyze::kOpClasses - 2));
  return part_kind_name(kind());
}

std::string Part::words() const {
  switch (kind()) {
    case PartKind::kCompute:
      return std::string(name());
    case PartKind::kCommunication:
      return "communication while no compute runs";
    case PartKind::kCopy:
      return "copies while nothing else runs";
    case PartKind::kIdle:
      return std::string(
          analyze::idle_cause_words(static_cast<analyze::IdleCause>(index_ - analyze::kOpClasses - 2)));
    case PartKind::kRest:
      break;
  }
  return "not explained by the source";
}

}  // namespace nl::compare
