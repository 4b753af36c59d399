#pragma once
// Checks that a file has the bytes that were written. A process reads each file for that once, and remembers
// its sha256 until the file is changed or replaced. Any thread may ask.

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace nl::store {

/// What tells one version of a file from another. It stays the same when the file gets another name.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t file = 0;
  int64_t bytes = 0;
  int64_t changed_ns = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

/// None if there is no regular file of that name. Symbolic links are not followed.
std::optional<FileIdentity> identity_of(const std::string& path);

/// What a file must be.
struct FileSeal {
  int64_t bytes = 0;
  std::string sha256;
  bool operator==(const FileSeal&) const = default;
};

/// Reads the file unless this process has done so before.
Result<FileSeal> seal_of_file(const std::string& path);

/// False if the file is missing, is not a regular file, or has other bytes.
bool is_intact(const std::string& path, const FileSeal& seal);

}  // namespace nl::store
