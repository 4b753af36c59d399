#pragma once
// The state of an alignment: which nodes are linked so far. Each pass adds to it. Nodes are numbered in the
// order of the tree on both sides.

#include <vector>

#include "align/features.h"

namespace nl::align {

/// Several of one side that are one of the other.
struct Merge {
  bool is_fused = true;         ///< several of a
  PagedVector<uint32_t> parts;  ///< of the side that has several, ascending
  uint32_t whole = 0;
  uint16_t agreed = 0;
  float points = 0;
};

struct Links {
  PagedVector<uint32_t> to;    ///< of each of a its place in b, or kNone
  PagedVector<uint32_t> from;  ///< of each of b its place in a, or kNone
  std::vector<bool> is_moved;  ///< of each of a
  std::vector<bool> merged_a, merged_b;
  PagedVector<float> points;     ///< of renamed ones: how much speaks for them
  PagedVector<uint16_t> agreed;  ///< of renamed ones: what only their pass knows
  PagedVector<Merge> merges;

  void link(uint32_t a, uint32_t b) {
    to[a] = b;
    from[b] = a;
  }
  void unlink(uint32_t a) {
    from[to[a]] = kNone;
    to[a] = kNone;
  }
  bool is_free_a(uint32_t a) const { return to[a] == kNone && !merged_a[a]; }
  bool is_free_b(uint32_t b) const { return from[b] == kNone && !merged_b[b]; }
};

Links links_of(PagedVector<uint32_t> to, size_t size_b);

}  // namespace nl::align
