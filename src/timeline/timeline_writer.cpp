#include "timeline/timeline_writer.h"

#include <algorithm>
#include <cstring>

namespace nl::timeline {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

uint32_t longer(std::span<const Span> spans, uint32_t a, uint32_t b) {
  return spans[b].dur_ns > spans[a].dur_ns ? b : a;
}

/// Place of the longest span of each group of 16 in `places`; of equals the earliest.
std::vector<uint32_t> longest_of_16(std::span<const Span> spans, const std::vector<uint32_t>& places) {
  std::vector<uint32_t> out;
  out.reserve(places.size() / kBlockSpans + 1);
  for (size_t i = 0; i < places.size(); i += kBlockSpans) {
    uint32_t best = places[i];
    for (size_t k = i + 1; k < std::min<size_t>(i + kBlockSpans, places.size()); k++)
      best = longer(spans, best, places[k]);
    out.push_back(best);
  }
  return out;
}

std::vector<uint32_t> longest_of_blocks(std::span<const Span> spans) {
  std::vector<uint32_t> out;
  out.reserve(spans.size() / kBlockSpans + 1);
  for (uint32_t i = 0; i < spans.size(); i += kBlockSpans) {
    uint32_t best = i;
    for (uint32_t k = i + 1; k < std::min<size_t>(i + kBlockSpans, spans.size()); k++)
      best = longer(spans, best, k);
    out.push_back(best);
  }
  return out;
}

/// The buckets of the finest level.
std::vector<Coarse> coarse_buckets(std::span<const Span> spans, int64_t begin_ns, int64_t end_ns,
                                   uint32_t exponent) {
  const int64_t first = bucket_of(begin_ns, exponent);
  std::vector<Coarse> out(static_cast<size_t>(buckets_between(begin_ns, end_ns, exponent)), {kFar, 0, 0});
  for (uint32_t i = 0; i < spans.size(); i++) {
    const Span& span = spans[i];
    const int64_t from = bucket_of(span.start_ns, exponent), to = bucket_of(span.reach_ns() - 1, exponent);
    out[static_cast<size_t>(from - first)].count++;
    for (int64_t b = from; b <= to; b++) {
      Coarse& bucket = out[static_cast<size_t>(b - first)];
      bucket.longest = bucket.longest == kFar ? i : longer(spans, bucket.longest, i);
      bucket.busy_ns += std::min(span.end_ns(), (b + 1) << exponent) - std::max(span.start_ns, b << exponent);
    }
  }
  return out;
}

std::vector<Coarse> merged(std::span<const Span> spans, const std::vector<Coarse>& finer, int64_t begin_ns,
                           int64_t end_ns, uint32_t exponent) {
  const int64_t first = bucket_of(begin_ns, exponent);
  const int64_t first_finer = bucket_of(begin_ns, exponent - kLevelStep);
  std::vector<Coarse> out(static_cast<size_t>(buckets_between(begin_ns, end_ns, exponent)), {kFar, 0, 0});
  for (size_t i = 0; i < finer.size(); i++) {
    const int64_t at = ((first_finer + static_cast<int64_t>(i)) >> kLevelStep) - first;
    Coarse& bucket = out[static_cast<size_t>(at)];
    bucket.count += finer[i].count;
    bucket.busy_ns += finer[i].busy_ns;
    if (finer[i].longest == kFar) continue;
    bucket.longest =
        bucket.longest == kFar ? finer[i].longest : longer(spans, bucket.longest, finer[i].longest);
  }
  return out;
}

}  // namespace

Result<TimelineWriter> TimelineWriter::create(const std::string& aside, uint64_t names) {
  NL_TRY(NewFile file, NewFile::create(aside));
  TimelineWriter writer(std::move(file), names);
  writer.put(kMagic);
  return writer;
}

template <class T>
void TimelineWriter::put(const T& value) {
  const size_t at = buffer_.size();
  buffer_.resize(at + sizeof(T));
  std::memcpy(buffer_.data() + at, &value, sizeof(T));
}

template <class T, class Of>
void TimelineWriter::put_column(std::span<const Span> spans, const Of& of) {
  const size_t at = buffer_.size();
  buffer_.resize(at + padded(spans.size() * sizeof(T)));
  char* out = buffer_.data() + at;
  for (size_t i = 0; i < spans.size(); i++, out += sizeof(T)) {
    const auto value = static_cast<T>(of(spans[i], i));
    std::memcpy(out, &value, sizeof(T));
  }
}

/// All parts begin at a multiple of 8; so does whatever was written out.
void TimelineWriter::pad() {
  buffer_.resize(padded(buffer_.size()));
}

