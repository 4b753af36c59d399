#include "follow/follower.h"

#include <algorithm>

#include "capture/run/host.h"
#include "ingest/source/utf8.h"
#include "wire/clock_pair.h"

namespace nl::follow {
namespace {

constexpr int64_t kRateNs = 2'000'000'000;  ///< over which the rate is told

}  // namespace

Result<std::unique_ptr<Follower>> Follower::open(const FollowOptions& options) {
  NL_TRY(ChunkTail tail, ChunkTail::open(options.folder));
  std::unique_ptr<Follower> follower(new Follower(std::move(tail), options));
  NL_CHECK(follower->tail_.skip_to(options.most_old_bytes, [&](const auto& header, std::string_view payload) {
    return follower->take(header, payload);
  }));
  return follower;
}

Follower::Follower(ChunkTail tail, const FollowOptions& options)
    : tail_(std::move(tail)),
      counts_only_(options.counts_only),
      picture_(options.limits),
      decoder_(picture_, info_),
      losses_(options.folder + "/live") {
  picture_.set_decoder(decoder_);
}

/// The origin is when the first process began to record, so it is known before the first marker.
Result<void> Follower::take(const wire::ChunkHeader& header, std::string_view payload) {
  if (header.kind == wire::ChunkKind::kEnd) return {};  // of the import alone
  const bool is_counted = header.kind == wire::ChunkKind::kProcess || header.kind == wire::ChunkKind::kLosses;
  if (counts_only_ && !is_counted) return {};
  // The ends of scopes may have been in the files that were missed.
  if (missed_segments_ != tail_.missed_segments()) decoder_.forget_open();
  missed_segments_ = tail_.missed_segments();
  NL_CHECK(decoder_.take(header, payload));
  if (!has_origin_ && decoder_.started_ns()) {
    has_origin_ = true;
    origin_ns_ = *decoder_.started_ns();
    picture_.set_origin(origin_ns_);
  }
  return {};
}

void Follower::catch_up(std::chrono::milliseconds at_most, const std::function<bool()>& cancelled) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  const bool was_running = is_running() && failed_.empty();
  if (was_running) {
    is_behind_ = false;
    auto read =
        tail_.read([&](const auto& header, std::string_view payload) { return take(header, payload); },
                   [&] {
                     is_behind_ = std::chrono::steady_clock::now() >= until || cancelled();
                     return !is_behind_;
                   });
    if (read) read = decoder_.flush();
    if (!read) failed_ = "The recording cannot be followed: " + read.error().message + ".";
    lost_ = losses_.look(decoder_.losses());
  }
  look_at_clock();
}

/// Times of another start of the system, or of another machine, say nothing of the clock here. Nor does the
/// speed at which older chunks are read say anything of the program.
void Follower::look_at_clock() {
  const int64_t monotonic = wire::clock_ns(CLOCK_MONOTONIC);
  const bool is_here = is_running() && has_origin_ && tail_.boot_id() == capture::boot_id();
  now_ns_ = std::max(picture_.newest_ns(), is_here && !is_behind_ ? monotonic - origin_ns_ : now_ns_);
  picture_.leave(now_ns_);
  if (is_behind_) readings_.clear();
  readings_.push_back({monotonic, seen()});
  while (readings_.size() > 2 && readings_[1].monotonic_ns <= monotonic - kRateNs) readings_.pop_front();
}

double Follower::rate_per_s() const {
  if (!is_running() || readings_.empty()) return 0;
  const Reading& last = readings_.back();
  const Reading& first = readings_.front();
  const int64_t passed = last.monotonic_ns - first.monotonic_ns;
  if (passed >= kRateNs / 2)
    return static_cast<double>(last.records - first.records) * 1e9 / static_cast<double>(passed);
  if (now_ns_ <= 0) return 0;
  const uint64_t since_it_began = recorded() + lost_[static_cast<size_t>(wire::Loss::kOverwritten)];
  return static_cast<double>(since_it_began) * 1e9 / static_cast<double>(now_ns_);
}

std::set<int64_t> Follower::processes() const {
  std::set<int64_t> ids;
  for (const uint32_t number : tail_.processes()) {
    if (const auto id = decoder_.process_id(number)) ids.insert(*id);
  }
  return ids;
}

ingest::DecodedTrack Follower::track(int32_t number) const {
  ingest::DecodedTrack track = decoder_.track(number);
  track.program = ingest::repaired_utf8(track.program);
  track.name = ingest::repaired_utf8(track.name);
  return track;
}

}  // namespace nl::follow
