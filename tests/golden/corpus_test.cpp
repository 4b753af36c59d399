// Every Kineto trace of the corpus against values that were computed without NeuroLens (GOLDEN.json): counts
// by phase and category, counts, sums and names of kernels, copies, runtime calls and ops, launches found.
// The corpus is found by NEUROLENS_TRACES or beside the repository; without it the tests are skipped.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/sha256.h"
#include "ingest/adapter.h"
#include "ops/import_file.h"
#include "store/bundle_writer.h"
#include "store/run_views.h"

namespace nl::golden {
namespace {

using nlohmann::json;

std::string corpus_folder() {
  const char* given = std::getenv("NEUROLENS_TRACES");
  return given != nullptr ? given : NEUROLENS_SOURCE_DIR "/../shared/traces";
}

json golden_values() {
  const auto text = read_file(corpus_folder() + "/GOLDEN.json");
  return text ? json::parse(*text) : json::object();
}

class TempFolder {
 public:
  TempFolder() { path_ = testing::TempDir() + "neurolens-corpus-" + std::to_string(::getpid()); }
  ~TempFolder() { remove_tree(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// An imported trace with its views.
class Imported {
 public:
  Imported(const std::string& ledger_folder, const std::string& path) {
    ops::Context context;
    context.ledger_folder = ledger_folder;
    auto ledger = store::Ledger::open(ledger_folder);
    auto report = ops::import_files(context, *ledger, {path}, {});
    if (!report) {
      ADD_FAILURE() << path << ": " << report.error().message;
      return;
    }
    document = report->document;
    bundle = ledger->run_folder(report->run_id);
    engine_ = store::Engine::open({1, 512, ""}).value();
    connection_.emplace(engine_->connect().value());
    const auto viewed = store::create_views(*connection_, store::run_files(bundle).value(), true);
    EXPECT_TRUE(viewed);
  }
  int64_t number(const std::string& sql) {
    const auto value = connection_->integer(sql);
    EXPECT_TRUE(value) << sql;
    return value ? *value : -1;
  }
  /// count, total_ns and distinct_names of some rows.
  void expect_group(const json& expected, const std::string& from) {
    EXPECT_EQ(number("SELECT count(*) FROM " + from), expected["count"]) << from;
    EXPECT_EQ(number("SELECT coalesce(sum(dur_ns), 0)::BIGINT FROM " + from), expected["total_ns"]) << from;
    EXPECT_EQ(number("SELECT count(DISTINCT name) FROM " + from), expected["distinct_names"]) << from;
    for (const auto& top : expected["top"]) {
      const std::string name = store::sql_quoted(top["name"].get<std::string>());
      const std::string one = "(SELECT * FROM " + from + ") WHERE name = " + name;
      EXPECT_EQ(number("SELECT count(*) FROM " + one), top["count"]) << top["name"];
      EXPECT_EQ(number("SELECT sum(dur_ns)::BIGINT FROM " + one), top["total_ns"]) << top["name"];
    }
  }

  json document;
  std::string bundle;

 private:
  std::shared_ptr<store::Engine> engine_;
  std::optional<store::Connection> connection_;
};

std::vector<std::string> kineto_files() {
  std::vector<std::string> files;
  const json golden = golden_values();
  for (const auto& [file, values] : golden.items()) {
    if (file.starts_with("kineto/")) files.push_back(file);
  }
  return files.empty() ? std::vector<std::string>{"absent"} : files;
}

class Corpus : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "absent")
      GTEST_SKIP() << "no corpus at " << corpus_folder() << " (set NEUROLENS_TRACES)";
  }
  std::string path() const { return corpus_folder() + "/" + GetParam(); }
  TempFolder temp_;
};

TEST_P(Corpus, EqualsTheIndependentValues) {
  const json expected = golden_values()[GetParam()];
  Imported run(temp_.path(), path());
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
  const int64_t source = golden_values()[GetParam()]["size_bytes"];
  if (source < 100'000) return;
  Imported run(temp_.path(), path());
  int64_t facts = file_size(run.bundle + "/run.json").value();
  for (const auto& table : run.document["tables"]) facts += table["bytes"].get<int64_t>();
  EXPECT_LE(static_cast<double>(facts), 0.4 * static_cast<double>(source));
}

TEST_P(Corpus, GivesTheSameBytesAtAnyWindowSize) {
  Imported run(temp_.path(), path());
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

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kineto, Corpus, testing::ValuesIn(kineto_files()), test_name);

TEST(CorpusTree, NestsTheNanosecondTraceWithoutViolations) {
  const std::string path = corpus_folder() + "/kineto/hta_ns_resolution_rank0.pt.trace.json.gz";
  if (!path_exists(path)) GTEST_SKIP() << "no corpus at " << corpus_folder() << " (set NEUROLENS_TRACES)";
  const TempFolder temp;
  Imported run(temp.path(), path);
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
