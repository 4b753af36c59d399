#include "analyze/load/timeline.h"

#include <algorithm>
#include <cstring>

#include "model/batch.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

using model::kNull;
using model::TableId;
using store::ColumnScan;
using store::ColumnTexts;

/// Ids of texts, fast for those that come again and again: a run has few names and many rows.
class NameReader {
 public:
  explicit NameReader(Names& names) : names_(names) {}

  uint32_t read(std::string_view text) {
    uint32_t& seen = seen_[place(text)];
    if (seen == kNoRow || names_[seen] != text) seen = names_.add(text);
    return seen;
  }

 private:
  static constexpr size_t kPlaces = 4096;

  /// From the length and both ends of the text.
  static size_t place(std::string_view text) {
    uint64_t head = 0, tail = 0;
    const size_t n = std::min<size_t>(text.size(), 8);
    std::memcpy(&head, text.data(), n);
    std::memcpy(&tail, text.data() + text.size() - n, n);
    return ((head * 0x9E3779B97F4A7C15 ^ tail) * 0xC2B2AE3D27D4EB4F + text.size()) >> 52;
  }

  Names& names_;
  std::vector<uint32_t> seen_ = std::vector<uint32_t>(kPlaces, kNoRow);
};

int64_t end_of(int64_t start, int64_t dur) {
  int64_t end = 0;
  return __builtin_add_overflow(start, dur, &end) ? INT64_MAX : end;
}

uint32_t row_or_none(int64_t row) {
  return row < 0 || row >= static_cast<int64_t>(kNoRow) ? kNoRow : static_cast<uint32_t>(row);
}

/// Kinds of spans by their names, which repeat in every row.
class KindReader {
 public:
  KindReader() {
    for (const std::string_view name : model::kSpanKinds) names_.add(name);
  }
  model::SpanKind read(std::string_view text) {
    const uint32_t id = reader_.read(text);
    return id < std::size(model::kSpanKinds) ? static_cast<model::SpanKind>(id) : model::SpanKind::other;
  }

 private:
  Names names_;
  NameReader reader_{names_};
};

int64_t value_or(int64_t value, int64_t if_null) {
  return value == kNull ? if_null : value;
}

/// Ids of the texts of a piece, each text looked up when its first row comes.
template <class Read>
class TextIds {
 public:
  TextIds(const ColumnTexts& column, Read read)
      : column_(column), ids_(column.texts.size(), kNoRow), read_(std::move(read)) {}

  uint32_t at(size_t row, uint32_t if_null) {
    const uint32_t text = column_.rows[row];
    if (text == ColumnTexts::kNone) return if_null;
    if (ids_[text] == kNoRow) ids_[text] = read_(column_.texts[text]);
    return ids_[text];
  }

 private:
  const ColumnTexts& column_;
  std::vector<uint32_t> ids_;
  Read read_;
};

Result<void> load_tracks(store::OpenRun& open, Timeline& run) {
  NL_TRY(ColumnScan scan, open.scan(TableId::tracks, {"kind", "device", "rank"}));
  return scan.for_pieces([&] {
    const auto &devices = scan.numbers(1), &ranks = scan.numbers(2);
    for (size_t i = 0; i < scan.size(); i++) {
      Track track;
      track.is_stream = scan.text(0, i) == "stream";
      if (devices[i] != kNull) track.device = static_cast<int32_t>(devices[i]);
      if (ranks[i] != kNull) track.rank = static_cast<int32_t>(ranks[i]);
      run.tracks.push_back(track);
    }
  });
}

void reserve(Spans& spans, size_t rows) {
  for (auto* column : {&spans.start, &spans.end}) column->reserve(rows);
  for (auto* column : {&spans.name, &spans.op_type, &spans.parent, &spans.op}) column->reserve(rows);
  spans.track.reserve(rows);
  spans.kind.reserve(rows);
}

void reserve(DeviceRows& rows, size_t count) {
  for (auto* column : {&rows.start, &rows.end}) column->reserve(count);
  for (auto* column : {&rows.name, &rows.launch, &rows.op}) column->reserve(count);
  for (auto* column : {&rows.track, &rows.device}) column->reserve(count);
}

