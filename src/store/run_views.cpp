// Writes the SQL of the views over one run. A view hides what differs between bundles: columns or whole files
// that are missing, the clock of the source, and derived tables that may not exist yet. Derived columns need
// a join over millions of rows, so they are only joined in where the query may use them, see query_syntax.h.

#include "store/run_views.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/aside.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"
#include "model/tables.h"
#include "store/bundle_writer.h"
#include "store/parquet_footer.h"
#include "store/run_document.h"

namespace nl::store {
namespace {

// Must be raised when the same facts give other derived tables.
constexpr char kDerivedVersion[] = "assemble-3";

bool is_derived(const model::Table& table) {
  return table.kind == model::TableKind::derived;
}

/// Empty if the run has no such table.
std::string path_of(const RunFiles& files, const model::Table& table) {
  const std::string name(table.name);
  switch (table.kind) {
    case model::TableKind::fact:
      return files.tables.contains(name) ? files.place.bundle + "/" + table_file_name(name) : std::string();
    case model::TableKind::derived: {
      const bool has = files.derived_files.contains(table_file_name(name));
      return has ? files.derived + "/" + table_file_name(name) : std::string();
    }
    case model::TableKind::view:
      break;
  }
  return {};
}

/// Has the file of a table the bytes that were written?
bool is_table_intact(const RunFiles& files, const model::Table& table) {
  const bool is_fact = table.kind == model::TableKind::fact;
  const auto& seals = is_fact ? files.seals : files.derived_files;
  const auto seal = seals.find(is_fact ? std::string(table.name) : table_file_name(table.name));
  return seal != seals.end() && is_intact(path_of(files, table), seal->second);
}

std::string damaged_text(const model::Table& table, const std::string& path) {
  return "table " + std::string(table.name) + " is missing or damaged (neurolens verify tells): " + path;
}

std::string null_column(const model::Column& column) {
  return "NULL::" + std::string(model::sql_type(column.type)) + " AS " + std::string(column.name);
}

/// A view without a file: all columns are NULL. The condition is false for no rows. For a damaged file it is
/// an error() call, so that the message appears when the view is read and other views still work.
std::string null_view(const model::Table& table, const std::string& condition) {
  std::string select;
  for (const auto& column : table.columns) select += (select.empty() ? "" : ", ") + null_column(column);
  return "SELECT " + select + " WHERE " + condition;
}

/// What the views of one run are made from.
struct Bundle {
  const RunFiles& files;
  const CommonTime& time;
  std::map<std::string, std::set<std::string>> columns;  ///< by path; damaged files are missing
};

/// One table from its file, each column by name, times on the common clock. Columns that the file does not
/// have are NULL.
std::string stored(const Bundle& bundle, const model::Table& table) {
  const std::string path = path_of(bundle.files, table);
  if (path.empty()) return null_view(table, "false");
  const auto found = bundle.columns.find(path);
  if (found == bundle.columns.end()) {
    return null_view(table, "error(" + sql_quoted(damaged_text(table, path)) + ")::BOOLEAN");
  }
  const std::set<std::string>& in_file = found->second;
  std::string select;
  for (const auto& column : table.columns) {
    const std::string name(column.name);
    std::string value = null_column(column);
    if (column.type == model::Type::row_id) value = "file_row_number AS " + name;
    if (in_file.contains(name)) value = name;
    if (in_file.contains(name) && name == "start_ns")
      value = bundle.time.start(in_file.contains("track_id")) + " AS start_ns";
    select += (select.empty() ? "" : ", ") + value;
  }
  return "SELECT " + select + " FROM read_parquet(" + sql_quoted(path) + ", file_row_number = true)";
}

using Expressions = std::map<std::string_view, std::string>;

/// Selects the columns of a table from a query that has the columns `given` under their own names. The others
/// are NULL, unless there is an expression for them.
std::string columns_of(const model::Table& table, const std::set<std::string_view>& given,
                       const Expressions& expressions) {
  std::string select;
  for (const auto& column : table.columns) {
    const std::string name(column.name);
    std::string value = given.contains(column.name) ? name : null_column(column);
    if (const auto it = expressions.find(column.name); it != expressions.end())
      value = it->second + " AS " + name;
    select += (select.empty() ? "" : ", ") + value;
  }
  return "SELECT " + select;
}

std::set<std::string_view> column_names(const model::Table& table) {
  std::set<std::string_view> names;
  for (const auto& column : table.columns) names.insert(column.name);
  return names;
}

/// Numbers the rows of each name. Layers may repeat a name; then the first row of one table belongs to the
/// first row of the other.
std::string numbered(const std::string& rows, const std::string& key) {
  return "(SELECT *, row_number() OVER (PARTITION BY name ORDER BY " + key + ") AS nth FROM (" + rows + "))";
}

/// An op is a span of kind op, or a layer of an engine with the sum of its times.
std::string ops_view(const Bundle& bundle, const model::Table& table) {
  const auto& spans = model::table(model::TableId::spans);
  std::string span_ops =
      columns_of(table, column_names(spans),
                 {{"op_id", "span_id"}, {"op_type", "coalesce(op_type, name)"}, {"calls", "1::BIGINT"}}) +
      " FROM (" + stored(bundle, spans) + ") WHERE kind = 'op'";
  const auto& tables = bundle.files.tables;
  if (!tables.contains("layers") && !tables.contains("layer_times")) return span_ops;
  const std::string layers = stored(bundle, model::table(model::TableId::layers));
  const std::string times = stored(bundle, model::table(model::TableId::layer_times));
  return span_ops + " UNION ALL " +
         columns_of(table, {"shapes", "dtypes"},
                    {{"name", "coalesce(l.name, t.name)"},
                     {"op_type", "coalesce(l.layer_type, l.name, t.name)"},
                     {"dur_ns", "t.total_ns"},
                     {"calls", "t.iterations"},
                     {"args", "coalesce(l.args, t.args)"}}) +
         " FROM " + numbered(layers, "layer_id") + " l FULL JOIN " + numbered(times, "layer_time_id") +
         " t ON l.name = t.name AND l.nth = t.nth";
}

struct Link {
  std::string_view table, derived, key, columns;
};
constexpr Link kLinks[] = {
    {"spans", "span_tree", "span_id", "d.parent_id, d.depth, d.op_id"},
    {"kernels", "kernel_links", "kernel_id", "d.launch_span_id, d.op_id"},
    {"copies", "copy_links", "copy_id", "d.launch_span_id, d.op_id"},
};

/// The file stores the kernel name once per launch and not with each of its many counters; here it is joined
/// back in.
std::string with_kernel_names(const Bundle& bundle, const std::string& metrics) {
  const auto& launches = model::table(model::TableId::profiled_launches);
  return "SELECT m.* REPLACE (coalesce(m.kernel_name, l.kernel_name) AS kernel_name) FROM (" + metrics +
         ") m LEFT JOIN (" + stored(bundle, launches) +
         ") l ON m.kernel_id IS NULL AND l.launch_id = m.launch_id";
}

std::string view_of(const Bundle& bundle, const model::Table& table, bool linked) {
  const std::string name(table.name);
  if (name == "ops") return ops_view(bundle, table);
  std::string facts = stored(bundle, table);
  if (linked && name == "kernel_metrics" && bundle.files.tables.contains("profiled_launches"))
    return with_kernel_names(bundle, facts);
  for (const Link& link : kLinks) {
    if (!linked || link.table != name) continue;
    return fmt::format("SELECT f.*, {} FROM ({}) f LEFT JOIN {} d ON d.{} = f.{}", link.columns, facts,
                       link.derived, link.key, link.key);
  }
  return facts;
}

}  // namespace

std::string derived_folder(const std::string& derived) {
  return derived + "/" + kDerivedVersion;
}

void use_derived(RunFiles& files, const std::string& folder) {
  files.derived.clear();
  files.derived_files.clear();
  auto found = derived_files(folder);
  if (!found) return;
  files.derived = folder;
  files.derived_files = std::move(found).value();
}

Result<RunFiles> run_files(const RunPlace& place) {
  // The schema was checked when the document was written, and verify checks it again.
  NL_TRY(const nlohmann::json document, read_run_document_quickly(place.bundle + "/run.json"));
  return run_files(place, document);
}

Result<RunFiles> run_files(const RunPlace& place, const nlohmann::json& document) {
  RunFiles files{place};
  use_derived(files, derived_folder(place.derived));
  try {
    for (const auto& clock : document.at("clocks")) {
      files.clocks.push_back({clock.at("kind") == "unix", clock.at("base_unix_ns"),
                              clock.value("resolution_ns", int64_t{1}), clock.value("identity", "")});
    }
    const auto& options = document.at("options");
    if (options.contains("slice_of"))
      files.slice = {options.at("slice_begin_ns"), options.at("slice_end_ns")};
    for (const auto& source : document.at("sources")) files.formats.insert(source.at("format"));
    for (const auto& table : document.at("tables")) {
      files.tables[table.at("name")] = table.at("rows");
      files.seals[table.at("name")] = {table.at("bytes"), table.at("sha256")};
    }
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorCode::kBadInput,
                 "run.json is damaged: " + place.bundle + ": " + e.what(),
                 "{} tells what is wrong",
                 {{"verify", R"({"run": "RUN"})"}}};
  }
  return files;
}

