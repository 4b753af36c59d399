#include "run_text.h"

#include "assemble/assemble.h"
#include "base/files.h"
#include "base/json.h"
#include "store/bundle_writer.h"
#include "store/run_document.h"
#include "store/run_views.h"

namespace nl::golden {
namespace {

using model::kNull;
using model::TableId;
using model::Type;
using nlohmann::json;

bool is_fact(const model::Table& table) {
  return table.kind == model::TableKind::fact;
}

json cell_json(const model::Batch& batch, const model::Column& column, int64_t cell) {
  switch (column.type) {
    case Type::dict:
    case Type::json:
      return batch.strings[static_cast<size_t>(cell)];
    case Type::span_kind:
      return model::kSpanKinds[static_cast<size_t>(cell)];
    case Type::track:
      return batch.track_ids[static_cast<size_t>(cell)];
    case Type::f64:
      return std::bit_cast<double>(cell);
    default:
      return cell;
  }
}

std::string line(const model::Table& table, const json& row) {
  return std::string(table.name) + " " + row.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Rows as they come, table by table.
class TextSink final : public model::RunSink {
 public:
  Result<void> push(std::shared_ptr<model::Batch> batch) override {
    for (size_t t = 0; t < model::kTableCount; t++) {
      const auto& table = model::all_tables()[t];
      const auto& rows = batch->rows(static_cast<TableId>(t));
      for (size_t r = 0; r < rows.size(); r++) texts_[t] += line(table, row_json(*batch, table, rows, r));
    }
    return {};
  }
  std::string text() const {
    std::string all;
    for (const auto& text : texts_) all += text;
    return all;
  }

 private:
  static json row_json(const model::Batch& batch, const model::Table& table, const model::Rows& rows,
                       size_t r) {
    json row = json::object();
    for (size_t c = 0; c < table.columns.size(); c++) {
      const int64_t cell = rows.cell(r, static_cast<int>(c));
      if (cell != kNull) row[std::string(table.columns[c].name)] = cell_json(batch, table.columns[c], cell);
    }
    return row;
  }
  std::array<std::string, model::kTableCount> texts_;
};

std::string info_text(const model::RunInfo& info) {
  json document = store::make_run_document({{"trace", std::string(64, '0'), 0, 0, "none", "f", 1}},
                                           json::object(), info, {});
  std::string text;
  for (const char* part : {"hardware", "software", "clocks", "capture", "windows", "extensions"}) {
    text += std::string("run.") + part + " " + document[part].dump() + "\n";
  }
  if (document.contains("labels")) text += "run.labels " + document["labels"].dump() + "\n";
  return text;
}

Result<std::string> try_text(std::string_view bytes, const ingest::ReadOptions& options) {
  NL_TRY(auto source, ingest::open_memory(bytes));
  NL_TRY(const auto chosen, ingest::choose_adapter(source->head(), "", ""));
  TextSink sink;
  model::RunInfo info;
  ingest::ReadOptions read = options;
  read.role = chosen.role;
  NL_CHECK(chosen.adapter->read(*source, read, sink, info));
  if (!info.counts.closes()) return std::string("ACCOUNTING BROKEN\n");
  return sink.text() + info_text(info);
}

json value_json(const store::Chunk& chunk, const model::Column& column, size_t c, size_t row) {
  const auto sql = model::sql_type(column.type);
  if (sql == "VARCHAR") return std::string(chunk.text(c, row));
  if (sql == "DOUBLE") return chunk.doubles(c)[row];
  if (sql == "INTEGER") return chunk.int32s(c)[row];
  return chunk.int64s(c)[row];
}

Result<std::string> rows_text(store::Connection& connection, const model::Table& table) {
  std::string select;
  std::vector<const model::Column*> columns;
  for (const auto& column : table.columns) {
    if (column.type == Type::row_id) continue;
    select += (select.empty() ? "" : ", ") + std::string(column.name);
    columns.push_back(&column);
  }
  std::string text;
  NL_CHECK(connection.stream("SELECT " + select + " FROM " + std::string(table.name) + " ORDER BY " +
                                 std::string(table.columns[0].name),
                             [&](const store::Chunk& chunk) -> Result<void> {
                               for (size_t i = 0; i < chunk.size(); i++) {
                                 json row = json::object();
                                 for (size_t c = 0; c < columns.size(); c++) {
                                   if (chunk.is_null(c, i)) continue;
                                   row[std::string(columns[c]->name)] = value_json(chunk, *columns[c], c, i);
                                 }
                                 text += line(table, row);
                               }
                               return {};
                             }));
  return text;
}

}  // namespace

std::string text_of_bytes(std::string_view bytes, const ingest::ReadOptions& options) {
  auto text = try_text(bytes, options);
  return text ? *text : std::string("error ") + error_code_name(text.error().code) + "\n";
}

Result<std::string> text_of_bundle(std::string_view bytes, const std::string& folder) {
  NL_CHECK(make_folders(folder));
  NL_TRY(auto source, ingest::open_memory(bytes));
  NL_TRY(const auto chosen, ingest::choose_adapter(source->head(), "", ""));
  NL_TRY(auto engine, store::Engine::open({1, 200, ""}));
  store::BundleWriter writer(engine, folder);
  model::RunInfo info;
  ingest::ReadOptions options;
  options.role = chosen.role;
  NL_CHECK(chosen.adapter->read(*source, options, writer, info));
  NL_TRY(const auto tables, writer.finish());
  // The clock is left out, as the rows of the adapter have it.
  store::RunFiles files{store::place_in_ledger(folder)};
  for (const auto& table : tables) {
    files.tables[table.name] = table.rows;
    files.seals[table.name] = {table.bytes, table.sha256};
  }
  NL_TRY(auto connection, engine->connect());
  NL_CHECK(store::create_views(connection, files, false));
  std::string text;
  for (const auto& table : model::all_tables()) {
    if (!is_fact(table)) continue;
    NL_TRY(const std::string rows, rows_text(connection, table));
    text += rows;
  }
  return text + info_text(info);
}

}  // namespace nl::golden