size_t rows_of(const store::RunFiles& files, const std::string& table) {
  const auto it = files.tables.find(table);
  return it == files.tables.end() ? 0 : static_cast<size_t>(it->second);
}

Result<void> load_span_columns(store::OpenRun& open, Timeline& run) {
  NameReader reader(run.names);
  KindReader kind_reader;
  const auto id_of = [&](std::string_view text) { return reader.read(text); };
  const auto kind_of = [&](std::string_view text) { return static_cast<uint32_t>(kind_reader.read(text)); };
  Spans& spans = run.spans;
  NL_TRY(ColumnScan scan,
         open.scan(TableId::spans, {"start_ns", "dur_ns", "track_id", "kind", "name", "op_type"}));
  return scan.for_pieces([&] {
    const auto &starts = scan.numbers(0), &durs = scan.numbers(1), &tracks = scan.numbers(2);
    TextIds kinds(scan.texts(3), kind_of);
    TextIds names(scan.texts(4), id_of), types(scan.texts(5), id_of);
    constexpr auto kOther = static_cast<uint32_t>(model::SpanKind::other);
    for (size_t i = 0; i < scan.size(); i++) {
      const int64_t start = value_or(starts[i], 0);
      spans.start.push_back(start);
      spans.end.push_back(end_of(start, std::max<int64_t>(durs[i], 0)));
      spans.track.push_back(static_cast<int32_t>(value_or(tracks[i], -1)));
      spans.kind.push_back(static_cast<model::SpanKind>(kinds.at(i, kOther)));
      uint32_t name = names.at(i, kNoRow);
      if (name == kNoRow) name = reader.read({});
      spans.name.push_back(name);
      spans.op_type.push_back(types.at(i, name));
    }
  });
}

/// Rows of a table that points at spans: two columns of links.
Result<void> load_links(store::OpenRun& open, TableId table, std::initializer_list<std::string_view> columns,
                        PagedVector<uint32_t>& first, PagedVector<uint32_t>& second) {
  NL_TRY(ColumnScan scan, open.scan(table, columns));
  return scan.for_pieces([&] {
    for (const int64_t row : scan.numbers(0)) first.push_back(row_or_none(row));
    for (const int64_t row : scan.numbers(1)) second.push_back(row_or_none(row));
  });
}

Result<void> load_spans(store::OpenRun& open, Timeline& run) {
  reserve(run.spans, rows_of(open.files(), "spans"));
  NL_CHECK(load_span_columns(open, run));
  return load_links(open, TableId::span_tree, {"parent_id", "op_id"}, run.spans.parent, run.spans.op);
}

/// `bytes`: of copies.
void add_device_rows(ColumnScan& scan, NameReader& reader, DeviceRows& rows, PagedVector<int64_t>* bytes) {
  const auto &starts = scan.numbers(0), &durs = scan.numbers(1), &tracks = scan.numbers(2),
             &devices = scan.numbers(3);
  TextIds names(scan.texts(4), [&](std::string_view text) { return reader.read(text); });
  for (size_t i = 0; i < scan.size(); i++) {
    const bool timed = starts[i] != kNull && durs[i] >= 0;
    const int64_t start = value_or(starts[i], 0);
    rows.start.push_back(start);
    rows.end.push_back(timed ? end_of(start, durs[i]) : start - 1);
    rows.track.push_back(static_cast<int32_t>(value_or(tracks[i], -1)));
    rows.device.push_back(static_cast<int32_t>(value_or(devices[i], kNoDevice)));
    const uint32_t name = names.at(i, kNoRow);
    rows.name.push_back(name == kNoRow ? reader.read({}) : name);
    if (bytes != nullptr) bytes->push_back(scan.numbers(5)[i]);
  }
}

Result<void> load_kernels(store::OpenRun& open, Timeline& run) {
  NameReader reader(run.names);
  NL_TRY(ColumnScan scan, open.scan(TableId::kernels, {"start_ns", "dur_ns", "track_id", "device", "name"}));
  reserve(run.kernels, rows_of(open.files(), "kernels"));
  NL_CHECK(scan.for_pieces([&] { add_device_rows(scan, reader, run.kernels, nullptr); }));
  return load_links(open, TableId::kernel_links, {"launch_span_id", "op_id"}, run.kernels.launch,
                    run.kernels.op);
}

