#pragma once
// RunSet: a set of run numbers as a bit set. Counting and intersecting 100,000 runs takes microseconds.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace nl::store {

class RunSet {
 public:
  void insert(int64_t run) { word(run) |= bit(run); }
  /// The runs of a word of 64 bits, of which the lowest is the run `first`, a multiple of 64.
  void insert_64(int64_t first, uint64_t runs) {
    if (runs != 0) word(first) |= runs;
  }
  void erase(int64_t run) { word(run) &= ~bit(run); }
  bool contains(int64_t run) const {
    const auto at = static_cast<size_t>(run) / 64;
    return at < words_.size() && (words_[at] & bit(run)) != 0;
  }
  int64_t count() const {
    int64_t n = 0;
    for (const uint64_t w : words_) n += std::popcount(w);
    return n;
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](uint64_t w) { return w == 0; });
  }
  void keep_only(const RunSet& other) {
    for (size_t i = 0; i < words_.size(); i++) words_[i] &= i < other.words_.size() ? other.words_[i] : 0;
  }
  void remove(const RunSet& other) {
    for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); i++) words_[i] &= ~other.words_[i];
  }
  /// Runs in both sets.
  int64_t count_common(const RunSet& other) const {
    int64_t n = 0;
    for (size_t i = 0; i < std::min(words_.size(), other.words_.size()); i++)
      n += std::popcount(words_[i] & other.words_[i]);
    return n;
  }
  template <class Visit>
  void each(const Visit& visit) const {
    for (size_t i = 0; i < words_.size(); i++) {
      for (uint64_t w = words_[i]; w != 0; w &= w - 1) {
        visit(static_cast<int64_t>(i) * 64 + std::countr_zero(w));
      }
    }
  }

 private:
  static uint64_t bit(int64_t run) { return uint64_t{1} << (run % 64); }
  uint64_t& word(int64_t run) {
    const auto at = static_cast<size_t>(run) / 64;
    if (at >= words_.size()) words_.resize(at + 1);
    return words_[at];
  }
  std::vector<uint64_t> words_;
};

}  // namespace nl::store
