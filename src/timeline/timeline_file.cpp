#include "timeline/timeline_file.h"

#include <algorithm>
#include <cstring>

#include "base/files.h"

namespace nl::timeline {
namespace {

template <class T>
const T* as(const char* at) {
  return reinterpret_cast<const T*>(at);
}

/// Do all parts of the row lie before `end`?
bool fits(const RowHead& head, uint64_t name_bytes, uint64_t end) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  const bool is_plausible = head.spans > 0 && head.spans < kFar && head.at < end && head.at % 8 == 0 &&
                            head.far_starts <= head.spans && head.far_lengths <= head.spans &&
                            head.begin_ns < head.end_ns && head.begin_ns > INT64_MIN / 2 &&
                            head.end_ns < INT64_MAX / 2 && head.levels <= 20 &&
                            (head.levels == 0 || (head.finest >= kFinestLevel && head.finest < 62));
  if (!is_plausible) return false;
  uint64_t bytes = RowParts(head.spans, name_bytes, head.far_starts, head.far_lengths).levels;
  for (uint32_t i = 0; i < head.levels; i++) {
    const uint32_t exponent = head.finest + i * kLevelStep;
    if (exponent >= 62) return false;
    bytes += static_cast<uint64_t>(buckets_between(head.begin_ns, head.end_ns, exponent)) * sizeof(Coarse);
    if (bytes > kMost) return false;
  }
  return bytes <= end - head.at;
}

}  // namespace

// ---- A row

Row::Row(const RowHead& head, const char* at, uint64_t name_bytes, uint64_t names)
    : head_(&head), names_(names) {
  const RowParts parts(head.spans, name_bytes, head.far_starts, head.far_lengths);
  starts_ = as<uint32_t>(at);
  lengths_ = as<uint32_t>(at + parts.lengths);
  items_ = as<ItemId>(at + parts.items);
  if (name_bytes == 2) names_narrow_ = as<uint16_t>(at + parts.names);
  if (name_bytes == 4) names_wide_ = as<uint32_t>(at + parts.names);
  blocks_ = as<Block>(at + parts.block);
  best_ = as<uint8_t>(at + parts.best);
  better_ = as<uint32_t>(at + parts.better);
  far_starts_ = {as<Far>(at + parts.far_starts), head.far_starts};
  far_lengths_ = {as<Far>(at + parts.far_lengths), head.far_lengths};
  levels_ = as<Coarse>(at + parts.levels);
}

int64_t Row::far(std::span<const Far> far, uint32_t place) const {
  const auto it = std::lower_bound(far.begin(), far.end(), place,
                                   [](const Far& one, uint32_t index) { return one.index < index; });
  return it != far.end() && it->index == place ? it->value : 0;
}

uint32_t Row::first_from(int64_t ns, uint32_t from) const {
  // Steps of growing size from where the caller is: the next bucket is mostly near.
  uint32_t low = from / kBlockSpans, step = 1;
  const uint32_t blocks = (size() + kBlockSpans - 1) / kBlockSpans;
  while (low + step < blocks && blocks_[low + step].start_ns < ns) {
    low += step;
    step *= 2;
  }
  uint32_t high = std::min(low + step, blocks);
  while (low + 1 < high) {
    const uint32_t middle = low + (high - low) / 2;
    (blocks_[middle].start_ns < ns ? low : high) = middle;
  }
  uint32_t place = std::max(from, low * kBlockSpans);
  const uint32_t end = std::min(size(), (low + 1) * kBlockSpans);
  while (place < end && start_ns(place) < ns) place++;
  return place;
}

uint32_t Row::first_beyond(int64_t ns) const {
  const uint32_t after = first_from(ns);
  return after > 0 && span(after - 1).reach_ns() > ns ? after - 1 : after;
}

