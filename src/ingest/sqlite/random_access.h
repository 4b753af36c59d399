#pragma once
// RandomAccess: the decompressed bytes of an input for readers that do not read in order. A plain file is
// read in place. Other inputs are copied: small ones into memory, large ones into an unnamed temporary file.
// One thread.

#include <cstdint>
#include <string>

#include "base/result.h"
#include "ingest/adapter.h"

namespace nl::ingest {

class RandomAccess {
 public:
  static constexpr size_t kMaxKeptBytes = 8 << 20;
  static constexpr int64_t kMaxFileBytes = int64_t{64} << 30;

  /// Reads the source to its end unless it can be read in place; the source must outlive this.
  static Result<RandomAccess> open(ByteSource& source, const ReadOptions& options);
  RandomAccess(RandomAccess&& other) noexcept;
  RandomAccess& operator=(RandomAccess&&) = delete;
  ~RandomAccess();

  int64_t size() const { return size_; }
  /// All bytes of [offset, offset + size), or an error; `cancelled` is one.
  Result<void> read(int64_t offset, char* out, size_t size) const;

 private:
  RandomAccess() = default;
  Result<void> keep(ByteSource& source, const ReadOptions& options);
  Result<void> write(std::string_view bytes);

  int fd_ = -1;
  bool owned_ = false;
  std::string kept_;
  int64_t size_ = 0;
  std::function<bool()> cancelled_;  ///< asked before each piece
};

}  // namespace nl::ingest
