#pragma once
// NsysRows: carries rows from the tables of an nsys export to the sink. It owns the batch that is being
// filled and the strings and tracks that its cells refer to, and it counts what happens to each record. One
// thread.

#include <array>
#include <memory>
#include <string_view>

#include "ingest/adapter.h"
#include "ingest/formats/nsys/nsys_strings.h"
#include "ingest/formats/nsys/nsys_tracks.h"
#include "ingest/rows/interner.h"

namespace nl::ingest {

/// What a record says and no column holds: whole numbers by name, and at most one text that is JSON already.
class NsysArgs {
 public:
  static constexpr size_t kMaxNumbers = 8;

  void clear() { *this = {}; }
  void add(const char* key, int64_t value) {
    if (value == model::kNull || count_ == kMaxNumbers) return;
    keys_[count_] = key;
    values_[count_++] = value;
  }
  void add_if(bool wanted, const char* key, int64_t value) {
    if (wanted) add(key, value);
  }
  bool empty() const { return count_ == 0; }
  std::string json() const;
  bool operator==(const NsysArgs&) const = default;

 private:
  std::array<const char*, kMaxNumbers> keys_{};
  std::array<int64_t, kMaxNumbers> values_{};
  size_t count_ = 0;
};

class NsysRows {
 public:
  NsysRows(SqliteFile& file, const ReadOptions& options, model::RunSink& sink, model::RunInfo& info);

  Result<void> open() { return strings_.open(); }

  // Of the row that is being written.
  size_t begin(model::TableId table) {
    table_ = table;
    rows_ = &batch_->rows(table);
    return row_ = rows_->add();
  }
  void set(int column, int64_t value) {
    if (value != model::kNull) rows_->set(row_, column, value);
  }
  /// For columns of 32 bits; what does not fit is left out and counted.
  void set32(int column, int64_t value) {
    if (value == static_cast<int32_t>(value)) {
      rows_->set(row_, column, value);
    } else if (value != model::kNull) {
      out_of_range();
    }
  }
  void set_string(int column, int64_t string_id) {
    if (string_id == model::kNull) return;
    const int64_t cell = strings_.cell(string_id);
    set(column, cell);
    if (cell == model::kNull) info_.health["name_missing"]++;
  }
  /// A text of the source that is no entry of StringIds.
  void set_text(int column, std::string_view text) { set(column, text_cell(text)); }
  /// A text of ours, which stays where it is.
  void set_constant(int column, const char* text) {
    set(column,
        texts_.get({text, std::char_traits<char>::length(text)}, [&] { return batch_->add_string(text); }));
  }
  void set_args(int column, const NsysArgs& args) {
    if (!args.empty()) set(column, args_cell(args));
  }
  void set_track(int column, const NsysTrack& track) { set(column, track_cell(tracks_.id_of(track))); }

  /// After every record: hands the batch on when it is full.
  Result<void> end_record() {
    const bool full = ++records_ >= records_at_once_ || text_bytes_ + strings_.batch_bytes() > kMaxTextAtOnce;
    return full ? flush() : Result<void>();
  }
  Result<void> flush();

  NsysStrings& strings() { return strings_; }
  NsysTracks& tracks() { return tracks_; }
  model::RunInfo& info() { return info_; }
  const ReadOptions& options() const { return options_; }
  SqliteFile& file() { return file_; }
  model::RunSink& sink() { return sink_; }

 private:
  static constexpr size_t kMaxTextAtOnce = 8 << 20;

  void begin_batch();
  int64_t text_cell(std::string_view text);
  int64_t args_cell(const NsysArgs& args);
  int64_t track_cell(int32_t track);
  void out_of_range() { info_.health["value_out_of_range"]++; }

  SqliteFile& file_;
  const ReadOptions& options_;
  model::RunSink& sink_;
  model::RunInfo& info_;
  NsysStrings strings_;
  NsysTracks tracks_;
  model::BatchPool pool_;
  std::shared_ptr<model::Batch> batch_;
  Interner texts_;  // of this batch, by themselves
  size_t text_bytes_ = 0;
  NsysArgs last_args_;
  int64_t last_args_cell_ = model::kNull;
  std::vector<int64_t> track_cells_;  // track -> cell of this batch, or kNull
  bool too_many_tracks_ = false;
  size_t records_ = 0;
  const size_t records_at_once_;
  model::TableId table_ = {};
  model::Rows* rows_ = nullptr;
  size_t row_ = 0;
};

}  // namespace nl::ingest
