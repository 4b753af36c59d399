#include "store/query_syntax.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "model/tables.h"

namespace nl::store {
namespace {

using nlohmann::json;

/// Columns that only linked views fill.
constexpr std::string_view kDerivedColumns[] = {"parent_id", "depth", "op_id", "launch_span_id",
                                                "kernel_name"};

/// Empty if there is no such member or it is not a text.
std::string text_member(const json& node, const char* key) {
  const auto it = node.find(key);
  return it != node.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// The names by which the query refers to its tables. Used as a column, such a name stands for the whole row.
void collect_row_names(const json& node, std::set<std::string>& names) {
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

/// Whether the query may use a derived column, by the engine's own syntax tree. In doubt the answer is yes:
/// `*`, NATURAL joins and whole rows include them.
bool mentions_links(const json& node, const std::set<std::string>& row_names) {
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

/// Table functions that only compute, or that list columns. All others can reach files, settings or the
/// engine itself; the views read the files of the run, so nobody needs read_parquet.
bool is_table_function_for_users(const std::string& name) {
  static const std::set<std::string> kNames = {
      "range",     "generate_series", "unnest",         "repeat",       "repeat_row",      "json_each",
      "json_tree", "summary",         "duckdb_columns", "duckdb_types", "duckdb_functions"};
  return kNames.contains(name);
}

/// Tables of the engine's catalog that users may ask: they list tables and columns, and no paths.
bool is_listing(const std::string& schema, const std::string& table) {
  return schema == "information_schema" && (table == "tables" || table == "columns" || table == "schemata");
}

/// Finds what is not for users in a statement.
class Judge {
 public:
  explicit Judge(const json& statements) { collect_named_queries(statements); }

  /// The first reason to refuse the statement; empty if there is none.
  std::string refused(const json& node) const {
    if (!node.is_structured()) return {};
    if (node.is_object()) {
      if (std::string why = refused_here(node); !why.empty()) return why;
    }
    for (const auto& [key, child] : node.items()) {
      const bool is_table_function = key == "function" && text_member(node, "type") == "TABLE_FUNCTION";
      if (std::string why = is_table_function ? refused_arguments(child) : refused(child); !why.empty())
        return why;
    }
    return {};
  }

 private:
  /// A common table expression must not have the name of a table of the catalog: where the expression is out
  /// of scope, the name would mean that table.
  void collect_named_queries(const json& node) {
    if (!node.is_structured()) return;
    if (node.is_object() && node.contains("cte_map")) {
      for (const json& entry : node["cte_map"].value("map", json::array()))
        named_queries_.insert(lower(text_member(entry, "key")));
    }
    for (const json& child : node) collect_named_queries(child);
  }

  std::string refused_here(const json& node) const {
    const std::string type = text_member(node, "type"), kind = text_member(node, "class");
    if (type == "BASE_TABLE") return refused_table(node);
    if (type == "SHOW_REF") return refused_listing(node);
    if (type == "TABLE_FUNCTION" && node.contains("function")) {
      const std::string name = lower(text_member(node["function"], "function_name"));
      return is_table_function_for_users(name) ? "" : no_function(name);
    }
    if (kind == "FUNCTION" || kind == "WINDOW") {
      const std::string name = lower(text_member(node, "function_name"));
      return is_function_for_users(name) ? "" : no_function(name);
    }
    return {};
  }

  std::string refused_arguments(const json& table_function) const {
    return table_function.contains("children") ? refused(table_function["children"]) : std::string();
  }

  std::string refused_table(const json& node) const {
    const std::string schema = lower(text_member(node, "schema_name"));
    const std::string name = lower(text_member(node, "table_name"));
    if (is_listing(schema, name)) return {};
    const bool is_plain = schema.empty() || schema == "main";
    if (is_plain && model::find_table(name) != nullptr) return {};
    if (is_plain && named_queries_.contains(name) && !is_catalog_name(name)) return {};
    return "a run has no table " + (schema.empty() ? "" : schema + ".") + name;
  }

  /// SHOW TABLES, DESCRIBE and SUMMARIZE of a query; other lists tell of the engine.
  static std::string refused_listing(const json& node) {
    const bool of_query = node.contains("query") && !node["query"].is_null();
    const std::string list = text_member(node, "table_name");
    return of_query || list == "\"tables\"" ? "" : "this list is not for users: " + list;
  }

  static bool is_catalog_name(const std::string& name) {
    constexpr std::string_view kBeginnings[] = {"duckdb_", "pragma_", "pg_", "sqlite_"};
    return std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
  }

  static std::string no_function(const std::string& name) {
    return "the function " + name + " is not allowed here";
  }

  std::set<std::string> named_queries_;
};

/// Queries of the catalog list every table and column, so all views must exist, with their derived columns.
bool mentions_catalog(const json& node) {
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
  QuerySyntax syntax;
  if (sql.find('\0') != std::string::npos) {
    syntax.refused = "the statement has a NUL character";
    return syntax;
  }
  std::string tree;
  const auto parsed = connection.stream("SELECT json_serialize_sql(" + sql_quoted(sql) + ")::VARCHAR",
                                        [&](const Chunk& chunk) {
                                          if (chunk.size() > 0 && !chunk.is_null(0, 0))
                                            tree = chunk.text(0, 0);
                                          return Result<void>();
                                        });
  const auto answer = json::parse(tree, nullptr, false);
  if (!parsed || answer.is_discarded() || answer.value("error", true)) return syntax;
  const auto& statements = answer["statements"];
  syntax.is_select = statements.size() == 1;
  syntax.refused = Judge(statements).refused(statements);
  std::set<std::string> row_names;
  collect_row_names(statements, row_names);
  const bool catalog = mentions_catalog(statements);
  syntax.mentions_links = mentions_links(statements, row_names) || catalog;
  if (!catalog) syntax.tables = row_names;
  return syntax;
}

}  // namespace nl::store
