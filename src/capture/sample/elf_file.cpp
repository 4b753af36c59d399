#include "capture/sample/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"

namespace nl::capture {
namespace {

constexpr size_t kMaxBuildIdBytes = 64;
constexpr size_t kMaxNoteBytes = 4096;
constexpr size_t kMaxNameBytes = 4096;
constexpr uint64_t kMaxSymbols = 32 << 20;
constexpr uint64_t kMaxExportedText = 16 << 20;
constexpr uint64_t kMaxSteps =
    256 << 20;  // functions of real files hardly overlap; of others no more is read
constexpr size_t kSymbolsAtOnce = 4096;
constexpr uint64_t kMaxEndlessBytes = 4096;  // of a function that does not say how large it is

Error not_elf(const std::string& why) {
  return {ErrorCode::kUnsupported, "not an ELF file of this kind: " + why};
}

/// What is known of one address. A function that ends behind it wins over one that does not say where it
/// ends, the later begin over the earlier.
struct Candidate {
  bool is_found = false;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t name = 0;

  void improve(const Candidate& by) {
    if (!is_found || by.begin > begin) *this = by;
  }
};

/// Looks at symbols one by one and keeps the best for each address.
class FunctionFinder {
 public:
  explicit FunctionFinder(std::span<const uint64_t> addresses)
      : addresses_(addresses), holding_(addresses.size()), nearest_(addresses.size()) {}

  /// `section_end` is where the part of the file ends that the symbol is in.
  void take(const Elf64_Sym& symbol, uint64_t section_end) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF || symbol.st_name == 0)
      return;
    const auto first = std::lower_bound(addresses_.begin(), addresses_.end(), symbol.st_value);
    for (auto it = first; it != addresses_.end() && *it - symbol.st_value < symbol.st_size; ++it) {
      if (++steps_ > kMaxSteps) return;
      holding_[index(it)].improve({true, symbol.st_value, 0, symbol.st_name});
    }
    if (first != addresses_.end())
      nearest_[index(first)].improve(
          {true, symbol.st_value, symbol.st_size == 0 ? section_end : 0, symbol.st_name});
  }

  /// One an address.
  const std::vector<Candidate>& finish() {
    Candidate last;
    for (size_t i = 0; i < addresses_.size(); i++) {
      if (nearest_[i].is_found) last = nearest_[i];
      const bool is_near = addresses_[i] < last.end && addresses_[i] - last.begin < kMaxEndlessBytes;
      if (!holding_[i].is_found && is_near) holding_[i] = last;
    }
    return holding_;
  }

 private:
  size_t index(std::span<const uint64_t>::iterator it) const {
    return static_cast<size_t>(it - addresses_.begin());
  }

  std::span<const uint64_t> addresses_;
  std::vector<Candidate> holding_;
  std::vector<Candidate> nearest_;  ///< before an address, if it is the first behind it; `end` 0: has a size
  uint64_t steps_ = 0;
};

}  // namespace

Result<ElfFile> ElfFile::open(const std::string& path) {
  struct stat info {};
  // Before it is opened, as opening a device may do something.
  if (::stat(path.c_str(), &info) != 0) return errno_error("cannot open", path, errno);
  if (!S_ISREG(info.st_mode)) return not_elf(path);
  ElfFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd_ < 0 || ::fstat(file.fd_, &info) != 0) return errno_error("cannot open", path, errno);
  file.size_ = static_cast<uint64_t>(info.st_size);
  NL_CHECK(file.read_headers());
  return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      build_id_(std::move(other.build_id_)),
      segments_(std::move(other.segments_)),
      sections_(std::move(other.sections_)) {}