Result<void> load_copies(store::OpenRun& open, Timeline& run) {
  NameReader reader(run.names);
  NL_TRY(ColumnScan scan,
         open.scan(TableId::copies, {"start_ns", "dur_ns", "track_id", "device", "name", "bytes"}));
  reserve(run.copies, rows_of(open.files(), "copies"));
  NL_CHECK(scan.for_pieces([&] { add_device_rows(scan, reader, run.copies, &run.copy_bytes); }));
  return load_links(open, TableId::copy_links, {"launch_span_id", "op_id"}, run.copies.launch, run.copies.op);
}

/// Derived columns of a table without rows have no file; otherwise both must be of one length. What points at
/// no span points nowhere.
Result<void> check_links(size_t facts, size_t spans, PagedVector<uint32_t>& links, const std::string& table) {
  if (links.empty()) links.assign(facts, kNoRow);
  if (links.size() != facts) {
    return Error{ErrorCode::kInternal,
                 "the derived rows of " + table + " do not match its facts",
                 "{} tells more",
                 {{"verify"}}};
  }
  for (uint32_t& link : links) {
    if (link >= spans) link = kNoRow;
  }
  return {};
}

/// Times so far apart that their distance does not fit.
constexpr int64_t kLongest = INT64_MAX / 2;

Result<void> set_capture(Timeline& run) {
  int64_t begin = INT64_MAX, end = INT64_MIN;
  const auto add = [&](int64_t a, int64_t b) {
    begin = std::min(begin, a);
    end = std::max(end, b);
  };
  const auto add_spans = [&](bool instants) {
    for (size_t i = 0; i < run.spans.size(); i++) {
      if ((run.spans.kind[i] == model::SpanKind::instant) == instants)
        add(run.spans.start[i], run.spans.end[i]);
    }
  };
  add_spans(false);
  for (const DeviceRows* rows : {&run.kernels, &run.copies}) {
    for (size_t i = 0; i < rows->size(); i++) {
      if (rows->timed(i)) add(rows->start[i], rows->end[i]);
    }
  }
  if (begin > end)
    add_spans(true);           // a mark alone is no activity: a profiler sets some while it starts and stops
  if (begin > end) return {};  // nothing has a time
  int64_t length = 0;
  if (__builtin_sub_overflow(end, begin, &length) || length > kLongest) {
    return Error{ErrorCode::kBadInput,
                 "the times of the run span more than 146 years",
                 "some records carry broken times: {} tells more",
                 {{"show"}}};
  }
  run.capture = {begin, end};
  return {};
}

}  // namespace

uint32_t Names::add(std::string_view text) {
  if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
  const auto it = ids_.emplace(std::string(text), static_cast<uint32_t>(texts_.size())).first;
  texts_.push_back(&it->first);
  return it->second;
}

Result<Timeline> load_timeline(store::OpenRun& open) {
  const store::RunFiles& files = open.files();
  constexpr int64_t kMostRows = kNoRow - 1;
  for (const auto& [table, rows] : files.tables) {
    if (rows > kMostRows) {
      return Error{ErrorCode::kLimit,
                   "table " + table + " has too many rows to analyse: " + std::to_string(rows),
                   "at most 4,294,967,294"};
    }
  }
  Timeline run;
  NL_CHECK(load_tracks(open, run));
  NL_CHECK(load_spans(open, run));
  NL_CHECK(load_kernels(open, run));
  NL_CHECK(load_copies(open, run));
  const size_t spans = run.spans.size();
  for (auto* links : {&run.spans.parent, &run.spans.op}) NL_CHECK(check_links(spans, spans, *links, "spans"));
  for (auto* rows : {&run.kernels, &run.copies}) {
    for (auto* links : {&rows->launch, &rows->op})
      NL_CHECK(check_links(rows->size(), spans, *links, "device work"));
  }
  NL_CHECK(set_capture(run));
  if (files.slice) run.capture = {files.slice->first, files.slice->second};
  return run;
}

}  // namespace nl::analyze
