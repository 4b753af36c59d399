#include "ingest/formats/nsys/nsys_rows.h"

#include <algorithm>

#include "ingest/source/utf8.h"

namespace nl::ingest {
namespace {

constexpr size_t kMaxRecordsAtOnce = 16'384;

size_t records_at_once(const ReadOptions& options) {
  constexpr size_t kRecordBytes = 64;
  return std::clamp<size_t>(options.window_bytes / kRecordBytes, 64, kMaxRecordsAtOnce);
}

}  // namespace

std::string NsysArgs::json() const {
  std::string text = "{";
  for (size_t i = 0; i < count_; i++) {
    text += (i == 0 ? "\"" : ",\"") + std::string(keys_[i]) + "\":" + std::to_string(values_[i]);
  }
  return text + "}";
}

NsysRows::NsysRows(SqliteFile& file, const ReadOptions& options, model::RunSink& sink, model::RunInfo& info)
    : file_(file),
      options_(options),
      sink_(sink),
      info_(info),
      strings_(file),
      records_at_once_(records_at_once(options)) {
  begin_batch();
}

void NsysRows::begin_batch() {
  batch_ = pool_.take();
  strings_.begin_batch(*batch_);
  texts_.clear();
  text_bytes_ = 0;
  last_args_.clear();
  last_args_cell_ = model::kNull;
  std::fill(track_cells_.begin(), track_cells_.end(), model::kNull);
  records_ = 0;
}

Result<void> NsysRows::flush() {
  if (strings_.failed()) return *strings_.failed();
  if (too_many_tracks_) {
    return Error{ErrorCode::kLimit,
                 "the trace names more than " + std::to_string(NsysTracks::kMaxTracks) + " tracks"};
  }
  if (options_.cancelled()) return cancelled_error();
  if (records_ == 0) return {};
  pool_.expect_like(*batch_);
  NL_CHECK(sink_.push(std::move(batch_)));
  begin_batch();
  return {};
}

int64_t NsysRows::text_cell(std::string_view text) {
  std::string repaired;
  if (!is_utf8(text)) text = repaired = repaired_utf8(text);
  const auto copy = [&](std::string_view given) {
    text_bytes_ += given.size();
    return batch_->arena.keep(given);
  };
  const std::string_view kept = copy(text);
  const size_t before = batch_->strings.size();
  const int64_t cell = texts_.get(kept, [&] { return batch_->add_string(kept); });
  if (batch_->strings.size() == before && !text.empty()) {
    batch_->arena.shrink_last(text.size());
    text_bytes_ -= text.size();
  }
  return cell;
}

int64_t NsysRows::args_cell(const NsysArgs& args) {
  if (last_args_cell_ == model::kNull || !(args == last_args_)) {
    last_args_ = args;
    last_args_cell_ = text_cell(args.json());
  }
  return last_args_cell_;
}

int64_t NsysRows::track_cell(int32_t track) {
  if (track < 0) {
    too_many_tracks_ = true;
    return model::kNull;
  }
  const auto at = static_cast<size_t>(track);
  if (at >= track_cells_.size()) track_cells_.resize(at + 1, model::kNull);
  if (track_cells_[at] == model::kNull) {
    track_cells_[at] = static_cast<int64_t>(batch_->track_ids.size());
    batch_->track_ids.push_back(track);
  }
  return track_cells_[at];
}

}  // namespace nl::ingest