ElfFile::~ElfFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool ElfFile::read(uint64_t offset, void* out, size_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) return false;
  for (size_t done = 0; done < bytes;) {
    const ssize_t got =
        ::pread(fd_, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

Result<void> ElfFile::read_headers() {
  Elf64_Ehdr header;
  if (!read(0, &header, sizeof header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return not_elf("its first bytes");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return not_elf("32 bits, or big endian");
  std::vector<Elf64_Phdr> programs(header.e_phentsize == sizeof(Elf64_Phdr) ? header.e_phnum : 0);
  if (!read(header.e_phoff, programs.data(), programs.size() * sizeof(Elf64_Phdr)))
    return not_elf("its program headers");
  for (const Elf64_Phdr& program : programs) {
    if (program.p_type == PT_LOAD && (program.p_flags & PF_X) != 0)
      segments_.push_back({program.p_offset, program.p_filesz, program.p_vaddr});
    if (program.p_type == PT_NOTE) read_build_id(program.p_offset, program.p_filesz);
  }
  std::vector<Elf64_Shdr> sections(header.e_shentsize == sizeof(Elf64_Shdr) ? header.e_shnum : 0);
  if (!read(header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr))) sections.clear();
  for (const Elf64_Shdr& section : sections)
    sections_.push_back(
        {section.sh_type, section.sh_link, section.sh_addr, section.sh_offset, section.sh_size});
  return {};
}

void ElfFile::read_build_id(uint64_t offset, uint64_t bytes) {
  std::string notes(std::min<uint64_t>(bytes, kMaxNoteBytes), '\0');
  if (!build_id_.empty() || !read(offset, notes.data(), notes.size())) return;
  const auto padded = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const uint64_t name = at + sizeof note, text = name + padded(note.n_namesz);
    const uint64_t end = text + padded(note.n_descsz);
    if (end > notes.size()) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kMaxBuildIdBytes &&
        std::string_view(notes).substr(name, note.n_namesz) == std::string_view("GNU", 4)) {
      build_id_ = notes.substr(text, note.n_descsz);
      return;
    }
    at = end;
  }
}

const ElfFile::Section* ElfFile::section_of(uint32_t type) const {
  const auto it = std::find_if(sections_.begin(), sections_.end(),
                               [type](const Section& section) { return section.type == type; });
  return it == sections_.end() || it->link >= sections_.size() ? nullptr : &*it;
}

std::string ElfFile::text_at(uint64_t offset, uint64_t end) const {
  if (offset >= end || offset >= size_) return {};
  std::string text(std::min<uint64_t>({end - offset, size_ - offset, kMaxNameBytes}), '\0');
  if (!read(offset, text.data(), text.size())) return {};
  const size_t length = text.find('\0');
  if (length == std::string::npos) return {};
  text.resize(length);
  return text;
}

template <class Take>
void ElfFile::for_each_symbol(const Section& symbols, const Take& take) const {
  std::vector<Elf64_Sym> piece;
  const uint64_t count = std::min(symbols.bytes / sizeof(Elf64_Sym), kMaxSymbols);
  for (uint64_t at = 0; at < count; at += piece.size()) {
    piece.resize(std::min<uint64_t>(kSymbolsAtOnce, count - at));
    const uint64_t offset = symbols.offset + at * sizeof(Elf64_Sym);
    if (offset < symbols.offset || !read(offset, piece.data(), piece.size() * sizeof(Elf64_Sym))) return;
    for (const Elf64_Sym& symbol : piece) take(symbol);
  }
}

std::vector<uint64_t> ElfFile::addresses_of(std::span<const std::string_view> names) const {
  std::vector<uint64_t> addresses(names.size());
  const Section* const symbols = section_of(SHT_DYNSYM);
  if (symbols == nullptr) return addresses;
  const Section& texts = sections_[symbols->link];
  std::string all(std::min(texts.bytes, kMaxExportedText), '\0');
  if (!read(texts.offset, all.data(), all.size())) return addresses;
  for_each_symbol(*symbols, [&](const Elf64_Sym& symbol) {
    if (symbol.st_name >= all.size() || symbol.st_shndx == SHN_UNDEF) return;
    const std::string_view rest = std::string_view(all).substr(symbol.st_name);
    const auto it = std::find(names.begin(), names.end(), rest.substr(0, rest.find('\0')));
    if (it != names.end()) addresses[static_cast<size_t>(it - names.begin())] = symbol.st_value;
  });
  return addresses;
}

std::vector<std::string> ElfFile::functions_at(std::span<const uint64_t> addresses) const {
  std::vector<std::string> names(addresses.size());
  const Section* symbols = section_of(SHT_SYMTAB);
  if (symbols == nullptr) symbols = section_of(SHT_DYNSYM);
  if (symbols == nullptr) return names;
  FunctionFinder finder(addresses);
  for_each_symbol(*symbols, [&](const Elf64_Sym& symbol) {
    const bool has_section = symbol.st_shndx < sections_.size();
    const Section section = has_section ? sections_[symbol.st_shndx] : Section();
    finder.take(symbol, section.address + section.bytes);
  });
  const Section& texts = sections_[symbols->link];
  const uint64_t end = texts.offset + std::min(texts.bytes, size_);
  const auto& found = finder.finish();
  for (size_t i = 0; i < found.size(); i++) {
    if (found[i].is_found) names[i] = text_at(texts.offset + found[i].name, end);
  }
  return names;
}

std::optional<uint64_t> address_of(std::span<const ElfFile::Segment> segments, uint64_t file_offset) {
  for (const auto& segment : segments) {
    if (file_offset >= segment.offset && file_offset - segment.offset < segment.bytes)
      return file_offset - segment.offset + segment.address;
  }
  return std::nullopt;
}

}  // namespace nl::capture
