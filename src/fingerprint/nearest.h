#pragma once
// Nearest: collects the k nearest of many rows. Single precision selects the candidates, with some tolerance;
// exact distances then decide, and the run id decides between equal ones. So the answer does not depend on
// the order of the rows, the number of threads or the processor.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace nl::fingerprint {

struct Candidate {
  float squared;  ///< of the distance
  uint32_t block;
  uint32_t row;
};

class Nearest {
 public:
  explicit Nearest(size_t k) : k_(k) {}

  /// Squared distances above it cannot be among the k nearest.
  float limit() const { return limit_; }

  void offer(float squared, uint32_t block, uint32_t row) {
    if (squared > limit_) return;
    candidates_.push_back({squared, block, row});
    if (candidates_.size() >= next_cut_) cut();
  }

  /// What another one found among other rows.
  void add(const Nearest& other);

  /// All that may be among the k nearest; at least k of them if there are so many.
  std::vector<Candidate> take();

 private:
  void cut();

  size_t k_;
  float limit_ = std::numeric_limits<float>::infinity();
  std::vector<Candidate> candidates_;
  size_t next_cut_ = 256;
};

}  // namespace nl::fingerprint
