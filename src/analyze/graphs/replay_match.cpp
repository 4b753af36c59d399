#include "analyze/graphs/replay_match.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "align/alignment.h"

namespace nl::analyze {
namespace {

constexpr float kLeastConfidence = 0.5F;  // of a pair with another name
constexpr size_t kMarginPart = 8;         // of the replay's length, on each side of the best stretch

align::Sequence sequence_of(std::span<const LaunchKey> keys) {
  align::Sequence sequence;
  sequence.nodes.reserve(keys.size());
  for (const LaunchKey& key : keys) {
    align::Node node;
    node.name = key.kernel;
    node.family = key.family;
    node.shape = key.geometry;
    sequence.nodes.push_back(node);
  }
  return sequence;
}

/// Only what keeps the order: a kernel that stands elsewhere, or for several others, may be anything. A
/// kernel of another family may be another op: engines take other attention for prefill than for decode.
MatchedBy matched_by(const align::Match& match, const LaunchKey& replay, const LaunchKey& donor) {
  using align::Kind;
  if (match.kind == Kind::kSame || match.kind == Kind::kReshaped) return MatchedBy::kName;
  const bool same_kind = replay.op_class == donor.op_class && replay.family == donor.family &&
                         replay.op_class != OpClass::k_other && replay.family != 0;
  const bool is_likely = match.kind == Kind::kRenamed && match.confidence >= kLeastConfidence;
  return is_likely && same_kind ? MatchedBy::kClass : MatchedBy::kNothing;
}

void count(ReplayMatch& out, MatchedBy by, const LaunchKey& replay, const LaunchKey& donor) {
  out.by_name += by == MatchedBy::kName;
  out.by_class += by == MatchedBy::kClass;
  if (by != MatchedBy::kName || replay.geometry == 0 || donor.geometry == 0) return;
  (replay.geometry == donor.geometry ? out.same_geometry : out.other_geometry)++;
}

void refuse(ReplayMatch& match, std::string why) {
  const size_t kernels = match.kernels.size();
  match = ReplayMatch{};
  match.kernels.resize(kernels);
  match.refused = std::move(why);
}

std::string percent(int64_t part, int64_t whole) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

bool is_less(int64_t part, double share, int64_t whole) {
  return static_cast<double>(part) < share * static_cast<double>(whole);
}

/// `launches`: of the donor, those that the replay should have.
void refuse_if_weak(ReplayMatch& match, int64_t launches) {
  const auto kernels = static_cast<int64_t>(match.kernels.size());
  const int64_t longer = std::max(kernels, launches);
  if (is_less(match.matched(), kLeastMatched, longer))
    return refuse(match, fmt::format("only {} of {} kernels of the replay match in order; the other run has "
                                     "{} launches: {} of the longer side match, at least {:.0f} % must",
                                     match.matched(), kernels, launches, percent(match.matched(), longer),
                                     100 * kLeastMatched));
  if (is_less(match.by_name, kLeastByName, kernels))
    refuse(match, fmt::format("the names of only {} of {} kernels match, {}; at least {:.0f} % must",
                              match.by_name, kernels, percent(match.by_name, kernels), 100 * kLeastByName));
}

Result<ReplayMatch> match_by_names(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor,
                                   std::span<const std::string_view> names) {
  NL_TRY(const align::Alignment aligned,
         align::align(sequence_of(replay), sequence_of(donor), {.names = names}));
  ReplayMatch out;
  out.kernels.resize(replay.size());
  for (const align::Match& match : aligned.matches) {
    const MatchedBy by = matched_by(match, replay[match.base], donor[match.other]);
    if (by == MatchedBy::kNothing) continue;
    out.kernels[match.base] = {match.other, by};
    count(out, by, replay[match.base], donor[match.other]);
  }
  return out;
}

/// Without names of kernels only the place tells, so both sides must be of one length.
ReplayMatch match_by_place(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor) {
  ReplayMatch out;
  out.kernels.resize(replay.size());
  if (replay.size() != donor.size()) {
    refuse(
        out,
        fmt::format(
            "the other run does not name its kernels, and it has {} launches where the replay has {} kernels",
            donor.size(), replay.size()));
    return out;
  }
  for (size_t i = 0; i < replay.size(); i++) {
    if (replay[i].op_class != donor[i].op_class || replay[i].op_class == OpClass::k_other) continue;
    out.kernels[i] = {static_cast<uint32_t>(i), MatchedBy::kClass};
    out.by_class++;
  }
  const auto kernels = static_cast<int64_t>(replay.size());
  if (is_less(out.by_class, kLeastMatched, kernels))
    refuse(out, fmt::format("the other run does not name its kernels, and only {} of {} kernels are of the "
                            "same kind as its ops, {}; at least {:.0f} % must",
                            out.by_class, kernels, percent(out.by_class, kernels), 100 * kLeastMatched));
  return out;
}

using Counts = std::unordered_map<uint32_t, int64_t>;

Counts counts_of(std::span<const LaunchKey> keys) {
  Counts counts;
  for (const LaunchKey& key : keys) {
    if (key.kernel != 0) counts[key.kernel]++;
  }
  return counts;
}

/// Slides over the donor and keeps count of the kernels that the stretch has in common with the replay.
size_t best_stretch(const Counts& wanted, size_t length, std::span<const LaunchKey> donor) {
  Counts missing = wanted;
  int64_t common = 0, most = -1;
  size_t best = 0;
  const auto change = [&](const LaunchKey& key, int64_t by) {
    const auto it = missing.find(key.kernel);
    if (it == missing.end()) return;
    common += by > 0 ? it->second > 0 : -(it->second >= 0);
    it->second -= by;
  };
  for (size_t end = 1; end <= donor.size(); end++) {
    change(donor[end - 1], 1);
    if (end > length) change(donor[end - 1 - length], -1);
    if (common <= most || (end < length && end < donor.size())) continue;
    most = common;
    best = end > length ? end - length : 0;
  }
  return best;
}

/// From the first to the last launch that is matched.
int64_t stretch_of(const ReplayMatch& match) {
  uint32_t first = UINT32_MAX, last = 0;
  for (const KernelMatch& kernel : match.kernels) {
    if (kernel.by == MatchedBy::kNothing) continue;
    first = std::min(first, kernel.donor);
    last = std::max(last, kernel.donor);
  }
  return first == UINT32_MAX ? 0 : int64_t{last} - first + 1;
}

}  // namespace

bool names_kernels(std::span<const LaunchKey> launches) {
  return std::any_of(launches.begin(), launches.end(), [](const LaunchKey& key) { return key.kernel != 0; });
}

int64_t common_kernels(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor) {
  const Counts here = counts_of(replay), there = counts_of(donor);
  int64_t common = 0;
  for (const auto& [kernel, times] : here) {
    if (const auto it = there.find(kernel); it != there.end()) common += std::min(times, it->second);
  }
  return common;
}

Result<ReplayMatch> match_capture(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor,
                                  std::span<const std::string_view> names) {
  if (!names_kernels(donor)) return match_by_place(replay, donor);
  NL_TRY(ReplayMatch match, match_by_names(replay, donor, names));
  refuse_if_weak(match, static_cast<int64_t>(donor.size()));
  return match;
}

Result<ReplayMatch> match_eager(std::span<const LaunchKey> replay, std::span<const LaunchKey> donor,
                                std::span<const std::string_view> names) {
  const size_t start = best_stretch(counts_of(replay), replay.size(), donor);
  const size_t margin = replay.size() / kMarginPart;
  const size_t from = start - std::min(start, margin);
  const size_t to = std::min(donor.size(), start + replay.size() + margin);
  NL_TRY(ReplayMatch match, match_by_names(replay, donor.subspan(from, to - from), names));
  for (KernelMatch& kernel : match.kernels) {
    if (kernel.by != MatchedBy::kNothing) kernel.donor += static_cast<uint32_t>(from);
  }
  refuse_if_weak(match, stretch_of(match));
  return match;
}

}  // namespace nl::analyze
