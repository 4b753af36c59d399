#pragma once
// MappingGuard: lets this process survive that another one cuts off a file which is mapped here. Touching a
// page that is no longer in the file raises SIGBUS; inside a guarded mapping the page is then replaced by
// zeros, and the reader goes on. The first guard installs the handler and the last one restores the handler
// that was there before. Any thread may make one.

#include <cstddef>

namespace nl {

class MappingGuard {
 public:
  /// The mapping must outlive the guard.
  MappingGuard(void* memory, size_t bytes);
  MappingGuard(MappingGuard&& other) noexcept;
  MappingGuard& operator=(MappingGuard&&) = delete;
  ~MappingGuard();

  /// False: there are too many, and this one is not guarded.
  bool is_on() const { return slot_ >= 0; }
  /// Something of it was missing when it was read.
  bool is_cut() const;

 private:
  int slot_;
};

}  // namespace nl
