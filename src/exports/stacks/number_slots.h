#pragma once
// NumberSlots: an open hash table that holds numbers of things kept elsewhere, four bytes a slot. Whoever
// owns the things says which of them is meant and what the hash of each is. For one thread.

#include <cstdint>
#include <vector>

namespace nl::exports {

class NumberSlots {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// The number for which `is_it` is true; kNone if there is none.
  template <class IsIt>
  uint32_t find(uint64_t hash, IsIt&& is_it) const {
    if (slots_.empty()) return kNone;
    for (size_t at = place(hash);; at = (at + 1) & mask()) {
      if (slots_[at] == kNone || is_it(slots_[at])) return slots_[at];
    }
  }

  /// Of a number that is not there yet. `hash_of` is asked for the numbers that have to move.
  template <class HashOf>
  void add(uint32_t number, HashOf&& hash_of) {
    if (2 * (count_ + 1) > slots_.size()) grow(hash_of);
    put(number, hash_of(number));
    count_++;
  }

 private:
  size_t mask() const { return slots_.size() - 1; }
  /// Spreads hashes whose low bits are alike.
  size_t place(uint64_t hash) const { return (hash * 0x9E3779B97F4A7C15ULL >> 20) & mask(); }

  void put(uint32_t number, uint64_t hash) {
    size_t at = place(hash);
    while (slots_[at] != kNone) at = (at + 1) & mask();
    slots_[at] = number;
  }

  template <class HashOf>
  void grow(HashOf&& hash_of) {
    std::vector<uint32_t> before(slots_.empty() ? 64 : 2 * slots_.size(), kNone);
    before.swap(slots_);
    for (const uint32_t number : before) {
      if (number != kNone) put(number, hash_of(number));
    }
  }

  std::vector<uint32_t> slots_;  // a power of two, at most half of them taken
  size_t count_ = 0;
};

}  // namespace nl::exports
