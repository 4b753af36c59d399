#include "capture/record/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/files.h"
#include "capture/run/host.h"

namespace nl::capture {
namespace {

/// As many bytes as there are, up to `size`.
Result<size_t> read_at(int fd, const std::string& path, int64_t position, char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t bytes = pread(fd, out + done, size - done, position + static_cast<int64_t>(done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return errno_error("cannot read", path, errno);
    if (bytes == 0) break;
    done += static_cast<size_t>(bytes);
  }
  return done;
}

}  // namespace

Result<RecordingFile> RecordingFile::open(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return errno_error("cannot open", path, errno);
  RecordingFile file(fd, path);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return Error{ErrorCode::kConflict, "the recording is still being written: " + path,
                 "wait until the workload has ended"};
  return file;
}

Result<RecordingFile> RecordingFile::create(const std::string& path) {
  NL_TRY(RecordingFile file, open(path, O_CREAT | O_EXCL));
  wire::append_file_header(file.waiting_, boot_id());
  NL_TRY(const bool is_written, file.flush());
  if (!is_written) return Error{ErrorCode::kIo, "the disk is full: " + path};
  return file;
}

Result<RecordingFile> RecordingFile::reopen(const std::string& path, const Visit& visit) {
  NL_TRY(RecordingFile file, open(path, 0));
  NL_CHECK(file.read_chunks(visit));
  return file;
}

Result<void> RecordingFile::read_chunks(const Visit& visit) {
  wire::FileHeader file_header{};
  NL_TRY(const size_t head,
         read_at(fd_, path_, 0, reinterpret_cast<char*>(&file_header), sizeof file_header));
  if (head < sizeof file_header) {  // killed before its first flush
    if (ftruncate(fd_, 0) != 0) return errno_error("cannot cut", path_, errno);
    wire::append_file_header(waiting_, boot_id());
    return {};
  }
  if (std::memcmp(file_header.magic, wire::kRecordingMagic, sizeof file_header.magic) != 0 ||
      file_header.version != wire::kRecordingVersion)
    return Error{ErrorCode::kBadInput, "not a recording of this version: " + path_};
  bytes_ = sizeof file_header;
  std::string payload;
  for (;;) {
    wire::ChunkHeader header;
    NL_TRY(const size_t got, read_at(fd_, path_, bytes_, reinterpret_cast<char*>(&header), sizeof header));
    if (got < sizeof header || !wire::is_sound(header)) break;
    payload.resize(header.bytes);
    NL_TRY(const size_t taken,
           read_at(fd_, path_, bytes_ + static_cast<int64_t>(sizeof header), payload.data(), payload.size()));
    if (!wire::is_sound(header, std::string_view(payload).substr(0, taken))) break;
    bytes_ += static_cast<int64_t>(sizeof header + payload.size());
    visit(header, payload);
  }
  if (ftruncate(fd_, bytes_) != 0) return errno_error("cannot cut", path_, errno);
  return {};
}

RecordingFile::RecordingFile(RecordingFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      waiting_(std::move(other.waiting_)),
      bytes_(other.bytes_) {}

RecordingFile& RecordingFile::operator=(RecordingFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(waiting_, other.waiting_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

RecordingFile::~RecordingFile() {
  if (fd_ >= 0) close(fd_);
}

Result<bool> RecordingFile::flush() {
  size_t done = 0;
  while (done < waiting_.size()) {
    const ssize_t bytes =
        pwrite(fd_, waiting_.data() + done, waiting_.size() - done, bytes_ + static_cast<int64_t>(done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      if (ftruncate(fd_, bytes_) != 0) return errno_error("cannot cut", path_, errno);
      return false;
    }
    if (bytes < 0) return errno_error("cannot write", path_, errno);
    done += static_cast<size_t>(bytes);
  }
  bytes_ += static_cast<int64_t>(done);
  waiting_.clear();
  return true;
}

Result<void> RecordingFile::sync() {
  if (fdatasync(fd_) != 0) return errno_error("cannot write", path_, errno);
  return {};
}

void for_each_chunk(std::string_view chunks, const std::function<void(const wire::ChunkHeader&)>& visit) {
  while (chunks.size() >= sizeof(wire::ChunkHeader)) {
    wire::ChunkHeader header;
    std::memcpy(&header, chunks.data(), sizeof header);
    visit(header);
    chunks.remove_prefix(sizeof header + header.bytes);
  }
}

}  // namespace nl::capture
