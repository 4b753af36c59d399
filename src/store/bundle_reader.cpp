#include "store/bundle_reader.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace nl::store {

using model::Type;
using nlohmann::json;

namespace {

constexpr size_t kBatchRows = 32 * 1024;

model::Clock clock_of(const json& given) {
  return {given.at("clock_id"), given.at("kind"), given.at("base_unix_ns"), given.at("resolution_ns"),
          given.value("identity", "")};
}

model::Window window_of(const json& given) {
  return {given.at("kind"), given.at("name"), given.at("start_ns"), given.at("dur_ns")};
}

void read_hardware(const json& hardware, model::RunInfo& info) {
  info.hosts = hardware.at("hosts").get<std::vector<std::string>>();
  for (const auto& device : hardware.at("devices")) info.devices.push_back(model::device_of(device));
  for (const auto& rank : hardware.at("ranks")) info.ranks.push_back(model::rank_of(rank));
}

void read_capture(const json& capture, model::RunInfo& info) {
  const json& counts = capture.at("counts");
  info.counts.seen = counts.at("seen");
  info.counts.stored = counts.at("stored");
  counts.at("folded").get_to(info.counts.folded);
  counts.at("dropped").get_to(info.counts.dropped);
  capture.at("records_by_phase").get_to(info.records_by_phase);
  capture.at("records_by_category").get_to(info.records_by_category);
  capture.at("flags").get_to(info.flags);
  capture.at("health").get_to(info.health);
}

model::RunInfo read_info(const json& document) {
  model::RunInfo info;
  info.backend = document.at("software").at("backend");
  document.at("software").at("versions").get_to(info.versions);
  if (document.contains("labels")) document["labels"].get_to(info.labels);
  read_hardware(document.at("hardware"), info);
  for (const auto& clock : document.at("clocks")) info.clocks.push_back(clock_of(clock));
  read_capture(document.at("capture"), info);
  for (const auto& window : document.at("windows").at("kept")) info.windows.push_back(window_of(window));
  info.windows_seen = document.at("windows").at("seen");
  info.extensions = document.at("extensions");
  return info;
}

SourceFile source_of(const json& given, const json& adapters) {
  SourceFile source;
  source.role = given.at("role");
  source.sha256 = given.at("sha256");
  source.bytes = given.at("bytes");
  source.text_bytes = given.at("text_bytes");
  source.compression = given.at("compression");
  source.format = given.at("format");
  source.adapter_version = adapters.at(source.format);
  source.tool = given.value("tool", "");
  source.tool_version = given.value("tool_version", "");
  return source;
}

Error damaged(const json::exception& e) {
  return {ErrorCode::kBadInput,
          std::string("run.json is damaged: ") + e.what(),
          "{} tells what is wrong",
          {{"verify", R"({"run": "RUN"})"}}};
}

/// Rows of one table, from chunks into batches.
class TableReader {
 public:
  TableReader(model::TableId table, const std::vector<std::string>& in_file, model::RunSink& sink)
      : table_(table), sink_(sink) {
    const auto& columns = model::table(table).columns;
    for (size_t c = 0; c < columns.size(); c++) {
      const bool stored = std::find(in_file.begin(), in_file.end(), columns[c].name) != in_file.end();
      if (stored) columns_.push_back(static_cast<int>(c));
    }
  }

  std::string select() const {
    std::string list;
    for (const int c : columns_) list += (list.empty() ? "" : ", ") + std::string(column(c).name);
    return list.empty() ? "NULL" : list;
  }

  Result<void> add(const Chunk& chunk) {
    for (size_t row = 0; row < chunk.size(); row++) {
      const size_t at = batch_->add_row(table_);
      for (size_t k = 0; k < columns_.size(); k++) {
        if (!chunk.is_null(k, row)) batch_->set(table_, at, columns_[k], cell(chunk, k, row));
      }
    }
    return batch_->rows(table_).size() < kBatchRows ? Result<void>() : finish();
  }

