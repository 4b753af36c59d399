#include "align/confidence.h"

#include <algorithm>
#include <array>

namespace nl::align {
namespace {

/// A run of matches in the same order on both sides: (a, b), (a + 1, b + 1), …
struct Run {
  uint32_t a, b, length;
};

PagedVector<Run> runs_of(const Links& links) {
  PagedVector<Run> runs;
  for (uint32_t a = 0; a < links.to.size(); a++) {
    const uint32_t b = links.to[a];
    if (b == kNone || links.is_moved[a]) continue;
    const bool goes_on =
        !runs.empty() && runs.back().a + runs.back().length == a && runs.back().b + runs.back().length == b;
    if (goes_on) {
      runs.back().length++;
    } else {
      runs.push_back({a, b, 1});
    }
  }
  return runs;
}

/// A gap of `gap` nodes of one side between two runs could also be further left or right, over as many nodes
/// as equal the ones a gap's length away. All these places are equally likely.
void slide(const PagedVector<Features>& side, uint32_t left_end, uint32_t gap, const Run& left,
           const Run& right, PagedVector<float>& unambiguous) {
  uint32_t before = 0, behind = 0;
  while (before < left.length &&
         equal_tokens(side[left_end - 1 - before], side[left_end - 1 - before + gap])) {
    before++;
  }
  const uint32_t right_begin = left_end + gap;
  while (behind < right.length &&
         equal_tokens(side[right_begin + behind], side[right_begin + behind - gap])) {
    behind++;
  }
  const auto places = static_cast<float>(before + behind + 1);
  for (uint32_t t = 0; t < before; t++) {
    unambiguous[left.a + left.length - 1 - t] *= 1 - static_cast<float>(before - t) / places;
  }
  for (uint32_t t = 0; t < behind; t++) {
    unambiguous[right.a + t] *= 1 - static_cast<float>(behind - t) / places;
  }
}

void slide_between(const Side& a, const Side& b, const Run& left, const Run& right, Support& support) {
  const uint32_t end_a = left.a + left.length, end_b = left.b + left.length;
  const uint32_t gap_a = right.a - end_a, gap_b = right.b - end_b;
  if (gap_b == 0) slide(a.features, end_a, gap_a, left, right, support.unambiguous);
  if (gap_a == 0) slide(b.features, end_b, gap_b, left, right, support.unambiguous);
}

/// Beyond the ends of both sides all agree.
void count_neighbours(const PagedVector<Run>& runs, size_t size_a, size_t size_b, Support& support) {
  for (const Run& run : runs) {
    const bool at_begin = run.a == 0 && run.b == 0;
    const bool at_end = run.a + run.length == size_a && run.b + run.length == size_b;
    for (uint32_t i = 0; i < run.length; i++) {
      const uint32_t before = at_begin ? kReach : std::min(i, kReach);
      const uint32_t behind = at_end ? kReach : std::min(run.length - 1 - i, kReach);
      support.neighbours[run.a + i] = static_cast<uint8_t>(before + behind);
    }
  }
}

}  // namespace

Support support_of(const Side& a, const Side& b, const Links& links) {
  Support support{PagedVector<float>(a.size(), 1), PagedVector<uint8_t>(a.size(), 0)};
  const auto runs = runs_of(links);
  for (size_t i = 1; i < runs.size(); i++) slide_between(a, b, runs[i - 1], runs[i], support);
  count_neighbours(runs, a.size(), b.size(), support);
  return support;
}

// The figures below are shares of right matches over edited models; see docs/analysis/alignment.md.

float confidence_in_order(const Features& a, const Features& b, float unambiguous, uint8_t neighbours) {
  constexpr std::array<float, 2 * kReach + 1> kSame = {0.88F, 0.89F, 0.95F,  0.98F, 0.98F,
                                                       0.99F, 0.99F, 0.995F, 1};
  constexpr std::array<float, 2 * kReach + 1> kReshaped = {0.7F, 0.8F,  0.85F, 0.87F, 0.87F,
                                                           0.9F, 0.95F, 0.97F, 0.98F};
  const bool is_reshaped = a.shape != 0 && b.shape != 0 && a.shape != b.shape;
  return (is_reshaped ? kReshaped : kSame)[neighbours] * unambiguous;
}

float confidence_renamed(float points) {
  return std::min(0.89F, 0.5F + 0.05F * points);
}

float confidence_moved(bool in_stretch) {
  return in_stretch ? 0.85F : 0.6F;
}

float confidence_merged(float points) {
  constexpr std::array<float, 13> kByPoints = {0.05F, 0.05F, 0.05F, 0.05F, 0.05F, 0.3F, 0.4F,
                                               0.7F,  0.72F, 0.78F, 0.85F, 0.87F, 0.89F};
  return kByPoints[static_cast<size_t>(std::clamp(points, 0.0F, 12.0F))];
}

}  // namespace nl::align
