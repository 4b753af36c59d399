// Nsight Systems exports of the corpus against values that were computed without NeuroLens: GOLDEN.json and
// GOLDEN_NSIGHT.json.

#include "corpus.h"

namespace nl::golden {
namespace {

json nsys_values() {
  return nsight_values().value("nsys", json::object());
}

std::string named(const json& name) {
  return " WHERE name = " + store::sql_quoted(name.get<std::string>());
}

int64_t sum_ns(Imported& run, const std::string& from) {
  return run.number("SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM " + from);
}

/// Time in which a kernel ran, each moment once.
int64_t busy_union_ns(Imported& run) {
  return run.number(
      "SELECT coalesce(sum(greatest(0, start_ns + dur_ns - greatest(start_ns, coalesce(before, start_ns)))), "
      "0)::BIGINT FROM (SELECT start_ns, dur_ns, max(start_ns + dur_ns) OVER (ORDER BY start_ns, dur_ns ROWS "
      "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM kernels)");
}

/// Kernels whose launch is among the runtime calls of their own process.
constexpr char kLaunched[] =
    "SELECT count(DISTINCT k.kernel_id) FROM kernels k JOIN tracks kt ON kt.track_id = k.track_id JOIN spans "
    "s ON "
    "s.correlation_id = k.correlation_id AND s.kind = 'runtime' JOIN tracks st ON st.track_id = s.track_id "
    "AND "
    "st.id_scope = kt.id_scope";

/// Kernels that were given a launch of another process.
constexpr char kAcross[] =
    "SELECT count(*) FROM kernel_links l JOIN kernels k ON k.kernel_id = l.kernel_id JOIN spans s ON "
    "s.span_id = "
    "l.launch_span_id JOIN tracks kt ON kt.track_id = k.track_id JOIN tracks st ON st.track_id = s.track_id "
    "WHERE "
    "kt.process_id <> st.process_id";

void expect_all_stored(Imported& run) {
  const auto& counts = run.document["capture"]["counts"];
  for (const auto& [reason, count] : counts["dropped"].items()) {
    EXPECT_TRUE(reason.starts_with("no_table_for_")) << reason << " " << count;
  }
  EXPECT_FALSE(run.document["capture"]["health"].contains("time_out_of_session"));
  EXPECT_FALSE(run.document["capture"]["health"].contains("name_missing"));
}

/// Every row of a table of records was seen.
void expect_records(Imported& run, const json& tables) {
  const auto& seen = run.document["capture"]["records_by_category"];
  int64_t sum = 0;
  for (const auto& [table, rows] : tables.items()) {
    const bool records = table.starts_with("CUPTI_") || table.ends_with("_EVENTS") || table == "OSRT_API" ||
                         table == "PROFILER_OVERHEAD";
    if (!records || rows == 0) continue;
    EXPECT_EQ(seen.value(table, int64_t{0}), rows) << table;
    sum += rows.get<int64_t>();
  }
  EXPECT_EQ(run.document["capture"]["counts"]["seen"], sum);
}

// ---- GOLDEN.json

class Nsys : public CorpusFile {};

TEST_P(Nsys, EqualsTheIndependentValues) {
  const json golden = expected();
  Imported run(temp_.path(), {path()});
  expect_all_stored(run);
  expect_records(run, golden["rows"]);
  EXPECT_EQ(run.document["sources"][0]["tool_version"], golden["export_meta"]["EXPORT_PRODUCT_VERSION"]);
  EXPECT_EQ(run.document["software"]["versions"]["nsys_export_schema"],
            golden["export_meta"]["EXPORT_SCHEMA_VERSION"]);
  EXPECT_EQ(run.document["clocks"][0]["kind"], "unix");
  if (golden.contains("gpus")) {
    EXPECT_EQ(run.document["hardware"]["devices"][0]["name"], golden["gpus"][0]);
  }
  for (const auto& call : golden.value("runtime_top", json::array())) {
    const std::string of_call = "spans" + named(call["name"]) + " AND kind = 'runtime'";
    EXPECT_EQ(run.number("SELECT count(*) FROM " + of_call), call["count"]);
    EXPECT_EQ(sum_ns(run, of_call), call["total_ns"]);
  }
}

TEST_P(Nsys, HasTheKernelsOfEachDevice) {
  const json golden = expected();
  if (!golden.contains("kernels")) GTEST_SKIP() << "does not apply: no kernels";
  const auto& kernels = golden["kernels"];
  Imported run(temp_.path(), {path()});
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels"), kernels["count"]);
  EXPECT_EQ(sum_ns(run, "kernels"), kernels["total_ns"]);
  EXPECT_EQ(run.number("SELECT count(DISTINCT name) FROM kernels"), kernels["distinct_demangled"]);
  const int64_t base = run.document["clocks"][0]["base_unix_ns"];
  EXPECT_EQ(run.number("SELECT min(start_ns) FROM kernels") - base, kernels["first_start"]);
  EXPECT_EQ(run.number("SELECT max(start_ns + dur_ns) FROM kernels") - base, kernels["last_end"]);
  EXPECT_EQ(run.number(kLaunched), kernels["with_runtime_launch"]);
  EXPECT_EQ(run.number("SELECT count(launch_span_id) FROM kernel_links"), kernels["with_runtime_launch"]);
  EXPECT_EQ(run.number(kAcross), 0);
  EXPECT_EQ(run.number("SELECT count(DISTINCT id_scope) FROM tracks"), 2);
  for (const auto& [device, expected] : kernels["by_device"].items()) {
    EXPECT_EQ(run.number("SELECT count(*) FROM kernels WHERE device = " + device), expected["count"]);
    EXPECT_EQ(sum_ns(run, "kernels WHERE device = " + device), expected["total_ns"]);
  }
  for (const auto& top : kernels["top"]) {  // the names are cut off there
    const std::string of_kernel =
        "kernels WHERE starts_with(name, " + store::sql_quoted(top["name"].get<std::string>()) +
        ") AND coalesce(short_name, name) = " + store::sql_quoted(top["short"].get<std::string>());
    EXPECT_EQ(run.number("SELECT count(*) FROM " + of_kernel), top["count"]);
    EXPECT_EQ(sum_ns(run, of_kernel), top["total_ns"]);
  }
}

TEST_P(Nsys, HasTheCopiesOfEachKind) {
  const json golden = expected();
  if (!golden.contains("memcpy")) GTEST_SKIP() << "does not apply: no copies";
  Imported run(temp_.path(), {path()});
  for (const auto& [kind, expected] : golden["memcpy"].items()) {
    const char* const words = kind == "1" ? "HtoD" : kind == "2" ? "DtoH" : "DtoD";
    const std::string of_kind = std::string("copies WHERE contains(name, '") + words + "')";
    EXPECT_EQ(run.number("SELECT count(*) FROM " + of_kind), expected["count"]);
    EXPECT_EQ(run.number("SELECT sum(bytes)::BIGINT FROM " + of_kind), expected["bytes"]);
    EXPECT_EQ(sum_ns(run, of_kind), expected["total_ns"]);
  }
  EXPECT_EQ(run.number("SELECT count(*) FROM copies WHERE kind = 'memset'"),
            golden["rows"]["CUPTI_ACTIVITY_KIND_MEMSET"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM syncs"), golden["rows"]["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM spans WHERE kind IN ('annotation', 'op')"),
            golden["rows"]["NVTX_EVENTS"]);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Nsys, testing::ValuesIn(files_of("nsys/")), test_name);

// ---- GOLDEN_NSIGHT.json

class NsysOld : public CorpusFile {
 protected:
  json expected() const { return nsys_values()[GetParam()]; }
  std::string path() const { return corpus_folder() + "/" + expected()["file"].get<std::string>(); }
};

std::vector<std::string> old_exports() {
  std::vector<std::string> names;
  const json golden = nsys_values();
  for (const auto& [name, values] : golden.items()) names.push_back(name);
  return names.empty() ? std::vector<std::string>{"absent"} : names;
}

TEST_P(NsysOld, EqualsTheIndependentValues) {
  const json golden = expected();
  Imported run(temp_.path(), {path()});
  expect_all_stored(run);
  expect_records(run, golden["tables"]);
  EXPECT_EQ("nsys " + run.document["sources"][0]["tool_version"].get<std::string>(), golden["exported_by"]);
  EXPECT_EQ(run.document["software"]["versions"]["nsys_export_schema"], golden["schema"]);
  EXPECT_EQ(run.document["clocks"][0]["kind"],
            golden["tables"].contains("TARGET_INFO_SESSION_START_TIME") ? "unix" : "relative");
  json gpus = json::array();
  for (const auto& device : run.document["hardware"]["devices"]) gpus.push_back(device["name"]);
  for (const auto& name : golden["gpus"]) EXPECT_NE(std::find(gpus.begin(), gpus.end(), name), gpus.end());
  EXPECT_GE(gpus.size(), golden["gpus"].size());
  if (golden.contains("cuda_api")) {
    EXPECT_EQ(run.number("SELECT count(*) FROM spans WHERE kind = 'runtime'"), golden["cuda_api"]["count"]);
    EXPECT_EQ(sum_ns(run, "spans WHERE kind = 'runtime'"), golden["cuda_api"]["ns"]);
    for (const auto& top : golden["cuda_api"]["top"]) {
      EXPECT_EQ(run.number("SELECT count(*) FROM spans" + named(top["name"])), top["count"]);
      EXPECT_EQ(sum_ns(run, "spans" + named(top["name"])), top["ns"]);
    }
  }
}

TEST_P(NsysOld, HasTheKernels) {
  const json golden = expected();
  if (!golden.contains("kernels")) GTEST_SKIP() << "does not apply: no kernels";
  const auto& kernels = golden["kernels"];
  Imported run(temp_.path(), {path()});
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels"), kernels["count"]);
  EXPECT_EQ(sum_ns(run, "kernels"), kernels["total_ns"]);
  EXPECT_EQ(busy_union_ns(run), kernels["busy_union_ns"]);
  EXPECT_EQ(run.number("SELECT count(DISTINCT name) FROM kernels"), kernels["distinct_demangled"]);
  EXPECT_EQ(run.number("SELECT count(DISTINCT coalesce(short_name, name)) FROM kernels"),
            kernels["distinct_short"]);
  for (const auto& one : kernels["per_kernel"]) {
    const std::string of_kernel = "kernels" + named(one["name"]);
    EXPECT_EQ(run.number("SELECT count(*) FROM " + of_kernel), one["count"]) << one["name"];
    EXPECT_EQ(sum_ns(run, of_kernel), one["ns"]) << one["name"];
    EXPECT_EQ(run.number("SELECT min(dur_ns) FROM " + of_kernel), one["min_ns"]) << one["name"];
    EXPECT_EQ(run.number("SELECT max(dur_ns) FROM " + of_kernel), one["max_ns"]) << one["name"];
  }
}

TEST_P(NsysOld, HasCopiesAndRanges) {
  const json golden = expected();
  Imported run(temp_.path(), {path()});
  for (const char* kind : {"memcpy", "memset"}) {
    if (!golden.contains(kind)) continue;
    const std::string of_kind = std::string("copies WHERE kind = '") + kind + "'";
    EXPECT_EQ(run.number("SELECT count(*) FROM " + of_kind), golden[kind]["count"]);
    EXPECT_EQ(run.number("SELECT sum(bytes)::BIGINT FROM " + of_kind), golden[kind]["bytes"]);
    EXPECT_EQ(sum_ns(run, of_kind), golden[kind]["ns"]);
  }
  const json kinds = golden.value("memcpy", json::object()).value("by_kind", json::object());
  for (const auto& [kind, one] : kinds.items()) {
    const char* const words = kind == "Host-to-Device" ? "HtoD" : kind == "Device-to-Host" ? "DtoH" : "DtoD";
    const std::string of_kind = std::string("copies WHERE contains(name, '") + words + "')";
    EXPECT_EQ(run.number("SELECT count(*) FROM " + of_kind), one["count"]) << kind;
    EXPECT_EQ(run.number("SELECT sum(bytes)::BIGINT FROM " + of_kind), one["bytes"]) << kind;
    EXPECT_EQ(sum_ns(run, of_kind), one["ns"]) << kind;
  }
  const json ranges = golden.value("nvtx", json::object()).value("ranges_59_60", json::array());
  EXPECT_EQ(run.number("SELECT count(*) FROM spans WHERE kind = 'annotation'"), ranges.size());
  for (const auto& range : ranges) {
    EXPECT_EQ(sum_ns(run, "spans" + named(range["text"]) + " AND kind = 'annotation'"), range["ns"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, NsysOld, testing::ValuesIn(old_exports()), test_name);

}  // namespace
}  // namespace nl::golden
