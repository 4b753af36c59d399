#include "base/checked_thread.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <new>
#include <stdexcept>

#include "base/files.h"
#include "ingest/json/window_pipeline.h"
#include "ops/import/import_file.h"
#include "source_folder.h"
#include "store/table_writer.h"
#include "unit/failing_memory.h"

namespace nl {
namespace {

TEST(CheckedThread, GivesWhatItsWorkReturns) {
  EXPECT_TRUE(CheckedThread([] { return Result<void>(); }).join());
  CheckedThread failed([]() -> Result<void> { return Error{ErrorCode::kIo, "no"}; });
  EXPECT_EQ(failed.join().error().code, ErrorCode::kIo);
  EXPECT_EQ(failed.join().error().code, ErrorCode::kIo) << "once more";
  EXPECT_TRUE(CheckedThread().join()) << "nothing to wait for";
}

TEST(CheckedThread, AnExceptionIsAnError) {
  CheckedThread no_memory([]() -> Result<void> { throw std::bad_alloc(); });
  EXPECT_EQ(no_memory.join().error().code, ErrorCode::kLimit);
  CheckedThread bug([]() -> Result<void> { throw std::logic_error("a bug"); });
  EXPECT_EQ(bug.join().error().code, ErrorCode::kInternal);
  EXPECT_EQ(bug.join().error().message, "a bug");
  CheckedThread odd([]() -> Result<void> { throw 1; });
  EXPECT_EQ(odd.join().error().code, ErrorCode::kInternal);
}

// ---- The window pipeline

enum class Stage { kNone, kSource, kMakeParser, kParse, kSettle };

/// Throws when it is read for the third time.
class ThrowingSource final : public ingest::ByteSource {
 public:
  ThrowingSource(ingest::ByteSource& inner, bool throws) : inner_(inner), throws_(throws) {}
  Result<size_t> read(char* out, size_t size) override {
    if (throws_ && ++reads_ == 3) throw std::bad_alloc();
    return inner_.read(out, size);
  }
  std::string_view head() const override { return inner_.head(); }
  Result<void> drain() override { return inner_.drain(); }
  Result<void> unchanged() const override { return {}; }
  std::string sha256() override { return inner_.sha256(); }
  int64_t raw_bytes() const override { return inner_.raw_bytes(); }
  int64_t text_bytes() const override { return inner_.text_bytes(); }
  const char* compression() const override { return inner_.compression(); }

 private:
  ingest::ByteSource& inner_;
  const bool throws_;
  int reads_ = 0;
};

Result<size_t> bytes_through_pipeline(Stage throws, int threads) {
  std::string text = "[0";
  for (int i = 0; i < 200'000; i++) text += ",1";
  text += "]";
  const auto memory = ingest::open_memory(text).value();
  ThrowingSource source(*memory, throws == Stage::kSource);
  ingest::JsonArrayLimits limits;
  limits.window_bytes = 10'000;
  ingest::JsonArraySplitter splitter(source, "events", limits);
  size_t sum = 0;
  ingest::WindowStages<size_t> stages;
  stages.make_parser = [&]() -> ingest::WindowStages<size_t>::Parse {
    if (throws == Stage::kMakeParser) throw std::bad_alloc();
    return [&](ingest::JsonWindow& window) -> Result<size_t> {
      if (throws == Stage::kParse) throw std::bad_alloc();
      return window.size;
    };
  };
  stages.settle = [&](size_t bytes) -> Result<void> {
    sum += bytes;
    if (throws == Stage::kSettle && sum > 100'000) throw std::bad_alloc();
    return {};
  };
  NL_CHECK(ingest::WindowPipeline<size_t>(splitter, threads, std::move(stages)).run());
  return sum;
}

TEST(WindowPipeline, ExceptionsOfEveryStageAreErrors) {
  for (const int threads : {1, 4}) {
    EXPECT_GT(bytes_through_pipeline(Stage::kNone, threads).value(), 400'000u);
    for (const Stage stage : {Stage::kSource, Stage::kMakeParser, Stage::kParse, Stage::kSettle}) {
      const auto done = bytes_through_pipeline(stage, threads);
      ASSERT_FALSE(done) << static_cast<int>(stage);
      EXPECT_EQ(done.error().code, ErrorCode::kLimit) << static_cast<int>(stage);
    }
  }
}

// ---- Writers and imports whose memory runs out somewhere

class NoMemory : public testing::Test {
 protected:
  NoMemory() {
    std::string name = testing::TempDir() + "no-memory-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~NoMemory() override { remove_tree(folder_); }
  std::string folder_;
};

TEST_F(NoMemory, AWriterSaysSoAndLeavesNoThread) {
  int failures = 0;
  for (int64_t others = 0; others < 400; others += 7) {
    const auto engine = store::Engine::open({1, 100, folder_}).value();
    auto batch = std::make_shared<model::Batch>();
    const size_t row = batch->add_row(model::TableId::tracks);
    batch->set(model::TableId::tracks, row, 1, 5);
    const FailingMemory memory(others);
    store::TableWriter writer(engine, model::TableId::tracks, folder_ + "/tracks.parquet");
    const auto pushed = writer.push(batch);
    const auto written = pushed ? writer.finish() : Result<store::TableFile>(pushed.error());
    failures += written ? 0 : 1;
    if (!memory.has_failed()) break;
  }
  EXPECT_GT(failures, 3);
}

TEST_F(NoMemory, AnImportFailsAsAWholeOrNotAtAll) {
  int failures = 0;
  for (int64_t others = 1; others < 200'000; others = others * 3 / 2 + 1) {
    ops::Context context;
    context.ledger_folder = folder_ + "/" + std::to_string(others);
    auto ledger = store::Ledger::open(context.ledger_folder).value();
    ops::ImportOptions options;
    options.threads = 2;
    const FailingMemory memory(others);
    const auto report =
        ops::import_files(context, ledger, {source_folder() + "/samples/kineto_small.json"}, options);
    EXPECT_TRUE(list_folder(context.ledger_folder + "/staging").empty());
    EXPECT_EQ(list_folder(context.ledger_folder + "/runs").size(), report ? 1u : 0u);
    failures += report ? 0 : 1;
    if (!memory.has_failed()) break;
  }
  EXPECT_GT(failures, 3);
}

}  // namespace
}  // namespace nl
