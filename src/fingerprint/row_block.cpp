#include "fingerprint/row_block.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/aside.h"
#include "base/call_control.h"
#include "base/files.h"
#include "base/permissions.h"

namespace nl::fingerprint {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is written as it lies in memory");

constexpr size_t kHeaderBytes = 64;
constexpr size_t kKeyBytes = 48;
constexpr size_t kKeyNumbers = kKeyBytes / sizeof(float);
constexpr size_t kRowsAtOnce = 4096;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t mask;
  uint32_t columns;
  uint32_t unused[9];
  uint64_t check;
};
static_assert(sizeof(Header) == kHeaderBytes);

struct RowHead {
  std::array<uint8_t, 32> run_id;
  uint64_t stamp;
  uint64_t check;
};
static_assert(sizeof(RowHead) == kKeyBytes);

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Four sums side by side, so that it keeps up with reading.
uint64_t check_of_words(const char* bytes, size_t count, uint64_t seed) {
  uint64_t sums[4] = {seed, 1, 2, 3};
  for (size_t i = 0; i < count; i++) {
    uint32_t word;
    std::memcpy(&word, bytes + i * sizeof(word), sizeof(word));
    sums[i % 4] = (sums[i % 4] ^ word) * 0x9e3779b97f4a7c15U;
  }
  return mixed(mixed(mixed(sums[0] ^ mixed(sums[1])) ^ sums[2]) ^ sums[3]);
}

Header header_of(Mask mask) {
  Header header{{'N', 'L', 'F', 'P', 'R', 'O', 'W', 'S'}, kVersion, mask,
                static_cast<uint32_t>(columns_of(mask)),  {},       0};
  header.check = check_of_words(reinterpret_cast<const char*>(&header), (kHeaderBytes - 8) / 4, 0);
  return header;
}

size_t row_bytes(size_t columns) {
  return kKeyBytes + columns * sizeof(float);
}

uint64_t check_of_row(const char* row, size_t columns) {
  RowHead head;
  std::memcpy(&head, row, sizeof(head));
  const uint64_t key = check_of_words(row, 10, 0);  // run id and stamp
  return check_of_words(row + kKeyBytes, columns, key);
}

Error damaged(const std::string& path) {
  return Error{ErrorCode::kBadInput, "not a whole file of fingerprints: " + path};
}

std::string row_text(const NewRow& row, size_t columns) {
  std::string text(row_bytes(columns), '\0');
  RowHead head{row.key.run_id, row.key.stamp, 0};
  std::memcpy(text.data(), &head, sizeof(head));
  std::memcpy(text.data() + kKeyBytes, row.columns.data(), columns * sizeof(float));
  head.check = check_of_row(text.data(), columns);
  std::memcpy(text.data(), &head, sizeof(head));
  return text;
}

