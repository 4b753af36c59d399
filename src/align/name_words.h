#pragma once
// How many words two names share. ampere_sgemm_128x64 and ampere_sgemm_64x64 have much in common, and a fused
// kernel is often named after its parts.

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nl::align {

class NameWords {
 public:
  explicit NameWords(std::span<const std::string_view> names);
  bool knows(uint32_t a, uint32_t b) const { return a < words_.size() && b < words_.size(); }
  /// 0 = nothing in common, 1 = all words of the shorter one; rare words count more.
  float overlap(uint32_t a, uint32_t b) const;

 private:
  /// In whole numbers: the order in which they are added must not matter.
  int64_t weight(uint64_t word) const { return (int64_t{1} << 40) / names_with_.at(word); }
  int64_t weight_of(const std::vector<uint64_t>& words) const;

  std::vector<std::vector<uint64_t>> words_;  ///< of each name: hashes, sorted, each once
  std::unordered_map<uint64_t, uint32_t> names_with_;
};

}  // namespace nl::align
