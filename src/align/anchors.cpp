#include "align/anchors.h"

#include <algorithm>

namespace nl::align {
namespace {

struct Stretch {
  uint64_t hash;
  uint32_t at;
};

constexpr uint64_t kStep = 0xD1342543DE82EF95;

/// Hashes of all stretches, each from the one before.
std::vector<Stretch> stretches(std::span<const Features> nodes, size_t width, bool with_place) {
  std::vector<Stretch> all;
  if (nodes.size() < width) return all;
  all.reserve(nodes.size() - width + 1);
  uint64_t out = 1, hash = 0;
  for (size_t i = 0; i < width; i++) out *= kStep;
  for (size_t i = 0; i < nodes.size(); i++) {
    hash = hash * kStep + token(nodes[i], with_place);
    if (i >= width) hash -= out * token(nodes[i - width], with_place);
    if (i + 1 >= width) all.push_back({hash, static_cast<uint32_t>(i + 1 - width)});
  }
  return all;
}

/// Those that are there once, sorted by hash.
std::vector<Stretch> once(std::vector<Stretch> all) {
  std::sort(all.begin(), all.end(), [](const Stretch& x, const Stretch& y) { return x.hash < y.hash; });
  size_t kept = 0;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].hash == all[begin].hash) end++;
    if (end == begin + 1) all[kept++] = all[begin];
  }
  all.resize(kept);
  return all;
}

bool equal_stretch(std::span<const Features> a, std::span<const Features> b, bool with_place) {
  return std::equal(a.begin(), a.end(), b.begin(), [with_place](const Features& x, const Features& y) {
    return x.name == y.name && x.shape == y.shape && (!with_place || x.place == y.place);
  });
}

}  // namespace

std::vector<Pair> longest_chain(const std::vector<Pair>& pairs) {
  std::vector<uint32_t> tails, before(pairs.size(), kNone);  // tails: last pair of the best chain of a length
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
  std::vector<Pair> chain(tails.size());
  uint32_t at = tails.empty() ? kNone : tails.back();
  for (size_t i = chain.size(); i-- > 0; at = before[at]) chain[i] = pairs[at];
  return chain;
}

std::vector<Pair> find_anchors(std::span<const Features> a, std::span<const Features> b, size_t width,
                               bool with_place) {
  const auto in_a = once(stretches(a, width, with_place)), in_b = once(stretches(b, width, with_place));
  std::vector<Pair> pairs;
  for (size_t i = 0, j = 0; i < in_a.size() && j < in_b.size();) {
    if (in_a[i].hash != in_b[j].hash) {
      (in_a[i].hash < in_b[j].hash ? i : j)++;
      continue;
    }
    const uint32_t x = in_a[i++].at, y = in_b[j++].at;
    if (equal_stretch(a.subspan(x, width), b.subspan(y, width), with_place)) pairs.push_back({x, y});
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) { return x.a < y.a; });
  return longest_chain(pairs);
}

}  // namespace nl::align
