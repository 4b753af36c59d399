#include "analyze/load/period.h"

#include <algorithm>
#include <map>

#include "base/call_control.h"

namespace nl::analyze {
namespace {

constexpr double kLeastConfidence = 0.9;
constexpr size_t kLeastRepeats = 3;
constexpr size_t kLeastKernels = 30;  // fewer repeat by chance

/// Distances between equal elements that are rare: a period is one of them.
std::vector<size_t> likely_periods(const PagedVector<uint32_t>& sequence) {
  std::map<uint32_t, PagedVector<uint32_t>> places;
  for (size_t i = 0; i < sequence.size(); i++) places[sequence[i]].push_back(static_cast<uint32_t>(i));
  std::vector<const PagedVector<uint32_t>*> rarest;
  for (const auto& [name, at] : places) {
    if (at.size() >= kLeastRepeats) rarest.push_back(&at);
  }
  std::stable_sort(rarest.begin(), rarest.end(), [](auto* a, auto* b) { return a->size() < b->size(); });
  if (rarest.size() > 64) rarest.resize(64);
  std::map<size_t, size_t> distances;
  for (const auto* at : rarest) {
    for (size_t i = 1; i < at->size(); i++) distances[(*at)[i] - (*at)[i - 1]]++;
  }
  std::vector<std::pair<size_t, size_t>> ranked(distances.begin(), distances.end());
  std::stable_sort(ranked.begin(), ranked.end(), [](auto& a, auto& b) { return a.second > b.second; });
  if (ranked.size() > 64) ranked.resize(64);
  std::vector<size_t> periods;
  for (const auto& [distance, count] : ranked) periods.push_back(distance);
  std::sort(periods.begin(), periods.end());
  return periods;
}

double repeating_share(const PagedVector<uint32_t>& sequence, size_t period) {
  stop_if_cancelled();
  size_t matches = 0;
  for (size_t i = 0; i + period < sequence.size(); i++) matches += sequence[i] == sequence[i + period];
  return static_cast<double>(matches) / static_cast<double>(sequence.size() - period);
}

/// Whether the elements of one period from `at` on come again behind it.
bool repeats_at(const PagedVector<uint32_t>& sequence, size_t at, size_t period) {
  if (at + 2 * period > sequence.size()) return false;
  size_t matches = 0;
  for (size_t i = at; i < at + period; i++) matches += sequence[i] == sequence[i + period];
  return static_cast<double>(matches) >= kLeastConfidence * static_cast<double>(period);
}

/// A stretch with a period, from its first full period on, and as far as it goes on in both directions.
std::pair<size_t, size_t> grown(const PagedVector<uint32_t>& sequence, size_t from, size_t to,
                                size_t period) {
  size_t begin = from;
  while (begin + 2 * period < to && !repeats_at(sequence, begin, period)) begin++;
  while (begin >= period && repeats_at(sequence, begin - period, period)) begin -= period;
  while (begin > 0 && repeats_at(sequence, begin - 1, period) &&
         sequence[begin - 1] == sequence[begin - 1 + period])
    begin--;
  size_t end = begin + period;
  for (size_t at = begin; at + 2 * period <= sequence.size(); at += period) {
    if (repeats_at(sequence, at, period)) end = at + 2 * period;
    if (at > to && end < at) break;
  }
  return {begin, end};
}

}  // namespace

std::optional<Period> find_period(const PagedVector<uint32_t>& sequence) {
  if (sequence.size() < kLeastKernels) return std::nullopt;
  Period best{0, kLeastConfidence};
  for (const size_t period : likely_periods(sequence)) {
    if (period * kLeastRepeats > sequence.size()) continue;
    const double share = repeating_share(sequence, period);
    if (share > best.confidence + (best.length == 0 ? 0 : 0.01)) best = {period, share};
  }
  if (best.length == 0) return std::nullopt;
  return best;
}

std::optional<Repeats> find_repeats(const PagedVector<uint32_t>& sequence) {
  const size_t n = sequence.size();
  const std::pair<size_t, size_t> stretches[] = {
      {0, n}, {n / 4, n}, {n / 2, n}, {0, n / 2}, {n / 4, n - n / 4}, {n - n / 4, n}, {0, n / 4}};
  std::optional<Repeats> best;
  for (const auto& [from, to] : stretches) {
    const PagedVector<uint32_t> part(sequence.begin() + static_cast<ptrdiff_t>(from),
                                     sequence.begin() + static_cast<ptrdiff_t>(to));
    const auto period = find_period(part);
    if (!period) continue;
    const auto [begin, end] = grown(sequence, from, to, period->length);
    if (!best || end - begin > best->end - best->begin)
      best = Repeats{begin, end, period->length, period->confidence};
    if (to - from == n) break;
  }
  return best;
}

}  // namespace nl::analyze
