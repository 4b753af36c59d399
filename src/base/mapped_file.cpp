#include "base/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"

namespace nl {

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error("cannot look at", path, errno);
  if (!S_ISREG(info.st_mode) || info.st_size == 0)
    return Error{ErrorCode::kBadInput, "not a file with content: " + path};
  const auto bytes = static_cast<size_t>(info.st_size);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return errno_error("cannot map", path, errno);
  return std::shared_ptr<const MappedFile>(new MappedFile(static_cast<char*>(memory), bytes));
}

MappedFile::~MappedFile() = default;

MappedFile::Mapping::~Mapping() {
  ::munmap(memory, bytes);
}

}  // namespace nl
