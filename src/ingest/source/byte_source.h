#pragma once
// ByteSource: the bytes of one input, decompressed while they are read (plain, gzip with several members,
// zstd) and never all in memory. The original bytes are hashed at the same time. One thread reads.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::ingest {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Up to `size` decompressed bytes; fewer than asked only at the end, 0 after it.
  virtual Result<size_t> read(char* out, size_t size) = 0;
  /// The first decompressed bytes (at most kHeadBytes), still to be read.
  virtual std::string_view head() const = 0;
  /// Reads what is left, so that the hash covers the whole input.
  virtual Result<void> drain() = 0;
  /// A conflict if the file was written to since it was opened. The end of the input asks by itself.
  virtual Result<void> unchanged() const = 0;
  /// After drain: sha256 of the input as given, in hex.
  virtual std::string sha256() = 0;
  virtual int64_t raw_bytes() const = 0;   ///< bytes as given, read so far
  virtual int64_t text_bytes() const = 0;  ///< decompressed bytes, read so far
  virtual const char* compression() const = 0;
  /// The descriptor of a plain file, for readers that must jump about in it (pread only); -1 if the bytes are
  /// compressed or come from a pipe or memory. Such a reader leaves the rest to drain.
  virtual int plain_fd() const { return -1; }
};

inline constexpr size_t kHeadBytes = 256 << 10;

/// How long a pipe is waited for. A writer that is there may take its time. cancelled() is asked meanwhile,
/// and before each piece of a file: so an adapter stops even where it does not ask itself.
struct PipeWait {
  std::chrono::milliseconds for_writer = std::chrono::seconds(10);
  std::function<bool()> cancelled = [] { return false; };
};

/// Opens a file or a pipe; devices and sockets are refused. Compression is told by the first bytes, never by
/// the name. Empty input is an error.
Result<std::unique_ptr<ByteSource>> open_file(const std::string& path, PipeWait wait = {});
/// `bytes` must outlive the source.
Result<std::unique_ptr<ByteSource>> open_memory(std::string_view bytes);

}  // namespace nl::ingest
