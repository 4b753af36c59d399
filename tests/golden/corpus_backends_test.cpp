// ONNX Runtime and trtexec files of the corpus against values that were computed without NeuroLens.

#include <cmath>

#include "corpus.h"

namespace nl::golden {
namespace {

int64_t ns_of_ms(const json& ms) {
  return std::llround(ms.get<double>() * 1e6);
}

std::string where(const char* column, const std::string& value) {
  return std::string(" WHERE ") + column + " = " + store::sql_quoted(value);
}

class OnnxRuntime : public CorpusFile {};

TEST_P(OnnxRuntime, EqualsTheIndependentValues) {
  const json golden = expected();
  Imported run(temp_.path(), {path()});
  const auto& capture = run.document["capture"];
  EXPECT_EQ(capture["counts"]["seen"], golden["events"]);
  EXPECT_EQ(capture["counts"]["stored"], golden["events"]);
  EXPECT_EQ(capture["records_by_category"], golden["by_cat"]);
  EXPECT_TRUE(capture["health"].empty());
  EXPECT_EQ(run.number("SELECT count(*) FROM ops"), golden["node_kernel_time_events"]);
  EXPECT_EQ(run.number("SELECT count(DISTINCT name) FROM ops"), golden["distinct_nodes"]);
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM ops"), golden["node_total_us"].get<int64_t>() * 1000);
  EXPECT_EQ(run.number("SELECT count(DISTINCT op_type) FROM ops"), golden["op_count"].size());
  for (const auto& [op, count] : golden["op_count"].items()) {
    EXPECT_EQ(run.number("SELECT count(*) FROM ops" + where("op_type", op)), count) << op;
    EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM ops" + where("op_type", op)),
              golden["op_total_us"][op].get<int64_t>() * 1000)
        << op;
  }
  EXPECT_EQ(run.number("SELECT count(DISTINCT provider) FROM ops"), golden["providers"].size());
  EXPECT_EQ(run.number("SELECT count(*) FROM ops" + where("provider", golden["providers"][0])),
            golden["node_kernel_time_events"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM ops WHERE shapes IS NULL OR dtypes IS NULL"), 0);
  EXPECT_EQ(run.number("SELECT count(*) FROM spans WHERE kind = 'overhead'"), golden["fence_events"]);
}

TEST_P(OnnxRuntime, HasEveryRunOfTheModel) {
  const json golden = expected();
  Imported run(temp_.path(), {path()});
  EXPECT_EQ(run.document["windows"]["seen"], golden["model_runs"]);
  std::vector<int64_t> seen, given;
  for (const auto& window : run.document["windows"]["kept"]) seen.push_back(window["dur_ns"]);
  for (const auto& us : golden["model_run_us"]) given.push_back(us.get<int64_t>() * 1000);
  EXPECT_EQ(seen, given);
  for (const auto& us : golden["session_initialization_us"]) {
    EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM spans WHERE name = 'session_initialization'"),
              us.get<int64_t>() * 1000);
  }
  // A node belongs to the run of the model around it, which the source writes behind it.
  EXPECT_EQ(run.number("SELECT sum(crosses_parent)::BIGINT FROM span_tree"), 0);
}

INSTANTIATE_TEST_SUITE_P(Corpus, OnnxRuntime, testing::ValuesIn(files_of("onnxruntime/")), test_name);

class Trtexec : public CorpusFile {};

void expect_profile(Imported& run, const json& golden) {
  EXPECT_EQ(run.number("SELECT count(*) FROM layer_times"), golden["layers"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM ops WHERE dur_ns IS NOT NULL"), golden["layers"]);
  EXPECT_EQ(run.number("SELECT count(*) - count(DISTINCT name) FROM layer_times"), golden["duplicate_names"]);
  EXPECT_EQ(run.number("SELECT max(iterations) FROM layer_times"), golden["iterations"]);
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM ops"), ns_of_ms(golden["sum_timeMs"]));
  EXPECT_EQ(run.number("SELECT round(sum(average_ns))::BIGINT FROM layer_times"),
            ns_of_ms(golden["sum_averageMs"]));
  EXPECT_EQ(run.number("SELECT count(median_ns) FROM layer_times"),
            golden["has_medianMs"].get<bool>() ? golden["layers"].get<int64_t>() : 0);
  const auto& top = golden["top"];
  const std::string of_top = " FROM layer_times" + where("name", top["name"]);
  EXPECT_EQ(run.number("SELECT total_ns" + of_top), ns_of_ms(top["timeMs"]));
  EXPECT_EQ(run.number("SELECT (average_ns = " + std::to_string(top["averageMs"].get<double>() * 1e6) +
                       ")::BIGINT" + of_top),
            1);
  EXPECT_EQ(run.number("SELECT max(total_ns) FROM layer_times"), ns_of_ms(top["timeMs"]));
}

void expect_times(Imported& run, const json& golden) {
  const std::string compute = " FROM spans WHERE name = 'compute'";
  const int64_t n = golden["inferences"];
  EXPECT_EQ(run.document["windows"]["seen"], n);
  EXPECT_EQ(run.number("SELECT count(*)" + compute), n);
  EXPECT_EQ(run.number("SELECT max(dur_ns)" + compute), ns_of_ms(golden["max"]));
  EXPECT_EQ(run.number("SELECT min(dur_ns)" + compute), ns_of_ms(golden["min"]));
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT" + compute),
            std::llround(golden["mean_computeMs"].get<double>() * 1e6 * static_cast<double>(n)));
  EXPECT_NEAR(static_cast<double>(run.number("SELECT median(dur_ns)::BIGINT" + compute)),
              golden["median_computeMs"].get<double>() * 1e6, 1);
}

void expect_layers(Imported& run, const json& golden) {
  EXPECT_EQ(run.number("SELECT count(*) FROM layers"), golden["layers"]);
  EXPECT_EQ(run.number("SELECT count(*) FROM ops"), golden["layers"]);
  EXPECT_EQ(run.document["extensions"]["trtexec"]["bindings"].size(), golden["bindings"]);
  if (golden["layer_entries_are"] == "str") {
    EXPECT_EQ(run.number("SELECT count(layer_type) FROM layers"), 0);
    return;
  }
  EXPECT_EQ(run.number("SELECT count(DISTINCT layer_type) FROM layers"), golden["types"].size());
  EXPECT_EQ(run.number("SELECT count(*) FROM ops WHERE shapes IS NULL OR dtypes IS NULL"), 0);
  for (const auto& [type, count] : golden["types"].items()) {
    EXPECT_EQ(run.number("SELECT count(*) FROM ops" + where("op_type", type)), count) << type;
  }
}

TEST_P(Trtexec, EqualsTheIndependentValues) {
  const json golden = expected();
  Imported run(temp_.path(), {path()});
  EXPECT_TRUE(run.document["capture"]["counts"]["dropped"].empty());
  EXPECT_TRUE(run.document["capture"]["health"].empty());
  const std::string role = run.document["sources"][0]["role"];
  if (role == "profile") {
    expect_profile(run, golden);
  } else if (role == "times") {
    expect_times(run, golden);
  } else if (role == "layers") {
    expect_layers(run, golden);
  } else {
    const size_t keys = golden["keys"].is_array() ? golden["keys"].size() : golden["keys"].get<size_t>();
    EXPECT_EQ(run.document["capture"]["counts"]["seen"], keys);
    EXPECT_FALSE(run.document["hardware"]["devices"].empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, Trtexec, testing::ValuesIn(files_of("trtexec/")), test_name);

TEST(TrtexecRun, JoinsTheFilesOfOneModel) {
  const std::string stem = corpus_folder() + "/trtexec/a100_resnet_fp16";
  if (!path_exists(stem + ".profile.json")) GTEST_SKIP() << "no corpus at " << corpus_folder();
  const TempFolder temp;
  const std::vector<std::string> paths = {stem + ".timing.json.gz", stem + ".profile.json",
                                          stem + ".graph.json", stem + ".profile.metadata.json",
                                          stem + ".metadata.json"};
  Imported run(temp.path(), paths);
  EXPECT_EQ(run.document["sources"].size(), 5);
  // Every layer has its type, shapes and time, by its name.
  EXPECT_EQ(run.number("SELECT count(*) FROM ops"), 36);
  EXPECT_EQ(run.number("SELECT count(*) FROM ops WHERE dur_ns IS NULL OR op_type = name OR shapes IS NULL"),
            0);
  EXPECT_EQ(run.number("SELECT sum(dur_ns)::BIGINT FROM ops WHERE op_type = 'CaskConvolution'"), 857088);
  EXPECT_EQ(run.document["hardware"]["devices"][0]["name"], "NVIDIA A100 80GB PCIe");
  const Imported again(temp.path() + "-again", {paths[3], paths[1], paths[4], paths[0], paths[2]});
  EXPECT_EQ(again.document, run.document);
  remove_tree(temp.path() + "-again");
}

}  // namespace
}  // namespace nl::golden
