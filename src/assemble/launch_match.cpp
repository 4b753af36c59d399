// Matches replayed launches to traced ones. Launches become numbers ("kinds"): two launches are of one kind
// if they look the same. The two sequences of kinds are aligned like texts in a diff, first with strict
// kinds, then with weaker ones for what is left. A wrong match is worse than none, so matches in runs of
// equal launches are dropped if they could be made in another way.

#include "assemble/launch_match.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

namespace nl::assemble {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Length of a cast such as "(unsigned long)" in front of a number at `at`; 0 if there is none.
size_t cast_length(std::string_view name, size_t at) {
  if (name[at] != '(') return 0;
  const size_t end = name.find(')', at);
  if (end == std::string_view::npos || end == at + 1 || end + 1 >= name.size()) return 0;
  const char next = name[end + 1];
  if (std::isdigit(static_cast<unsigned char>(next)) == 0 && next != '-') return 0;
  const std::string_view type = name.substr(at + 1, end - at - 1);
  const auto in_type = [](char c) { return is_word(c) || c == ' ' || c == ':'; };
  return std::all_of(type.begin(), type.end(), in_type) ? end + 1 - at : 0;
}

/// Length of the digits at `at`.
size_t number_length(std::string_view name, size_t at) {
  size_t end = at;
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) end++;
  return end - at;
}

/// Length of a suffix that some demanglers put after a number: the ul of 128ul.
size_t suffix_length(std::string_view name, size_t at) {
  size_t end = at;
  while (end < name.size() &&
         (name[end] == 'u' || name[end] == 'l' || name[end] == 'U' || name[end] == 'L')) {
    end++;
  }
  return end < name.size() && is_word(name[end]) ? 0 : end - at;
}

}  // namespace

std::string spelled_alike(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size();) {
    if (const size_t cast = cast_length(name, i); cast > 0) {
      const bool is_bool = name.substr(i, cast) == "(bool)";
      i += cast;
      if (is_bool && (name[i] == '0' || name[i] == '1')) out += name[i++] == '1' ? "true" : "false";
    } else if (const size_t digits = number_length(name, i);
               digits > 0 && (out.empty() || !is_word(out.back()))) {
      out += name.substr(i, digits);
      i += digits + suffix_length(name, i + digits);
    } else {
      if (name[i] != ' ') out += name[i];
      i++;
    }
  }
  return out;
}

