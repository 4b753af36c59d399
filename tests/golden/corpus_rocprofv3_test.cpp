// Tables of rocprofv3 in the corpus against values that were computed without NeuroLens (GOLDEN.json).

#include "analyze/run_analysis.h"
#include "corpus.h"
#include "ingest/adapter.h"

namespace nl::golden {
namespace {

std::vector<std::string> tables() {
  std::vector<std::string> files;
  for (const auto& file : files_of("rocprof/")) {
    if (file == "absent" || file.find(".csv") != std::string::npos) files.push_back(file);
  }
  return files;
}

class Rocprofv3 : public CorpusFile {
 protected:
  bool is(const char* table) const { return GetParam().find(table) != std::string::npos; }
};

/// rows, distinct, total_ns and top of a trace.
void expect_trace(Imported& run, const json& expected, const std::string& table) {
  run.expect_group({{"count", expected["rows"]},
                    {"total_ns", expected["total_ns"]},
                    {"distinct_names", expected["distinct"]},
                    {"top", expected["top"]}},
                   table);
}

void expect_counters(Imported& run, const json& expected) {
  EXPECT_EQ(run.number("SELECT count(*) FROM profiled_launches"), expected["dispatches"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernel_metrics"), expected["rows"]);
  for (const auto& [name, sum] : expected["counter_sums"].items()) {
    const std::string of = " FROM kernel_metrics WHERE metric = " + store::sql_quoted(name);
    const double millionths = static_cast<double>(run.number("SELECT round(sum(value) * 1e6)::BIGINT" + of));
    EXPECT_NEAR(millionths, sum.get<double>() * 1e6, 1) << name;
  }
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels"), 0);
}

TEST_P(Rocprofv3, EqualsTheIndependentValues) {
  const json values = expected();
  Imported run(temp_.path(), {path()});
  ASSERT_FALSE(run.document.is_null());
  EXPECT_EQ(run.document["sources"][0]["format"], "rocprofv3");
  EXPECT_EQ(run.document["capture"]["counts"]["seen"], values["rows"]);
  EXPECT_EQ(run.document["capture"]["counts"]["stored"], values["rows"]);
  EXPECT_EQ(run.document["clocks"][0]["kind"], "relative");
  if (is("counter_collection")) return expect_counters(run, values);
  if (is("kernel_trace")) return expect_trace(run, values, "kernels");
  if (is("memory_copy_trace")) return expect_trace(run, values, "copies");
  if (is("api_trace")) return expect_trace(run, values, "spans");
  EXPECT_EQ(run.number("SELECT sum(total)::BIGINT FROM summaries"), values["total_ns"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM summaries WHERE report = 'hip_api_stats'"), values["rows"]);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Rocprofv3, testing::ValuesIn(tables()), test_name);

/// The kernels and the calls of one process, from two files.
class RocprofProcess : public CorpusFile {};

TEST_P(RocprofProcess, CallsAndKernelsAreJoined) {
  const std::string stem = corpus_folder() + "/rocprof/" + GetParam();
  const bool is_plain = path_exists(stem + "_kernel_trace.csv");
  Imported run(temp_.path(),
               {stem + "_kernel_trace.csv" + (is_plain ? "" : ".gz"), stem + "_hip_api_trace.csv"});
  ASSERT_FALSE(run.document.is_null());
  EXPECT_EQ(run.document["clocks"].size(), 1) << "one process has one clock";
  const int64_t joined = run.number("SELECT count(launch_span_id) FROM kernels");
  EXPECT_GT(joined, 0);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels k JOIN spans s ON s.correlation_id = k.correlation_id"),
            joined);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels k JOIN spans s ON s.span_id = k.launch_span_id WHERE "
                       "s.correlation_id != k.correlation_id OR s.start_ns > k.start_ns"),
            0);
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels WHERE grid_x * block_x < 1"), 0);
}

std::vector<std::string> processes() {
  if (golden_values().empty()) return {"absent"};
  return {"jimw_gfx1151_llamacpp_decode", "jimw_gfx1151_llamacpp_prefill"};
}

INSTANTIATE_TEST_SUITE_P(Corpus, RocprofProcess, testing::ValuesIn(processes()), test_name);

}  // namespace
}  // namespace nl::golden
