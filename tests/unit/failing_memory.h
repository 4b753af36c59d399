#pragma once
// FailingMemory: while one lives, one allocation on a thread other than its own fails, as if memory had run
// out there. The test program's operator new is replaced for this; it is the usual one otherwise.

#include <cstdint>

namespace nl {

class FailingMemory {
 public:
  /// The allocation that fails is the one that comes after so many others.
  explicit FailingMemory(int64_t others);
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
  ~FailingMemory();
  bool has_failed() const;
};

}  // namespace nl
