#pragma once
// Interner: finds the strings of one window by their raw token, so that each is unescaped only once. Keys are
// views and must stay valid; call clear() before the next window. One thread.

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace nl::ingest {

class Interner {
 public:
  static constexpr int64_t kMissing = -1;

  Interner() : slots_(1024) {}

  void clear() {
    if (used_ > 0) std::fill(slots_.begin(), slots_.end(), Slot{});
    used_ = 0;
  }

  /// The value of the key; if it is new, that of make(), which may be kMissing to refuse the key.
  template <class Make>
  int64_t get(std::string_view key, Make make) {
    const uint64_t hash = hash_of(key);
    size_t i = hash & (slots_.size() - 1);
    for (; slots_[i].key.data() != nullptr; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].hash == hash && same_text(slots_[i].key, key)) return slots_[i].value;
    }
    const int64_t value = make();
    slots_[i] = {hash, key, value};
    if (++used_ * 2 > slots_.size()) grow();
    return value;
  }

  static uint64_t hash_of(std::string_view text) {
    constexpr uint64_t kMix = 0x9E3779B97F4A7C15u;
    uint64_t hash = text.size() * kMix;
    uint64_t word = 0;
    const char* p = text.data();
    size_t n = text.size();
    for (; n >= 8; p += 8, n -= 8) {
      std::memcpy(&word, p, 8);
      hash = (hash ^ word) * kMix;
      hash ^= hash >> 29;
    }
    word = 0;
    std::memcpy(&word, p, n);
    hash = (hash ^ word) * kMix;
    return hash ^ hash >> 32;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    std::string_view key;
    int64_t value = 0;
  };

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key.data() == nullptr) continue;
      size_t i = slot.hash & (slots_.size() - 1);
      while (slots_[i].key.data() != nullptr) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace nl::ingest
