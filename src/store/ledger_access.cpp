#include "store/ledger_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/permissions.h"
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
  const std::string path = ledger + kLockProbe;
  const bool is_new = writable && !path_exists(path);
  const int fd =
      ::open(path.c_str(), (writable ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return 0;
  if (is_new) share_file(path);
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

/// A new ledger is for its owner alone; one that is there decides itself, see base/permissions.h.
Result<void> make_ledger_folders(const std::string& folder) {
  if (!path_exists(folder)) {
    NL_CHECK(make_folders(parent_folder(folder)));
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
      return errno_error("cannot create folder", folder, errno);
  }
  return make_shared_folders(folder + "/runs");
}

/// The first thing that fails for who has no home to write to.
Result<void> make_ledger(const std::string& folder) {
  auto made = make_ledger_folders(folder);
  if (made) return {};
  return Error{made.error().code, "cannot make the ledger " + folder + ": " + made.error().message,
               "name a folder for the ledger that you may write to, with --ledger DIR or NEUROLENS_LEDGER"};
}

constexpr const char* kParts[] = {"/runs",         "/staging",      "/recordings",
                                  "/fingerprints", "/state.sqlite", "/index.sqlite"};

/// A link that somebody else put into the ledger may lead to a file of the caller.
Result<void> check_links(const std::string& folder) {
  for (const char* part : kParts) {
    struct stat info {};
    if (::lstat((folder + part).c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) continue;
    if (info.st_uid == ::geteuid() || info.st_uid == 0) continue;
    return Error{ErrorCode::kPermission,
                 "the ledger is not used: another user put a link into it: " + folder + part,
                 "name another one with --ledger DIR"};
  }
  return {};
}

/// Why nothing is written, although the file system would let us.
Result<void> check_writers_of_ledger(const std::string& folder) {
  NL_CHECK(check_writers(folder));
  for (const char* part : kParts) {
    if (path_exists(folder + part)) NL_CHECK(check_writers(folder + part));
  }
  return {};
}

/// SQLite makes files by the umask, and those beside a database like the database. It is made under another
/// name first: closing a descriptor of a database drops the locks that other threads hold on it.
Result<void> make_database(const std::string& path) {
  if (path_exists(path)) return {};
  NL_TRY(NewFile file, NewFile::create(path + ".new-"));
  NL_TRY(const bool is_new, file.finish(path, false));
  if (is_new) share_file(path);
  return {};
}

}  // namespace

Result<LedgerAccess> examine_ledger(const Environment& surroundings, const std::string& folder) {
  LedgerAccess access;
  access.index_path = folder + "/index.sqlite";
  if (!path_exists(folder + "/runs")) NL_CHECK(make_ledger(folder));
  NL_CHECK(check_links(folder));
  const bool may = ::access(folder.c_str(), W_OK) == 0;
  bool writable = may;
  if (!may) {
    access.refusal = not_writable(folder, errno);
  } else if (const auto trusted = check_writers_of_ledger(folder); !trusted) {
    access.refusal = trusted.error();
    writable = false;
  }
  if (!writable) access.index = access.state = SqliteAccess::kReadOnly;
  // SQLite would make files beside the index, even to read it.
  if (!writable && may) access.index = SqliteAccess::kMemory;
  if (is_network_file_system(folder)) {
    NL_TRY(const std::string all, cache_folder(surroundings));
    const std::string cache = all + "/index/" + sha256_hex(folder).substr(0, 16);
    NL_CHECK(make_shared_folders(cache));
    access.index_path = cache + "/index.sqlite";
    access.index = SqliteAccess::kReadWrite;
  }
  if (const int fault = lock_fault(folder, writable); fault != 0) {
    access.refusal = without_locks(folder, fault);
    access.state = access_without_locks(folder + "/state.sqlite", "-journal");
    if (access.state == SqliteAccess::kMemory) return *access.refusal;  // a write was cut off there
    access.index = access_without_locks(access.index_path, "-wal");
  }
  if (!access.refusal) {
    const auto made = make_database(folder + "/state.sqlite");
    if (!made) access.refusal = made.error(), access.state = SqliteAccess::kReadOnly;
  }
  if (access.index == SqliteAccess::kReadWrite && !make_database(access.index_path))
    access.index = SqliteAccess::kMemory;
  return access;
}

}  // namespace nl::store
