#pragma once
// PagedVector: a std::vector for columns of any length. What is small, and the first large ones of a process,
// are ordinary memory. Beyond that, values lie in unnamed files that are mapped, and when too many of their
// pages are in memory, all are given back to the kernel: whoever touches a page again gets it from the cache
// of the file system, or from the disk if memory is scarce. So the memory of a process does not grow with the
// run, and code reads a column as if it were in memory. Fast for passes in order; jumps over a whole column
// cost a fault each. Any number of threads may have such vectors.

#include <cstddef>
#include <functional>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nl {

struct PageLimits {
  size_t in_memory = size_t{96} << 20;  ///< bytes of large vectors that are ordinary memory
  size_t resident =
      size_t{96} << 20;  ///< bytes of mapped files that may be in memory before they are given back
};

/// Of this process; for the vectors that are made from now on. `folder` is asked when the first file is
/// needed.
void set_page_folder(std::function<std::string()> folder);
void set_page_limits(PageLimits limits);

/// There is no room for a column where files lie.
struct NoRoomForPages : std::bad_alloc {
  const char* what() const noexcept override {
    return "no room on disk for columns that do not fit into memory";
  }
};

namespace pages {
inline constexpr size_t kLarge = size_t{1} << 18;  // a run of many ranks has dozens of columns for each
void* take(size_t bytes);
void give_back(void* memory, size_t bytes) noexcept;
}  // namespace pages

template <class T>
struct PagedAllocator {
  using value_type = T;
  PagedAllocator() = default;
  template <class U>
  PagedAllocator(const PagedAllocator<U>&) {}  // NOLINT(google-explicit-constructor): as std::allocator

  T* allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    return static_cast<T*>(bytes < pages::kLarge ? ::operator new(bytes) : pages::take(bytes));
  }
  void deallocate(T* memory, size_t n) noexcept {
    const size_t bytes = n * sizeof(T);
    if (bytes < pages::kLarge) {
      ::operator delete(memory);
    } else {
      pages::give_back(memory, bytes);
    }
  }
  template <class U>
  bool operator==(const PagedAllocator<U>&) const {
    return true;
  }
};

template <class T>
using PagedVector = std::vector<T, PagedAllocator<T>>;

/// A fixed number of values that are not there until they are set: reading one before means nothing.
template <class T>
class PagedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  explicit PagedArray(size_t size) : size_(size), values_(PagedAllocator<T>().allocate(size)) {}
  ~PagedArray() {
    if (values_ != nullptr) PagedAllocator<T>().deallocate(values_, size_);
  }
  PagedArray(PagedArray&& other) noexcept
      : size_(other.size_), values_(std::exchange(other.values_, nullptr)) {}
  PagedArray& operator=(PagedArray&&) = delete;

  size_t size() const { return size_; }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }

 private:
  size_t size_;
  T* values_;
};

}  // namespace nl
