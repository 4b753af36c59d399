#include "store/run_views.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "model/tables.h"
#include "store/bundle_writer.h"
#include "store/run_document.h"

namespace nl::store {
namespace {

// Raised when the same facts give other derived tables.
constexpr char kDerivedVersion[] = "assemble-1";

bool is_derived(const model::Table& table) {
  return table.kind == model::TableKind::derived;
}

std::string path_of(const RunFiles& files, const model::Table& table) {
  if (table.kind == model::TableKind::view) return {};
  const std::string& folder = is_derived(table) ? files.derived : files.bundle;
  if (folder.empty()) return {};
  const std::string path = folder + "/" + table_file_name(table.name);
  return path_exists(path) ? path : std::string();
}

std::string null_column(const model::Column& column) {
  return "NULL::" + std::string(model::sql_type(column.type)) + " AS " + std::string(column.name);
}

/// One table from its file, each column by name, times on the common clock. Columns that the file lacks are
/// NULL.
Result<std::string> stored(Connection& connection, const RunFiles& files, const model::Table& table) {
  const std::string path = path_of(files, table);
  std::set<std::string> in_file;
  if (!path.empty()) {
    NL_TRY(const auto names, connection.column_names("SELECT * FROM read_parquet(" + sql_quoted(path) + ")"));
    in_file.insert(names.begin(), names.end());
  }
  std::string select;
  for (const auto& column : table.columns) {
    const std::string name(column.name);
    std::string value = null_column(column);
    if (!path.empty() && column.type == model::Type::row_id) value = "file_row_number AS " + name;
    if (in_file.contains(name)) value = name;
    if (in_file.contains(name) && name == "start_ns" && files.clock_base_ns != 0) {
      value = "start_ns + (" + std::to_string(files.clock_base_ns) + ")::BIGINT AS start_ns";
    }
    select += (select.empty() ? "" : ", ") + value;
  }
  if (path.empty()) return "SELECT " + select + " WHERE false";
  return "SELECT " + select + " FROM read_parquet(" + sql_quoted(path) + ", file_row_number = true)";
}

/// An op is a span; its columns have the same names there. What no source fills yet is NULL.
std::string ops_view(const model::Table& table, const std::string& spans) {
  std::set<std::string_view> in_spans;
  for (const auto& column : model::table(model::TableId::spans).columns) in_spans.insert(column.name);
  std::string select;
  for (const auto& column : table.columns) {
    const std::string name(column.name);
    const std::string value = name == "op_id"           ? "span_id AS op_id"
                              : name == "op_type"       ? "name AS op_type"
                              : in_spans.contains(name) ? name
                                                        : null_column(column);
    select += (select.empty() ? "" : ", ") + value;
  }
  return "SELECT " + select + " FROM (" + spans + ") WHERE kind = 'op'";
}

struct Link {
  std::string_view table, derived, key, columns;
};
constexpr Link kLinks[] = {
    {"spans", "span_tree", "span_id", "d.parent_id, d.depth, d.op_id"},
    {"kernels", "kernel_links", "kernel_id", "d.launch_span_id, d.op_id"},
    {"copies", "copy_links", "copy_id", "d.launch_span_id, d.op_id"},
};
constexpr std::string_view kDerivedColumns[] = {"parent_id", "depth", "op_id", "launch_span_id"};

Result<std::string> view_of(Connection& connection, const RunFiles& files, const model::Table& table,
                            bool linked) {
  const std::string name(table.name);
  if (name == "ops") {
    NL_TRY(const std::string spans, stored(connection, files, model::table(model::TableId::spans)));
    return ops_view(table, spans);
  }
  NL_TRY(const std::string facts, stored(connection, files, table));
  for (const Link& link : kLinks) {
    if (!linked || link.table != name) continue;
    const std::string key(link.key);
    return "SELECT f.*, " + std::string(link.columns) + " FROM (" + facts + ") f LEFT JOIN " +
           std::string(link.derived) + " d ON d." + key + " = f." + key;
  }
  return facts;
}

/// Walks the engine's own syntax tree.
bool mentions_links(const nlohmann::json& node) {
  if (node.is_array()) return std::any_of(node.begin(), node.end(), mentions_links);
  if (!node.is_object()) return false;
  const std::string type = node.value("class", "");
  if (type == "STAR") return true;
  if (node.value("ref_type", "") == "NATURAL") return true;
  for (const char* names : {"column_names", "using_columns"}) {
    if (!node.contains(names)) continue;
    for (const auto& name : node[names]) {
      if (!name.is_string()) return true;
      std::string lower = name.get<std::string>();
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](char c) { return static_cast<char>(tolower(c)); });
      for (const auto& column : kDerivedColumns) {
        if (lower == column) return true;
      }
      // A table's name as a column is the whole row.
      for (const Link& link : kLinks) {
        if (node[names].size() == 1 && lower == link.table) return true;
      }
    }
  }
  return std::any_of(node.begin(), node.end(), mentions_links);
}

}  // namespace

std::string derived_folder(const std::string& bundle) {
  return bundle + "/derived/" + kDerivedVersion;
}

Result<RunFiles> run_files(const std::string& bundle) {
  NL_TRY(const auto document, read_run_document(bundle + "/run.json"));
  RunFiles files{bundle, derived_folder(bundle), 0};
  if (!path_exists(files.derived + "/complete")) files.derived.clear();
  files.clock_base_ns = document["clocks"][0]["base_unix_ns"];
  return files;
}

std::vector<std::string> parquet_files(const RunFiles& files) {
  std::vector<std::string> paths;
  for (const auto& table : model::all_tables()) {
    if (std::string path = path_of(files, table); !path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

Result<void> create_views(Connection& connection, const RunFiles& files, bool linked) {
  // Derived tables first: other views refer to them.
  for (const bool derived : {true, false}) {
    for (const auto& table : model::all_tables()) {
      if (is_derived(table) != derived) continue;
      NL_TRY(const std::string select, view_of(connection, files, table, linked));
      NL_CHECK(connection.run("CREATE VIEW " + std::string(table.name) + " AS " + select));
    }
  }
  return {};
}

bool needs_links(Connection& connection, const std::string& sql) {
  std::string tree;
  const auto parsed = connection.stream("SELECT json_serialize_sql(" + sql_quoted(sql) + ")::VARCHAR",
                                        [&](const Chunk& chunk) {
                                          if (chunk.size() > 0 && !chunk.is_null(0, 0))
                                            tree = chunk.text(0, 0);
                                          return Result<void>();
                                        });
  const auto syntax = nlohmann::json::parse(tree, nullptr, false);
  if (!parsed || syntax.is_discarded() || syntax.value("error", true)) return true;
  return mentions_links(syntax["statements"]);
}

}  // namespace nl::store
