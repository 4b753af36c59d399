#include "ingest/sqlite/random_access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/files.h"

namespace nl::ingest {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

}  // namespace

RandomAccess::RandomAccess(RandomAccess&& other) noexcept
    : fd_(other.fd_),
      owned_(other.owned_),
      kept_(std::move(other.kept_)),
      size_(other.size_),
      cancelled_(std::move(other.cancelled_)) {
  other.owned_ = false;
}

RandomAccess::~RandomAccess() {
  if (owned_) ::close(fd_);
}

Result<RandomAccess> RandomAccess::open(ByteSource& source, const ReadOptions& options) {
  RandomAccess bytes;
  bytes.cancelled_ = options.cancelled;
  bytes.fd_ = source.plain_fd();
  if (bytes.fd_ < 0) {
    NL_CHECK(bytes.keep(source, options));
    return bytes;
  }
  struct stat info {};
  if (::fstat(bytes.fd_, &info) != 0) return errno_error("cannot look at", "the input", errno);
  bytes.size_ = info.st_size;
  return bytes;
}

Result<void> RandomAccess::keep(ByteSource& source, const ReadOptions& options) {
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    NL_TRY(const size_t n, source.read(piece.data(), piece.size()));
    if (n == 0) return {};
    if (options.cancelled()) return cancelled_error();
    options.progress(source);
    if (fd_ < 0 && kept_.size() + n > kMaxKeptBytes) {
      NL_TRY(fd_, open_nameless(options.temp_folder));
      owned_ = true;
      NL_CHECK(write(kept_));
      kept_ = {};
    }
    size_ += static_cast<int64_t>(n);
    if (size_ > kMaxFileBytes) {
      return Error{
          ErrorCode::kLimit,
          "the input takes more than " + std::to_string(kMaxFileBytes >> 30) + " GB when decompressed",
          "decompress it yourself and import the plain file: that needs no temporary copy"};
    }
    if (fd_ < 0) {
      kept_.append(piece.data(), n);
    } else {
      NL_CHECK(write({piece.data(), n}));
    }
  }
}

Result<void> RandomAccess::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("cannot write", "a temporary file", errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<void> RandomAccess::read(int64_t offset, char* out, size_t size) const {
  if (offset < 0 || offset > size_ || static_cast<int64_t>(size) > size_ - offset) {
    return Error{ErrorCode::kBadInput, "the file ends before byte " + std::to_string(size_)};
  }
  if (cancelled_()) return cancelled_error();
  if (fd_ < 0) {
    std::memcpy(out, kept_.data() + offset, size);
    return {};
  }
  while (size > 0) {
    const ssize_t n = ::pread(fd_, out, size, offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("cannot read", "the input", errno);
    if (n == 0) return Error{ErrorCode::kBadInput, "the file became shorter while it was read"};
    out += n;
    offset += n;
    size -= static_cast<size_t>(n);
  }
  return {};
}

}  // namespace nl::ingest
