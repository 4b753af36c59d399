#pragma once
// NameSums: count, time and longest span by name over the last seconds. One thread.

#include <array>
#include <cstdint>
#include <vector>

namespace nl::follow {

struct NameSum {
  uint32_t name = 0;
  uint64_t count = 0;
  int64_t total_ns = 0;
  int64_t longest_ns = 0;
};

class NameSums {
 public:
  static constexpr int64_t kSeconds = 10;

  /// `end_ns`: when it ended, from the origin. What ended too long ago is not summed up.
  void add(uint32_t name, int64_t end_ns, int64_t dur_ns);
  /// Of what ended in the last kSeconds before now_ns, and in the present second; the most time first.
  std::vector<NameSum> top(int64_t now_ns, size_t most) const;

 private:
  struct Second {
    int64_t number = -1;
    std::vector<NameSum> sums = {};
  };
  std::array<Second, kSeconds + 1> seconds_ = {};
};

}  // namespace nl::follow
