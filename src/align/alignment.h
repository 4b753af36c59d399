#pragma once
// Finds out which op of one run corresponds to which op of another run. The input is two sequences of ops,
// from the same model or from a changed version of it. Names, families, shapes, the groups around an op and
// its neighbours all count, so an inserted, fused, renamed or moved op does not shift the matches that follow
// it. Times never decide between two candidates for a one-to-one match: otherwise a comparison of times would
// choose its own answer. A pure algorithm on plain data: any thread may call it, and the same input gives the
// same result. See docs/analysis/alignment.md.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/paged_vector.h"
#include "base/result.h"

namespace nl::align {

inline constexpr uint32_t kNone = UINT32_MAX;

/// A module, step, range or op around nodes and other groups.
struct Group {
  uint32_t parent = kNone;  ///< index in Sequence::groups
  uint32_t name = 0;
};

/// An op or a kernel. Ids come from one table for both sides.
struct Node {
  uint32_t parent = kNone;  ///< index in Sequence::groups
  uint32_t name = 0;        ///< the exact name
  uint32_t family = 0;      ///< coarser: kernel family or op type; 0 = unknown
  uint32_t shape = 0;       ///< shapes or launch geometry; 0 = unknown
  int64_t weight_ns = -1;   ///< its time; negative = unknown
};

/// Nodes in the order of their launch; groups in any order.
struct Sequence {
  PagedVector<Group> groups;
  PagedVector<Node> nodes;
};

enum class Kind : uint8_t {
  kSame,      ///< same name, and the same shape as far as both are known
  kReshaped,  ///< same name, other shape
  kRenamed,   ///< other name
  kMoved,     ///< same name at another place of the order
  kFused,     ///< several nodes of the base are one of the other side
  kSplit,     ///< one node of the base is several of the other side
};
inline constexpr size_t kKinds = 6;
/// As in JSON: same, reshaped, …
std::string_view kind_name(Kind kind);

/// What agrees between the two sides of a match; bits of Match::agreed.
enum Agreed : uint16_t {
  kName = 1,           ///< the exact name
  kFamily = 2,         ///< the family
  kShape = 4,          ///< the shape, known on both sides
  kPlace = 8,          ///< the names of all groups around it
  kAround = 16,        ///< the names of the two innermost groups around it
  kBefore = 32,        ///< the node before it is matched to the node before
  kBehind = 64,        ///< the node behind it is matched to the node behind
  kWords = 128,        ///< words in the names
  kTime = 256,         ///< of fused and split: the time is about that of the parts
  kOnly = 512,         ///< no other free candidate between the same neighbours
  kUnambiguous = 1024  ///< no other way to match its surroundings is as good
};
/// Bits in words, for people and JSON: "name", "family", …
std::vector<std::string_view> agreed_names(uint16_t agreed);

struct Match {
  uint32_t base = 0;       ///< index of the node, the first one if fused
  uint32_t other = 0;      ///< index of the node, the first one if split
  uint32_t parts = kNone;  ///< fused and split: where its list begins in Alignment::parts
  uint16_t agreed = 0;
  uint8_t part_count = 0;  ///< of fused and split: nodes on the side that has several
  Kind kind = Kind::kSame;
  float confidence = 0;  ///< 0..1: how often matches with such evidence are right
};

struct Alignment {
  PagedVector<Match> matches;            ///< in the order of base
  PagedVector<uint32_t> parts;           ///< lists of fused and split matches
  PagedVector<uint32_t> unmatched_base;  ///< ascending
  PagedVector<uint32_t> unmatched_other;

  /// Nodes of the base in a match: one, or the parts of a fused one.
  std::span<const uint32_t> base_of(const Match& match) const;
  std::span<const uint32_t> other_of(const Match& match) const;
};

struct Options {
  /// Texts of the name ids, if the caller has them: words help with renamed, fused and split. May be shorter
  /// than the highest id.
  std::span<const std::string_view> names = {};
};

/// Every node is in exactly one match or unmatched. Swapped sides give the mirrored result. bad_input if an
/// index points nowhere or groups form a circle; limit above 2^31 nodes and groups.
Result<Alignment> align(const Sequence& base, const Sequence& other, const Options& options = {});

}  // namespace nl::align