std::vector<std::string> parquet_files(const RunFiles& files) {
  std::vector<std::string> paths;
  for (const auto& table : model::all_tables()) {
    if (std::string path = path_of(files, table); !path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

std::vector<std::string> linked_columns(std::string_view table) {
  if (table == "spans") return {"parent_id", "depth", "op_id"};
  if (table == "kernels" || table == "copies") return {"launch_span_id", "op_id"};
  return {};
}

namespace {

/// The columns of each file. One statement asks for all of them, since a statement costs more than reading a
/// footer. If it fails, some file is damaged, and each file is asked separately. The engine never sees a file
/// that is packed in a way we do not write.
std::map<std::string, std::set<std::string>> columns_of_files(Connection& connection,
                                                              std::set<std::string> paths) {
  std::map<std::string, std::set<std::string>> columns;
  std::erase_if(paths, [](const std::string& path) { return !check_parquet_file(path); });
  if (paths.empty()) return columns;
  std::string list;
  for (const auto& path : paths) list += (list.empty() ? "" : ", ") + sql_quoted(path);
  const auto read = connection.stream(
      "SELECT file_name, name FROM parquet_schema([" + list + "]) WHERE num_children IS NULL",
      [&](const Chunk& chunk) -> Result<void> {
        for (size_t row = 0; row < chunk.size(); row++)
          columns[std::string(chunk.text(0, row))].emplace(chunk.text(1, row));
        return {};
      });
  if (read) return columns;
  columns.clear();
  for (const auto& path : paths) {
    const auto names = connection.column_names("SELECT * FROM read_parquet(" + sql_quoted(path) + ")");
    if (names) columns[path] = {names->begin(), names->end()};
  }
  return columns;
}

/// The tables whose files a view reads.
std::vector<std::string> parts_of(const std::string& view, bool linked) {
  if (view == "ops") return {"spans", "layers", "layer_times"};
  if (linked && view == "kernel_metrics") return {"kernel_metrics", "profiled_launches"};
  return {view};
}

}  // namespace

Result<std::string> intact_path(const RunFiles& files, model::TableId id) {
  const model::Table& table = model::table(id);
  std::string path = path_of(files, table);
  if (path.empty() || (is_table_intact(files, table) && check_parquet_file(path))) return path;
  return Error{
      ErrorCode::kIo, damaged_text(table, path), "{} says what is wrong", {{"verify", R"({"run": "RUN"})"}}};
}

Result<CommonTime> common_time(const RunFiles& files) {
  ClockFiles clocks;
  NL_TRY(clocks.tracks, intact_path(files, model::TableId::tracks));
  NL_TRY(clocks.fits, intact_path(files, model::TableId::clock_fits));
  return CommonTime::read(files.clocks, clocks);
}

Result<void> create_views(Connection& connection, const RunFiles& files, bool linked,
                          const std::set<std::string>& only, ViewScope scope) {
  NL_TRY(const CommonTime time, common_time(files));
  return create_views(connection, files, time, linked, only, scope);
}

Result<void> create_views(Connection& connection, const RunFiles& files, const CommonTime& time, bool linked,
                          const std::set<std::string>& only, ViewScope scope) {
  std::set<std::string> wanted = only;
  for (const Link& link : kLinks) {
    if (linked && wanted.contains(std::string(link.table))) wanted.insert(std::string(link.derived));
  }
  if (wanted.empty()) {
    for (const auto& table : model::all_tables()) wanted.insert(std::string(table.name));
  }
  std::set<std::string> paths;
  for (const auto& view : wanted) {
    for (const auto& part : parts_of(view, linked)) {
      const model::Table* table = model::find_table(part);
      if (table != nullptr && is_table_intact(files, *table)) paths.insert(path_of(files, *table));
    }
  }
  const Bundle bundle{files, time, columns_of_files(connection, paths)};
  const std::string create =
      scope == ViewScope::kEngine ? "CREATE VIEW IF NOT EXISTS " : "CREATE TEMP VIEW IF NOT EXISTS ";
  std::string statements;
  // Derived tables first: other views refer to them.
  for (const bool derived : {true, false}) {
    for (const auto& table : model::all_tables()) {
      const std::string name(table.name);
      if (is_derived(table) != derived || !wanted.contains(name)) continue;
      statements += create + name + " AS " + view_of(bundle, table, linked) + ";";
    }
  }
  return statements.empty() ? Result<void>() : connection.run(statements);
}

int64_t remove_derived_left_overs(const std::string& derived) {
  return remove_abandoned(derived + "/" + kDerivedAside);
}

// ---- The mark of complete tables: a line for each, and the hash of these lines

namespace {

constexpr char kMark[] = "/complete";
constexpr int64_t kMaxMark = 1 << 20;

std::string mark_end(std::string_view lines) {
  return "sha256 of the lines above " + sha256_hex(lines) + "\n";
}

}  // namespace

/// The tables first, so that the mark never outlives them.
Result<void> mark_complete(const std::string& folder) {
  std::string lines;
  for (const auto& name : list_folder(folder)) {
    if (!name.ends_with(".parquet")) continue;
    const std::string path = fmt::format("{}/{}", folder, name);
    NL_CHECK(sync_path(path));
    NL_TRY(const FileSeal seal, seal_of_file(path));
    lines += fmt::format("{} {} {}\n", name, seal.bytes, seal.sha256);
  }
  return write_file_durably(folder + kMark, lines + mark_end(lines));
}

Result<std::map<std::string, FileSeal>> derived_files(const std::string& folder) {
  NL_TRY(const std::string mark, read_plain_file(folder + kMark, kMaxMark));
  const size_t end = mark.rfind("sha256 of");
  const std::string lines = mark.substr(0, end == std::string::npos ? 0 : end);
  if (mark != lines + mark_end(lines)) return Error{ErrorCode::kBadInput, "damaged: " + folder + kMark};
  std::map<std::string, FileSeal> files;
  std::istringstream words(lines);
  std::string name;
  FileSeal seal;
  while (words >> name >> seal.bytes >> seal.sha256) files[name] = seal;
  return files;
}

}  // namespace nl::store
