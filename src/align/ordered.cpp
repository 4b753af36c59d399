#include "align/ordered.h"

#include <algorithm>

#include "align/band.h"

namespace nl::align {
namespace {

struct AnchorKind {
  size_t width;
  Token by;
};
constexpr AnchorKind kAnchorKinds[] = {{24, Token::kNameShapePlace}, {6, Token::kNameShapePlace},
                                       {24, Token::kNameShape},      {10, Token::kNameShape},
                                       {24, Token::kPlace},          {6, Token::kPlace}};
constexpr uint32_t kSmall = 192;    // a gap up to this is the band's alone
constexpr size_t kCells = 1 << 28;  // that all bands of an alignment may have; nearly 10^9 with 10^7 nodes
constexpr size_t kNarrowest = 128, kWidest = 1024;

struct Gap {
  uint32_t a0, a1, b0, b1;
};

class Ordered {
 public:
  Ordered(const PagedVector<Features>& a, const PagedVector<Features>& b)
      : a_(a), b_(b), to_(a.size(), kNone) {
    const size_t size = std::max<size_t>(1, std::max(a.size(), b.size()));
    const auto in_tree = [](const Features& f) { return f.place != 0; };
    has_tree_ = std::any_of(a.begin(), a.end(), in_tree) && std::any_of(b.begin(), b.end(), in_tree);
    width_ = std::clamp(kCells / size, kNarrowest, kWidest);
  }

  PagedVector<uint32_t> run() {
    const Gap whole{0, static_cast<uint32_t>(a_.size()), 0, static_cast<uint32_t>(b_.size())};
    close(whole, 0);
    return std::move(to_);
  }

 private:
  void close(Gap gap, size_t kind) {
    gap = trim(gap);
    const uint32_t smaller = std::min(gap.a1 - gap.a0, gap.b1 - gap.b0);
    if (smaller == 0) return;
    while (kind < std::size(kAnchorKinds) && kAnchorKinds[kind].by != Token::kNameShape && !has_tree_) kind++;
    if (smaller <= kSmall || kind == std::size(kAnchorKinds)) return fill(gap);
    by_anchors(gap, kind);
  }

  /// Takes equal nodes at both ends.
  Gap trim(Gap gap) {
    while (gap.a0 < gap.a1 && gap.b0 < gap.b1 && equal_tokens(a_[gap.a0], b_[gap.b0]))
      to_[gap.a0++] = gap.b0++;
    while (gap.a0 < gap.a1 && gap.b0 < gap.b1 && equal_tokens(a_[gap.a1 - 1], b_[gap.b1 - 1])) {
      to_[--gap.a1] = --gap.b1;
    }
    return gap;
  }

  void by_anchors(const Gap& gap, size_t kind) {
    const auto [width, by] = kAnchorKinds[kind];
    Gap rest = gap;
    for (const Pair& anchor : find_anchors(part_a(gap), part_b(gap), width, by)) {
      const uint32_t a = gap.a0 + anchor.a, b = gap.b0 + anchor.b;
      if (a < rest.a0 || b < rest.b0) continue;  // inside the stretch before
      close({rest.a0, a, rest.b0, b}, kind + 1);
      for (uint32_t i = 0; i < width; i++) take(a + i, b + i);
      rest.a0 = a + static_cast<uint32_t>(width);
      rest.b0 = b + static_cast<uint32_t>(width);
    }
    close(rest, kind + 1);
  }

  void fill(const Gap& gap) {
    if (!could_fit(gap)) return;
    for (const Pair& pair : align_band(part_a(gap), part_b(gap), width_))
      take(gap.a0 + pair.a, gap.b0 + pair.b);
  }

  void take(uint32_t a, uint32_t b) {
    if (similarity(a_[a], b_[b]) > 0) to_[a] = b;
  }

  /// If both sides of a large gap have a name, a family or an op in common. Small ones are cheap anyway.
  bool could_fit(const Gap& gap) const {
    if (std::min(gap.a1 - gap.a0, gap.b1 - gap.b0) <= kSmall) return true;
    return share(gap, &Features::name) || share(gap, &Features::family) || share(gap, &Features::op);
  }

  bool share(const Gap& gap, uint32_t Features::*field) const {
    const bool is_name = field == &Features::name;  // of other fields 0 means unknown
    const auto values = [&](std::span<const Features> part) {
      PagedVector<uint32_t> all;
      for (const Features& f : part) {
        if (is_name || f.*field != 0) all.push_back(f.*field);
      }
      std::sort(all.begin(), all.end());
      return all;
    };
    const auto in_a = values(part_a(gap)), in_b = values(part_b(gap));
    return std::any_of(in_b.begin(), in_b.end(),
                       [&](uint32_t value) { return std::binary_search(in_a.begin(), in_a.end(), value); });
  }

  std::span<const Features> part_a(const Gap& gap) const {
    return std::span(a_).subspan(gap.a0, gap.a1 - gap.a0);
  }
  std::span<const Features> part_b(const Gap& gap) const {
    return std::span(b_).subspan(gap.b0, gap.b1 - gap.b0);
  }

  const PagedVector<Features>& a_;
  const PagedVector<Features>& b_;
  bool has_tree_;
  size_t width_;  ///< of bands: all of them together do bounded work
  PagedVector<uint32_t> to_;
};

}  // namespace

PagedVector<uint32_t> align_ordered(const PagedVector<Features>& a, const PagedVector<Features>& b) {
  return Ordered(a, b).run();
}

}  // namespace nl::align
