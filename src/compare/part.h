#pragma once
// Part: what a moment of the window was spent on. Every nanosecond of a window belongs to exactly one part,
// so the parts of each side add up to its window, and their differences add up to the difference of the
// windows.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyze/names/op_class.h"
#include "analyze/time/idle.h"
#include "compare/answer.h"

namespace nl::compare {

/// Compute by class, exposed communication, exposed copies, idle time by cause, and a rest that a source
/// leaves unexplained.
class Part {
 public:
  static constexpr size_t kCount = analyze::kOpClasses + 2 + analyze::kIdleCauses + 1;

  static Part compute(analyze::OpClass op_class) { return Part(static_cast<size_t>(op_class)); }
  static Part communication() { return Part(analyze::kOpClasses); }
  static Part copy() { return Part(analyze::kOpClasses + 1); }
  static Part idle(analyze::IdleCause cause) {
    return Part(analyze::kOpClasses + 2 + static_cast<size_t>(cause));
  }
  static Part rest() { return Part(kCount - 1); }
  static Part number(size_t index) { return Part(index); }

  size_t index() const { return index_; }
  PartKind kind() const;
  /// The class, the idle cause, or the kind itself.
  std::string_view name() const;
  /// A few words for people.
  std::string words() const;
  bool is_work() const { return kind() != PartKind::kIdle && kind() != PartKind::kRest; }
  bool operator==(const Part&) const = default;

 private:
  explicit Part(size_t index) : index_(static_cast<uint8_t>(index)) {}
  uint8_t index_;
};

using PartTimes = std::array<int64_t, Part::kCount>;

}  // namespace nl::compare