/// A descriptor that holds the lock while it is open.
class Locked {
 public:
  /// Waits for the lock, unless the call is cancelled meanwhile. Some file systems have none.
  static Result<Locked> open(const std::string& path, int flags, int lock) {
    const bool is_new = (flags & O_CREAT) != 0 && !path_exists(path);
    Locked file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    if (file.fd_ < 0) return errno_error("cannot open", path, errno);
    if (is_new) share_file(path);
    while (::flock(file.fd_, lock | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
      NL_CHECK(check_cancelled());
      ::usleep(kLookAgainUs);
    }
    return file;
  }
  Locked(Locked&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Locked& operator=(Locked&&) = delete;
  ~Locked() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  static constexpr unsigned kLookAgainUs = 2000;
  explicit Locked(int fd) : fd_(fd) {}
  int fd_;
};

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("cannot write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

std::string header_text(Mask mask) {
  const Header header = header_of(mask);
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
}

/// Brings the file to the end of its last whole row; an empty one gets its header.
Result<void> go_to_end(int fd, Mask mask, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error("cannot look at", path, errno);
  const auto size = static_cast<size_t>(info.st_size);
  if (size < kHeaderBytes) {
    if (::ftruncate(fd, 0) != 0) return errno_error("cannot empty", path, errno);
    return write_all(fd, header_text(mask), path);
  }
  const size_t stride = row_bytes(columns_of(mask));
  const size_t whole = kHeaderBytes + (size - kHeaderBytes) / stride * stride;
  if (whole < size && ::ftruncate(fd, static_cast<off_t>(whole)) != 0)
    return errno_error("cannot shorten", path, errno);
  if (::lseek(fd, static_cast<off_t>(whole), SEEK_SET) < 0) return errno_error("cannot seek in", path, errno);
  return {};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

Result<RowKey> row_key(std::string_view run_id, uint64_t stamp) {
  RowKey key;
  key.stamp = stamp;
  bool fits = run_id.size() == 2 * key.run_id.size();
  for (size_t i = 0; fits && i < key.run_id.size(); i++) {
    const int high = hex_digit(run_id[2 * i]), low = hex_digit(run_id[2 * i + 1]);
    fits = high >= 0 && low >= 0;
    key.run_id[i] = static_cast<uint8_t>(high * 16 + low);
  }
  if (!fits) return Error{ErrorCode::kBadInput, "not a run id: " + std::string(run_id)};
  return key;
}

std::string run_id_text(const RowKey& key) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : key.run_id) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

Result<RowBlock> RowBlock::open(const std::string& path) {
  NL_TRY(const Locked file, Locked::open(path, O_RDONLY, LOCK_SH));
  RowBlock block;
  NL_TRY(block.mapped_, MappedFile::map(file.fd(), path));
  const std::string_view bytes = block.mapped_->bytes();
  if (bytes.size() < kHeaderBytes) return damaged(path);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const Header expected = header_of(header.mask);
  if (header.mask >> kDimensions != 0 || std::memcmp(&header, &expected, sizeof(header)) != 0)
    return damaged(path);
  block.mask_ = header.mask;
  block.columns_ = header.columns;
  block.stride_ = row_bytes(block.columns_) / sizeof(float);
  block.rows_ = (bytes.size() - kHeaderBytes) / row_bytes(block.columns_);
  block.first_ = reinterpret_cast<const float*>(bytes.data() + kHeaderBytes) + kKeyNumbers;
  NL_CHECK(block.check(path));
  return block;
}

Result<void> RowBlock::check(const std::string& path) const {
  for (size_t row = 0; row < rows_; row++) {
    const char* at = reinterpret_cast<const char*>(vector(row)) - kKeyBytes;
    RowHead head;
    std::memcpy(&head, at, sizeof(head));
    if (head.check != check_of_row(at, columns_)) return damaged(path);
  }
  return {};
}

RowKey RowBlock::key(size_t row) const {
  RowHead head;
  std::memcpy(&head, vector(row) - kKeyNumbers, sizeof(head));
  return {head.run_id, head.stamp};
}

uint64_t RowBlock::check_of(size_t rows) const {
  uint64_t sum = mixed(mask_ + 1);
  for (size_t row = 0; row < rows; row++) {
    RowHead head;
    std::memcpy(&head, vector(row) - kKeyNumbers, sizeof(head));
    sum = (sum ^ head.check) * 0x9e3779b97f4a7c15U;
  }
  return mixed(sum);
}

Result<void> append_rows(const std::string& path, Mask mask, std::span<const NewRow> rows) {
  NL_TRY(const Locked file, Locked::open(path, O_RDWR | O_CREAT, LOCK_EX));
  NL_CHECK(go_to_end(file.fd(), mask, path));
  std::string text;
  for (const NewRow& row : rows) text += row_text(row, columns_of(mask));
  return write_all(file.fd(), text, path);
}

Result<void> write_rows(const std::string& path, Mask mask, size_t count,
                        const std::function<NewRow(size_t)>& source) {
  const std::string aside = path + ".new-";
  remove_abandoned(aside);
  NL_TRY(NewFile file, NewFile::create(aside));
  std::string text = header_text(mask);
  for (size_t i = 0; i < count; i++) {
    text += row_text(source(i), columns_of(mask));
    if (i % kRowsAtOnce != kRowsAtOnce - 1) continue;
    NL_CHECK(file.write(text));
    text.clear();
  }
  NL_CHECK(file.write(text));
  NL_CHECK(file.finish(path, true));
  share_file(path);
  return {};
}

}  // namespace nl::fingerprint
