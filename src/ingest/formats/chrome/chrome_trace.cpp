#include "ingest/formats/chrome/chrome_trace.h"

#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "base/small_json.h"
#include "ingest/formats/chrome/chrome_window.h"
#include "ingest/json/window_pipeline.h"

namespace nl::ingest {
namespace {

using model::Batch;
using model::kNull;
using model::TableId;
namespace spans = model::spans;

template <class Map>
void add_counts(Map& to, const Map& from) {
  for (const auto& [key, n] : from) to[key] += n;
}

/// Begins that wait for their ends, one stack a track.
class OpenSpans {
 public:
  static constexpr size_t kMaxBytes = 64 << 20;

  struct Begin {
    int64_t order = 0;  ///< among all begins
    int64_t time_ns = 0;
    model::SpanKind kind = model::SpanKind::other;
    std::optional<std::string> name, category, args;
  };

  Result<void> begin(int32_t track, const HalfEvent& half, const Batch& batch) {
    Begin open{begun_++,
               half.time_ns,
               half.kind,
               text(batch, half.name),
               text(batch, half.category),
               text(batch, half.args)};
    bytes_ += size_of(open);
    if (bytes_ > kMaxBytes) {
      return Error{ErrorCode::kLimit, "the trace begins more than " + std::to_string(kMaxBytes >> 20) +
                                          " MB of events without ending them"};
    }
    stacks_[track].push_back(std::move(open));
    return {};
  }

  std::optional<Begin> end(int32_t track) {
    const auto it = stacks_.find(track);
    if (it == stacks_.end()) return std::nullopt;
    Begin begin = std::move(it->second.back());
    bytes_ -= size_of(begin);
    it->second.pop_back();
    if (it->second.empty()) stacks_.erase(it);
    return begin;
  }

  /// What was never ended, in the order of the source.
  std::vector<std::pair<int32_t, Begin>> take_rest() {
    std::vector<std::pair<int32_t, Begin>> rest;
    for (auto& [track, stack] : stacks_) {
      for (Begin& begin : stack) rest.emplace_back(track, std::move(begin));
    }
    stacks_.clear();
    std::sort(rest.begin(), rest.end(),
              [](const auto& a, const auto& b) { return a.second.order < b.second.order; });
    return rest;
  }

 private:
  static std::optional<std::string> text(const Batch& batch, int64_t number) {
    if (number == kNull) return std::nullopt;
    return std::string(batch.strings[static_cast<size_t>(number)]);
  }
  static size_t size_of(const Begin& begin) {
    return sizeof begin + begin.name.value_or("").size() + begin.category.value_or("").size() +
           begin.args.value_or("").size();
  }

  std::unordered_map<int32_t, std::vector<Begin>> stacks_;
  int64_t begun_ = 0;
  size_t bytes_ = 0;
};

void set_begin(Batch& batch, size_t row, const OpenSpans::Begin& begin) {
  constexpr auto kTable = TableId::spans;
  batch.set(kTable, row, spans::start_ns, begin.time_ns);
  batch.set(kTable, row, spans::kind, static_cast<int64_t>(begin.kind));
  if (begin.name) batch.set_text(kTable, row, spans::name, *begin.name);
  if (begin.category) batch.set_text(kTable, row, spans::category, *begin.category);
  if (begin.args) batch.set_text(kTable, row, spans::args, *begin.args);
}

constexpr size_t kMaxCategories = 10'000;
constexpr size_t kMaxDevices = 4096;
constexpr size_t kMaxCategoryBytes = 4 << 20;  // of all their names
constexpr size_t kMaxWindowName = 1024;        // windows of longer names are only counted

/// Sees the windows in the order of the source.
class Settler {
 public:
  Settler(const ChromeDialect& dialect, model::RunSink& sink, model::RunInfo& info)
      : dialect_(dialect), sink_(sink), info_(info) {}

