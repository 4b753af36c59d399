#pragma once
// Maps the files of a recording in progress, with system calls only. This code also runs inside the
// customer's process, where nothing may be thrown. The blocks on the disk are allocated first, because
// writing to a mapped file on a full disk would raise a signal.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

namespace nl::wire {

/// A new file of that size, all zero, its blocks taken on the disk; nullptr if that cannot be. `fd` is left
/// open if it is wanted.
inline void* create_mapped(const char* path, size_t bytes, int* fd_out = nullptr) {
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) unlink(path);
  if (memory != MAP_FAILED && fd_out != nullptr)
    *fd_out = fd;
  else
    close(fd);
  return memory == MAP_FAILED ? nullptr : memory;
}

/// A file that is there, at least that large; nullptr otherwise.
inline void* open_mapped(const char* path, size_t bytes) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  struct stat info;
  void* memory = MAP_FAILED;
  if (fstat(fd, &info) == 0 && static_cast<size_t>(info.st_size) >= bytes)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace nl::wire
