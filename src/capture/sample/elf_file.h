#pragma once
// ElfFile: what is needed from a program or library to resolve stacks: its build id, where its code is
// mapped, and the function at an address. Parts of the file are read when they are needed. The file is never
// mapped, because a mapped file that shrinks raises a signal. Its content is not trusted.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nl::capture {

class ElfFile {
 public:
  /// Of 64 bits, little endian.
  static Result<ElfFile> open(const std::string& path);
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&&) = delete;
  ~ElfFile();

  /// In binary; empty if it has none.
  const std::string& build_id() const { return build_id_; }
  /// A part of the file that is mapped as one piece.
  struct Segment {
    uint64_t offset, bytes, address;
  };
  const std::vector<Segment>& segments() const { return segments_; }
  /// For each address the mangled name of the function that it is of; empty if no symbol says so. `addresses`
  /// are sorted. Memory for these alone, whatever the file's size.
  std::vector<std::string> functions_at(std::span<const uint64_t> addresses) const;
  /// For each name the address of what the file exports under it; 0 if it does not.
  std::vector<uint64_t> addresses_of(std::span<const std::string_view> names) const;

 private:
  struct Section {
    uint32_t type = 0, link = 0;
    uint64_t address = 0, offset = 0, bytes = 0;
  };

  explicit ElfFile(int fd) : fd_(fd) {}
  Result<void> read_headers();
  void read_build_id(uint64_t offset, uint64_t bytes);
  bool read(uint64_t offset, void* out, size_t bytes) const;
  std::string text_at(uint64_t offset, uint64_t end) const;
  const Section* section_of(uint32_t type) const;
  template <class Take>
  void for_each_symbol(const Section& symbols, const Take& take) const;

  int fd_ = -1;
  uint64_t size_ = 0;
  std::string build_id_;
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
};

/// The address that the file's symbols use for one of its bytes.
std::optional<uint64_t> address_of(std::span<const ElfFile::Segment> segments, uint64_t file_offset);

}  // namespace nl::capture
