#include "store/run_file_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "model/run_file.h"
#include "store/bundle_writer.h"
#include "store/engine.h"
#include "store/engine_pool.h"
#include "store/run_document.h"

namespace nl::store {
namespace {

using model::Type;
using nlohmann::json;

constexpr int kMemoryMb = 256;
constexpr size_t kPieceBytes = 1 << 16;

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_plain(unsigned char c) {
  return c >= 0x20 && c != '"' && c != '\\';
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const size_t from = i;
    while (i < text.size() && is_plain(static_cast<unsigned char>(text[i]))) i++;
    out.append(text, from, i - from);
    if (i == text.size()) break;
    const char c = text[i++];
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (c == '\n') {
      out += "\\n";
    } else {
      constexpr char kHex[] = "0123456789abcdef";
      out.append("\\u00").append(1, kHex[c >> 4]).append(1, kHex[c & 15]);
    }
  }
  out += '"';
}

/// Objects and arrays stand for themselves as long as the row stays on its line; other JSON goes into a
/// string.
void append_json(std::string& out, std::string_view text) {
  const bool structured = !text.empty() && (text[0] == '{' || text[0] == '[');
  if (structured && text.find_first_of("\r\n") == std::string_view::npos) {
    out += text;
  } else {
    append_string(out, text);
  }
}

template <class Number>
void append_number(std::string& out, Number number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out.append(text, static_cast<size_t>(end - text));
}

/// One table of the bundle as an array of the document.
class TableText {
 public:
  TableText(const model::RunFileTable& table, const std::vector<std::string>& in_file) : table_(table) {
    const std::set<std::string, std::less<>> names(in_file.begin(), in_file.end());
    const int duration = model::duration_column(table.table);
    const auto& columns = model::table(table.table).columns;
    for (size_t c = 0; c < columns.size(); c++) {
      if (!model::is_member(table, columns[c]) || !names.contains(columns[c].name)) continue;
      if (static_cast<int>(c) == duration) duration_ = columns_.size();
      columns_.push_back(&columns[c]);
      keys_.push_back("\"" + std::string(columns[c].name) + "\":");
    }
  }

  std::string select() const {
    std::string list;
    for (const auto* column : columns_) list += (list.empty() ? "" : ", ") + std::string(column->name);
    return list.empty() ? "NULL" : list;
  }

  Result<void> append_row(std::string& out, const Chunk& chunk, size_t row) {
    out += rows_++ == 0 ? "\n{" : ",\n{";
    const size_t begin = out.size();
    for (size_t c = 0; c < columns_.size(); c++) {
      if (chunk.is_null(c, row)) continue;
      if (out.size() > begin) out += ',';
      out += keys_[c];
      NL_CHECK(append_cell(out, chunk, c, row));
    }
    out += '}';
    return {};
  }

  json summary() const {
    json one = {{"rows", rows_}};
    const bool fits = total_ns_ <= INT64_MAX && total_ns_ >= -INT64_MAX;
    if (model::duration_column(table_.table) >= 0 && fits) one["total_ns"] = static_cast<int64_t>(total_ns_);
    return one;
  }

 private:
  Result<void> append_cell(std::string& out, const Chunk& chunk, size_t c, size_t row) {
    switch (columns_[c]->type) {
      case Type::track:
      case Type::i32:
        append_number(out, chunk.int32s(c)[row]);
        return {};
      case Type::row_id:
      case Type::i64:
        append_number(out, chunk.int64s(c)[row]);
        if (c == duration_) total_ns_ += chunk.int64s(c)[row];
        return {};
      case Type::f64:
        return append_double(out, chunk.doubles(c)[row]);
      case Type::span_kind:
      case Type::dict:
      case Type::json:
        break;
    }
    if (model::holds_json(*columns_[c])) {
      append_json(out, chunk.text(c, row));
    } else {
      append_string(out, chunk.text(c, row));
    }
    return {};
  }

  Result<void> append_double(std::string& out, double number) const {
    if (!std::isfinite(number)) {
      return Error{ErrorCode::kUnsupported, "JSON has no number for a value in table " +
                                                std::string(table_.name) + ", row " +
                                                std::to_string(rows_ - 1)};
    }
    append_number(out, number);
    return {};
  }