namespace {

/// The position of the opening bracket that matches the closing one at `end`.
size_t opening(std::string_view name, size_t end, char open, char close) {
  int depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    if (name[i] == close) depth++;
    if (name[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// The name without a pair of brackets and their content at its end.
std::string_view without_tail(std::string_view name, char open, char close) {
  if (name.empty() || name.back() != close) return name;
  const size_t begin = opening(name, name.size() - 1, open, close);
  return begin == std::string_view::npos || begin == 0 ? name : name.substr(0, begin);
}

}  // namespace

std::string function_of(std::string_view name) {
  name = without_tail(name, '(', ')');
  name = without_tail(name, '<', '>');
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < name.size(); i++) {
    depth += name[i] == '<' || name[i] == '(' ? 1 : name[i] == '>' || name[i] == ')' ? -1 : 0;
    if (depth == 0 && (name[i] == ' ' || name[i] == ':')) begin = i + 1;
  }
  return std::string(name.substr(begin));
}

std::string_view matched_by_name(MatchedBy by) {
  return by == MatchedBy::kOrder ? "order" : "moved";
}

namespace {

using Kind = uint32_t;
constexpr uint32_t kNone = UINT32_MAX;

/// Which properties of launches are compared.
struct Comparison {
  bool by_function = false;
  bool all_sizes = true;  ///< x, y and z; else the numbers of blocks and threads
  bool ranges = false;
};

int64_t product(const std::array<int32_t, 3>& size) {
  int64_t all = 1;
  for (const int32_t n : size) all *= n < 0 ? 1 : n;
  return size[0] < 0 ? -1 : all;
}

std::string size_text(const std::array<int32_t, 3>& size, bool all) {
  if (!all) return "," + std::to_string(product(size));
  return "," + std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

std::string text_of(const LaunchShape& launch, const Comparison& by) {
  std::string text = by.by_function ? function_of(launch.name) : spelled_alike(launch.name);
  text += size_text(launch.grid, by.all_sizes) + size_text(launch.block, by.all_sizes);
  return by.ranges ? text + "," + launch.ranges : text;
}

/// The launches of one side as kinds.
struct Sequence {
  std::vector<Kind> kinds;
  std::vector<uint32_t> launches;  ///< where each stands among all launches of its side
};

class Kinds {
 public:
  Kind of(const LaunchShape& launch, const Comparison& by) {
    return ids_.try_emplace(text_of(launch, by), static_cast<Kind>(ids_.size())).first->second;
  }

 private:
  std::unordered_map<std::string, Kind> ids_;
};

Sequence whole(const std::vector<Kind>& kinds, const std::vector<bool>& skip) {
  Sequence all;
  for (uint32_t i = 0; i < kinds.size(); i++) {
    if (skip[i]) continue;
    all.kinds.push_back(kinds[i]);
    all.launches.push_back(i);
  }
  return all;
}

/// The launches of one side whose kind the other side has, too. Others would only disturb the alignment: a
/// profiler is often told to replay only some kernels.
Sequence shared(const Sequence& side, const Sequence& other) {
  std::vector<Kind> known = other.kinds;
  std::sort(known.begin(), known.end());
  Sequence kept;
  for (size_t i = 0; i < side.kinds.size(); i++) {
    if (!std::binary_search(known.begin(), known.end(), side.kinds[i])) continue;
    kept.kinds.push_back(side.kinds[i]);
    kept.launches.push_back(side.launches[i]);
  }
  return kept;
}

/// Aligns two sequences. First come anchors: neighbourhoods that occur exactly once on each side. From there
/// the alignment grows as long as both sides are equal; the gaps are aligned with shorter and shorter
/// neighbourhoods and at last by edit distance.
class Alignment {
 public:
  Alignment(const Sequence& a, const Sequence& b) : a_(a.kinds), b_(b.kinds), to_(a.kinds.size(), kNone) {
    align(0, a_.size(), 0, b_.size(), kWidest);
  }
  /// For each of a its place in b, or kNone.
  const std::vector<uint32_t>& places() const { return to_; }

 private:
  static constexpr size_t kWidest = 32;        // launches of the widest neighbourhood
  static constexpr int64_t kMostEdits = 1500;  // in a gap without anchors; memory grows with the square

  struct Pair {
    uint32_t a, b;
  };

  void take(size_t a, size_t b) { to_[a] = static_cast<uint32_t>(b); }

  /// Where each neighbourhood of `width` launches begins; kNone if it occurs more than once.
  static std::unordered_map<uint64_t, uint32_t> once(const std::vector<Kind>& kinds, size_t from, size_t to,
                                                     size_t width) {
    std::unordered_map<uint64_t, uint32_t> places;
    for (size_t i = from; i + width <= to; i++) {
      const auto [it, is_new] = places.try_emplace(hash(kinds, i, width), static_cast<uint32_t>(i));
      if (!is_new) it->second = kNone;
    }
    return places;
  }
  static uint64_t hash(const std::vector<Kind>& kinds, size_t from, size_t width) {
    uint64_t h = 0xCBF29CE484222325;
    for (size_t i = from; i < from + width; i++) h = (h ^ kinds[i]) * 0x9E3779B97F4A7C15 + (h >> 29);
    return h;
  }
  bool same(size_t a, size_t b, size_t width) const {
    return std::equal(a_.begin() + static_cast<ptrdiff_t>(a), a_.begin() + static_cast<ptrdiff_t>(a + width),
                      b_.begin() + static_cast<ptrdiff_t>(b));
  }

  /// The longest chain of pairs that is increasing on both sides.
  static std::vector<Pair> increasing(const std::vector<Pair>& pairs) {
    std::vector<size_t> ends;  // the last pair of the best chain of each length
    std::vector<size_t> before(pairs.size(), kNone);
    for (size_t i = 0; i < pairs.size(); i++) {
      const auto it = std::lower_bound(ends.begin(), ends.end(), pairs[i].b,
                                       [&](size_t end, uint32_t b) { return pairs[end].b < b; });
      if (it != ends.begin()) before[i] = *(it - 1);
      if (it == ends.end()) {
        ends.push_back(i);
      } else {
        *it = i;
      }
    }
    std::vector<Pair> row;
    for (size_t i = ends.empty() ? kNone : ends.back(); i != kNone; i = before[i]) row.push_back(pairs[i]);
    std::reverse(row.begin(), row.end());
    return row;
  }

  std::vector<Pair> anchors(size_t a0, size_t a1, size_t b0, size_t b1, size_t width) const {
    const auto in_a = once(a_, a0, a1, width);
    const auto in_b = once(b_, b0, b1, width);
    std::vector<Pair> pairs;
    for (size_t a = a0; a + width <= a1; a++) {
      const uint64_t h = hash(a_, a, width);
      const auto it = in_b.find(h);
      if (it == in_b.end() || it->second == kNone || in_a.at(h) == kNone) continue;
      if (same(a, it->second, width)) pairs.push_back({static_cast<uint32_t>(a), it->second});
    }
    return increasing(pairs);
  }

  void align(size_t a0, size_t a1, size_t b0, size_t b1, size_t width) {
    while (a0 < a1 && b0 < b1 && a_[a0] == b_[b0]) take(a0++, b0++);
    while (a0 < a1 && b0 < b1 && a_[a1 - 1] == b_[b1 - 1]) take(--a1, --b1);
    if (a0 == a1 || b0 == b1) return;
    if (width == 0) return fill(a0, a1, b0, b1);
    const auto row = anchors(a0, a1, b0, b1, width);
    if (row.empty()) return align(a0, a1, b0, b1, width / 2);
    size_t a = a0, b = b0;
    for (const Pair& anchor : row) {
      if (anchor.a < a || anchor.b < b) continue;  // already matched by growing from the anchor before
      align(a, anchor.a, b, anchor.b, width / 2);
      a = anchor.a;
      b = anchor.b;
      while (a < a1 && b < b1 && a_[a] == b_[b]) take(a++, b++);
    }
    align(a, a1, b, b1, width / 2);
  }

  /// A gap without anchors: the shortest edit script (Myers). If it needs more than kMostEdits, the gap stays
  /// unmatched.
  void fill(size_t a0, size_t a1, size_t b0, size_t b1) {
    const auto rows = static_cast<int64_t>(a1 - a0), columns = static_cast<int64_t>(b1 - b0);
    const int64_t most = std::min<int64_t>(rows + columns, kMostEdits);
    // reached[d][k + d]: how far into a the best path with d edits gets on the diagonal k = a - b.
    std::vector<std::vector<int64_t>> reached;
    for (int64_t d = 0; d <= most; d++) {
      auto& now = reached.emplace_back(static_cast<size_t>(2 * d + 1));
      for (int64_t k = -d; k <= d; k += 2) {
        int64_t a = begin_of(reached, d, k);
        while (a < rows && a - k < columns && is_same(a0, a, b0, a - k)) a++;
        now[static_cast<size_t>(k + d)] = a;
        if (a >= rows && a - k >= columns) return take_way(reached, d, k, a0, b0);
      }
    }
  }

  /// Where the path with d edits enters the diagonal k.
  static int64_t begin_of(const std::vector<std::vector<int64_t>>& reached, int64_t d, int64_t k) {
    if (d == 0) return 0;
    const auto& before = reached[static_cast<size_t>(d - 1)];
    const auto at = [&](int64_t diagonal) { return before[static_cast<size_t>(diagonal + d - 1)]; };
    const bool from_b = k == -d || (k != d && at(k - 1) < at(k + 1));
    return from_b ? at(k + 1) : at(k - 1) + 1;
  }

  /// Goes back along the path: every step along a diagonal is a pair.
  void take_way(const std::vector<std::vector<int64_t>>& reached, int64_t d, int64_t k, size_t a0,
                size_t b0) {
    for (; d >= 0; d--) {
      int64_t a = reached[static_cast<size_t>(d)][static_cast<size_t>(k + d)];
      const int64_t begin = begin_of(reached, d, k);
      for (; a > begin; a--) take(a0 + static_cast<size_t>(a - 1), b0 + static_cast<size_t>(a - 1 - k));
      if (d == 0) return;
      const auto& before = reached[static_cast<size_t>(d - 1)];
      const auto at = [&](int64_t diagonal) { return before[static_cast<size_t>(diagonal + d - 1)]; };
      const bool from_b = k == -d || (k != d && at(k - 1) < at(k + 1));
      k += from_b ? 1 : -1;
    }
  }
  bool is_same(size_t a0, int64_t a, size_t b0, int64_t b) const {
    return a >= 0 && b >= 0 && a_[a0 + static_cast<size_t>(a)] == b_[b0 + static_cast<size_t>(b)];
  }

  const std::vector<Kind>& a_;
  const std::vector<Kind>& b_;
  std::vector<uint32_t> to_;
};

}  // namespace

namespace {

/// Where a launch without a match is expected: just after the place of the last launch that has one.
std::vector<uint32_t> expected_places(const std::vector<uint32_t>& places) {
  std::vector<uint32_t> expected(places.size(), 0);
  uint32_t last = 0;
  for (size_t i = 0; i < places.size(); i++) {
    expected[i] = last;
    if (places[i] != kNone) last = places[i] + 1;
  }
  return expected;
}

constexpr uint32_t kNear = 16;  // how far launches of two streams may overtake each other

/// Places that are still free, by kind, in order.
using FreePlaces = std::unordered_map<Kind, std::vector<uint32_t>>;

/// The only free place of the kind near the expected one; kNone if there is none or more than one.
uint32_t only_near(const FreePlaces& free, Kind kind, uint32_t expected) {
  const auto places = free.find(kind);
  if (places == free.end()) return kNone;
  const uint32_t first = expected > kNear ? expected - kNear : 0;
  const auto it = std::lower_bound(places->second.begin(), places->second.end(), first);
  if (it == places->second.end() || *it > expected + kNear) return kNone;
  const auto next = it + 1;
  return next != places->second.end() && *next <= expected + kNear ? kNone : *it;
}

/// If only some launches in a run of equal ones have a match, they could be matched in another way just as
/// well. Then none of the run is certain.
std::vector<bool> unsure(const std::vector<Kind>& kinds, const std::vector<bool>& matched) {
  std::vector<bool> doubt(kinds.size(), false);
  for (size_t begin = 0, end = 0; begin < kinds.size(); begin = end) {
    for (end = begin; end < kinds.size() && kinds[end] == kinds[begin];) end++;
    bool all = true;
    for (size_t i = begin; i < end; i++) all = all && matched[i];
    for (size_t i = begin; i < end; i++) doubt[i] = !all;
  }
  return doubt;
}

class LaunchMatcher {
 public:
  LaunchMatcher(const std::vector<LaunchShape>& replayed, const std::vector<LaunchShape>& traced)
      : replayed_(replayed),
        traced_(traced),
        matches_(replayed.size()),
        settled_replayed_(replayed.size(), false),
        settled_traced_(traced.size(), false) {}

  std::vector<std::optional<LaunchMatch>> run() {
    Comparison by;
    by.all_sizes = has_all_sizes(replayed_) && has_all_sizes(traced_);
    by.ranges = ranges_help(by);
    match(by);
    by.by_function = true;  // for names that one side shortens or spells differently
    match(by);
    if (!by.ranges) return std::move(matches_);
    by.ranges = false;  // for launches that are outside of these ranges on the other side
    match(by);
    return std::move(matches_);
  }

 private:
  static bool has_all_sizes(const std::vector<LaunchShape>& launches) {
    return std::all_of(launches.begin(), launches.end(),
                       [](const LaunchShape& launch) { return launch.grid[1] >= 0 && launch.block[1] >= 0; });
  }

  /// Ranges are only compared if at least nine of ten replayed launches can still be found then: the two
  /// programs may have been marked differently.
  bool ranges_help(Comparison by) const {
    const auto has = [](const LaunchShape& launch) { return !launch.ranges.empty(); };
    if (std::none_of(replayed_.begin(), replayed_.end(), has)) return false;
    by.by_function = true;
    by.ranges = true;
    Kinds kinds;
    std::vector<Kind> of_traced;
    for (const auto& launch : traced_) of_traced.push_back(kinds.of(launch, by));
    const auto known =
        static_cast<Kind>(of_traced.empty() ? 0 : *std::max_element(of_traced.begin(), of_traced.end()) + 1);
    const auto found = std::count_if(replayed_.begin(), replayed_.end(),
                                     [&](const LaunchShape& launch) { return kinds.of(launch, by) < known; });
    return found * 10 >= static_cast<ptrdiff_t>(replayed_.size()) * 9;
  }

  void match(const Comparison& by) {
    Kinds kinds;
    const auto kinds_of = [&](const std::vector<LaunchShape>& launches) {
      std::vector<Kind> all;
      for (const auto& launch : launches) all.push_back(kinds.of(launch, by));
      return all;
    };
    const Sequence a = whole(kinds_of(replayed_), settled_replayed_);
    const Sequence b = whole(kinds_of(traced_), settled_traced_);
    const Sequence left = shared(a, b), right = shared(b, a);
    std::vector<uint32_t> places = Alignment(left, right).places();
    const std::vector<bool> moved = match_moved(left, right, places);
    drop_unsure(left, right, places);
    for (size_t i = 0; i < left.kinds.size(); i++) {
      settled_replayed_[left.launches[i]] = true;
      if (places[i] == kNone) continue;
      const MatchedBy how = moved[i] ? MatchedBy::kMoved : MatchedBy::kOrder;
      matches_[left.launches[i]] = LaunchMatch{right.launches[places[i]], how, by.by_function, by.ranges};
    }
    for (const uint32_t launch : right.launches) settled_traced_[launch] = true;
  }

  /// Matches launches that moved a little. Returns which launches it has found a place for.
  static std::vector<bool> match_moved(const Sequence& left, const Sequence& right,
                                       std::vector<uint32_t>& places) {
    const auto expected = expected_places(places);
    std::vector<bool> taken = taken_places(right, places);
    FreePlaces free, waiting;
    for (uint32_t i = 0; i < right.kinds.size(); i++) {
      if (!taken[i]) free[right.kinds[i]].push_back(i);
    }
    for (uint32_t i = 0; i < left.kinds.size(); i++) {
      if (places[i] == kNone) waiting[left.kinds[i]].push_back(expected[i]);
    }
    std::vector<bool> moved(left.kinds.size(), false);
    for (size_t i = 0; i < left.kinds.size(); i++) {
      if (places[i] != kNone || only_near(waiting, left.kinds[i], expected[i]) == kNone) continue;
      const uint32_t at = only_near(free, left.kinds[i], expected[i]);
      if (at == kNone || taken[at]) continue;
      places[i] = at;
      moved[i] = taken[at] = true;
    }
    return moved;
  }

  static std::vector<bool> taken_places(const Sequence& right, const std::vector<uint32_t>& places) {
    std::vector<bool> taken(right.kinds.size(), false);
    for (const uint32_t at : places) {
      if (at != kNone) taken[at] = true;
    }
    return taken;
  }

  static void drop_unsure(const Sequence& left, const Sequence& right, std::vector<uint32_t>& places) {
    std::vector<bool> has_place;
    for (const uint32_t at : places) has_place.push_back(at != kNone);
    const auto doubt_left = unsure(left.kinds, has_place);
    const auto doubt_right = unsure(right.kinds, taken_places(right, places));
    for (size_t i = 0; i < places.size(); i++) {
      if (places[i] != kNone && (doubt_left[i] || doubt_right[places[i]])) places[i] = kNone;
    }
  }

  const std::vector<LaunchShape>& replayed_;
  const std::vector<LaunchShape>& traced_;
  std::vector<std::optional<LaunchMatch>> matches_;
  std::vector<bool> settled_replayed_, settled_traced_;  // their kind was on both sides
};

}  // namespace

std::vector<std::optional<LaunchMatch>> match_launches(const std::vector<LaunchShape>& replayed,
                                                       const std::vector<LaunchShape>& traced) {
  return LaunchMatcher(replayed, traced).run();
}

}  // namespace nl::assemble
