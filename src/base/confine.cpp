#include "base/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace nl {
namespace {

// ---- Landlock. The headers of older systems lack it, so its numbers stand here; they never change.

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr int kPathBeneath = 1;
constexpr uint64_t kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3;
constexpr uint64_t kFirstRights = (uint64_t{1} << 13) - 1;  // those of the first version
constexpr uint64_t kTruncate = 1 << 14;
constexpr long kVersionWithTruncate = 3;

struct RulesetAttributes {
  uint64_t handled_files;
};

struct [[gnu::packed]] PathBeneath {
  uint64_t allowed;
  int32_t parent;
};

/// A ruleset under construction. Whatever no rule allows is refused once it holds.
class Ruleset {
 public:
  Ruleset() {
    constexpr uint32_t kAskVersion = 1;
    const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
    if (version < 1) return;
    handled_ = kFirstRights | (version >= kVersionWithTruncate ? kTruncate : 0);
    const RulesetAttributes attributes{handled_};
    fd_ = static_cast<int>(::syscall(kCreateRuleset, &attributes, sizeof attributes, 0));
  }
  Ruleset(const Ruleset&) = delete;
  Ruleset& operator=(const Ruleset&) = delete;
  ~Ruleset() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool allow(int file, uint64_t rights) const {
    const PathBeneath rule{rights & handled_, file};
    return fd_ >= 0 && ::syscall(kAddRule, fd_, kPathBeneath, &rule, 0) == 0;
  }
  bool allow_to_read(const std::string& folder) const {
    const int opened = ::open(folder.c_str(), O_PATH | O_CLOEXEC);
    if (opened < 0) return false;
    const bool allowed = allow(opened, kReadFile | kReadFolder);
    ::close(opened);
    return allowed;
  }
  bool enforce() const { return fd_ >= 0 && ::syscall(kRestrictSelf, fd_, 0) == 0; }

 private:
  int fd_ = -1;
  uint64_t handled_ = 0;
};

bool confine_files(const Rights& rights) {
  const Ruleset rules;
  bool all = true;
  for (const std::string& folder : rights.readable) all = rules.allow_to_read(folder) && all;
  for (const int file : rights.writable) all = rules.allow(file, kReadFile | kWriteFile | kTruncate) && all;
  return all && rules.enforce();
}

// ---- seccomp

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kMachine = 0;
#endif

/// Calls that open ways to other machines, programs and processes, or change the file system.
constexpr uint32_t kRefused[] = {
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_mknodat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_fsetxattr,
    SYS_utimensat,
    SYS_mount,
    SYS_umount2,
    SYS_chroot,
    SYS_pivot_root,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_reboot,
    SYS_perf_event_open,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_setuid,
    SYS_setgid,
    SYS_setresuid,
    SYS_setresgid,
#if defined(__x86_64__)
    SYS_fork,
    SYS_vfork,
    SYS_unlink,
    SYS_rename,
    SYS_renameat,
    SYS_mkdir,
    SYS_rmdir,
    SYS_link,
    SYS_symlink,
    SYS_mknod,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_creat,
#endif
};

sock_filter statement(uint16_t code, uint32_t value) {
  return {code, 0, 0, value};
}
sock_filter jump(uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false) {
  return {code, if_true, if_false, value};
}

/// Refused calls fail with EPERM. A new process is refused, a new thread is not; clone3 hides its flags from
/// the filter, so it "does not exist", and the C library takes clone instead.
std::vector<sock_filter> filter_of_calls() {
  constexpr uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS, kReturn = BPF_RET | BPF_K;
  constexpr uint16_t kIfEqual = BPF_JMP | BPF_JEQ | BPF_K, kIfSet = BPF_JMP | BPF_JSET | BPF_K;
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM, kMissing = SECCOMP_RET_ERRNO | ENOSYS;
  std::vector<sock_filter> filter = {
      statement(kLoad, offsetof(seccomp_data, arch)), jump(kIfEqual, kMachine, 1, 0),
      statement(kReturn, kRefuse),  // calls of another machine have other numbers
      statement(kLoad, offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
  constexpr uint32_t kX32 = 0x40000000;  // the same calls by other numbers
  filter.push_back(jump(kIfSet, kX32, 0, 1));
  filter.push_back(statement(kReturn, kRefuse));
#endif
  for (const uint32_t call : kRefused) {
    filter.push_back(jump(kIfEqual, call, 0, 1));
    filter.push_back(statement(kReturn, kRefuse));
  }
  constexpr uint32_t kClone3 = 435;
  filter.push_back(jump(kIfEqual, kClone3, 0, 1));
  filter.push_back(statement(kReturn, kMissing));
  filter.push_back(jump(kIfEqual, SYS_clone, 0, 3));
  filter.push_back(statement(kLoad, offsetof(seccomp_data, args[0])));
  filter.push_back(jump(kIfSet, CLONE_THREAD, 1, 0));
  filter.push_back(statement(kReturn, kRefuse));
  filter.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  return filter;
}

bool confine_calls() {
  if (kMachine == 0) return false;
  std::vector<sock_filter> filter = filter_of_calls();
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

}  // namespace

Confinement confine_process(const Rights& rights) {
  // Both want that no program can give rights back.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {};
  Confinement done;
  done.files = confine_files(rights);
  done.calls = confine_calls();
  return done;
}

}  // namespace nl
