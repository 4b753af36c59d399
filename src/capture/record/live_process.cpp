#include "capture/record/live_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "wire/mapped_file.h"

namespace nl::capture {

template <class T>
std::optional<Mapped<T>> Mapped<T>::open(const std::string& path, size_t bytes) {
  void* const memory = wire::open_mapped(path.c_str(), bytes);
  if (memory == nullptr) return std::nullopt;
  Mapped mapped(memory, bytes);
  if (!mapped.guard_->is_on()) return std::nullopt;
  return mapped;
}

template <class T>
Mapped<T>::~Mapped() {
  if (memory_ == nullptr) return;
  guard_.reset();  // first: the address may soon be another one's
  munmap(memory_, bytes_);
}

template class Mapped<wire::SessionHeader>;
template class Mapped<wire::ProcessHeader>;
template class Mapped<wire::RingHeader>;

namespace {

const wire::Word* words_of(const Mapped<wire::RingHeader>& memory) {
  return reinterpret_cast<const wire::Word*>(reinterpret_cast<const char*>(&*memory) + wire::kRingDataOffset);
}

/// A ring whose size is what its header says.
std::unique_ptr<LiveRing> open_ring(const std::string& path) {
  const auto size = file_size(path);
  if (!size || *size <= static_cast<int64_t>(wire::kRingDataOffset)) return nullptr;
  auto memory = Mapped<wire::RingHeader>::open(path, static_cast<size_t>(*size));
  if (!memory || (*memory)->magic.load(std::memory_order_acquire) != wire::kRingMagic) return nullptr;
  const uint64_t words = (*memory)->capacity_words;
  if (!wire::is_ring_capacity(words) ||
      wire::kRingDataOffset + words * sizeof(wire::Word) > static_cast<uint64_t>(*size))
    return nullptr;
  return std::make_unique<LiveRing>(std::move(*memory), words);
}

/// The process holds a lock while it lives; a program that closes all of its files may have lost it.
bool is_running(const std::string& file, uint64_t process_id) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0;
  close(fd);
  return is_held || kill(static_cast<pid_t>(process_id), 0) == 0 || errno == EPERM;
}

}  // namespace

LiveRing::LiveRing(Mapped<wire::RingHeader> mapped, uint64_t capacity_words)
    : memory(std::move(mapped)), reader(&*memory, words_of(memory), capacity_words) {}

std::unique_ptr<LiveProcess> LiveProcess::open(const std::string& folder, const std::string& key,
                                               uint32_t number) {
  auto memory = Mapped<wire::ProcessHeader>::open(folder + "/process", wire::kProcessFileBytes);
  if (!memory || (*memory)->magic.load(std::memory_order_acquire) != wire::kProcessMagic) return nullptr;
  return std::unique_ptr<LiveProcess>(new LiveProcess(std::move(*memory), folder, key, number));
}

std::vector<std::unique_ptr<LiveRing>>& LiveProcess::rings() {
  const uint32_t ready = std::min(memory_->rings.load(std::memory_order_acquire), wire::kMaxRings);
  while (rings_.size() < ready) {
    auto ring = open_ring(folder_ + "/ring-" + std::to_string(rings_.size()));
    if (ring == nullptr) break;
    rings_.push_back(std::move(ring));
  }
  return rings_;
}

const wire::NameTable& LiveProcess::names() const {
  return *reinterpret_cast<const wire::NameTable*>(reinterpret_cast<const char*>(&*memory_) +
                                                   wire::kNameTableOffset);
}

std::string LiveProcess::introduction() const {
  const wire::ProcessHeader& header = *memory_;
  const std::string program(header.program, strnlen(header.program, sizeof header.program));
  std::string payload;
  wire::append_bytes(payload,
                     wire::ProcessFacts{header.process_id, header.clock.monotonic_ns, header.clock.unix_ns,
                                        header.clock.bound_ns, static_cast<uint32_t>(program.size()),
                                        static_cast<uint32_t>(key_.size())});
  payload += program + key_;
  payload.resize(wire::padded(payload.size()));
  std::string chunk;
  wire::append_chunk(chunk, {.kind = wire::ChunkKind::kProcess, .process = number_}, payload);
  return chunk;
}

std::string LiveProcess::new_definitions() {
  std::string chunks;
  if (!is_introduced_) chunks = introduction();
  is_introduced_ = true;
  const uint32_t count = std::min(names().count.load(std::memory_order_acquire), wire::kMaxNames - 1);
  std::string payload;
  const auto add_chunk = [&] {
    wire::append_chunk(chunks, {.kind = wire::ChunkKind::kNames, .process = number_}, payload);
    payload.clear();
  };
  while (names_defined_ < count) {
    const wire::NameTable::Entry entry = names().entries[++names_defined_];
    if (uint64_t{entry.offset} + entry.domain_bytes + entry.name_bytes > wire::NameTable::kTextBytes)
      continue;
    const char* const at = names().text + entry.offset;
    wire::append_name(payload, names_defined_, {at, entry.domain_bytes},
                      {at + entry.domain_bytes, entry.name_bytes});
    if (payload.size() > wire::kMaxChunkBytes / 2) add_chunk();
  }
  if (!payload.empty()) add_chunk();
  if (std::string text = notice(); !text.empty() && !is_notice_defined_) {
    text.resize(wire::padded(text.size()));
    wire::append_chunk(chunks, {.kind = wire::ChunkKind::kNotice, .process = number_}, text);
    is_notice_defined_ = true;
  }
  return chunks;
}

std::string LiveProcess::notice() const {
  const size_t bytes = memory_->notice_bytes.load(std::memory_order_acquire);
  return {memory_->notice, std::min(bytes, sizeof memory_->notice)};
}

Losses LiveProcess::losses() const {
  Losses sum{};
  for (size_t i = 0; i < sum.size(); i++) {
    sum[i] = memory_->lost[i].load(std::memory_order_relaxed);
    for (const auto& ring : rings_) sum[i] += ring->reader.lost(i);
  }
  return sum;
}

bool LiveProcess::is_gone() const {
  if (is_running(folder_ + "/process", memory_->process_id)) return false;
  return std::all_of(rings_.begin(), rings_.end(), [](const auto& ring) {
    return ring->is_damaged || ring->reader.head() == ring->reader.tail();
  });
}

uint64_t LiveProcess::bytes() const {
  uint64_t sum = memory_.bytes();
  for (const auto& ring : rings_) sum += ring->memory.bytes();
  return sum;
}

}  // namespace nl::capture
