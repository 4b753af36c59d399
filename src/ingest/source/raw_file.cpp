#include "ingest/source/raw_file.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace nl::ingest {
namespace {

constexpr int kLookAgainMs = 50;

bool is_pipe(const struct stat& info) {
  return S_ISFIFO(info.st_mode);
}

bool same_content(const struct stat& a, const struct stat& b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

RawFile::RawFile(File file, std::string path, const struct stat& opened, PipeWait wait)
    : file_(std::move(file)), path_(std::move(path)), opened_(opened), wait_(std::move(wait)) {}

Result<RawFile> RawFile::open(const std::string& path, PipeWait wait) {
  NL_TRY(File file, File::open_without_waiting(path));
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) return errno_error("cannot look at", path, errno);
  if (!S_ISREG(info.st_mode) && !is_pipe(info)) {
    return Error{ErrorCode::kBadInput, "neither a file nor a pipe: " + path,
                 "devices and sockets are not read; write the profile to a file"};
  }
  return RawFile(std::move(file), path, info, std::move(wait));
}

Result<size_t> RawFile::read(void* out, size_t size) {
  if (is_pipe(opened_)) return read_pipe(out, size);
  if (wait_.cancelled()) return cancelled_error();
  NL_TRY(const size_t n, file_.read(out, size));
  if (n == 0) NL_CHECK(unchanged());
  return n;
}

Result<void> RawFile::unchanged() const {
  struct stat now {};
  if (is_pipe(opened_) || (::fstat(file_.fd(), &now) == 0 && same_content(opened_, now))) return {};
  return Error{ErrorCode::kConflict, "another program wrote to the file while it was read: " + path_,
               "import it again when that program has finished"};
}

Result<size_t> RawFile::read_pipe(void* out, size_t size) {
  for (;;) {
    const ssize_t n = ::read(file_.fd(), out, size);
    if (n > 0) {
      has_writer_ = true;
      return static_cast<size_t>(n);
    }
    if (n < 0 && errno != EAGAIN && errno != EINTR) return errno_error("cannot read", path_, errno);
    if (n < 0) has_writer_ = true;  // only a pipe that somebody holds open is empty and has no end
    if (n == 0 && has_writer_) return size_t{0};
    NL_TRY(const bool more, wait_for_pipe());
    if (!more && n == 0) return size_t{0};
  }
}

Result<bool> RawFile::wait_for_pipe() {
  if (wait_.cancelled()) return cancelled_error();
  if (!has_writer_ && waited_ >= wait_.for_writer) {
    return Error{ErrorCode::kUnavailable, "no program writes to the pipe: " + path_,
                 "start the writer first, or at the same time"};
  }
  pollfd wanted{file_.fd(), POLLIN, 0};
  ::poll(&wanted, 1, kLookAgainMs);
  waited_ += std::chrono::milliseconds(kLookAgainMs);
  return (wanted.revents & POLLHUP) == 0;
}

}  // namespace nl::ingest
