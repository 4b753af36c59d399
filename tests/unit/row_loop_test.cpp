#include "ingest/row_loop.h"

#include <gtest/gtest.h>

namespace nl::ingest {
namespace {

/// Rows to come; counts what the loop asks for.
struct Rows {
  int left;
  int taken = 0;
  Result<bool> operator()() {
    if (left == 0) return false;
    left--;
    taken++;
    return true;
  }
};

TEST(RowLoop, TakesAllRowsAndTellsHowFarItIs) {
  const auto source = open_memory("text").value();
  int told = 0;
  ReadOptions options;
  options.progress = [&](const ByteSource&) { told++; };
  Rows rows{1000};
  ASSERT_TRUE(for_each_row(*source, options, [&] { return rows(); }));
  EXPECT_EQ(rows.taken, 1000);
  EXPECT_EQ(told, 4);  // rows 0, 256, 512, 768
}

TEST(RowLoop, StopsSoonAfterItIsCancelled) {
  const auto source = open_memory("text").value();
  ReadOptions options;
  Rows rows{100'000};
  options.cancelled = [&] { return rows.taken > 300; };
  const auto done = for_each_row(*source, options, [&] { return rows(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(rows.taken, 513);
}

TEST(RowLoop, EndsWithTheFirstError) {
  const auto source = open_memory("text").value();
  Rows rows{5};
  const auto done = for_each_row(*source, {}, [&]() -> Result<bool> {
    if (rows.left == 2) return Error{ErrorCode::kBadInput, "a row"};
    return rows();
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(rows.taken, 3);
}

}  // namespace
}  // namespace nl::ingest
