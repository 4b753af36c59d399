#include "store/open_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "assemble/assemble.h"
#include "base/call_control.h"
#include "base/files.h"
#include "ops/door.h"
#include "ops/import/import_file.h"
#include "ops/runs/named_analysis.h"
#include "source_folder.h"
#include "store/engine_pool.h"
#include "store/read_counts.h"
#include "store/run_document.h"
#include "store/run_lease.h"

namespace nl::ops {
namespace {

using nlohmann::json;

class OpenRunTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "neurolens-open-run-" + std::to_string(::getpid());
    context_.ledger_folder = folder_;
    context_.face = Face::kCli;
    context_.may = Effect::kExec;
    context_.host_paths = true;
    context_.page_files = {make_folders, replace_file};
    ImportOptions options;
    options.on_the_way = true;
    auto ledger = store::Ledger::open(folder_);
    ASSERT_TRUE(ledger);
    const auto report = import_files(context_, *ledger, {trace_}, options);
    ASSERT_TRUE(report) << report.error().message;
    run_ = NamedRun{report->run_id, ledger->run_folder(report->run_id)};
  }
  void TearDown() override { remove_tree(folder_); }

  /// What a call costs a process that has not read the run yet: a document that was touched is read again.
  store::ReadCounts cost_of(const std::string& operation, const json& parameters) {
    EXPECT_EQ(::utimensat(AT_FDCWD, (run_.bundle + "/run.json").c_str(), nullptr, 0), 0);
    const store::ReadCounter counter;
    const auto outcome = call(operation, parameters, context_);
    EXPECT_TRUE(outcome) << operation << ": " << outcome.error().message;
    return counter.counts();
  }

  const std::string trace_ = source_folder() + "/samples/kineto_small.json";
  std::string folder_;
  Context context_;
  NamedRun run_;
};

/// A pass is a statement that reads a table. Whoever adds one says here why the figures must be asked for
/// once more.
using Passes = std::map<std::string, int64_t>;

struct Cost {
  std::string operation;
  json parameters;  ///< besides the run
  Passes passes;
};

TEST_F(OpenRunTest, EachOperationOpensTheRunOnce) {
  const Passes kAnalysis = {{"clock_fits", 2}, {"copies", 1},    {"copy_links", 1}, {"kernel_links", 1},
                            {"kernels", 1},    {"span_tree", 1}, {"spans", 3},      {"tracks", 1}};
  const std::vector<Cost> kCosts = {
      {"show", {}, {{"clock_fits", 1}, {"copies", 1}, {"kernel_links", 1}, {"kernels", 1}, {"spans", 1}}},
      {"analyze", {}, kAnalysis},
      {"findings", {}, kAnalysis},
      {"lint", {}, {{"clock_fits", 1}, {"copies", 1}, {"kernels", 1}, {"spans", 2}}},
      {"verify", {}, {{"copies", 1}, {"kernels", 1}, {"spans", 1}, {"tracks", 1}}},
      {"report", {{"output", folder_ + "/reports"}}, kAnalysis},
  };
  for (const Cost& cost : kCosts) {
    json parameters = cost.parameters.is_null() ? json::object() : cost.parameters;
    parameters["run"] = run_.run_id;
    const auto found = cost_of(cost.operation, parameters);
    EXPECT_EQ(found.documents, 1) << cost.operation;
    EXPECT_LE(found.engines, 1) << cost.operation;
    EXPECT_LE(found.leases, 1) << cost.operation;  // an analysis needs none for most runs
    EXPECT_EQ(found.ledgers, 1) << cost.operation;
    EXPECT_EQ(found.passes, cost.passes) << cost.operation;
  }
}

TEST_F(OpenRunTest, AComparisonOpensEachRunOnce) {
  const auto found = cost_of("compare", {{"runs", {run_.run_id, run_.run_id}}});
  EXPECT_EQ(found.documents, 1);
  EXPECT_EQ(found.leases, 1);
  EXPECT_LE(found.engines, 1);
}

TEST_F(OpenRunTest, AnImportReadsTheDocumentOnce) {
  const auto found = cost_of("import", {{"paths", {trace_}}, {"set", {"model=bert"}}});
  EXPECT_EQ(found.documents, 1);
  EXPECT_EQ(found.ledgers, 1);
}

// ---- The document

