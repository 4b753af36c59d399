#include "align/alignment.h"

#include <algorithm>
#include <array>

#include "align/confidence.h"
#include "align/features.h"
#include "align/links.h"
#include "align/moved.h"
#include "align/ordered.h"
#include "align/replaced.h"
#include "base/call_control.h"

namespace nl::align {

std::string_view kind_name(Kind kind) {
  constexpr std::array<std::string_view, kKinds> kNames = {"same",  "reshaped", "renamed",
                                                           "moved", "fused",    "split"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<std::string_view> agreed_names(uint16_t agreed) {
  constexpr std::array<std::string_view, 11> kNames = {"name",   "family", "shape",      "place",
                                                       "around", "before", "behind",     "words",
                                                       "time",   "only",   "unambiguous"};
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kNames.size(); i++) {
    if ((agreed >> i & 1) != 0) names.push_back(kNames[i]);
  }
  return names;
}

std::span<const uint32_t> Alignment::base_of(const Match& match) const {
  if (match.kind != Kind::kFused) return {&match.base, 1};
  return std::span(parts).subspan(match.parts, match.part_count);
}

std::span<const uint32_t> Alignment::other_of(const Match& match) const {
  if (match.kind != Kind::kSplit) return {&match.other, 1};
  return std::span(parts).subspan(match.parts, match.part_count);
}

namespace {

/// The same two sides in the same roles, however they were given: the longer one first, then by content.
bool comes_first(const Side& x, const Side& y) {
  if (x.size() != y.size()) return x.size() > y.size();
  const auto numbers = [](const Features& f) {
    return std::array{f.name, f.shape, f.place, f.family, f.around, f.op, f.opens};
  };
  return std::lexicographical_compare(
      x.features.begin(), x.features.end(), y.features.begin(), y.features.end(),
      [&](const Features& f, const Features& g) { return numbers(f) < numbers(g); });
}

/// Pairs of different names may be in the way of nodes that moved there: those come first.
void release_renamed(const Side& a, const Side& b, Links& links, PagedVector<uint32_t>& proposals) {
  proposals.assign(a.size(), kNone);
  for (uint32_t i = 0; i < a.size(); i++) {
    const uint32_t j = links.to[i];
    if (j == kNone || a.features[i].name == b.features[j].name) continue;
    proposals[i] = j;
    links.unlink(i);
  }
}

void restore_renamed(const PagedVector<uint32_t>& proposals, Links& links) {
  for (uint32_t i = 0; i < proposals.size(); i++) {
    if (proposals[i] != kNone && links.is_free_a(i) && links.is_free_b(proposals[i]))
      links.link(i, proposals[i]);
  }
}

Links find_links(const Replaceable& sides) {
  const auto &a = sides.a, &b = sides.b;
  Links links = links_of(align_ordered(a.features, b.features), b.size());
  PagedVector<uint32_t> proposals;
  match_moved(a.features, b.features, true, links);
  release_renamed(a, b, links, proposals);
  match_moved(a.features, b.features, false, links);
  stop_if_cancelled();
  restore_renamed(proposals, links);
  stop_if_cancelled();
  match_replaced(sides, links);
  return links;
}

/// Writes the result in the roles of the caller.
class Writer {
 public:
  Writer(const Replaceable& sides, const Links& links, bool swapped)
      : sides_(sides), links_(links), swapped_(swapped), support_(support_of(sides.a, sides.b, links)) {}

  Alignment write() {
    for (uint32_t i = 0; i < sides_.a.size(); i++) {
      if (links_.to[i] != kNone) result_.matches.push_back(one_to_one(i, links_.to[i]));
    }
    for (const Merge& merge : links_.merges) result_.matches.push_back(several(merge));
    std::sort(result_.matches.begin(), result_.matches.end(),
              [](const Match& x, const Match& y) { return x.base < y.base; });
    auto& free_a = swapped_ ? result_.unmatched_other : result_.unmatched_base;
    auto& free_b = swapped_ ? result_.unmatched_base : result_.unmatched_other;
    for (uint32_t i = 0; i < sides_.a.size(); i++) {
      if (links_.is_free_a(i)) free_a.push_back(sides_.a.index[i]);
    }
    for (uint32_t i = 0; i < sides_.b.size(); i++) {
      if (links_.is_free_b(i)) free_b.push_back(sides_.b.index[i]);
    }
    std::sort(free_a.begin(), free_a.end());
    std::sort(free_b.begin(), free_b.end());
    return std::move(result_);
  }

 private:
  Match one_to_one(uint32_t i, uint32_t j) const {
    const Features &a = sides_.a.features[i], &b = sides_.b.features[j];
    Match match;
    match.base = sides_.a.index[i];
    match.other = sides_.b.index[j];
    if (swapped_) std::swap(match.base, match.other);
    match.kind = kind_of(i, a, b);
    match.agreed = agreed(i, j);
    match.confidence = confidence(i, a, b, match.kind);
    return match;
  }

  Kind kind_of(uint32_t i, const Features& a, const Features& b) const {
    if (links_.is_moved[i]) return Kind::kMoved;
    if (a.name != b.name) return Kind::kRenamed;
    return a.shape != 0 && b.shape != 0 && a.shape != b.shape ? Kind::kReshaped : Kind::kSame;
  }

  float confidence(uint32_t i, const Features& a, const Features& b, Kind kind) const {
    if (kind == Kind::kMoved) return confidence_moved(is_linked_to(i + 1, links_.to[i] + 1));
    if (kind == Kind::kRenamed) return confidence_renamed(links_.points[i]);
    return confidence_in_order(a, b, support_.unambiguous[i], support_.neighbours[i]);
  }

  bool is_linked_to(uint32_t i, uint32_t j) const { return i < links_.to.size() && links_.to[i] == j; }

  uint16_t agreed(uint32_t i, uint32_t j) const {
    const Features &a = sides_.a.features[i], &b = sides_.b.features[j];
    uint16_t bits = links_.agreed[i];
    const auto add = [&bits](bool yes, uint16_t bit) { bits |= yes ? bit : 0; };
    add(a.name == b.name, kName);
    add(a.family == b.family && a.family != 0, kFamily);
    add(a.shape == b.shape && a.shape != 0, kShape);
    add(a.place == b.place && a.place != 0, kPlace);
    add(a.around == b.around && a.around != 0, kAround);
    add(i > 0 ? j > 0 && is_linked_to(i - 1, j - 1) : j == 0, kBefore);
    add(is_linked_to(i + 1, j + 1) || (i + 1 == sides_.a.size() && j + 1 == sides_.b.size()), kBehind);
    add(support_.unambiguous[i] == 1 && !links_.is_moved[i], kUnambiguous);
    return bits;
  }

  Match several(const Merge& merge) {
    const auto& parts_side = merge.is_fused ? sides_.a : sides_.b;
    const auto& whole_side = merge.is_fused ? sides_.b : sides_.a;
    Match match;
    match.parts = static_cast<uint32_t>(result_.parts.size());
    match.part_count = static_cast<uint8_t>(merge.parts.size());
    for (const uint32_t part : merge.parts) result_.parts.push_back(parts_side.index[part]);
    std::sort(result_.parts.end() - match.part_count, result_.parts.end());
    const bool is_fused = merge.is_fused != swapped_;
    match.kind = is_fused ? Kind::kFused : Kind::kSplit;
    (is_fused ? match.base : match.other) = result_.parts[match.parts];
    (is_fused ? match.other : match.base) = whole_side.index[merge.whole];
    match.agreed = merge.agreed;
    match.confidence = confidence_merged(merge.points);
    return match;
  }

  const Replaceable& sides_;
  const Links& links_;
  bool swapped_;
  Support support_;
  Alignment result_;
};

}  // namespace

Result<Alignment> align(const Sequence& base, const Sequence& other, const Options& options) {
  NL_TRY(const Side base_side, side_of(base));
  NL_CHECK(check_cancelled());
  NL_TRY(const Side other_side, side_of(other));
  const bool swapped = comes_first(other_side, base_side);
  const Replaceable sides = swapped ? Replaceable{other_side, base_side, other, base, options.names}
                                    : Replaceable{base_side, other_side, base, other, options.names};
  const Links links = find_links(sides);
  NL_CHECK(check_cancelled());
  return Writer(sides, links, swapped).write();
}

}  // namespace nl::align
