#include "fingerprint/nearest.h"

#include <algorithm>
#include <cstddef>

namespace nl::fingerprint {
namespace {

// More than sums of a few hundred products in single precision can be off.
constexpr float kSlack = 1e-4F;
constexpr float kTiny = 1e-9F;

}  // namespace

/// Keeps what lies within the distance of the k-th, and lets the list grow to twice that before the next
/// time.
void Nearest::cut() {
  if (candidates_.size() > k_) {
    const auto kth = candidates_.begin() + static_cast<ptrdiff_t>(k_) - 1;
    std::nth_element(candidates_.begin(), kth, candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.squared < b.squared; });
    limit_ = kth->squared * (1 + kSlack) + kTiny;
    std::erase_if(candidates_, [&](const Candidate& c) { return c.squared > limit_; });
  }
  next_cut_ = std::max<size_t>(4 * k_ + 64, 2 * candidates_.size());
}

void Nearest::add(const Nearest& other) {
  for (const Candidate& c : other.candidates_) offer(c.squared, c.block, c.row);
}

std::vector<Candidate> Nearest::take() {
  cut();
  return std::move(candidates_);
}

}  // namespace nl::fingerprint