uint32_t Row::longest(uint32_t from, uint32_t to) const {
  uint32_t best = from;
  int64_t best_ns = dur_ns(from);
  const auto consider = [&](uint32_t place) {
    if (place >= size()) return;  // of a damaged file
    const int64_t ns = dur_ns(place);
    if (ns > best_ns || (ns == best_ns && place < best)) {
      best = place;
      best_ns = ns;
    }
  };
  while (from < to && from % kBlockSpans != 0) consider(from++);
  while (from < to && to % kBlockSpans != 0) consider(--to);
  from /= kBlockSpans;
  to /= kBlockSpans;
  const auto of_block = [&](uint32_t block) { consider(block * kBlockSpans + best_[block] % kBlockSpans); };
  while (from < to && from % kBlockSpans != 0) of_block(from++);
  while (from < to && to % kBlockSpans != 0) of_block(--to);
  const uint32_t* level = better_;
  for (uint32_t blocks = (size() + kBlockSpans - 1) / kBlockSpans; from < to;) {
    blocks = (blocks + kBlockSpans - 1) / kBlockSpans;
    from /= kBlockSpans;
    to /= kBlockSpans;
    while (from < to && from % kBlockSpans != 0) consider(level[from++]);
    while (from < to && to % kBlockSpans != 0) consider(level[--to]);
    level += blocks;
  }
  return best;
}

int64_t Row::busy_of(uint32_t from, uint32_t to) const {
  const auto before = [&](uint32_t place) {
    if (place >= size()) return busy_ns();
    const uint32_t block = place / kBlockSpans;
    int64_t ns = blocks_[block].busy_before_ns;
    for (uint32_t i = block * kBlockSpans; i < place; i++) ns += dur_ns(i);
    return ns;
  };
  return before(to) - before(from);
}

Row::Level Row::level_within(uint32_t exponent) const {
  Level found;
  const Coarse* at = levels_;
  for (uint32_t i = 0; i < head_->levels && head_->finest + i * kLevelStep <= exponent; i++) {
    const uint32_t own = head_->finest + i * kLevelStep;
    const auto buckets = static_cast<size_t>(buckets_between(begin_ns(), end_ns(), own));
    found = {own, {at, buckets}};
    at += buckets;
  }
  return found;
}

// ---- The file

Result<std::shared_ptr<const TimelineFile>> TimelineFile::open(const std::string& path) {
  NL_TRY(const File opened, File::open_plain(path));
  const Error damaged{ErrorCode::kBadInput, "not a time line of this version: " + path};
  auto mapped = MappedFile::map(opened.fd(), path);
  if (!mapped) return mapped.error().code == ErrorCode::kBadInput ? damaged : mapped.error();
  const std::shared_ptr<TimelineFile> file(new TimelineFile(*std::move(mapped)));
  if (!file->is_sound()) return damaged;
  return std::shared_ptr<const TimelineFile>(file);
}

bool TimelineFile::is_sound() {
  const char* const memory = mapped_->bytes().data();
  const uint64_t mapped = mapped_->bytes().size();
  if (mapped < sizeof(uint64_t) + sizeof(Trailer) || mapped % 8 != 0) return false;
  std::memcpy(&trailer_, memory + mapped - sizeof(Trailer), sizeof(Trailer));
  const Trailer& t = trailer_;
  const uint64_t end = mapped - sizeof(Trailer);
  if (*as<uint64_t>(memory) != kMagic || t.magic != kMagic || t.bytes != mapped) return false;
  if (t.name_bytes != 2 && t.name_bytes != 4) return false;
  if (t.rows_at % 8 != 0 || t.rows_at > end || t.rows > (end - t.rows_at) / sizeof(RowHead)) return false;
  if (t.names_at % 8 != 0 || t.names_at > t.rows_at || t.names >= (t.rows_at - t.names_at) / 8) return false;
  heads_ = {as<RowHead>(memory + t.rows_at), t.rows};
  name_ends_ = as<uint64_t>(memory + t.names_at);
  texts_ = memory + t.names_at + (t.names + 1) * 8;
  const uint64_t most = t.rows_at - t.names_at - (t.names + 1) * 8;
  for (uint64_t i = 0; i <= t.names; i++) {
    if (name_ends_[i] > most || (i > 0 && name_ends_[i] < name_ends_[i - 1])) return false;
  }
  return std::all_of(heads_.begin(), heads_.end(),
                     [&](const RowHead& head) { return fits(head, t.name_bytes, t.names_at); });
}

Row TimelineFile::row(size_t number) const {
  const RowHead& head = heads_[number];
  return {head, mapped_->bytes().data() + head.at, trailer_.name_bytes, trailer_.names};
}

std::string_view TimelineFile::name(uint64_t number) const {
  if (number >= trailer_.names) return {};
  return {texts_ + name_ends_[number], name_ends_[number + 1] - name_ends_[number]};
}

}  // namespace nl::timeline
