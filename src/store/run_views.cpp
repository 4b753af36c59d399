#include "store/run_views.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/aside.h"
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "model/tables.h"
#include "store/bundle_writer.h"
#include "store/run_document.h"

namespace nl::store {
namespace {

// Raised when the same facts give other derived tables.
constexpr char kDerivedVersion[] = "assemble-2";

bool is_derived(const model::Table& table) {
  return table.kind == model::TableKind::derived;
}

/// Empty if the run has no such table.
std::string path_of(const RunFiles& files, const model::Table& table) {
  const std::string name(table.name);
  switch (table.kind) {
    case model::TableKind::fact:
      return files.tables.contains(name) ? files.bundle + "/" + table_file_name(name) : std::string();
    case model::TableKind::derived: {
      const bool has = derived_files(files.derived).contains(table_file_name(name));
      return has ? files.derived + "/" + table_file_name(name) : std::string();
    }
    case model::TableKind::view:
      break;
  }
  return {};
}

std::string null_column(const model::Column& column) {
  return "NULL::" + std::string(model::sql_type(column.type)) + " AS " + std::string(column.name);
}

/// All columns NULL, and no row unless the condition says otherwise.
std::string null_view(const model::Table& table, const std::string& condition) {
  std::string select;
  for (const auto& column : table.columns) select += (select.empty() ? "" : ", ") + null_column(column);
  return "SELECT " + select + " WHERE " + condition;
}

/// One table from its file, each column by name, times on the common clock. Columns that the file lacks are
/// NULL.
std::string stored(Connection& connection, const RunFiles& files, const CommonTime& time,
                   const model::Table& table) {
  const std::string path = path_of(files, table);
  if (path.empty()) return null_view(table, "false");
  const auto names = connection.column_names("SELECT * FROM read_parquet(" + sql_quoted(path) + ")");
  if (!names) {
    return null_view(table, "error(" +
                                sql_quoted("table " + std::string(table.name) +
                                           " is missing or damaged (neurolens verify tells): " + path) +
                                ")::BOOLEAN");
  }
  const std::set<std::string> in_file(names->begin(), names->end());
  std::string select;
  for (const auto& column : table.columns) {
    const std::string name(column.name);
    std::string value = null_column(column);
    if (column.type == model::Type::row_id) value = "file_row_number AS " + name;
    if (in_file.contains(name)) value = name;
    if (in_file.contains(name) && name == "start_ns")
      value = time.start(in_file.contains("track_id")) + " AS start_ns";
    select += (select.empty() ? "" : ", ") + value;
  }
  return "SELECT " + select + " FROM read_parquet(" + sql_quoted(path) + ", file_row_number = true)";
}

using Expressions = std::map<std::string_view, std::string>;

/// The columns of a table out of a query that has `given` of them under their own names; others are NULL
/// unless an expression says how to get them.
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

/// Rows of one name in their order: layers may repeat a name, and then the first belongs to the first.
std::string numbered(const std::string& rows, const std::string& key) {
  return "(SELECT *, row_number() OVER (PARTITION BY name ORDER BY " + key + ") AS nth FROM (" + rows + "))";
}

/// An op is a span, or a layer of an engine with the sum of its times.
std::string ops_view(Connection& connection, const RunFiles& files, const CommonTime& time,
                     const model::Table& table) {
  const auto& spans = model::table(model::TableId::spans);
  const std::string span_ops =
      columns_of(table, column_names(spans),
                 {{"op_id", "span_id"}, {"op_type", "coalesce(op_type, name)"}, {"calls", "1::BIGINT"}}) +
      " FROM (" + stored(connection, files, time, spans) + ") WHERE kind = 'op'";
  if (!files.tables.contains("layers") && !files.tables.contains("layer_times")) return span_ops;
  const std::string layers = stored(connection, files, time, model::table(model::TableId::layers));
  const std::string times = stored(connection, files, time, model::table(model::TableId::layer_times));
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
/// Columns that only linked views fill.
constexpr std::string_view kDerivedColumns[] = {"parent_id", "depth", "op_id", "launch_span_id",
                                                "kernel_name"};

/// A launch has its name once, not with each of a thousand counters.
std::string with_kernel_names(Connection& connection, const RunFiles& files, const CommonTime& time,
                              const std::string& metrics) {
  const auto& launches = model::table(model::TableId::profiled_launches);
  return "SELECT m.* REPLACE (coalesce(m.kernel_name, l.kernel_name) AS kernel_name) FROM (" + metrics +
         ") m LEFT JOIN (" + stored(connection, files, time, launches) +
         ") l ON m.kernel_id IS NULL AND l.launch_id = m.launch_id";
}

std::string view_of(Connection& connection, const RunFiles& files, const CommonTime& time,
                    const model::Table& table, bool linked) {
  const std::string name(table.name);
  if (name == "ops") return ops_view(connection, files, time, table);
  const std::string facts = stored(connection, files, time, table);
  if (linked && name == "kernel_metrics" && files.tables.contains("profiled_launches"))
    return with_kernel_names(connection, files, time, facts);
  for (const Link& link : kLinks) {
    if (!linked || link.table != name) continue;
    const std::string key(link.key);
    return "SELECT f.*, " + std::string(link.columns) + " FROM (" + facts + ") f LEFT JOIN " +
           std::string(link.derived) + " d ON d." + key + " = f." + key;
  }
  return facts;
}

/// Empty if there is no such member, or not a text.
std::string text_member(const nlohmann::json& node, const char* key) {
  const auto it = node.find(key);
  return it != node.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// Names under which the query knows its tables; such a name as a column is the whole row.
void collect_row_names(const nlohmann::json& node, std::set<std::string>& names) {
  if (node.is_object()) {
    for (const char* key : {"alias", "table_name"}) {
      const bool table = node.contains("table_name") || node.contains("subquery");
      if (table && node.contains(key) && node[key].is_string())
        names.insert(lower(node[key].get<std::string>()));
    }
  }
  if (node.is_structured()) {
    for (const auto& child : node) collect_row_names(child, names);
  }
}

/// Walks the engine's own syntax tree.
bool mentions_links(const nlohmann::json& node, const std::set<std::string>& row_names) {
  const auto any_child = [&] {
    return std::any_of(node.begin(), node.end(),
                       [&](const auto& child) { return mentions_links(child, row_names); });
  };
  if (node.is_array()) return any_child();
  if (!node.is_object()) return false;
  if (text_member(node, "class") == "STAR" || text_member(node, "ref_type") == "NATURAL") return true;
  for (const char* names : {"column_names", "using_columns"}) {
    if (!node.contains(names)) continue;
    for (const auto& name : node[names]) {
      if (!name.is_string()) return true;
      const std::string text = lower(name.get<std::string>());
      if (std::find(std::begin(kDerivedColumns), std::end(kDerivedColumns), text) !=
          std::end(kDerivedColumns))
        return true;
      if (node[names].size() == 1 && row_names.contains(text)) return true;
    }
  }
  return any_child();
}

}  // namespace

std::string derived_folder(const std::string& bundle) {
  return bundle + "/derived/" + kDerivedVersion;
}

Result<RunFiles> run_files(const std::string& bundle) {
  // Every question comes by here: the schema was checked when the document was written, and verify checks it
  // again.
  NL_TRY(const nlohmann::json document, read_run_document_quickly(bundle + "/run.json"));
  RunFiles files{bundle, derived_folder(bundle)};
  if (!path_exists(files.derived + "/complete")) files.derived.clear();
  try {
    for (const auto& clock : document.at("clocks")) {
      files.clocks.push_back({clock.at("kind") == "unix", clock.at("base_unix_ns"),
                              clock.value("resolution_ns", int64_t{1}), clock.value("identity", "")});
    }
    for (const auto& source : document.at("sources")) files.formats.insert(source.at("format"));
    for (const auto& table : document.at("tables")) files.tables[table.at("name")] = table.at("rows");
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorCode::kBadInput,
                 "run.json is damaged: " + bundle + ": " + e.what(),
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

Result<void> create_views(Connection& connection, const RunFiles& files, bool linked,
                          const std::set<std::string>& only) {
  std::set<std::string> wanted = only;
  for (const Link& link : kLinks) {
    if (linked && wanted.contains(std::string(link.table))) wanted.insert(std::string(link.derived));
  }
  const ClockFiles clocks{path_of(files, model::table(model::TableId::tracks)),
                          path_of(files, model::table(model::TableId::clock_fits))};
  NL_TRY(const CommonTime time, CommonTime::read(connection, files.clocks, clocks));
  // Derived tables first: other views refer to them.
  for (const bool derived : {true, false}) {
    for (const auto& table : model::all_tables()) {
      const std::string name(table.name);
      if (is_derived(table) != derived || (!wanted.empty() && !wanted.contains(name))) continue;
      NL_CHECK(
          connection.run("CREATE VIEW " + name + " AS " + view_of(connection, files, time, table, linked)));
    }
  }
  return {};
}

namespace {

/// Table functions that only compute or describe; all others reach for files, settings or the engine itself.
bool is_harmless(const std::string& function) {
  static const std::set<std::string> kHarmless = {"range",
                                                  "generate_series",
                                                  "unnest",
                                                  "repeat",
                                                  "repeat_row",
                                                  "json_each",
                                                  "json_tree",
                                                  "duckdb_columns",
                                                  "duckdb_tables",
                                                  "duckdb_views",
                                                  "duckdb_types",
                                                  "summary",
                                                  "read_parquet",
                                                  "parquet_scan",
                                                  "duckdb_functions",
                                                  "pragma_version",
                                                  "parquet_schema",
                                                  "parquet_metadata",
                                                  "parquet_file_metadata"};
  return kHarmless.contains(function);
}

/// The first table function that is not for users.
std::string refused_function(const nlohmann::json& node) {
  if (!node.is_structured()) return {};
  if (node.is_object() && text_member(node, "type") == "TABLE_FUNCTION" && node.contains("function")) {
    const std::string name = lower(text_member(node["function"], "function_name"));
    if (!is_harmless(name)) return name;
  }
  if (node.is_object() && text_member(node, "class") == "FUNCTION") {
    const std::string name = lower(text_member(node, "function_name"));
    for (const char* writes : {"write_log", "nextval", "setseed"}) {
      if (name == writes) return name;
    }
  }
  for (const auto& child : node) {
    if (std::string name = refused_function(child); !name.empty()) return name;
  }
  return {};
}

bool mentions_catalog(const nlohmann::json& node) {
  if (!node.is_structured()) return false;
  if (node.is_object()) {
    if (lower(text_member(node, "schema_name")) == "information_schema") return true;
    if (lower(text_member(node, "function_name")) == "duckdb_columns") return true;
    if (node.contains("show_type")) return true;
  }
  return std::any_of(node.begin(), node.end(), mentions_catalog);
}

}  // namespace

QuerySyntax examine_query(Connection& connection, const std::string& sql) {
  std::string tree;
  const auto parsed = connection.stream("SELECT json_serialize_sql(" + sql_quoted(sql) + ")::VARCHAR",
                                        [&](const Chunk& chunk) {
                                          if (chunk.size() > 0 && !chunk.is_null(0, 0))
                                            tree = chunk.text(0, 0);
                                          return Result<void>();
                                        });
  QuerySyntax syntax;
  const auto answer = nlohmann::json::parse(tree, nullptr, false);
  if (!parsed || answer.is_discarded() || answer.value("error", true)) return syntax;
  const auto& statements = answer["statements"];
  syntax.is_select = statements.size() == 1;
  syntax.refused = refused_function(statements);
  std::set<std::string> row_names;
  collect_row_names(statements, row_names);
  const bool catalog = mentions_catalog(statements);
  syntax.mentions_links = mentions_links(statements, row_names) || catalog;
  if (!catalog) syntax.tables = row_names;
  return syntax;
}

int64_t remove_derived_left_overs(const std::string& bundle) {
  return remove_abandoned(bundle + "/derived/" + kDerivedAside);
}

std::map<std::string, int64_t> derived_files(const std::string& folder) {
  std::map<std::string, int64_t> files;
  const Result<std::string> mark = read_file(folder + "/complete");
  std::istringstream lines(mark ? *mark : std::string());
  std::string name;
  int64_t bytes = 0;
  while (lines >> name >> bytes) files[name] = bytes;
  return files;
}

}  // namespace nl::store
