// Tables of nsys stats and the telemetry file of the corpus against values that were computed without
// NeuroLens from the database of the same report (GOLDEN_NSIGHT.json).

#include "corpus.h"
#include "ingest/adapter.h"

namespace nl::golden {
namespace {

json nsys_stats_values() {
  return nsight_values().value("nsys", json::object());
}

std::vector<std::string> stats_reports() {
  std::vector<std::string> names;
  const json golden = nsys_stats_values();
  for (const auto& [name, values] : golden.items()) names.push_back(name);
  return names.empty() ? std::vector<std::string>{"absent"} : names;
}

class NsysStats : public CorpusFile {
 protected:
  json golden() const { return nsys_stats_values()[GetParam()]; }
  /// All tables of the report that are there.
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const char* report :
         {"cudaapisum", "gpukernsum", "gpumemsizesum", "gpumemtimesum", "gputrace", "nvtxsum"}) {
      const std::string path = corpus_folder() + "/nsys/" + GetParam() + "." + report + ".csv";
      if (read_file(path)) found.push_back(path);
    }
    return found;
  }
};

std::string of_report(const char* report) {
  return " FROM summaries WHERE report = '" + std::string(report) + "'";
}

std::string quoted(const json& text) {
  return store::sql_quoted(text.get<std::string>());
}

void expect_kernels(Imported& run, const json& golden) {
  const std::string sums = of_report("cuda_gpu_kern_sum");
  EXPECT_EQ(run.number("SELECT sum(total)::BIGINT" + sums), golden["total_ns"]);
  EXPECT_EQ(run.number("SELECT sum(calls)::BIGINT" + sums), golden["count"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels"), golden["count"]);
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM kernels"), golden["total_ns"]);
  for (const auto& kernel : golden["per_kernel"]) {
    const std::string sum = sums + " AND name = " + quoted(kernel["name"]);
    EXPECT_EQ(run.number("SELECT sum(total)::BIGINT" + sum), kernel["ns"]) << kernel["name"];
    EXPECT_EQ(run.number("SELECT sum(calls)::BIGINT" + sum), kernel["count"]);
    EXPECT_EQ(run.number("SELECT min(minimum)::BIGINT" + sum), kernel["min_ns"]);
    EXPECT_EQ(run.number("SELECT max(maximum)::BIGINT" + sum), kernel["max_ns"]);
    const std::string trace = " FROM kernels WHERE name = " + quoted(kernel["name"]);
    EXPECT_EQ(run.number("SELECT count(*)" + trace), kernel["count"]);
    EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT" + trace), kernel["ns"]);
  }
}

void expect_copies(Imported& run, const json& golden) {
  const json& copies = golden["memcpy"];
  for (const auto& [kind, values] : copies["by_kind"].items()) {
    const size_t to = kind.find("-to-");
    if (to == std::string::npos) continue;
    const std::string letters = {kind[0], 't', 'o', kind[to + 4]};
    const std::string name = " AND name = '[CUDA memcpy " + letters + "]'";
    const std::string times = of_report("cuda_gpu_mem_time_sum") + name;
    EXPECT_EQ(run.number("SELECT sum(total)::BIGINT" + times), values["ns"]) << kind;
    EXPECT_EQ(run.number("SELECT sum(calls)::BIGINT" + times), values["count"]);
    // Megabytes with three decimals.
    const std::string sizes = of_report("cuda_gpu_mem_size_sum") + name + " AND unit = 'B'";
    EXPECT_NEAR(static_cast<double>(run.number("SELECT sum(total)::BIGINT" + sizes)),
                values["bytes"].get<double>(), 501);
    EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM copies WHERE kind = 'memcpy'" + name),
              values["ns"]);
  }
  EXPECT_EQ(run.number("SELECT count(*) FROM copies WHERE kind = 'memcpy'"), copies.value("count", 0));
  EXPECT_EQ(run.number("SELECT count(bytes) FROM copies"), 0) << "rounded sizes are no bytes";
  const json sets = golden.value("memset", json::object());
  EXPECT_EQ(run.number("SELECT count(*) FROM copies WHERE kind = 'memset'"), sets.value("count", 0));
  EXPECT_EQ(run.number("SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM copies WHERE kind = 'memset'"),
            sets.value("ns", 0));
}

/// The tables of one report are found to be one run by their names.
TEST_P(NsysStats, EqualsTheDatabase) {
  const json golden = this->golden();
  for (const auto& path : files()) {
    const auto source = ingest::open_file(path);
    const auto chosen = ingest::choose_adapter((*source)->head(), "x.bin", "");
    ASSERT_TRUE(chosen) << path;
    EXPECT_EQ(chosen->adapter->format, "nsys-stats");
  }
  Imported run(temp_.path(), files());
  const auto& counts = run.document["capture"]["counts"];
  EXPECT_EQ(counts["seen"], counts["stored"]);
  if (golden.contains("kernels")) expect_kernels(run, golden["kernels"]);
  if (golden.contains("memcpy")) expect_copies(run, golden);
  if (golden.contains("cuda_api")) {
    const std::string sums = of_report("cuda_api_sum");
    EXPECT_EQ(run.number("SELECT sum(total)::BIGINT" + sums), golden["cuda_api"]["ns"]);
    EXPECT_EQ(run.number("SELECT sum(calls)::BIGINT" + sums), golden["cuda_api"]["count"]);
  }
  for (const auto& range : golden.value("nvtx", json::object()).value("ranges_59_60", json::array())) {
    EXPECT_EQ(run.number("SELECT sum(total)::BIGINT" + of_report("nvtx_sum") +
                         " AND style = 'PushPop' AND name LIKE '%' || " + quoted(range["text"])),
              range["ns"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, NsysStats, testing::ValuesIn(stats_reports()), test_name);

class TelemetryFile : public CorpusFile {};

TEST_P(TelemetryFile, EqualsTheIndependentValues) {
  Imported run(temp_.path(), {path()});
  EXPECT_EQ(run.document["capture"]["counts"]["stored"], expected()["rows"]);
  EXPECT_EQ(run.document["clocks"][0]["kind"], "unix");
  EXPECT_EQ(run.number("SELECT count(*) FROM tracks"), 8);
  EXPECT_EQ(run.number("SELECT min(start_ns) FROM counters"), 1757323610000000000);
  EXPECT_EQ(run.number("SELECT count(*) FROM counters WHERE name = 'power.draw' AND unit = 'W'"),
            expected()["rows"]);
  EXPECT_EQ(
      run.number("SELECT DISTINCT value::BIGINT FROM counters WHERE name = 'memory.total' AND unit = 'B'"),
      int64_t{81559} * 1024 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Corpus, TelemetryFile, testing::ValuesIn(files_of("telemetry/")), test_name);

}  // namespace
}  // namespace nl::golden
