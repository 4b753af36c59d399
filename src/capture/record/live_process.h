#pragma once
// LiveProcess: the memory that a process of the workload shares with the recorder (wire/live.h). It can be
// read while the process runs and also after it was killed. One thread.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mapping_guard.h"
#include "base/result.h"
#include "wire/live.h"
#include "wire/recording.h"
#include "wire/ring.h"

namespace nl::capture {

/// Memory of a mapped file. The workload may cut the file off at any time: what is missing reads as zeros.
template <class T>
class Mapped {
 public:
  static std::optional<Mapped> open(const std::string& path, size_t bytes);
  Mapped(Mapped&& other) noexcept
      : memory_(other.memory_), bytes_(other.bytes_), guard_(std::move(other.guard_)) {
    other.memory_ = nullptr;
  }
  Mapped& operator=(Mapped&&) = delete;
  ~Mapped();
  T* operator->() const { return static_cast<T*>(memory_); }
  T& operator*() const { return *static_cast<T*>(memory_); }
  size_t bytes() const { return bytes_; }
  bool is_cut() const { return guard_->is_cut(); }

 private:
  Mapped(void* memory, size_t bytes) : memory_(memory), bytes_(bytes) { guard_.emplace(memory, bytes); }
  void* memory_;
  size_t bytes_;
  std::optional<MappingGuard> guard_;
};

using Losses = std::array<uint64_t, wire::kLossCount>;

/// A ring and the thread that the next of its records are of.
struct LiveRing {
  LiveRing(Mapped<wire::RingHeader> mapped, uint64_t capacity_words);

  Mapped<wire::RingHeader> memory;
  wire::RingReader reader;
  uint64_t thread = 0;
  uint64_t thread_id = 0;
  char thread_name[wire::kThreadNameBytes] = {};
  bool is_damaged = false;
};

class LiveProcess {
 public:
  /// Nothing while the process has not got ready.
  static std::unique_ptr<LiveProcess> open(const std::string& folder, const std::string& key,
                                           uint32_t number);

  const std::string& key() const { return key_; }
  uint32_t number() const { return number_; }
  /// Rings that are there by now; those known already stay.
  std::vector<std::unique_ptr<LiveRing>>& rings();
  /// Chunks that say who the process is and its names up to now, as far as they were not asked for before.
  std::string new_definitions();
  /// Names up to this number are in the recording already.
  void set_defined(uint32_t names) { names_defined_ = names, is_introduced_ = true; }
  /// A line for the person who records; empty if there is none.
  std::string notice() const;
  Losses losses() const;
  /// No process holds it any more, and all of its rings are empty.
  bool is_gone() const;
  /// Of its files.
  uint64_t bytes() const;

 private:
  LiveProcess(Mapped<wire::ProcessHeader> memory, std::string folder, std::string key, uint32_t number)
      : memory_(std::move(memory)), folder_(std::move(folder)), key_(std::move(key)), number_(number) {}
  const wire::NameTable& names() const;
  std::string introduction() const;

  Mapped<wire::ProcessHeader> memory_;
  std::string folder_;
  std::string key_;
  uint32_t number_;
  std::vector<std::unique_ptr<LiveRing>> rings_;
  uint32_t names_defined_ = 0;
  bool is_introduced_ = false;
  bool is_notice_defined_ = false;
};

}  // namespace nl::capture
