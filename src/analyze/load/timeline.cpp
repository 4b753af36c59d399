#include "analyze/load/timeline.h"

#include <algorithm>
#include <cstring>

#include "model/batch.h"

namespace nl::analyze {
namespace {

using model::kNull;
using store::Chunk;

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

/// Cells of an integer column of a chunk.
template <class T>
class Cells {
 public:
  Cells(const T* values, const uint64_t* valid) : values_(values), valid_(valid) {}
  bool is_null(size_t row) const { return valid_ != nullptr && (valid_[row / 64] >> (row % 64) & 1) == 0; }
  T get(size_t row, T if_null) const { return is_null(row) ? if_null : values_[row]; }

 private:
  const T* values_;
  const uint64_t* valid_;
};

Cells<int64_t> int64s(const Chunk& chunk, size_t column) {
  return {chunk.int64s(column), chunk.validity(column)};
}
Cells<int32_t> int32s(const Chunk& chunk, size_t column) {
  return {chunk.int32s(column), chunk.validity(column)};
}

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

Result<void> load_tracks(store::Connection& connection, Timeline& run) {
  return connection.stream("SELECT kind, device, rank FROM tracks", [&](const Chunk& chunk) -> Result<void> {
    const auto devices = int32s(chunk, 1), ranks = int32s(chunk, 2);
    for (size_t i = 0; i < chunk.size(); i++) {
      Track track;
      track.is_stream = !chunk.is_null(0, i) && chunk.text(0, i) == "stream";
      if (!devices.is_null(i)) track.device = devices.get(i, 0);
      if (!ranks.is_null(i)) track.rank = ranks.get(i, 0);
      run.tracks.push_back(track);
    }
    return {};
  });
}

void reserve(Spans& spans, size_t rows) {
  for (auto* column : {&spans.start, &spans.end}) column->reserve(rows);
  for (auto* column : {&spans.name, &spans.op_type, &spans.parent, &spans.op}) column->reserve(rows);
  spans.track.reserve(rows);
  spans.kind.reserve(rows);
}

size_t rows_of(const store::RunFiles& files, const std::string& table) {
  const auto it = files.tables.find(table);
  return it == files.tables.end() ? 0 : static_cast<size_t>(it->second);
}

Result<void> load_spans(store::Connection& connection, const store::RunFiles& files, Timeline& run) {
  NameReader names(run.names);
  KindReader kinds;
  Spans& spans = run.spans;
  reserve(spans, rows_of(files, "spans"));
  const char* sql = "SELECT start_ns, dur_ns, track_id, kind, name, op_type FROM spans";
  NL_CHECK(connection.stream(sql, [&](const Chunk& chunk) -> Result<void> {
    const auto starts = int64s(chunk, 0), durs = int64s(chunk, 1);
    const auto tracks = int32s(chunk, 2);
    const auto kind = chunk.texts(3), name = chunk.texts(4), type = chunk.texts(5);
    for (size_t i = 0; i < chunk.size(); i++) {
      const int64_t start = starts.get(i, 0), dur = durs.get(i, 0);
      spans.start.push_back(start);
      spans.end.push_back(end_of(start, std::max<int64_t>(dur, 0)));
      spans.track.push_back(tracks.get(i, -1));
      spans.kind.push_back(kind.is_null(i) ? model::SpanKind::other : kinds.read(kind[i]));
      spans.name.push_back(names.read(name.is_null(i) ? std::string_view() : name[i]));
      spans.op_type.push_back(type.is_null(i) ? spans.name.back() : names.read(type[i]));
    }
    return {};
  }));
  const char* tree = "SELECT parent_id, op_id FROM span_tree";
  NL_CHECK(connection.stream(tree, [&](const Chunk& chunk) -> Result<void> {
    const auto parents = int64s(chunk, 0), ops = int64s(chunk, 1);
    for (size_t i = 0; i < chunk.size(); i++) {
      spans.parent.push_back(row_or_none(parents.get(i, kNull)));
      spans.op.push_back(row_or_none(ops.get(i, kNull)));
    }
    return {};
  }));
  return {};
}

Result<void> load_device_rows(store::Connection& connection, Timeline& run, const std::string& table,
                              DeviceRows& rows, std::vector<int64_t>* bytes) {
  NameReader names(run.names);
  const std::string columns = bytes == nullptr ? "" : ", bytes";
  const std::string sql = "SELECT start_ns, dur_ns, track_id, device, name" + columns + " FROM " + table;
  NL_CHECK(connection.stream(sql, [&](const Chunk& chunk) -> Result<void> {
    const auto starts = int64s(chunk, 0), durs = int64s(chunk, 1);
    const auto tracks = int32s(chunk, 2), devices = int32s(chunk, 3);
    const auto name = chunk.texts(4);
    for (size_t i = 0; i < chunk.size(); i++) {
      const bool timed = !starts.is_null(i) && durs.get(i, -1) >= 0;
      const int64_t start = starts.get(i, 0);
      rows.start.push_back(start);
      rows.end.push_back(timed ? end_of(start, durs.get(i, 0)) : start - 1);
      rows.track.push_back(tracks.get(i, -1));
      rows.device.push_back(devices.get(i, kNoDevice));
      rows.name.push_back(names.read(name.is_null(i) ? std::string_view() : name[i]));
      if (bytes != nullptr) bytes->push_back(int64s(chunk, 5).get(i, kNull));
    }
    return {};
  }));
  const std::string links = table == "kernels" ? "kernel_links" : "copy_links";
  return connection.stream("SELECT launch_span_id, op_id FROM " + links,
                           [&](const Chunk& chunk) -> Result<void> {
                             const auto launches = int64s(chunk, 0), ops = int64s(chunk, 1);
                             for (size_t i = 0; i < chunk.size(); i++) {
                               rows.launch.push_back(row_or_none(launches.get(i, kNull)));
                               rows.op.push_back(row_or_none(ops.get(i, kNull)));
                             }
                             return {};
                           });
}

/// Derived columns of a table without rows have no file; otherwise both must be of one length. What points at
/// no span points nowhere.
Result<void> check_links(size_t facts, size_t spans, std::vector<uint32_t>& links, const std::string& table) {
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

Result<Timeline> load_timeline(store::Connection& connection, const store::RunFiles& files) {
  constexpr int64_t kMostRows = 100'000'000;
  for (const auto& [table, rows] : files.tables) {
    if (rows > kMostRows) {
      return Error{ErrorCode::kLimit,
                   "table " + table + " has too many rows to analyse: " + std::to_string(rows),
                   "at most 100,000,000"};
    }
  }
  Timeline run;
  NL_CHECK(load_tracks(connection, run));
  NL_CHECK(load_spans(connection, files, run));
  NL_CHECK(load_device_rows(connection, run, "kernels", run.kernels, nullptr));
  NL_CHECK(load_device_rows(connection, run, "copies", run.copies, &run.copy_bytes));
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
