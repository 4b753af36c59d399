#include "align/anchors.h"

#include <algorithm>
#include <cstdlib>

namespace nl::align {
namespace {

struct Stretch {
  uint64_t hash;
  uint32_t at;
};

constexpr uint64_t kStep = 0xD1342543DE82EF95;

/// Hashes of all stretches, each from the one before.
PagedVector<Stretch> stretches(std::span<const Features> nodes, size_t width, Token by) {
  PagedVector<Stretch> all;
  if (nodes.size() < width) return all;
  all.reserve(nodes.size() - width + 1);
  uint64_t out = 1, hash = 0;
  for (size_t i = 0; i < width; i++) out *= kStep;
  for (size_t i = 0; i < nodes.size(); i++) {
    hash = hash * kStep + token(nodes[i], by);
    if (i >= width) hash -= out * token(nodes[i - width], by);
    if (i + 1 >= width) all.push_back({hash, static_cast<uint32_t>(i + 1 - width)});
  }
  return all;
}

/// Those that are there once, sorted by hash.
PagedVector<Stretch> once(PagedVector<Stretch> all) {
  std::sort(all.begin(), all.end(), [](const Stretch& x, const Stretch& y) { return x.hash < y.hash; });
  size_t kept = 0;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].hash == all[begin].hash) end++;
    if (end == begin + 1) all[kept++] = all[begin];
  }
  all.resize(kept);
  return all;
}

bool equal_stretch(std::span<const Features> a, std::span<const Features> b, Token by) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [by](const Features& x, const Features& y) { return equal_tokens(x, y, by); });
}

/// The longest ascending chain of pairs that are sorted by a.
PagedVector<Pair> longest_chain(const PagedVector<Pair>& pairs) {
  PagedVector<uint32_t> tails, before(pairs.size(), kNone);  // tails: last pair of the best chain of a length
  for (uint32_t i = 0; i < pairs.size(); i++) {
    const auto tail = std::lower_bound(tails.begin(), tails.end(), pairs[i].b,
                                       [&](uint32_t t, uint32_t b) { return pairs[t].b < b; });
    if (tail != tails.begin()) before[i] = *(tail - 1);
    if (tail == tails.end()) {
      tails.push_back(i);
    } else {
      *tail = i;
    }
  }
  PagedVector<Pair> chain(tails.size());
  uint32_t at = tails.empty() ? kNone : tails.back();
  for (size_t i = chain.size(); i-- > 0; at = before[at]) chain[i] = pairs[at];
  return chain;
}

/// Pairs side by side.
struct Segment {
  uint32_t a, b, length;
  int64_t offset() const { return static_cast<int64_t>(b) - a; }
};

PagedVector<Segment> segments_of(const PagedVector<Pair>& chain) {
  PagedVector<Segment> segments;
  for (const Pair& pair : chain) {
    const bool goes_on = !segments.empty() && segments.back().a + segments.back().length == pair.a &&
                         segments.back().b + segments.back().length == pair.b;
    if (goes_on) {
      segments.back().length++;
    } else {
      segments.push_back({pair.a, pair.b, 1});
    }
  }
  return segments;
}

/// A segment has to be worth the detour to it: one that equals by chance stands far off the way.
PagedVector<Segment> worthwhile(const PagedVector<Segment>& all, size_t width) {
  constexpr size_t kBack = 64;
  constexpr int64_t kTurn = 8;
  PagedVector<int64_t> worth(all.size());
  PagedVector<size_t> before(all.size(), all.size());
  for (size_t i = 0; i < all.size(); i++) {
    const auto own = static_cast<int64_t>(all[i].length + width - 1);
    worth[i] = own;
    for (size_t k = i; k-- > 0 && i - k <= kBack;) {
      const int64_t turn = std::abs(all[i].offset() - all[k].offset());
      const int64_t sum = worth[k] + own - (turn > 0 ? turn + kTurn : 0);
      if (sum > worth[i]) worth[i] = sum, before[i] = k;
    }
  }
  PagedVector<Segment> kept;
  size_t at = static_cast<size_t>(std::max_element(worth.begin(), worth.end()) - worth.begin());
  for (; at < all.size(); at = before[at]) kept.push_back(all[at]);
  std::reverse(kept.begin(), kept.end());
  return kept;
}

PagedVector<Pair> pairs_of(const PagedVector<Segment>& segments) {
  PagedVector<Pair> pairs;
  for (const Segment& s : segments) {
    for (uint32_t i = 0; i < s.length; i++) pairs.push_back({s.a + i, s.b + i});
  }
  return pairs;
}

}  // namespace

PagedVector<Pair> find_anchors(std::span<const Features> a, std::span<const Features> b, size_t width,
                               Token by) {
  const auto in_a = once(stretches(a, width, by)), in_b = once(stretches(b, width, by));
  PagedVector<Pair> pairs;
  for (size_t i = 0, j = 0; i < in_a.size() && j < in_b.size();) {
    if (in_a[i].hash != in_b[j].hash) {
      (in_a[i].hash < in_b[j].hash ? i : j)++;
      continue;
    }
    const uint32_t x = in_a[i++].at, y = in_b[j++].at;
    if (equal_stretch(a.subspan(x, width), b.subspan(y, width), by)) pairs.push_back({x, y});
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) { return x.a < y.a; });
  return pairs_of(worthwhile(segments_of(longest_chain(pairs)), width));
}

}  // namespace nl::align
