#include "capture/record/slow_scope.h"

#include <gtest/gtest.h>

namespace nl::capture {
namespace {

using wire::RecordKind;
using wire::Word;

std::string names() {
  std::string payload, chunks;
  wire::append_name(payload, 1, "serving", "prefill");
  wire::append_name(payload, 2, "serving", "decode");
  wire::append_chunk(chunks, {.kind = wire::ChunkKind::kNames, .process = 7}, payload);
  return chunks;
}

std::string record(RecordKind kind, uint32_t name, Word time, std::vector<Word> more = {}) {
  more.insert(more.begin(), {wire::record_head(kind, static_cast<uint32_t>(2 + more.size()), name), time});
  return {reinterpret_cast<const char*>(more.data()), more.size() * sizeof(Word)};
}

class SlowScopeTest : public testing::Test {
 protected:
  void SetUp() override { scope_.define(names()); }
  bool take(const std::string& records, uint32_t process = 7, uint64_t thread = 1) {
    return scope_.take({.kind = wire::ChunkKind::kRecords, .process = process, .thread = thread}, records);
  }
  SlowScope scope_{"decode", 100};
};

TEST_F(SlowScopeTest, OnlyOneThatTookLongerCounts) {
  EXPECT_FALSE(take(record(RecordKind::kBegin, 2, 1000) + record(RecordKind::kEnd, 2, 1100)));
  EXPECT_TRUE(take(record(RecordKind::kBegin, 2, 2000) + record(RecordKind::kEnd, 2, 2101)));
  EXPECT_FALSE(take(record(RecordKind::kBegin, 1, 3000) + record(RecordKind::kEnd, 1, 9000))) << "prefill";
}

TEST_F(SlowScopeTest, BeginAndEndMayBeInDifferentChunks) {
  EXPECT_FALSE(take(record(RecordKind::kBegin, 2, 1000) + record(RecordKind::kCounter, 1, 1001, {0})));
  EXPECT_FALSE(take(record(RecordKind::kEnd, 2, 5000), 7, 2)) << "of another thread";
  EXPECT_FALSE(take(record(RecordKind::kEnd, 2, 5000), 8)) << "of a process with other names";
  EXPECT_TRUE(take(record(RecordKind::kEnd, 2, 5000)));
}

TEST_F(SlowScopeTest, LanesAndNestingAreToldApart) {
  EXPECT_FALSE(take(record(RecordKind::kLaneBegin, 2, 1000, {5}) +
                    record(RecordKind::kLaneBegin, 2, 1190, {6}) +
                    record(RecordKind::kLaneEnd, 2, 1200, {6})));
  EXPECT_TRUE(take(record(RecordKind::kLaneEnd, 2, 1200, {5})));
  EXPECT_FALSE(take(record(RecordKind::kBegin, 2, 2000) + record(RecordKind::kBegin, 2, 2050) +
                    record(RecordKind::kEnd, 2, 2140)));
  EXPECT_TRUE(take(record(RecordKind::kEnd, 2, 2150)));
}

TEST(SlowScopeParse, NameAndMilliseconds) {
  ASSERT_TRUE(SlowScope::parse("a=b=50"));
  for (const char* text :
       {"decode", "decode=", "=50", "decode=0", "decode=5x", "decode=-1", "decode=99999999999"})
    EXPECT_EQ(SlowScope::parse(text).error().code, ErrorCode::kBadInput) << text;
}

TEST_F(SlowScopeTest, WhatIsNoRecordEndsNothing) {
  EXPECT_FALSE(take(std::string(40, '\0')));
  EXPECT_FALSE(take(record(RecordKind::kEnd, 2, 5000).substr(0, 8)));
  scope_.define(names().substr(0, 100));
}

}  // namespace
}  // namespace nl::capture
