#include "align/moved.h"

#include <algorithm>

namespace nl::align {
namespace {

constexpr uint32_t kNear = 32;  // nodes that streams and schedulers let overtake each other

struct Spot {
  uint64_t hash;
  uint32_t at;        ///< on its own side
  uint32_t expected;  ///< where it would stand in a, had it not moved
  bool operator<(const Spot& other) const { return hash != other.hash ? hash < other.hash : at < other.at; }
};

uint64_t movable(const Features& f) {
  return mix(token(f, Token::kNameShape), f.op);
}

bool equal_movable(const Features& a, const Features& b) {
  return a.name == b.name && a.shape == b.shape && a.op == b.op;
}

class Mover {
 public:
  Mover(const PagedVector<Features>& a, const PagedVector<Features>& b, Links& links)
      : a_(a), b_(b), links_(links), names_a_(kNameSlots), names_b_(kNameSlots) {
    for (uint32_t i = 0; i < a.size(); i++) {
      if (links.is_free_a(i)) names_a_[name_slot(a[i])] = true;
    }
    for (uint32_t i = 0; i < b.size(); i++) {
      if (links.is_free_b(i)) names_b_[name_slot(b[i])] = true;
    }
  }

  void run(bool far) {
    for (const uint32_t width : {6, 3}) match_stretches(width);
    match_near();
    if (far) match_stretches(1);
  }

 private:
  static constexpr size_t kNameSlots = 1 << 18;
  static size_t name_slot(const Features& f) { return mix(f.name, 0) % kNameSlots; }

  /// Free, and the other side may have a free one of that name.
  bool may_move_a(uint32_t i) const { return links_.is_free_a(i) && names_b_[name_slot(a_[i])]; }
  bool may_move_b(uint32_t i) const { return links_.is_free_b(i) && names_a_[name_slot(b_[i])]; }

  /// Stretches of free nodes that both sides have once among what is free, and what follows them.
  void match_stretches(uint32_t width) {
    const auto in_a = once(stretches_of(a_, true, width)), in_b = once(stretches_of(b_, false, width));
    for (size_t i = 0, j = 0; i < in_a.size() && j < in_b.size();) {
      if (in_a[i].hash != in_b[j].hash) {
        (in_a[i].hash < in_b[j].hash ? i : j)++;
      } else {
        take_stretch(in_a[i++].at, in_b[j++].at, width);
      }
    }
  }

  PagedVector<Spot> stretches_of(const PagedVector<Features>& side, bool is_a, uint32_t width) const {
    PagedVector<Spot> spots;
    uint32_t run = 0;
    for (uint32_t i = 0; i < side.size(); i++) {
      run = (is_a ? may_move_a(i) : may_move_b(i)) ? run + 1 : 0;
      if (run < width) continue;
      uint64_t hash = 0;
      for (uint32_t k = i + 1 - width; k <= i; k++) hash = mix(hash, movable(side[k]));
      spots.push_back({hash, i + 1 - width, 0});
    }
    return spots;
  }

  static PagedVector<Spot> once(PagedVector<Spot> spots) {
    std::sort(spots.begin(), spots.end());
    PagedVector<Spot> kept;
    for (size_t begin = 0, end = 0; begin < spots.size(); begin = end) {
      while (end < spots.size() && spots[end].hash == spots[begin].hash) end++;
      if (end == begin + 1) kept.push_back(spots[begin]);
    }
    return kept;
  }

  void take_stretch(uint32_t a, uint32_t b, uint32_t width) {
    for (uint32_t k = 0; k < width; k++) {
      if (!can_take(a + k, b + k)) return;
    }
    while (can_take(a, b)) take(a++, b++);
  }
  bool can_take(uint32_t a, uint32_t b) const {
    return a < a_.size() && b < b_.size() && links_.is_free_a(a) && links_.is_free_b(b) &&
           equal_movable(a_[a], b_[b]);
  }
  void take(uint32_t a, uint32_t b) {
    links_.link(a, b);
    links_.is_moved[a] = true;
  }

  /// Pairs of free nodes of which each is the nearest candidate of the other.
  void match_near() {
    const auto in_a = spots_of_a(), in_b = spots_of_b();
    for (const Spot& spot : in_a) {
      const Spot* b = nearest(in_b, spot);
      if (b != nullptr && nearest(in_a, *b) == &spot && can_take(spot.at, b->at)) take(spot.at, b->at);
    }
  }

  PagedVector<Spot> spots_of_a() const {
    PagedVector<Spot> spots;
    for (uint32_t i = 0; i < a_.size(); i++) {
      if (may_move_a(i)) spots.push_back({movable(a_[i]), i, i});
    }
    std::sort(spots.begin(), spots.end());
    return spots;
  }

  /// Expected behind the last node of a whose partner stands before it.
  PagedVector<Spot> spots_of_b() const {
    PagedVector<Spot> spots;
    uint32_t expected = 0;
    for (uint32_t i = 0; i < b_.size(); i++) {
      const uint32_t a = links_.from[i];
      if (a != kNone && !links_.is_moved[a]) expected = a;
      if (may_move_b(i)) spots.push_back({movable(b_[i]), i, expected});
    }
    std::sort(spots.begin(), spots.end());
    return spots;
  }

  /// The spot of the same hash nearest to the expected place; none if it is far. Expected places ascend among
  /// equal hashes; of two as near the first.
  static const Spot* nearest(const PagedVector<Spot>& spots, const Spot& wanted) {
    const auto before = [&](const Spot& spot, const Spot& w) {
      return spot.hash != w.hash ? spot.hash < w.hash : spot.expected < w.expected;
    };
    const auto it = std::lower_bound(spots.begin(), spots.end(), wanted, before);
    const Spot* best = nullptr;
    uint32_t distance = kNear + 1;
    const auto consider = [&](const Spot& spot) {
      if (spot.hash != wanted.hash) return;
      const uint32_t far =
          std::max(spot.expected, wanted.expected) - std::min(spot.expected, wanted.expected);
      if (far < distance) best = &spot, distance = far;
    };
    if (it != spots.begin()) consider(*(it - 1));
    if (it != spots.end()) consider(*it);
    return best;
  }

  const PagedVector<Features>& a_;
  const PagedVector<Features>& b_;
  Links& links_;
  std::vector<bool> names_a_, names_b_;  ///< of free nodes at the start, by hash
};

}  // namespace

void match_moved(const PagedVector<Features>& a, const PagedVector<Features>& b, bool far, Links& links) {
  Mover(a, b, links).run(far);
}

}  // namespace nl::align
