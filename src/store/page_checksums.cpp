#include "store/page_checksums.h"

#include <sqlite3.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace nl::store {
namespace {

constexpr char kName[] = "neurolens";
constexpr int kChecksumBytes = 8;
constexpr int kSmallestPage = 512;
constexpr int kHeaderBytes = 100;
constexpr size_t kReservedAt = 20;  // in the header: bytes that SQLite leaves free at the end of each page
constexpr std::string_view kSqliteMagic("SQLite format 3", 16);

// ---- The checksum

/// Four sums side by side, as the processor can do four at once. A page of zeros has the sum zero: SQLite may
/// skip a free page when it writes, and the file then has a hole there.
uint64_t checksum(const unsigned char* bytes, size_t size) {
  constexpr uint64_t kFactor = 0x9E3779B185EBCA87;  // odd, so that no change of a word gets lost
  uint64_t sums[4] = {};
  for (size_t at = 0; at + 8 <= size; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    uint64_t& sum = sums[at / 8 % 4];
    sum = std::rotl((sum ^ word) * kFactor, 31);
  }
  uint64_t all = 0;
  for (const uint64_t sum : sums) all = std::rotl((all ^ sum) * kFactor, 27);
  return all;
}

bool matches(const void* page, int size) {
  const auto* bytes = static_cast<const unsigned char*>(page);
  uint64_t written = 0;
  std::memcpy(&written, bytes + size - kChecksumBytes, kChecksumBytes);
  return written == checksum(bytes, static_cast<size_t>(size - kChecksumBytes));
}

/// The buffer is SQLite's page, whose last bytes SQLite does not use.
void seal(const void* page, int size) {
  auto* bytes = static_cast<unsigned char*>(const_cast<void*>(page));
  const uint64_t sum = checksum(bytes, static_cast<size_t>(size - kChecksumBytes));
  std::memcpy(bytes + size - kChecksumBytes, &sum, kChecksumBytes);
}

bool is_page(int size, sqlite3_int64 at) {
  return size >= kSmallestPage && std::has_single_bit(static_cast<unsigned>(size)) && at % size == 0;
}

// ---- The file: SQLite's own lies right behind this one

struct CheckedFile {
  sqlite3_file base;
  bool has_checksums;
};

constexpr size_t kOwnBytes = (sizeof(CheckedFile) + alignof(std::max_align_t) - 1) /
                             alignof(std::max_align_t) * alignof(std::max_align_t);

CheckedFile* checked(sqlite3_file* file) {
  return reinterpret_cast<CheckedFile*>(file);
}

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + kOwnBytes);
}

/// The first page tells whether there is room for checksums. Another process may have changed that.
void look_at_header(CheckedFile* file, const void* bytes, int size, sqlite3_int64 at) {
  if (at != 0 || size < kHeaderBytes || std::memcmp(bytes, kSqliteMagic.data(), kSqliteMagic.size()) != 0)
    return;
  file->has_checksums = static_cast<const unsigned char*>(bytes)[kReservedAt] == kChecksumBytes;
}

int close_file(sqlite3_file* file) {
  return real(file)->pMethods->xClose(real(file));
}

int read_page(sqlite3_file* file, void* bytes, int size, sqlite3_int64 at) {
  const int code = real(file)->pMethods->xRead(real(file), bytes, size, at);
  if (code != SQLITE_OK) return code;
  look_at_header(checked(file), bytes, size, at);
  const bool is_wrong = checked(file)->has_checksums && is_page(size, at) && !matches(bytes, size);
  return is_wrong ? SQLITE_IOERR_DATA : SQLITE_OK;
}

int write_page(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 at) {
  look_at_header(checked(file), bytes, size, at);
  if (checked(file)->has_checksums && is_page(size, at)) seal(bytes, size);
  return real(file)->pMethods->xWrite(real(file), bytes, size, at);
}

/// Gives a page of the mapped file. For one that is wrong it gives none: SQLite then reads it, and gets the
/// error.
int fetch_page(sqlite3_file* file, sqlite3_int64 at, int size, void** page) {
  const int code = real(file)->pMethods->xFetch(real(file), at, size, page);
  if (code != SQLITE_OK || *page == nullptr) return code;
  look_at_header(checked(file), *page, size, at);
  if (!checked(file)->has_checksums || !is_page(size, at) || matches(*page, size)) return SQLITE_OK;
  real(file)->pMethods->xUnfetch(real(file), at, *page);
  *page = nullptr;
  return SQLITE_OK;
}

/// What newer versions call SQLITE_IOCAP_SUBPAGE_READ: they would read parts of pages, which have no
/// checksum.
constexpr int kPartsOfPages = 0x8000;

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 3,
    .xClose = close_file,
    .xRead = read_page,
    .xWrite = write_page,
    .xTruncate = [](sqlite3_file* f,
                    sqlite3_int64 size) { return real(f)->pMethods->xTruncate(real(f), size); },
    .xSync = [](sqlite3_file* f, int flags) { return real(f)->pMethods->xSync(real(f), flags); },
    .xFileSize = [](sqlite3_file* f,
                    sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); },
    .xLock = [](sqlite3_file* f, int lock) { return real(f)->pMethods->xLock(real(f), lock); },
    .xUnlock = [](sqlite3_file* f, int lock) { return real(f)->pMethods->xUnlock(real(f), lock); },
    .xCheckReservedLock = [](sqlite3_file* f,
                             int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
    .xFileControl = [](sqlite3_file* f, int what,
                       void* value) { return real(f)->pMethods->xFileControl(real(f), what, value); },
    .xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)) & ~kPartsOfPages; },
    .xShmMap = [](sqlite3_file* f, int at, int size, int extend,
                  void volatile** out) { return real(f)->pMethods->xShmMap(real(f), at, size, extend, out); },
    .xShmLock = [](sqlite3_file* f, int at, int count,
                   int flags) { return real(f)->pMethods->xShmLock(real(f), at, count, flags); },
    .xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
    .xShmUnmap = [](sqlite3_file* f, int removes) { return real(f)->pMethods->xShmUnmap(real(f), removes); },
    .xFetch = fetch_page,
    .xUnfetch = [](sqlite3_file* f, sqlite3_int64 at,
                   void* page) { return real(f)->pMethods->xUnfetch(real(f), at, page); },
};

// ---- The VFS: SQLite's default one, but for opening a database

sqlite3_vfs* default_vfs(sqlite3_vfs* vfs) {
  return static_cast<sqlite3_vfs*>(vfs->pAppData);
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  sqlite3_vfs* const system = default_vfs(vfs);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return system->xOpen(system, name, file, flags, out_flags);
  checked(file)->has_checksums = false;
  const int code = system->xOpen(system, name, real(file), flags, out_flags);
  file->pMethods = real(file)->pMethods == nullptr ? nullptr : &kMethods;
  return code;
}

sqlite3_vfs* register_vfs() {
  sqlite3_initialize();
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs vfs = *system;
  vfs.zName = kName;
  vfs.pNext = nullptr;
  vfs.szOsFile += static_cast<int>(kOwnBytes);
  vfs.pAppData = system;
  vfs.xOpen = open_file;
  sqlite3_vfs_register(&vfs, 0);
  return &vfs;
}

}  // namespace

const char* checksum_vfs() {
  static const sqlite3_vfs* const vfs = register_vfs();
  return vfs->zName;
}

void make_room_for_checksums(sqlite3* db) {
  int bytes = kChecksumBytes;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
}

bool has_checksums(sqlite3* db) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return file != nullptr && file->pMethods == &kMethods && checked(file)->has_checksums;
}

}  // namespace nl::store
