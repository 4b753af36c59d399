#pragma once
// NameTable: numbers for texts that repeat.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace nl::timeline {

class NameTable {
 public:
  uint32_t number_of(std::string_view text);
  /// Forgets where texts lay: another chunk may have other texts at the same addresses.
  void begin_chunk() { seen_.fill({}); }
  size_t size() const { return texts_.size(); }
  std::vector<std::string_view> texts() const { return {texts_.begin(), texts_.end()}; }

 private:
  struct Seen {
    const char* at = nullptr;
    size_t bytes = 0;
    uint32_t number = 0;
  };

  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
  std::array<Seen, 256> seen_ = {};  ///< the engine gives equal texts of a column at one address
};

inline uint32_t NameTable::number_of(std::string_view text) {
  Seen& seen = seen_[(reinterpret_cast<uintptr_t>(text.data()) / 8 * 0x9e37'79b9) >> 16 & 0xff];
  if (seen.at == text.data() && seen.bytes == text.size()) return seen.number;
  auto it = numbers_.find(text);
  if (it == numbers_.end()) {
    texts_.emplace_back(text);
    it = numbers_.emplace(texts_.back(), static_cast<uint32_t>(texts_.size() - 1)).first;
  }
  seen = {text.data(), text.size(), it->second};
  return it->second;
}

}  // namespace nl::timeline