Result<void> TimelineWriter::write_out(size_t most_kept) {
  pad();
  if (buffer_.size() <= most_kept) return {};
  NL_CHECK(file_.write(buffer_));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

void TimelineWriter::put_columns(std::span<const Span> spans, RowHead& head) {
  std::vector<Far> far_starts, far_lengths;
  const auto narrow = [](uint64_t index, int64_t value, std::vector<Far>& far) {
    const bool fits = value >= 0 && value < kFar;
    if (!fits) far.push_back({index, value});
    return fits ? static_cast<uint32_t>(value) : kFar;
  };
  put_column<uint32_t>(spans, [&](const Span& span, size_t i) {
    return narrow(i, span.start_ns - spans[i / kBlockSpans * kBlockSpans].start_ns, far_starts);
  });
  put_column<uint32_t>(spans,
                       [&](const Span& span, size_t i) { return narrow(i, span.dur_ns, far_lengths); });
  put_column<ItemId>(spans, [](const Span& span, size_t) { return span.item; });
  const auto name = [](const Span& span, size_t) { return span.name; };
  if (name_bytes_ == 2) put_column<uint16_t>(spans, name);
  if (name_bytes_ == 4) put_column<uint32_t>(spans, name);
  put_index(spans);
  for (const Far& one : far_starts) put(one);
  for (const Far& one : far_lengths) put(one);
  head.far_starts = far_starts.size();
  head.far_lengths = far_lengths.size();
}

void TimelineWriter::put_index(std::span<const Span> spans) {
  int64_t busy_ns = 0;
  for (size_t i = 0; i < spans.size(); i++) {
    if (i % kBlockSpans == 0) put(Block{spans[i].start_ns, busy_ns});
    busy_ns += spans[i].dur_ns;
  }
  std::vector<uint32_t> longest = longest_of_blocks(spans);
  for (const uint32_t place : longest) put(static_cast<uint8_t>(place % kBlockSpans));
  pad();
  while (longest.size() > 1) {
    longest = longest_of_16(spans, longest);
    for (const uint32_t place : longest) put(place);
  }
  pad();
}

void TimelineWriter::put_levels(std::span<const Span> spans, RowHead& head) {
  const auto spans_of_a_bucket = [&](uint32_t exponent) {
    return static_cast<int64_t>(spans.size()) / buckets_between(head.begin_ns, head.end_ns, exponent);
  };
  uint32_t exponent = kFinestLevel;
  while (exponent < 62 && spans_of_a_bucket(exponent) < kSpansOfABucket) exponent += kLevelStep;
  if (exponent >= 62 || buckets_between(head.begin_ns, head.end_ns, exponent) < kFewestBuckets) return;
  head.finest = exponent;
  std::vector<Coarse> level = coarse_buckets(spans, head.begin_ns, head.end_ns, exponent);
  while (true) {
    for (const Coarse& one : level) put(one);
    head.levels++;
    exponent += kLevelStep;
    if (buckets_between(head.begin_ns, head.end_ns, exponent) < kFewestBuckets) return;
    level = merged(spans, level, head.begin_ns, head.end_ns, exponent);
  }
}

Result<void> TimelineWriter::add_row(const RowName& name, std::span<const Span> spans) {
  if (spans.empty()) return {};
  if (spans.size() >= kFar) return Error{ErrorCode::kLimit, "a row of the time line has too many spans"};
  RowHead head{.track = name.track,
               .depth = name.depth,
               .lane = name.lane,
               .spans = static_cast<uint32_t>(spans.size()),
               .at = written_ + buffer_.size()};
  head.begin_ns = spans.front().start_ns;
  head.end_ns = spans.back().reach_ns();
  for (const Span& span : spans) head.busy_ns += span.dur_ns;
  put_columns(spans, head);
  put_levels(spans, head);
  spans_ += spans.size();
  rows_.push_back(head);
  return write_out(kBufferBytes);
}

Result<void> TimelineWriter::finish(const std::string& path, const std::vector<std::string_view>& names,
                                    int64_t origin_ns, uint64_t not_placed) {
  Trailer trailer{.names_at = written_ + buffer_.size(), .names = names.size(), .name_bytes = name_bytes_};
  uint64_t end = 0;
  put(end);
  for (const std::string_view name : names) put(end += name.size());
  for (const std::string_view name : names) buffer_ += name;
  pad();
  trailer.rows_at = written_ + buffer_.size();
  trailer.rows = rows_.size();
  for (const RowHead& row : rows_) put(row);
  trailer.spans = spans_;
  trailer.origin_ns = spans_ == 0 ? 0 : origin_ns;
  trailer.not_placed = not_placed;
  trailer.bytes = written_ + buffer_.size() + sizeof(Trailer);
  trailer.magic = kMagic;
  put(trailer);
  NL_CHECK(write_out(0));
  NL_CHECK(file_.finish(path, true));
  return {};
}

}  // namespace nl::timeline
