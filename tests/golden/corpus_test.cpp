// Every Kineto trace of the corpus against values that were computed without NeuroLens: counts by phase and
// category, counts, sums and names of kernels, copies, runtime calls and ops, launches found.

#include "corpus.h"

#include "base/sha256.h"
#include "ingest/adapter.h"
#include "store/bundle_writer.h"

namespace nl::golden {
namespace {

class Corpus : public CorpusFile {};

TEST_P(Corpus, EqualsTheIndependentValues) {
  const json expected = golden_values().at(GetParam());
  Imported run(temp_.path(), {path()});
  const auto& capture = run.document["capture"];
  EXPECT_EQ(capture["counts"]["seen"], expected["events"]);
  EXPECT_TRUE(capture["counts"]["dropped"].empty());
  EXPECT_EQ(capture["records_by_phase"], expected["ph"]);
  json categories = json::object();
  for (const auto& [category, n] : expected["x_by_cat"].items())
    categories[category == "None" ? "(none)" : category] = n;
  EXPECT_EQ(capture["records_by_category"], categories);
  run.expect_group(expected["kernels"], "kernels");
  run.expect_group(expected["memcpy"], "copies WHERE kind = 'memcpy'");
  run.expect_group(expected["memset"], "copies WHERE kind = 'memset'");
  run.expect_group(expected["runtime"], "spans WHERE lower(category) IN ('cuda_runtime', 'runtime')");
  run.expect_group(expected["cpu_ops"], "ops");
  if (expected.contains("kernels_with_launch")) {
    EXPECT_EQ(run.number("SELECT count(launch_span_id) FROM kernels"), expected["kernels_with_launch"]);
  }
  const auto& steps = expected["steps"];
  EXPECT_EQ(run.number("SELECT count(DISTINCT name) FROM spans WHERE name LIKE 'ProfilerStep#%'"),
            steps.size());
}

TEST_P(Corpus, TakesLittleSpace) {
  const int64_t source = golden_values().at(GetParam())["size_bytes"];
  if (source < 100'000) GTEST_SKIP() << "does not apply: the file is small";
  Imported run(temp_.path(), {path()});
  int64_t facts = file_size(run.bundle + "/run.json").value();
  for (const auto& table : run.document["tables"]) facts += table["bytes"].get<int64_t>();
  EXPECT_LE(static_cast<double>(facts), 0.4 * static_cast<double>(source));
}

TEST_P(Corpus, GivesTheSameBytesAtAnyWindowSize) {
  Imported run(temp_.path(), {path()});
  ingest::ReadOptions options;
  options.threads = 3;
  options.window_bytes = 1;
  const std::string folder = temp_.path() + "/small-windows";
  ASSERT_TRUE(make_folders(folder));
  auto engine = store::Engine::open({1, 200, ""}).value();
  store::BundleWriter writer(engine, folder);
  auto source = ingest::open_file(path()).value();
  model::RunInfo info;
  const auto chosen = ingest::choose_adapter(source->head(), "", "").value();
  options.role = chosen.role;
  ASSERT_TRUE(chosen.adapter->read(*source, options, writer, info));
  const auto tables = writer.finish();
  ASSERT_TRUE(tables);
  ASSERT_EQ(tables->size(), run.document["tables"].size());
  for (size_t i = 0; i < tables->size(); i++) {
    EXPECT_EQ((*tables)[i].sha256, run.document["tables"][i]["sha256"]) << (*tables)[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Kineto, Corpus, testing::ValuesIn(files_of("kineto/")), test_name);

TEST(CorpusTree, NestsTheNanosecondTraceWithoutViolations) {
  const std::string path = corpus_folder() + "/kineto/hta_ns_resolution_rank0.pt.trace.json.gz";
  if (!path_exists(path)) GTEST_SKIP() << "no corpus at " << corpus_folder() << " (set NEUROLENS_TRACES)";
  const TempFolder temp;
  Imported run(temp.path(), {path});
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels"), 4350);
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM kernels"), 468153602);
  EXPECT_EQ(run.number("SELECT count(launch_span_id) FROM kernels"), 4350);
  EXPECT_EQ(run.number("SELECT count(op_id) FROM kernels"), 4350);
  EXPECT_EQ(run.number("SELECT sum(crosses_parent)::BIGINT FROM span_tree"), 0);
  // The op around the launch is the one that the profiler names.
  EXPECT_EQ(run.number("SELECT count(*) FROM kernels k JOIN spans s ON s.span_id = k.op_id "
                       "WHERE s.external_id IS DISTINCT FROM k.external_id"),
            0);
}

}  // namespace
}  // namespace nl::golden
