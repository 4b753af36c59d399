#include "store/ledger_access.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/sha256.h"
#include "store/cache_folder.h"

namespace nl::store {
namespace {

// A file of its own: closing any descriptor of a database would drop the locks that SQLite holds on it.
constexpr char kLockProbe[] = "/.locks";

/// WAL needs shared memory, which network file systems do not give.
bool is_network_file_system(const std::string& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0x6969:      // NFS
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x517B:      // SMB
    case 0x65735546:  // FUSE
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x00C36400:  // Ceph
    case 0x01021997:  // 9p
      return true;
    default:
      return false;
  }
}

/// The number of the error that the file system gives to a lock; 0 if it has locks, or nobody can tell.
int lock_fault(const std::string& ledger, bool writable) {
  const int fd =
      ::open((ledger + kLockProbe).c_str(), (writable ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0644);
  if (fd < 0) return 0;
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  const int number = ::fcntl(fd, F_SETLK, &lock) == 0 ? 0 : errno;
  ::close(fd);
  return number == EACCES || number == EAGAIN ? 0 : number;
}

Error not_writable(const std::string& folder, int number) {
  return Error{ErrorCode::kPermission, "the ledger cannot be written: " + errno_text(number) + ": " + folder,
               "it can be read; to import or label, name another one with --ledger DIR"};
}

Error without_locks(const std::string& folder, int number) {
  return Error{ErrorCode::kUnavailable,
               "the file system of the ledger has no file locks: " + errno_text(number) + ": " + folder,
               "it can be read; to import or label, put the ledger on another file system with --ledger DIR"};
}

/// Reading a database that nobody writes needs no locks, but all of it must be in the one file.
SqliteAccess access_without_locks(const std::string& database, const char* journal) {
  const auto bytes = file_size(database + journal);
  return bytes && *bytes > 0 ? SqliteAccess::kMemory : SqliteAccess::kImmutable;
}

/// The first thing that fails for who has no home to write to.
Result<void> make_ledger(const std::string& folder) {
  auto made = make_folders(folder + "/runs");
  if (made) return {};
  return Error{made.error().code, made.error().message,
               "name a folder for the ledger that you may write to, with --ledger DIR or NEUROLENS_LEDGER"};
}

}  // namespace

Result<LedgerAccess> examine_ledger(const Environment& surroundings, const std::string& folder) {
  LedgerAccess access;
  access.index_path = folder + "/index.sqlite";
  if (!path_exists(folder + "/runs")) NL_CHECK(make_ledger(folder));
  const bool writable = ::access(folder.c_str(), W_OK) == 0;
  if (!writable) {
    access.refusal = not_writable(folder, errno);
    access.index = access.state = SqliteAccess::kReadOnly;
  }
  if (is_network_file_system(folder)) {
    NL_TRY(const std::string all, cache_folder(surroundings));
    const std::string cache = all + "/index/" + sha256_hex(folder).substr(0, 16);
    NL_CHECK(make_folders(cache));
    access.index_path = cache + "/index.sqlite";
    access.index = SqliteAccess::kReadWrite;
  }
  if (const int fault = lock_fault(folder, writable); fault != 0) {
    access.refusal = without_locks(folder, fault);
    access.state = access_without_locks(folder + "/state.sqlite", "-journal");
    if (access.state == SqliteAccess::kMemory) return *access.refusal;  // a write was cut off there
    access.index = access_without_locks(access.index_path, "-wal");
  }
  return access;
}

}  // namespace nl::store
