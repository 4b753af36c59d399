#pragma once
// MappedFile: the bytes of a file, read as they are touched. A file that another process cuts off meanwhile
// reads as zeros there (mapping_guard.h). Any number of threads may read it.

#include <memory>
#include <string>
#include <string_view>

#include "base/mapping_guard.h"
#include "base/result.h"

namespace nl {

class MappedFile {
 public:
  /// Of an open plain file, which may be closed afterwards; bad_input if it is empty or none.
  static Result<std::shared_ptr<const MappedFile>> map(int fd, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Begins at a page of memory.
  std::string_view bytes() const { return {mapping_.memory, mapping_.bytes}; }

 private:
  struct Mapping {
    Mapping(char* at, size_t size) : memory(at), bytes(size) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
    char* memory;
    size_t bytes;
  };

  MappedFile(char* memory, size_t bytes) : mapping_(memory, bytes), guard_(memory, bytes) {}

  Mapping mapping_;  // outlives its guard
  MappingGuard guard_;
};

}  // namespace nl
