#pragma once
// TimelineFile: the mapped file of a time line (layout.h). A file that is damaged gives wrong figures, but
// nothing outside of it is ever read. Any number of threads may read it.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "base/result.h"
#include "timeline/layout.h"
#include "timeline/span.h"

namespace nl::timeline {

/// A row of the file. Places count its spans from 0, by start; no two spans overlap.
class Row {
 public:
  Row(const RowHead& head, const char* at, uint64_t name_bytes, uint64_t names);

  RowName name() const { return {head_->track, head_->depth, head_->lane}; }
  uint32_t size() const { return head_->spans; }
  int64_t begin_ns() const { return head_->begin_ns; }
  int64_t end_ns() const { return head_->end_ns; }
  int64_t busy_ns() const { return head_->busy_ns; }

  int64_t start_ns(uint32_t place) const {
    const uint32_t offset = starts_[place];
    return blocks_[place / kBlockSpans].start_ns + (offset == kFar ? far(far_starts_, place) : offset);
  }
  int64_t dur_ns(uint32_t place) const {
    const uint32_t length = lengths_[place];
    return length == kFar ? far(far_lengths_, place) : length;
  }
  uint32_t name_of(uint32_t place) const {
    const uint32_t name = names_narrow_ != nullptr ? names_narrow_[place] : names_wide_[place];
    return name < names_ ? name : 0;
  }
  /// Will be asked for soon: in a file of gigabytes each of these is a miss of the cache.
  void prefetch_length(uint32_t place) const {
    if (place < size()) __builtin_prefetch(lengths_ + place);
  }
  void prefetch_span(uint32_t place) const {
    if (place >= size()) return;
    __builtin_prefetch(starts_ + place);
    __builtin_prefetch(lengths_ + place);
    __builtin_prefetch(items_ + place);
    __builtin_prefetch(blocks_ + place / kBlockSpans);
    if (names_narrow_ != nullptr) __builtin_prefetch(names_narrow_ + place);
    if (names_wide_ != nullptr) __builtin_prefetch(names_wide_ + place);
  }
  Span span(uint32_t place) const { return {start_ns(place), dur_ns(place), items_[place], name_of(place)}; }

  /// The first that starts at this time or later, not before `from`.
  uint32_t first_from(int64_t ns, uint32_t from = 0) const;
  /// The first that reaches beyond this time.
  uint32_t first_beyond(int64_t ns) const;
  /// The longest of [from, to), which is not empty; of equals the earliest.
  uint32_t longest(uint32_t from, uint32_t to) const;
  /// Sum of the durations of [from, to).
  int64_t busy_of(uint32_t from, uint32_t to) const;

  /// Buckets of 2^exponent ns, from the one that begin_ns() lies in; empty if there is no such level.
  struct Level {
    uint32_t exponent = 0;
    std::span<const Coarse> buckets = {};
  };
  /// The coarsest whose buckets are not wider than this.
  Level level_within(uint32_t exponent) const;

 private:
  int64_t far(std::span<const Far> far, uint32_t place) const;

  const RowHead* head_;
  uint64_t names_;
  const uint32_t* starts_;
  const uint32_t* lengths_;
  const ItemId* items_;
  const uint16_t* names_narrow_ = nullptr;
  const uint32_t* names_wide_ = nullptr;
  const Block* blocks_;
  const uint8_t* best_;
  const uint32_t* better_;
  std::span<const Far> far_starts_, far_lengths_;
  const Coarse* levels_;
};

class TimelineFile {
 public:
  /// not_found if it is not there, bad_input if it is no such file.
  static Result<std::shared_ptr<const TimelineFile>> open(const std::string& path);
  TimelineFile(const TimelineFile&) = delete;
  TimelineFile& operator=(const TimelineFile&) = delete;

  size_t rows() const { return heads_.size(); }
  Row row(size_t number) const;
  uint64_t names() const { return trailer_.names; }
  std::string_view name(uint64_t number) const;
  uint64_t spans() const { return trailer_.spans; }
  /// Time 0 of the rows on the clock of the run.
  int64_t origin_ns() const { return trailer_.origin_ns; }
  uint64_t not_placed() const { return trailer_.not_placed; }
  uint64_t bytes() const { return trailer_.bytes; }

 private:
  explicit TimelineFile(std::shared_ptr<const MappedFile> mapped) : mapped_(std::move(mapped)) {}
  bool is_sound();

  std::shared_ptr<const MappedFile> mapped_;
  Trailer trailer_ = {};
  std::span<const RowHead> heads_;
  const uint64_t* name_ends_ = nullptr;
  const char* texts_ = nullptr;
};

}  // namespace nl::timeline
