#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "store/ledger.h"
#include "store/query_syntax.h"
#include "store/run_document.h"
#include "store/run_views.h"
#include "store/user_query.h"

namespace nl::store {
namespace {

using nlohmann::json;

json sample_document() {
  model::RunInfo info;
  info.clocks.push_back({0, "unix", 0, 1});
  return make_run_document({{"trace", std::string(64, 'a'), 10, 20, "gzip", "kineto", 1}}, json::object(),
                           info, {});
}

TEST(RunDocument, FollowsTheSchema) {
  EXPECT_TRUE(validate_run_document(sample_document()));
}

TEST(RunDocument, SchemaIsStrictOutsideExtensions) {
  json document = sample_document();
  document["extensions"]["any"] = {{"thing", 1}};
  EXPECT_TRUE(validate_run_document(document));
  document["surprise"] = 1;
  EXPECT_EQ(validate_run_document(document).error().code, ErrorCode::kBadInput);
}

TEST(RunDocument, ErrorsNameTheirPlace) {
  json document = sample_document();
  document["software"]["backend"] = "abacus";
  const auto refused = validate_run_document(document);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("/software/backend"), std::string::npos) << refused.error().message;
  for (const char* key : {"run_id", "sources", "clocks", "capture", "tables"}) {
    document = sample_document();
    document.erase(key);
    EXPECT_FALSE(validate_run_document(document)) << key;
  }
}

TEST(RunId, DependsOnRolesAndContentOnly) {
  SourceFile a{"trace", std::string(64, '1'), 1, 1, "none", "kineto", 1};
  SourceFile b{"layers", std::string(64, '2'), 1, 1, "none", "trtexec", 1};
  const json none = json::object();
  EXPECT_EQ(run_id_of({a, b}, none), run_id_of({b, a}, none));
  SourceFile other_version = a;
  other_version.adapter_version = 9;
  EXPECT_EQ(run_id_of({a}, none), run_id_of({other_version}, none));
  EXPECT_NE(run_id_of({a}, none), run_id_of({b}, none));
  EXPECT_NE(run_id_of({a}, none), run_id_of({a}, json{{"format", "x"}}));
}

class Syntax : public testing::Test {
 protected:
  QuerySyntax of(const std::string& sql) {
    auto engine = Engine::open({1, 100, ""}).value();
    auto connection = engine->connect().value();
    return examine_query(connection, sql);
  }
};

TEST_F(Syntax, LinksAreJoinedOnlyWhenAQueryCanSeeThem) {
  for (const char* sql :
       {"SELECT name, count(*), sum(dur_ns) FROM kernels GROUP BY name", "SELECT count(*) FROM spans"}) {
    EXPECT_FALSE(of(sql).mentions_links) << sql;
  }
  for (const char* sql :
       {"SELECT * FROM kernels", "SELECT k.* FROM kernels k", "SELECT OP_ID FROM kernels",
        "SELECT k FROM kernels k", "SELECT kernels FROM kernels", "FROM spans",
        "SELECT 1 FROM kernels NATURAL JOIN spans", "SELECT 1 FROM kernels JOIN spans USING (op_id)",
        "SELECT COLUMNS('.*') FROM kernels", "SELECT 1 FROM spans WHERE depth > 2", "SUMMARIZE kernels",
        "WITH k AS (SELECT * FROM kernels) SELECT name FROM k"}) {
    EXPECT_TRUE(of(sql).mentions_links) << sql;
  }
}

TEST_F(Syntax, OnlyHarmlessTableFunctionsAreLet) {
  EXPECT_EQ(of("SELECT * FROM range(3), unnest([1])").refused, "");
  for (const char* name :
       {"read_csv", "read_text", "read_parquet", "parquet_metadata", "glob", "enable_logging",
        "json_execute_serialized_sql", "query", "duckdb_views", "duckdb_settings"}) {
    EXPECT_EQ(of("SELECT (SELECT count(*) FROM " + std::string(name) + "('x'))").refused,
              "the function " + std::string(name) + " is not allowed here");
  }
  EXPECT_FALSE(of("COPY (SELECT 1) TO 'x'").is_select);
  EXPECT_FALSE(of("SELECT 1; SELECT 2").is_select);
}

TEST_F(Syntax, FunctionsAreOfAList) {
  for (const char* sql :
       {"SELECT count(*), sum(dur_ns) FILTER (WHERE dur_ns > 0) OVER (PARTITION BY name) FROM kernels",
        "SELECT x + 1, -x, x::VARCHAR || 'a', x[1], [y * 2 for y in x], {'a': 1}.a, MAP {1: 2} FROM kernels",
        "SELECT name LIKE 'a%', name SIMILAR TO 'b', name ~ 'c', name NOT ILIKE 'd' ESCAPE '!' FROM spans",
        "SELECT quantile_cont(dur_ns, [0.5, 0.99]), median(dur_ns), arg_max(name, dur_ns) FROM kernels",
        "SELECT date_trunc('day', now()), extract(hour FROM now()), interval 3 days, current_date",
        "SELECT args->>'$.x', json_extract(args, 'y'), args->'z' FROM spans",
        "FROM spans UNPIVOT (v FOR n IN (name))",
        "SELECT list_transform([1], x -> x + 1), coalesce(NULL, 1), nullif(1, 2), if(true, 1, 2), "
        "greatest(1, 2)",
        "SELECT row_number() OVER (ORDER BY start_ns), lag(name) OVER (ORDER BY start_ns) FROM spans"}) {
    const QuerySyntax syntax = of(sql);
    EXPECT_TRUE(syntax.is_select) << sql;
    EXPECT_EQ(syntax.refused, "") << sql;
  }
  for (const char* call :
       {"write_log('x')", "current_setting('allowed_paths')", "getvariable('x')", "pg_get_viewdef(1)",
        "nextval('x')", "main.current_setting('x')", "system.main.current_setting('x')", "sleep_ms(1)",
        "json_serialize_sql('x')", "count(current_setting('x')) OVER ()"}) {
    EXPECT_NE(of("SELECT (SELECT " + std::string(call) + ")").refused, "") << call;
  }
}

TEST_F(Syntax, TablesAreThoseOfTheRun) {
  for (const char* sql :
       {"FROM kernels", "FROM main.Spans", "FROM information_schema.columns", "SHOW TABLES",
        "DESCRIBE kernels", "WITH a AS (SELECT 1), b AS (FROM a) FROM b", "SUMMARIZE SELECT name FROM spans",
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t WHERE x < 9) FROM t"}) {
    EXPECT_EQ(of(sql).refused, "") << sql;
  }
  for (const char* sql :
       {"FROM duckdb_settings", "FROM pg_settings", "FROM pg_catalog.pg_views",
        "FROM information_schema.views", "FROM sqlite_master", "FROM pragma_database_list",
        "FROM '/etc/passwd'", "FROM 'x.parquet'", "SHOW DATABASES", "SHOW ALL TABLES", "FROM nothing",
        "DESCRIBE duckdb_views", "FROM other.kernels",
        "FROM duckdb_views WHERE EXISTS (WITH duckdb_views AS (SELECT 1) FROM duckdb_views)"}) {
    EXPECT_NE(of(sql).refused, "") << sql;
  }
  EXPECT_NE(of(std::string("SELECT 'a") + '\0' + "b'").refused, "");
}

TEST(Ledger, StagingVanishesUnlessPublished) {
  const std::string folder = testing::TempDir() + "neurolens-ledger-" + std::to_string(::getpid());
  auto ledger = Ledger::open(folder).value();
  {
    const auto staging = ledger.new_staging().value();
    EXPECT_TRUE(path_exists(staging.bundle()));
    EXPECT_EQ(ledger.collect_garbage(false).value().stale_stagings, 0) << "in use";
  }
  EXPECT_TRUE(list_folder(folder + "/staging").empty());
  EXPECT_EQ(ledger.count().value(), 0);
  EXPECT_EQ(ledger.latest(0).error().code, ErrorCode::kNotFound);
  remove_tree(folder);
}

}  // namespace
}  // namespace nl::store