  Result<void> settle(ParsedWindow window) {
    for (const TrackKey& key : window.tracks) {
      NL_TRY(const int32_t id, tracks_.id_of(key));
      window.batch->track_ids.push_back(id);
    }
    for (const auto& metadata : window.metadata) NL_CHECK(tracks_.add_metadata(metadata));
    settle_flows(window);
    NL_CHECK(settle_halves(window));
    settle_kernels(window);
    if (window.last_event) last_event_ = std::move(window.last_event);
    add_counts(info_.records_by_phase, window.by_phase);
    NL_CHECK(settle_categories(window));
    add_counts(info_.health, window.health);
    add_counts(info_.counts.folded, window.folded);
    add_counts(info_.counts.dropped, window.dropped);
    info_.counts.seen += window.seen;
    info_.counts.stored += window.stored;
    settle_window_marks(window);
    info_.windows_seen += static_cast<int64_t>(window.windows.size());
    for (auto& w : window.windows) {
      const bool kept = info_.windows.size() < model::kMaxKeptWindows && w.name.size() <= kMaxWindowName;
      if (kept) info_.windows.push_back(std::move(w));
    }
    facts_.devices.merge(window.devices);
    if (facts_.devices.size() > kMaxDevices) {
      return Error{ErrorCode::kLimit,
                   "the trace names more than " + std::to_string(kMaxDevices) + " devices"};
    }
    facts_.min_start_ns = std::min(facts_.min_start_ns, window.min_start_ns);
    facts_.has_nanoseconds = facts_.has_nanoseconds || window.has_nanoseconds;
    return sink_.push(std::move(window.batch));
  }

  Result<void> finish(const std::string& envelope_text) {
    NL_TRY(const auto envelope, read_envelope(envelope_text));
    if (info_.counts.seen == 0) {
      return Error{ErrorCode::kBadInput, "the trace has no events",
                   "the profiler recorded nothing: check that it was active while the model ran"};
    }
    dialect_.describe(envelope, facts_, info_);
    NL_CHECK(push_rest());
    const auto rank = info_.ranks.empty() ? std::nullopt : std::optional(info_.ranks.front().rank);
    NL_TRY(auto batch, tracks_.write(rank));
    return sink_.push(std::move(batch));
  }

 private:
  Result<nlohmann::json> read_envelope(const std::string& text) const {
    auto envelope = parse_small_json(text);
    if (dialect_.may_be_array && envelope.is_array() && envelope.empty()) return nlohmann::json::object();
    if (!envelope.is_object()) {
      return Error{ErrorCode::kBadInput, "the JSON around \"traceEvents\" is not valid",
                   "the file is truncated or of another format"};
    }
    if (!envelope["traceEvents"].empty())
      return Error{ErrorCode::kBadInput, "the JSON has two \"traceEvents\""};
    return envelope;
  }

  Result<void> settle_categories(const ParsedWindow& window) {
    for (const auto& [category, n] : window.by_category) {
      const auto [it, is_new] = info_.records_by_category.try_emplace(category, 0);
      it->second += n;
      category_bytes_ += is_new ? category.size() : 0;
    }
    if (info_.records_by_category.size() <= kMaxCategories && category_bytes_ <= kMaxCategoryBytes) return {};
    return Error{ErrorCode::kLimit, "the trace has more than " + std::to_string(kMaxCategories) +
                                        " categories, or more than " +
                                        std::to_string(kMaxCategoryBytes >> 20) + " MB of their names"};
  }

  /// Drops the flows at the start of the window that repeat the last event of the windows before.
  void settle_flows(ParsedWindow& window) {
    if (window.open_flows.empty() || !last_event_) return;
    auto& rows = window.batch->rows(TableId::flows);
    std::vector<bool> keep(rows.size(), true);
    int64_t folded = 0;
    for (const OpenFlow& flow : window.open_flows) {
      keep[flow.row] = flow.key != *last_event_;
      folded += keep[flow.row] ? 0 : 1;
    }
    if (folded == 0) return;
    rows.filter(keep);
    window.stored -= folded;
    window.folded["flow_repeats_its_event"] += folded;
  }

  /// Joins ends to their begins; an end without one is dropped.
  Result<void> settle_halves(ParsedWindow& window) {
    if (window.halves.empty()) return {};
    auto& rows = window.batch->rows(TableId::spans);
    std::vector<bool> keep(rows.size(), true);
    for (const HalfEvent& half : window.halves) {
      const int32_t track = window.batch->track_ids[static_cast<size_t>(half.track)];
      if (half.is_begin) {
        NL_CHECK(open_.begin(track, half, *window.batch));
      } else if (auto begin = open_.end(track)) {
        complete(window, half, std::move(*begin));
      } else {
        keep[half.row] = false;
        window.stored--;
        window.dropped["end_without_begin"]++;
      }
    }
    rows.filter(keep);
    return {};
  }

  static void complete(ParsedWindow& window, const HalfEvent& end, OpenSpans::Begin begin) {
    Batch& batch = *window.batch;
    if (end.args != kNull) {  // under a key of their own: both halves may have arguments of one name
      const std::string_view args = batch.strings[static_cast<size_t>(end.args)];
      std::string joined = begin.args ? begin.args->substr(0, begin.args->size() - 1) + "," : "{";
      begin.args = joined.append("\"$end\":").append(args).append("}");
    }
    set_begin(batch, end.row, begin);
    if (end.time_ns >= begin.time_ns) {
      batch.set(TableId::spans, end.row, spans::dur_ns, end.time_ns - begin.time_ns);
    } else {
      window.health["negative_duration"]++;
    }
    window.folded["begin_joins_its_end"]++;
  }

