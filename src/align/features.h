#pragma once
// What alignment compares of a node. Nodes are in the order of the tree: nodes of one group stand together
// even if several threads launched them in turns.

#include <vector>

#include "align/alignment.h"

namespace nl::align {

/// Plain numbers, equal if and only if (but for 32-bit hashes of paths) the things are.
struct Features {
  uint32_t name;
  uint32_t family;
  uint32_t shape;
  uint32_t place;   ///< hash of the names of all groups around; 0 = none
  uint32_t around;  ///< hash of the names of the two innermost groups; 0 = none
  uint32_t op;      ///< hash of the name of the innermost group; 0 = none
  uint32_t opens;   ///< groups that begin with this node
};

struct Side {
  PagedVector<Features> features;  ///< in the order of the tree
  PagedVector<uint32_t> index;     ///< of each in Sequence::nodes
  PagedVector<uint32_t> module;    ///< of each: hash of the names of all groups around its innermost one
  size_t size() const { return features.size(); }
};

Result<Side> side_of(const Sequence& sequence);

/// A good mix of two numbers; the same everywhere.
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b + 0x9E3779B97F4A7C15)) * 0xBF58476D1CE4E5B9;
  h ^= h >> 31;
  h *= 0x94D049BB133111EB;
  return h ^ (h >> 29);
}

/// By what two nodes are taken for equal.
enum class Token : uint8_t { kNameShapePlace, kNameShape, kPlace };

inline uint64_t token(const Features& f, Token by) {
  if (by == Token::kPlace) return mix(f.place, f.place);
  const uint64_t t = mix(f.name, f.shape);
  return by == Token::kNameShapePlace ? mix(t, f.place) : t;
}

inline bool equal_tokens(const Features& a, const Features& b, Token by = Token::kNameShapePlace) {
  const bool same_place = by == Token::kNameShape || a.place == b.place;
  return same_place && (by == Token::kPlace || (a.name == b.name && a.shape == b.shape));
}

/// What agreement and disagreement count in similarity().
inline constexpr int kFitName = 8, kFitFamily = 1, kFitNothing = -6, kFitUnknown = -2;
inline constexpr int kFitShape = 3, kFitOtherShape = -1;
inline constexpr int kFitPlace = 5, kFitAround = 4, kFitOp = 2, kFitOtherPlace = -2;
inline constexpr int kFitOpens = 1;

/// How well two nodes fit, without regard to neighbours. Nodes that fit have a positive value.
int similarity(const Features& a, const Features& b);

}  // namespace nl::align
