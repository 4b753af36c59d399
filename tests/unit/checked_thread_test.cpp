#include "base/checked_thread.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "ingest/json/window_pipeline.h"

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

}  // namespace
}  // namespace nl
