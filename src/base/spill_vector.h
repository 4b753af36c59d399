#pragma once
// SpillVector: a list of plain values that are appended now and needed later. The first million stay in
// memory; the rest goes to an unnamed temporary file, so a long list costs little memory while it waits. One
// thread.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace nl {

template <class T>
class SpillVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// `folder`: where the file goes, once it is needed.
  explicit SpillVector(std::string folder) : folder_(std::move(folder)) {}
  SpillVector(const SpillVector&) = delete;
  SpillVector& operator=(const SpillVector&) = delete;
  ~SpillVector() {
    if (fd_ >= 0) ::close(fd_);
  }

  Result<void> push(const T& value) {
    tail_.push_back(value);
    size_++;
    if (tail_.size() < (fd_ < 0 ? kInMemory : kPiece)) return {};
    return spill();
  }
  size_t size() const { return size_; }

  /// All values; the vector is empty afterwards.
  Result<std::vector<T>> take() {
    std::vector<T> all;
    if (fd_ < 0) {
      all.swap(tail_);
    } else {
      NL_CHECK(read_back(all));
    }
    clear();
    return all;
  }
  void clear() {
    std::vector<T>().swap(tail_);
    size_ = 0;
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  static constexpr size_t kInMemory = 1 << 20;
  static constexpr size_t kPiece = 1 << 16;

  Result<void> spill() {
    if (fd_ < 0) fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0) NL_CHECK(open_named());
    const auto* bytes = reinterpret_cast<const char*>(tail_.data());
    size_t left = tail_.size() * sizeof(T);
    while (left > 0) {
      const ssize_t n = ::write(fd_, bytes, left);
      if (n < 0 && errno != EINTR) return errno_error("cannot write a temporary file", folder_, errno);
      if (n > 0) bytes += n, left -= static_cast<size_t>(n);
    }
    if (tail_.capacity() > kPiece) std::vector<T>().swap(tail_);
    tail_.clear();
    tail_.reserve(kPiece);
    return {};
  }

  /// For file systems without unnamed files.
  Result<void> open_named() {
    std::string path = folder_ + "/spill-XXXXXX";
    fd_ = ::mkstemp(path.data());
    if (fd_ < 0) return errno_error("cannot create a temporary file", folder_, errno);
    ::unlink(path.c_str());
    return {};
  }

  Result<void> read_back(std::vector<T>& all) {
    all.resize(size_ - tail_.size());
    auto* to = reinterpret_cast<char*>(all.data());
    size_t done = 0;
    const size_t whole = all.size() * sizeof(T);
    while (done < whole) {
      const ssize_t n = ::pread(fd_, to + done, whole - done, static_cast<off_t>(done));
      if (n == 0 || (n < 0 && errno != EINTR))
        return errno_error("cannot read a temporary file", folder_, errno);
      if (n > 0) done += static_cast<size_t>(n);
    }
    all.insert(all.end(), tail_.begin(), tail_.end());
    return {};
  }

  std::string folder_;
  std::vector<T> tail_;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace nl