TEST_F(OpenRunTest, ADocumentThatWasReplacedIsReadAgain) {
  const std::string path = run_.bundle + "/run.json";
  const auto first = store::shared_run_document(path).value();
  EXPECT_EQ(store::shared_run_document(path).value(), first);
  const std::string text = read_file(path).value();
  ASSERT_TRUE(replace_file(path, text));
  EXPECT_NE(store::shared_run_document(path).value(), first);
}

// ---- Leases

TEST_F(OpenRunTest, ARunInUseIsNotCollected) {
  auto ledger = store::Ledger::open(folder_).value();
  {
    const auto open = store::OpenRun::open(run_.place());
    ASSERT_TRUE(open);
    EXPECT_EQ(ledger.collect_garbage(true)->dropped_runs, 0);
    EXPECT_TRUE(path_exists(run_.bundle + "/run.json"));
  }
  EXPECT_EQ(ledger.collect_garbage(true)->dropped_runs, 1);
  EXPECT_FALSE(path_exists(run_.bundle));
}

TEST_F(OpenRunTest, ReadersShareARunAndKeepWritersAway) {
  const auto one = store::RunLease::share(run_.bundle), two = store::RunLease::share(run_.bundle);
  ASSERT_TRUE(one && two);
  const auto writer = store::RunLease::alone(run_.bundle, 0);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::kConflict);
}

TEST_F(OpenRunTest, AReaderGetsTheRunThatTookThePlace) {
  const std::string other = run_.bundle + "-other";
  ASSERT_TRUE(make_folders(other));
  auto writer = std::make_unique<store::RunLease>(store::RunLease::alone(run_.bundle, 0).value());
  std::thread replacing([&] {
    ASSERT_EQ(::renameat2(AT_FDCWD, other.c_str(), AT_FDCWD, run_.bundle.c_str(), RENAME_EXCHANGE), 0);
    writer.reset();
  });
  const auto reader = store::RunLease::share(run_.bundle);
  replacing.join();
  ASSERT_TRUE(reader);
  EXPECT_FALSE(store::RunLease::alone(run_.bundle, 0));  // the folder that is there now
  EXPECT_TRUE(store::RunLease::alone(other, 0));
}

TEST_F(OpenRunTest, WaitingForARunCanBeCancelled) {
  const auto reader = store::RunLease::share(run_.bundle);
  const CallScope scope({[] { return true; }, {}});
  const auto writer = store::RunLease::alone(run_.bundle, 600'000);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::kCancelled);
}

// ---- Engines

TEST_F(OpenRunTest, AnEngineComesBackWithoutWhatItsLastOwnerMade) {
  const store::EngineOptions options{1, 321, ""};
  const store::Engine* first = nullptr;
  {
    const auto engine = store::EnginePool::shared().lease(options).value();
    first = engine.get();
    auto connection = engine->connect().value();
    ASSERT_TRUE(store::create_views(connection, store::run_files(run_.place()).value(), false));
    EXPECT_TRUE(connection.integer("SELECT count(*) FROM spans"));
  }
  const auto engine = store::EnginePool::shared().lease(options).value();
  EXPECT_EQ(engine.get(), first);
  auto connection = engine->connect().value();
  EXPECT_FALSE(connection.integer("SELECT count(*) FROM spans"));
}

TEST_F(OpenRunTest, AQueryThatRunsIsCancelled) {
  std::atomic<bool> cancelled = false;
  const CallScope scope({[&] { return cancelled.load(); }, {}});
  const auto engine = store::EnginePool::shared().lease(store::reading_engine()).value();
  auto connection = engine->connect().value();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancelled = true;
  });
  const auto counted = connection.integer("SELECT count(*) FROM range(10000000000) a WHERE a.range % 7 = 8");
  later.join();
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, ErrorCode::kCancelled);
}

TEST_F(OpenRunTest, ACancelledDerivationLeavesNothing) {
  remove_tree(run_.bundle + "/derived");
  std::atomic<int> asked = 0;
  {
    const CallScope scope({[&] { return ++asked > 3; }, {}});
    const auto open = store::OpenRun::open(run_.place());
    ASSERT_TRUE(open);
    const auto built = assemble::ensure_derived(**open);
    ASSERT_FALSE(built);
    EXPECT_EQ(built.error().code, ErrorCode::kCancelled);
  }
  EXPECT_TRUE(list_folder(run_.bundle + "/derived").empty());
  EXPECT_TRUE(open_derived(run_));
}

}  // namespace
}  // namespace nl::ops
