#include "collect/process.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstring>
#include <new>

#include "collect/names.h"
#include "wire/mapped_file.h"

namespace nl::collect {

thread_local constinit ThreadRing* thread_ring __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

/// Held for a moment when threads, rings and names are new.
class Held {
 public:
  explicit Held(pthread_mutex_t& lock) : lock_(lock) { pthread_mutex_lock(&lock_); }
  ~Held() { pthread_mutex_unlock(&lock_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  pthread_mutex_t& lock_;
};

enum class State { kNew, kReady, kOff };

/// A descriptor that the program may have closed, and used the number again.
struct LockFile {
  int fd = -1;
  dev_t device = 0;
  ino_t file = 0;
};

/// One for the life of the program: threads may mark until its very end. Folders are paths, since programs
/// close descriptors that they do not know.
struct Process {
  std::atomic<State> state{State::kNew};
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Settings settings;
  char folder[PATH_MAX] = {};  // of this process in the recording's
  wire::SessionHeader* session = nullptr;
  wire::ProcessHeader* header = nullptr;
  wire::NameTable* names = nullptr;
  ThreadRing* free = nullptr;
  std::atomic<uint32_t> ring_changes{0};  // a thread without a ring asks again when it differs
  uint32_t threads = 0;
  uint32_t generation = 0;  // forks between the program that loaded the library and this process
  LockFile lock_file;
  pthread_key_t thread_end = 0;
};
constinit Process process;
constinit ThreadRing rings[wire::kMaxRings];
constinit void* ring_memory[wire::kMaxRings] = {};

/// Of this thread: a ring that is its own but has not heard of it yet, and when it was last refused one.
thread_local constinit ThreadRing* unnamed_ring __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local constinit uint32_t refused_at __attribute__((tls_model("initial-exec"))) = ~0u;

// ---- Starting

uint64_t number_of(const char* variable, uint64_t otherwise) {
  const char* const text = getenv(variable);
  if (text == nullptr || text[0] < '0' || text[0] > '9') return otherwise;
  return strtoull(text, nullptr, 10);
}

Settings settings_of_environment() {
  Settings settings;
  const uint64_t bytes = number_of(wire::kRingBytesVariable, wire::kDefaultRingBytes);
  if (wire::is_ring_capacity(bytes / sizeof(wire::Word))) settings.ring_bytes = bytes;
  const char* const when_full = getenv(wire::kWhenFullVariable);
  if (when_full != nullptr && std::strcmp(when_full, "wait") == 0)
    settings.wait_ns = static_cast<int64_t>(number_of(wire::kWaitVariable, 100)) * 1'000'000;
  return settings;
}

bool take_memory(uint64_t bytes) {
  if (process.session->used_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <=
      process.session->total_bytes)
    return true;
  process.session->used_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

/// A file of this process, within the limit of memory.
void* create_counted(const char* name, size_t bytes, int* fd = nullptr) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/%s", process.folder, name);
  if (!take_memory(bytes)) return nullptr;
  void* const memory = wire::create_mapped(path, bytes, fd);
  if (memory == nullptr) process.session->used_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return memory;
}

bool open_session(const char* folder) {
  if (process.session != nullptr) return true;
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/session", folder);
  auto* const session =
      static_cast<wire::SessionHeader*>(wire::open_mapped(path, sizeof(wire::SessionHeader)));
  if (session == nullptr || session->magic != wire::kSessionMagic) return false;
  process.session = session;
  return true;
}

/// <process id>-<time>. In another container a process may have the same number: then a later time is taken.
bool make_own_folder(const char* folder) {
  for (int tries = 0; tries < 100; tries++) {
    const int bytes =
        snprintf(process.folder, sizeof process.folder, "%s/%ld-%llx", folder, static_cast<long>(getpid()),
                 static_cast<unsigned long long>(wire::clock_ns(CLOCK_MONOTONIC)));
    if (bytes >= PATH_MAX) return false;
    if (mkdir(process.folder, 0700) == 0) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

bool lock_process_file(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  process.lock_file = {fd, info.st_dev, info.st_ino};
  return true;
}

/// In a forked child, which must not seem to be its parent.
void close_lock_file() {
  const LockFile& own = process.lock_file;
  struct stat info;
  if (own.fd >= 0 && fstat(own.fd, &info) == 0 && info.st_dev == own.device && info.st_ino == own.file)
    close(own.fd);
  process.lock_file = {};
}

void read_program_name(char (&out)[64]) {
  const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t bytes = read(fd, out, sizeof out - 1);
  close(fd);
  if (bytes > 0 && out[bytes - 1] == '\n') out[bytes - 1] = '\0';
}

/// `known`: the names of the process that forked this one, or nullptr.
bool make_process_file(const wire::NameTable* known) {
  int fd = -1;
  void* const memory = create_counted("process", wire::kProcessFileBytes, &fd);
  if (memory == nullptr || !lock_process_file(fd)) return false;
  process.header = new (memory) wire::ProcessHeader{};
  process.names = reinterpret_cast<wire::NameTable*>(static_cast<char*>(memory) + wire::kNameTableOffset);
  process.header->process_id = static_cast<uint64_t>(getpid());
  process.header->clock = wire::read_clock_pair();
  read_program_name(process.header->program);
  if (known != nullptr) copy_names(*known, *process.names);
  process.header->magic.store(wire::kProcessMagic, std::memory_order_release);
  return true;
}

void hand_over_ring(void*);

// ---- Forking

void before_fork() {
  pthread_mutex_lock(&process.lock);
}
void after_fork_in_parent() {
  pthread_mutex_unlock(&process.lock);
}

/// The rings stay the parent's. The parent's names are read when the child makes its own file.
void after_fork_in_child() {
  for (void*& memory : ring_memory) {
    if (memory != nullptr) munmap(memory, wire::kRingDataOffset + process.settings.ring_bytes);
    memory = nullptr;
  }
  close_lock_file();
  process.free = nullptr;
  process.threads = 0;
  process.generation++;
  process.state.store(State::kNew, std::memory_order_relaxed);
  thread_ring = unnamed_ring = nullptr;
  refused_at = ~0u;
  pthread_setspecific(process.thread_end, nullptr);
  pthread_mutex_unlock(&process.lock);
}

bool start_once() {
  static constinit bool is_prepared = false;
  if (!is_prepared) {
    if (pthread_key_create(&process.thread_end, hand_over_ring) != 0) return false;
    if (pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0) return false;
    is_prepared = true;
  }
  const char* const folder = getenv(wire::kFolderVariable);
  if (folder == nullptr || folder[0] != '/') return false;
  process.settings = settings_of_environment();
  const wire::NameTable* const known = process.names;
  wire::ProcessHeader* const parent = process.header;
  if (!open_session(folder) || !make_own_folder(folder) || !make_process_file(known)) return false;
  if (parent != nullptr) munmap(parent, wire::kProcessFileBytes);
  return true;
}

// ---- Rings of threads

ThreadRing* make_ring() {
  const uint32_t number = process.header->rings.load(std::memory_order_relaxed);
  const size_t bytes = wire::kRingDataOffset + process.settings.ring_bytes;
  if (number >= wire::kMaxRings) return nullptr;
  char name[32];
  snprintf(name, sizeof name, "ring-%u", number);
  void* const memory = create_counted(name, bytes);
  if (memory == nullptr) return nullptr;
  auto* const header = new (memory) wire::RingHeader{};
  header->capacity_words = process.settings.ring_bytes / sizeof(wire::Word);
  header->magic.store(wire::kRingMagic, std::memory_order_relaxed);
  ring_memory[number] = memory;
  ThreadRing& ring = rings[number];
  ring = {};
  ring.writer.attach(header,
                     reinterpret_cast<wire::Word*>(static_cast<char*>(memory) + wire::kRingDataOffset));
  process.header->rings.store(number + 1, std::memory_order_release);
  return &ring;
}

/// A ring for a new thread: one that a thread left, or a new one.
ThreadRing* take_ring() {
  Held held(process.lock);
  ThreadRing* ring = process.free;
  if (ring != nullptr)
    process.free = ring->next_free;
  else
    ring = make_ring();
  if (ring == nullptr) {
    refused_at = process.ring_changes.load(std::memory_order_relaxed);
    return nullptr;
  }
  ring->open_words = 0;
  ring->gave_up = false;
  ring->open_count = ring->too_deep = 0;
  ring->token = uint64_t{process.generation} << 32 | ++process.threads;
  pthread_setspecific(process.thread_end, ring);
  return ring;
}

/// At the end of a thread.
void hand_over_ring(void* given) {
  Held held(process.lock);
  auto* const ring = static_cast<ThreadRing*>(given);
  ring->next_free = process.free;
  process.free = ring;
  process.ring_changes.fetch_add(1, std::memory_order_relaxed);
  thread_ring = unnamed_ring = nullptr;
}

bool write_thread(ThreadRing& ring, std::string_view name) {
  if (!ring.writer.has_room(wire::kThreadWords + ring.open_words)) return false;
  wire::Word text[wire::kThreadNameBytes / sizeof(wire::Word)] = {};
  std::memcpy(text, name.data(), name.size() < sizeof text ? name.size() : sizeof text);
  ring.writer.put(0, wire::record_head(wire::RecordKind::kThread, wire::kThreadWords, 0));
  ring.writer.put(1, static_cast<wire::Word>(wire::clock_ns(CLOCK_MONOTONIC)));
  ring.writer.put(2, ring.token & 0xFFFFFFFF);
  ring.writer.put(3, static_cast<wire::Word>(syscall(SYS_gettid)));
  for (size_t i = 0; i < std::size(text); i++) ring.writer.put(4 + i, text[i]);
  ring.writer.publish(wire::kThreadWords);
  return true;
}

}  // namespace

bool start_process() {
  const State state = process.state.load(std::memory_order_acquire);
  if (state != State::kNew) return state == State::kReady;
  Held held(process.lock);
  if (process.state.load(std::memory_order_relaxed) == State::kNew)
    process.state.store(start_once() ? State::kReady : State::kOff, std::memory_order_release);
  return process.state.load(std::memory_order_relaxed) == State::kReady;
}

bool has_session() {
  return process.session != nullptr;
}

const Settings& settings() {
  return process.settings;
}

ThreadRing* acquire_ring(wire::Loss& why) {
  why = wire::Loss::kNoRing;
  if (!start_process()) return nullptr;
  if (unnamed_ring == nullptr) {
    if (refused_at == process.ring_changes.load(std::memory_order_relaxed)) return nullptr;
    unnamed_ring = take_ring();
    if (unnamed_ring == nullptr) return nullptr;
  }
  why = wire::Loss::kRingFull;
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  if (!write_thread(*unnamed_ring, name)) return nullptr;
  thread_ring = unnamed_ring;
  unnamed_ring = nullptr;
  return thread_ring;
}

uint32_t name_number(std::string_view domain, std::string_view text, size_t max_bytes) {
  if (!start_process()) return 0;
  domain = domain.substr(0, wire::kMaxNameBytes);
  text = text.substr(0, max_bytes);
  if (const uint32_t known = find_name(*process.names, domain, text)) return known;
  Held held(process.lock);
  return add_name(*process.names, domain, text);
}

uint32_t known_name(std::string_view domain, std::string_view text) {
  return start_process() ? find_name(*process.names, domain, text) : 0;
}

std::string_view name_text(uint32_t name) {
  if (!start_process() || name > process.names->count.load(std::memory_order_acquire)) return {};
  const wire::NameTable::Entry& entry = process.names->entries[name];
  return {process.names->text + entry.offset + entry.domain_bytes, entry.name_bytes};
}

bool are_names_scarce() {
  return start_process() && (process.names->count.load(std::memory_order_relaxed) > wire::kMaxNames / 4 * 3 ||
                             process.names->text_used > wire::NameTable::kTextBytes / 4 * 3);
}

ThreadRing* make_ring_of(std::string_view name) {
  if (!start_process()) return nullptr;
  Held held(process.lock);
  ThreadRing* const ring = make_ring();
  if (ring == nullptr) return nullptr;
  ring->token = uint64_t{process.generation} << 32 | ++process.threads;
  write_thread(*ring, name);
  return ring;
}

void say(std::string_view line) {
  if (!start_process()) return;
  Held held(process.lock);
  wire::ProcessHeader& header = *process.header;
  if (header.notice_bytes.load(std::memory_order_relaxed) != 0) return;
  const size_t bytes = line.size() < sizeof header.notice ? line.size() : sizeof header.notice;
  std::memcpy(header.notice, line.data(), bytes);
  header.notice_bytes.store(static_cast<uint32_t>(bytes), std::memory_order_release);
}

void rename_thread(ThreadRing& ring, std::string_view name) {
  write_thread(ring, name);
}

void lose(wire::Loss reason) {
  if (process.state.load(std::memory_order_acquire) == State::kReady)
    process.header->lost[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  else if (process.session != nullptr)
    process.session->lost[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace nl::collect