  void settle_kernels(ParsedWindow& window) {
    auto& rows = window.batch->rows(TableId::kernels);
    for (const size_t row : window.orphan_kernels) {
      if (last_op_ != kNull) rows.set(row, model::kernels::correlation_id, last_op_);
    }
    if (window.last_op != kNull) last_op_ = window.last_op;
  }

  void settle_window_marks(const ParsedWindow& window) {
    if (!window.windows.empty()) facts_.ops_after_last_window = 0;
    facts_.ops_after_last_window += window.ops_after_last_window;
  }

  /// Begins without an end become spans of unknown duration.
  Result<void> push_rest() {
    auto rest = open_.take_rest();
    if (rest.empty()) return {};
    auto batch = std::make_shared<Batch>();
    for (const auto& [track, begin] : rest) {
      const size_t row = batch->add_row(TableId::spans);
      batch->set(TableId::spans, row, spans::track_id, static_cast<int64_t>(batch->track_ids.size()));
      batch->track_ids.push_back(track);
      set_begin(*batch, row, begin);
      info_.counts.stored++;
      info_.health["begin_without_end"]++;
    }
    return sink_.push(std::move(batch));
  }

  const ChromeDialect& dialect_;
  model::RunSink& sink_;
  model::RunInfo& info_;
  TrackTable tracks_;
  OpenSpans open_;
  std::optional<EventKey> last_event_;
  int64_t last_op_ = kNull;
  size_t category_bytes_ = 0;
  ChromeFacts facts_;
};

/// The columns of spans that events of the dialect may fill.
uint64_t span_columns(const ChromeDialect& dialect) {
  uint64_t columns = 0;
  for (const int c : {spans::track_id, spans::name, spans::category, spans::kind, spans::start_ns,
                      spans::dur_ns, spans::args}) {
    columns |= uint64_t{1} << c;
  }
  for (const KnownArg& arg : dialect.args) {
    if (arg.table != TableId::spans) continue;
    columns |= uint64_t{1} << arg.column;
    if (arg.value == ArgValue::kTypedShapes) columns |= uint64_t{1} << spans::dtypes;
  }
  if (dialect.ops_own_next_kernels) columns |= uint64_t{1} << spans::correlation_id;
  return columns;
}

}  // namespace

std::optional<int32_t> small_int(const nlohmann::json& object, const char* key) {
  if (!object.contains(key) || !object[key].is_number_integer()) return std::nullopt;
  const auto value = object[key].get<int64_t>();
  if (value < 0 || value > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(value);
}

model::Clock chrome_clock(const ChromeFacts& facts) {
  constexpr int64_t kYear2000 = 946'684'800'000'000'000;
  model::Clock clock;
  clock.resolution_ns = facts.has_nanoseconds ? 1 : 1000;
  const bool unix = facts.min_start_ns != INT64_MAX && facts.min_start_ns >= kYear2000;
  clock.kind = unix ? "unix" : "relative";
  return clock;
}

Result<void> read_chrome_trace(const ChromeDialect& dialect, ByteSource& source, const ReadOptions& options,
                               model::RunSink& sink, model::RunInfo& info) {
  const ArgTargets targets(dialect.args);
  if (targets.collides()) return Error{ErrorCode::kInternal, "two known arguments share a slot"};
  sink.expect(TableId::spans, span_columns(dialect));
  JsonArrayLimits limits;
  limits.window_bytes = options.window_bytes;
  JsonArraySplitter splitter(source, "traceEvents", limits);
  Settler settler(dialect, sink, info);
  WindowStages<ParsedWindow> stages;
  model::BatchPool pool;
  stages.make_parser = [&] {
    auto parser = std::make_shared<WindowParser>(dialect, targets, pool);
    return [parser](JsonWindow& window) { return parser->parse(window); };
  };
  stages.settle = [&](ParsedWindow window) { return settler.settle(std::move(window)); };
  stages.cancelled = [&] {  // on the thread that reads the source
    options.progress(source);
    return options.cancelled();
  };
  WindowPipeline<ParsedWindow> pipeline(splitter, options.threads, std::move(stages));
  NL_CHECK(pipeline.run());
  return settler.finish(splitter.envelope());
}

}  // namespace nl::ingest