  const model::RunFileTable& table_;
  std::vector<const model::Column*> columns_;
  std::vector<std::string> keys_;
  size_t duration_ = ~size_t{0};
  int64_t rows_ = 0;
  __extension__ __int128 total_ns_ = 0;
};

/// What the run was made from. A run that came out of a run file says what that file said.
json origin_of(const json& document, bool is_run_file) {
  const json extensions = document["extensions"].value(std::string(model::kRunFileFormat), json::object());
  if (is_run_file) return extensions.value("origin", json());
  json origin = {{"run_id", document["run_id"]},
                 {"sources", document["sources"]},
                 {"options", document["options"]},
                 {"capture", document["capture"]}};
  if (document.contains("parents")) origin["parents"] = document["parents"];
  if (!extensions.empty()) origin["extensions"] = extensions;
  return origin;
}

json metadata_of(const json& document) {
  const auto& sources = document["sources"];
  const bool is_run_file = sources.size() == 1 && sources[0]["format"] == model::kRunFileFormat;
  json metadata = json::object();
  for (const char* part : {"labels", "hardware", "software", "clocks", "windows", "extensions"}) {
    if (document.contains(part)) metadata[part] = document[part];
  }
  metadata["extensions"].erase(std::string(model::kRunFileFormat));
  if (json origin = origin_of(document, is_run_file); !origin.is_null()) metadata["origin"] = origin;
  for (const char* part : {"tool", "tool_version"}) {
    if (is_run_file && sources[0].contains(part)) metadata[part] = sources[0][part];
  }
  return metadata;
}

/// An object with one member a line.
std::string lines_of(const json& object) {
  std::string text = "{";
  for (const auto& [name, value] : object.items()) {
    text += (text.size() == 1 ? "\n" : ",\n") + dumped(name) + ":" + dumped(value);
  }
  return text + "\n}";
}

class RunFileWriter {
 public:
  RunFileWriter(std::string bundle, const ByteSink& sink, const std::function<bool()>& cancelled)
      : bundle_(std::move(bundle)), sink_(sink), cancelled_(cancelled) {}

  Result<void> write(const std::map<std::string, std::string>& labels) {
    NL_TRY(const auto shared, shared_run_document(bundle_ + "/run.json"));
    json document = *shared;
    document.erase("labels");
    if (!labels.empty()) document["labels"] = labels;
    NL_TRY(const auto engine, EnginePool::shared().lease({1, kMemoryMb, ""}));
    NL_TRY(auto connection, engine->connect());
    text_ = "{\n\"schema\":\"" + std::string(model::kRunFileName) + std::to_string(model::kRunFileVersion) +
            "\",\n\"metadata\":" + lines_of(metadata_of(document));
    std::set<std::string, std::less<>> tables = {"tracks"};  // even if empty: then no row has a track
    for (const auto& table : document["tables"]) tables.insert(table["name"].get<std::string>());
    json summary = json::object();
    for (const auto& table : model::run_file_tables()) {
      if (table.is_ops || !tables.contains(table.name)) continue;
      NL_TRY(summary[std::string(table.name)], write_table(connection, document, table));
    }
    text_ += ",\n\"summary\":" + lines_of(summary) + "\n}\n";
    return flush(0);
  }

 private:
  /// The rows; what the summary says of them.
  Result<json> write_table(Connection& connection, const json& document, const model::RunFileTable& table) {
    text_ += ",\n\"" + std::string(table.name) + "\":[";
    if (table.table == model::TableId::tracks && !path_exists(bundle_ + "/" + table_file_name(table.name))) {
      text_ += "\n]";
      return TableText(table, {}).summary();
    }
    NL_TRY(const std::string path, intact_table_file(bundle_, document, table.name));
    const std::string file = "read_parquet(" + sql_quoted(path) + ")";
    NL_TRY(const auto names, connection.column_names("SELECT * FROM " + file));
    TableText rows(table, names);
    const auto write_chunk = [&](const Chunk& chunk) -> Result<void> {
      if (cancelled_()) return cancelled_error();
      for (size_t row = 0; row < chunk.size(); row++) {
        NL_CHECK(rows.append_row(text_, chunk, row));
        NL_CHECK(flush(kPieceBytes));
      }
      return {};
    };
    NL_CHECK(connection.stream("SELECT " + rows.select() + " FROM " + file, write_chunk));
    text_ += "\n]";
    return rows.summary();
  }

  Result<void> flush(size_t at_least) {
    if (text_.size() < at_least) return {};
    NL_CHECK(sink_(text_));
    text_.clear();
    return {};
  }

  const std::string bundle_;
  const ByteSink& sink_;
  const std::function<bool()>& cancelled_;
  std::string text_;
};

}  // namespace

Result<void> write_run_file(const std::string& bundle, const std::map<std::string, std::string>& labels,
                            const ByteSink& sink, const std::function<bool()>& cancelled) {
  return RunFileWriter(bundle, sink, cancelled).write(labels);
}

}  // namespace nl::store