  Result<void> finish() {
    if (batch_->rows(table_).size() == 0) return {};
    texts_.clear();
    tracks_.clear();
    return sink_.push(std::exchange(batch_, std::make_shared<model::Batch>()));
  }

 private:
  const model::Column& column(int c) const { return model::table(table_).columns[static_cast<size_t>(c)]; }

  int64_t cell(const Chunk& chunk, size_t k, size_t row) {
    switch (column(columns_[k]).type) {
      case Type::i32:
        return chunk.int32s(k)[row];
      case Type::track:
        return track(chunk.int32s(k)[row]);
      case Type::row_id:
      case Type::i64:
        return chunk.int64s(k)[row];
      case Type::f64:
        return std::bit_cast<int64_t>(chunk.doubles(k)[row]);
      case Type::span_kind:
        return kind(chunk.text(k, row));
      case Type::dict:
      case Type::json:
        break;
    }
    return text(chunk.text(k, row));
  }
  int64_t track(int32_t id) {
    const auto [it, is_new] = tracks_.try_emplace(id, static_cast<int64_t>(batch_->track_ids.size()));
    if (is_new) batch_->track_ids.push_back(id);
    return it->second;
  }
  int64_t text(std::string_view given) {
    if (const auto it = texts_.find(given); it != texts_.end()) return it->second;
    const std::string_view kept = batch_->arena.keep(given);
    return texts_[kept] = batch_->add_string(kept);
  }
  static int64_t kind(std::string_view name) {
    const auto* const it = std::find(std::begin(model::kSpanKinds), std::end(model::kSpanKinds), name);
    return it == std::end(model::kSpanKinds) ? static_cast<int64_t>(model::SpanKind::other)
                                             : it - std::begin(model::kSpanKinds);
  }

  model::TableId table_;
  model::RunSink& sink_;
  std::vector<int> columns_;
  std::shared_ptr<model::Batch> batch_ = std::make_shared<model::Batch>();
  std::unordered_map<std::string_view, int64_t> texts_;
  std::unordered_map<int32_t, int64_t> tracks_;
};

Result<void> read_table(Connection& connection, const std::string& path, model::TableId id,
                        model::RunSink& sink, const std::function<bool()>& cancelled) {
  const std::string from = " FROM read_parquet(" + sql_quoted(path) + ")";
  NL_TRY(const auto in_file, connection.column_names("SELECT *" + from));
  TableReader reader(id, in_file, sink);
  NL_CHECK(connection.stream("SELECT " + reader.select() + from, [&](const Chunk& chunk) -> Result<void> {
    if (cancelled()) return cancelled_error();
    return reader.add(chunk);
  }));
  return reader.finish();
}

}  // namespace

Result<model::RunInfo> run_info_of(const json& document) {
  try {
    return read_info(document);
  } catch (const json::exception& e) {
    return damaged(e);
  }
}

Result<std::vector<SourceFile>> sources_of(const json& document) {
  try {
    std::vector<SourceFile> sources;
    for (const auto& given : document.at("sources")) {
      sources.push_back(source_of(given, document.at("revision").at("adapters")));
    }
    return sources;
  } catch (const json::exception& e) {
    return damaged(e);
  }
}

Result<void> read_tables(const std::shared_ptr<Engine>& engine, const std::string& bundle,
                         const json& document, model::RunSink& sink, const std::function<bool()>& cancelled) {
  NL_TRY(Connection connection, engine->connect());
  for (size_t t = 0; t < model::kTableCount; t++) {
    const auto id = static_cast<model::TableId>(t);
    const auto& tables = document["tables"];
    const bool stored = std::any_of(tables.begin(), tables.end(), [&](const json& table) {
      return table["name"].get_ref<const std::string&>() == model::table(id).name;
    });
    if (!stored) continue;
    NL_TRY(const std::string path, intact_table_file(bundle, document, model::table(id).name));
    NL_CHECK(read_table(connection, path, id, sink, cancelled));
  }
  return {};
}

}  // namespace nl::store
