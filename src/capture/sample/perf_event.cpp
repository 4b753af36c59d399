#include "capture/sample/perf_event.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace nl::capture {
namespace {

size_t page_bytes() {
  return static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

std::string paranoid_level() {
  const auto level = read_file("/proc/sys/kernel/perf_event_paranoid");
  return level ? level->substr(0, level->find('\n')) : "unknown";
}

}  // namespace

int open_perf_event(const perf_event_attr& attributes, int processor) {
  const long fd = ::syscall(SYS_perf_event_open, &attributes, 0, processor, -1, PERF_FLAG_FD_CLOEXEC);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

PerfRefusal perf_refusal(int error_number) {
  const std::string reason = std::string("perf_event_open: ") + errno_text(error_number);
  if (error_number != EACCES && error_number != EPERM) return {false, reason};
  return {true, reason + ", perf_event_paranoid is " + paranoid_level(),
          "sysctl kernel.perf_event_paranoid=2, in a container also --cap-add PERFMON"};
}

Result<PerfRing> PerfRing::map(int fd, size_t bytes) {
  const size_t page = page_bytes();
  for (bytes = std::max(bytes, page); bytes >= page; bytes /= 2) {
    void* const memory = ::mmap(nullptr, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) return PerfRing(fd, memory, bytes);
    if (errno != EPERM && errno != ENOMEM) break;
  }
  const int number = errno;
  ::close(fd);
  return Error{ErrorCode::kUnavailable, std::string("cannot map a ring of perf_event: ") + errno_text(number),
               "raise ulimit -l or kernel.perf_event_mlock_kb"};
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_) {}

PerfRing::~PerfRing() {
  if (memory_ != nullptr) ::munmap(memory_, page_bytes() + bytes_);
  if (fd_ >= 0) ::close(fd_);
}

void PerfRing::copy(uint64_t position, void* out, size_t bytes) const {
  const char* const data = static_cast<const char*>(memory_) + page_bytes();
  const size_t at = position & (bytes_ - 1);
  const size_t first = std::min(bytes, bytes_ - at);
  std::memcpy(out, data + at, first);
  std::memcpy(static_cast<char*>(out) + first, data, bytes - first);
}

void PerfRing::drain(const Take& take) {
  auto* const page = static_cast<perf_event_mmap_page*>(memory_);
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  uint64_t tail = page->data_tail;
  std::string body;
  while (head - tail >= sizeof(perf_event_header)) {
    perf_event_header header;
    copy(tail, &header, sizeof header);
    if (header.size < sizeof header || header.size > head - tail) break;  // cannot be
    body.resize(header.size - sizeof header);
    copy(tail + sizeof header, body.data(), body.size());
    tail += header.size;
    take(header, body);
  }
  __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

uint64_t PerfRing::lost() const {
  uint64_t value_and_lost[2] = {};
  return ::read(fd_, value_and_lost, sizeof value_and_lost) == sizeof value_and_lost ? value_and_lost[1] : 0;
}

}  // namespace nl::capture
