#include "base/paged_vector.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/files.h"

namespace nl {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(4);  // a core touches some 40 MB in that time

/// Pages of mapped files in the memory of this process, whatever files they are of; 0 if it cannot be told.
size_t mapped_bytes_in_memory() {
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128];
  const ssize_t size = ::read(fd, text, sizeof text);
  ::close(fd);
  const char* at = text;
  const char* const end = text + (size > 0 ? size : 0);
  size_t pages = 0;
  for (int field = 0; field < 3; field++) {  // all, in memory, of them mapped from files
    while (at < end && *at == ' ') at++;
    const auto [rest, failed] = std::from_chars(at, end, pages);
    if (failed != std::errc()) return 0;
    at = rest;
  }
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void* map_memory(size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // a column is written from one end to the other
  return memory;
}

/// Has all its blocks: a page that finds no room later would end the process.
void* map_file(int fd, size_t bytes) {
  const int failed = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* const memory =
      failed != 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (failed == ENOSPC || failed == EDQUOT) throw NoRoomForPages();
  return memory == MAP_FAILED ? nullptr : memory;
}

/// All large vectors of the process. From the first mapped file on a thread looks after them.
class Pages {
 public:
  static Pages& of_process() {
    static auto* const pages = new Pages;  // never destroyed: vectors of statics may outlive it
    return *pages;
  }

  void set_folder(std::function<std::string()> folder) {
    const std::lock_guard lock(mutex_);
    folder_ = std::move(folder);
  }
  void set_limits(PageLimits limits) {
    const std::lock_guard lock(mutex_);
    limits_ = limits;
  }

  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (in_memory_ + bytes > limits_.in_memory) {
      if (void* const memory = take_mapped(bytes); memory != nullptr) return memory;
    }
    void* const memory = map_memory(bytes);
    in_memory_ += bytes;
    return memory;
  }

  void give_back(void* memory, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (mapped_.erase(memory) == 0) in_memory_ -= bytes;
    ::munmap(memory, bytes);
  }

 private:
  /// nullptr where no file can be made: then all lies in memory.
  void* take_mapped(size_t bytes) {
    if (!is_watched_) std::thread([this] { watch(); }).detach();
    is_watched_ = true;
    const std::string folder = folder_ ? folder_() : std::string();
    const auto fd = folder.empty() ? Result<int>(-1) : open_nameless(folder);
    void* const memory = !fd || *fd < 0 ? nullptr : map_file(*fd, bytes);
    if (memory == nullptr) return nullptr;
    mapped_.emplace(memory, bytes);
    any_.notify_one();
    return memory;
  }

  [[noreturn]] void watch() {
    std::unique_lock lock(mutex_);
    while (true) {
      any_.wait(lock, [this] { return !mapped_.empty(); });
      drop_if_many();
      lock.unlock();
      std::this_thread::sleep_for(kLookEvery);
      lock.lock();
    }
  }

  void drop_if_many() {
    const size_t bytes = mapped_bytes_in_memory();
    others_ = std::min(others_, bytes);
    if (bytes <= others_ + limits_.resident) return;
    for (const auto& [memory, size] : mapped_) ::madvise(memory, size, MADV_DONTNEED);
    others_ = mapped_bytes_in_memory();
  }

  std::mutex mutex_;
  std::condition_variable any_;  ///< mapped file
  std::function<std::string()> folder_;
  PageLimits limits_;
  size_t in_memory_ = 0;
  size_t others_ = 0;  ///< of mapped bytes in memory, those of other files, such as the program itself
  std::map<void*, size_t> mapped_;
  bool is_watched_ = false;
};

}  // namespace

void set_page_folder(std::function<std::string()> folder) {
  Pages::of_process().set_folder(std::move(folder));
}

void set_page_limits(PageLimits limits) {
  Pages::of_process().set_limits(limits);
}

namespace pages {

void* take(size_t bytes) {
  return Pages::of_process().take(bytes);
}

void give_back(void* memory, size_t bytes) noexcept {
  Pages::of_process().give_back(memory, bytes);
}

}  // namespace pages
}  // namespace nl
