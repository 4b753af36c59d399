#include "ingest/formats/run_file/run_file_reader.h"

#include <algorithm>

#include "base/json.h"
#include "base/small_json.h"
#include "ingest/json/window_pipeline.h"
#include "model/versions.h"

namespace nl::ingest {
namespace {

using model::kNull;
using model::TableId;
using nlohmann::json;

constexpr size_t kMaxEnvelopeBytes = 32 << 20;
constexpr int kMaxEnvelopeDepth = kMaxSmallJsonDepth + 8;
constexpr size_t kMaxActiveDevices = 10'000;
constexpr size_t kTracksArray = 0;

// Steps from each version of the document to the next; none yet.
constexpr std::span<const model::VersionStep> kSteps;
static_assert(kSteps.size() == model::kRunFileVersion - 1);

const JsonSchema& envelope_schema() {
  static const JsonSchema schema(model::run_file_envelope_schema().dump(), "the run file");
  return schema;
}

std::vector<std::string> array_names() {
  std::vector<std::string> names;
  for (const auto& table : model::run_file_tables()) names.emplace_back(table.name);
  return names;
}

/// A newer document is told by its head, before its rows are held against rules that are not its own.
Result<void> check_version(std::string_view head) {
  const std::string_view schema = run_file_schema_in(head);
  if (model::version_of(schema, model::kRunFileName) <= model::kRunFileVersion) return {};
  return model::newer_version(schema, model::kRunFileVersion);
}

Error no_more() {
  return Error{ErrorCode::kBadInput, "the document has many faults"};
}

}  // namespace

std::string_view run_file_schema_in(std::string_view head) {
  constexpr std::string_view kKey = "\"schema\"";
  constexpr std::string_view kBetween = " \t\r\n:";
  const size_t key = head.find(kKey);
  if (key == std::string_view::npos) return {};
  const size_t begin = head.find_first_not_of(kBetween, key + kKey.size());
  if (begin == std::string_view::npos || head[begin] != '"') return {};
  const size_t end = head.find('"', begin + 1);
  const std::string_view schema = head.substr(begin + 1, end == std::string_view::npos ? 0 : end - begin - 1);
  return schema.starts_with(model::kRunFileName) ? schema : std::string_view();
}

// ---- Default tracks

int32_t RunFileReader::DefaultTracks::id_of(const Key& key) {
  const auto [it, is_new] = ids_.try_emplace(key, static_cast<int32_t>(keys_.size()));
  if (is_new) keys_.push_back(key);
  return it->second;
}

int32_t RunFileReader::DefaultTracks::host() {
  return id_of({});
}

int32_t RunFileReader::DefaultTracks::stream(int64_t device, int64_t stream) {
  return id_of({true, device, stream});
}

std::shared_ptr<model::Batch> RunFileReader::DefaultTracks::write() const {
  namespace columns = model::tracks;
  constexpr auto kTable = TableId::tracks;
  auto batch = std::make_shared<model::Batch>();
  for (const Key& key : keys_) {
    const size_t row = batch->add_row(kTable);
    batch->set_text(kTable, row, columns::kind, key.is_stream ? "stream" : "thread");
    batch->set(kTable, row, columns::clock_id, 0);
    if (key.is_stream && key.device != kNull) batch->set(kTable, row, columns::device, key.device);
    if (key.is_stream && key.stream != kNull) batch->set(kTable, row, columns::stream, key.stream);
  }
  return batch;
}

// ---- Windows in their order

RunFileReader::RunFileReader(model::RunSink& sink, model::RunInfo& info, size_t max_faults)
    : sink_(sink), info_(info), max_faults_(max_faults), arrays_(model::run_file_tables().size()) {}

Result<void> RunFileReader::add(std::vector<JsonFault> faults) {
  for (auto& fault : faults) {
    if (!is_full()) faults_.push_back(std::move(fault));
  }
  if (is_full()) return no_more();
  return {};
}

Result<void> RunFileReader::settle(RunFileWindow window) {
  const model::RunFileTable& table = model::run_file_tables()[window.array];
  ArrayTotals& array = arrays_[window.array];
  array.given = true;
  const std::string place = "/" + std::string(table.name) + "/";
  std::vector<JsonFault> faults;
  for (auto& [row, below] : window.faults) {
    faults.push_back({place + std::to_string(array.rows + row) + below.pointer, std::move(below.message)});
  }
  NL_CHECK(add(std::move(faults)));
  NL_CHECK(settle_tracks(window));
  note_devices(window);
  auto& metrics = window.batch->rows(TableId::kernel_metrics);
  for (size_t m = 0; window.metrics > 0 && m < metrics.size(); m++) {
    const int64_t kernel = metrics.cell(m, model::kernel_metrics::launch_id) + kernels_;
    metrics.set(m, model::kernel_metrics::launch_id, kernel);
    metrics.set(m, model::kernel_metrics::kernel_id, kernel);
  }
  if (table.table == TableId::kernels) kernels_ += window.rows;
  array.rows += window.rows;
  array.total_ns += window.total_ns;
  if (window.rows > 0) info_.records_by_category[std::string(table.name)] += window.rows;
  info_.counts.seen += window.rows + window.metrics;
  info_.counts.stored += window.rows + window.metrics;
  if (!faults_.empty()) return {};
  return sink_.push(std::move(window.batch));
}

Result<void> RunFileReader::settle_tracks(RunFileWindow& window) {
  const TableId table = model::run_file_tables()[window.array].table;
  if (table == TableId::tracks) {
    if (!default_tracks_.empty()) {
      return add({{"/tracks", "expected before the rows: some rows without a track came first"}});
    }
    tracks_ += window.rows;
    return {};
  }
  const int column = model::track_column(table);
  if (column < 0) return {};
  check_tracks(window, column);
  if (is_full()) return no_more();
  if (arrays_[kTracksArray].given) return {};
  return give_tracks(window, column);
}

void RunFileReader::check_tracks(const RunFileWindow& window, int column) {
  const auto& ids = window.batch->track_ids;
  const bool all_known = std::all_of(ids.begin(), ids.end(), [&](int32_t id) { return id < tracks_; });
  if (all_known) return;
  const auto& array = model::run_file_tables()[window.array];
  const auto& rows = window.batch->rows(array.table);
  for (size_t row = 0; row < rows.size() && !is_full(); row++) {
    const int64_t cell = rows.cell(row, column);
    if (cell == kNull || ids[static_cast<size_t>(cell)] < tracks_) continue;
    const auto number = arrays_[window.array].rows + static_cast<int64_t>(row);
    faults_.push_back({"/" + std::string(array.name) + "/" + std::to_string(number) + "/track_id",
                       "expected a row of tracks, which has " + std::to_string(tracks_) + ", found " +
                           std::to_string(ids[static_cast<size_t>(cell)])});
  }
}

/// Rows without a track in a document that lists none.
Result<void> RunFileReader::give_tracks(RunFileWindow& window, int column) {
  const TableId table = model::run_file_tables()[window.array].table;
  auto& rows = window.batch->rows(table);
  const bool on_device = table == TableId::kernels || table == TableId::copies || table == TableId::syncs;
  const auto cell_named = [&](size_t row, std::string_view name) {
    const auto& columns = model::table(table).columns;
    const auto it = std::find_if(columns.begin(), columns.end(), [&](auto& c) { return c.name == name; });
    return rows.cell(row, static_cast<int>(it - columns.begin()));
  };
  std::map<int32_t, int64_t> numbers;
  for (size_t row = 0; row < rows.size(); row++) {
    const int32_t id = on_device
                           ? default_tracks_.stream(cell_named(row, "device"), cell_named(row, "stream"))
                           : default_tracks_.host();
    if (id > model::kMaxTrackId) return Error{ErrorCode::kLimit, "the document has too many streams"};
    auto& ids = window.batch->track_ids;
    const auto [it, is_new] = numbers.try_emplace(id, static_cast<int64_t>(ids.size()));
    if (is_new) ids.push_back(id);
    rows.set(row, column, it->second);
  }
  return {};
}

void RunFileReader::note_devices(const RunFileWindow& window) {
  const TableId table = model::run_file_tables()[window.array].table;
  const int column = table == TableId::kernels  ? int{model::kernels::device}
                     : table == TableId::copies ? int{model::copies::device}
                                                : -1;
  const auto& rows = window.batch->rows(table);
  if (column < 0 || !rows.has_values(column)) return;
  for (size_t row = 0; row < rows.size(); row++) {
    const int64_t device = rows.cell(row, column);
    if (device != kNull && active_devices_.size() < kMaxActiveDevices) {
      active_devices_.insert(static_cast<int32_t>(device));
    }
  }
}

// ---- The whole document

Result<void> RunFileReader::finish(const std::string& envelope_text) {
  json envelope = parse_small_json(envelope_text, kMaxEnvelopeDepth);
  if (!envelope.is_object()) {
    return Error{ErrorCode::kBadInput, "the JSON around the tables is not valid",
                 "the file is truncated or of another format"};
  }
  for (const auto& name : array_names()) {
    const bool again = envelope.contains(name) && envelope[name].is_array() && !envelope[name].empty();
    if (again) NL_CHECK(add({{"/" + name, "given twice"}}));
  }
  if (envelope.contains("schema")) NL_CHECK(model::migrate(envelope, model::kRunFileName, kSteps));
  settle_numbers(envelope);
  NL_TRY(auto wrong, envelope_schema().faults(envelope, max_faults_));
  const bool well_formed = wrong.empty();
  NL_CHECK(add(std::move(wrong)));
  if (!well_formed) return {};
  // A run that was exported may have none: device properties alone are a run.
  const bool exported = envelope.contains("metadata") && envelope["metadata"].contains("origin");
  if (info_.counts.seen == 0 && !exported) return add({{"", "expected rows in at least one array"}});
  if (envelope.contains("summary")) NL_CHECK(add(check_summary(envelope["summary"], arrays_)));
  NL_CHECK(add(read_metadata(envelope.value("metadata", json::object()), active_devices_, info_)));
  if (!faults_.empty() || default_tracks_.empty()) return {};
  return sink_.push(default_tracks_.write());
}

Result<void> RunFileReader::read(ByteSource& source, const ReadOptions& options) {
  NL_CHECK(check_version(source.head()));
  JsonArrayLimits limits;
  limits.window_bytes = options.window_bytes;
  limits.max_envelope_bytes = kMaxEnvelopeBytes;
  JsonArraySplitter splitter(source, array_names(), limits);
  model::BatchPool pool;
  WindowStages<RunFileWindow> stages;
  stages.make_parser = [&] {
    auto parser = std::make_shared<RunFileParser>(pool);
    return [parser](JsonWindow& window) { return parser->parse(window); };
  };
  stages.settle = [&](RunFileWindow window) { return settle(std::move(window)); };
  stages.cancelled = [&] {  // on the thread that reads the source
    options.progress(source);
    return options.cancelled();
  };
  WindowPipeline<RunFileWindow> pipeline(splitter, options.threads, std::move(stages));
  Result<void> done = pipeline.run();
  if (done) done = finish(splitter.envelope());
  return is_full() ? Result<void>() : done;
}

}  // namespace nl::ingest
