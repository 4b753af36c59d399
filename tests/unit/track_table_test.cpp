#include "ingest/formats/chrome/track_table.h"

#include <gtest/gtest.h>

namespace nl::ingest {
namespace {

TrackKey thread_key(int64_t thread) {
  return {TrackDomain::kHost, {1, {}}, {thread, {}}};
}

TEST(TrackTable, BoundsTheTextOfIds) {
  TrackTable tracks;
  const std::string name(1 << 20, 't');
  Result<int32_t> id = 0;
  for (int i = 0; i < 100 && id; i++) {
    id = tracks.id_of({TrackDomain::kHost, {1, {}}, {std::nullopt, name + std::to_string(i)}});
  }
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::kLimit);
}

TEST(TrackTable, BoundsTheTextOfMetadata) {
  TrackTable tracks;
  const std::string args = "{\"name\":\"" + std::string(1 << 20, 'm') + "\"}";
  Result<void> added;
  for (int i = 0; i < 100 && added; i++) {
    added = tracks.add_metadata({"thread_name", {1, {}}, {2, {}}, args});
  }
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kLimit);
}

/// The name of a process is written with each of its threads.
TEST(TrackTable, BoundsWhatRepeatsInEachTrack) {
  TrackTable tracks;
  const std::string args = "{\"name\":\"" + std::string(1 << 20, 'p') + "\"}";
  ASSERT_TRUE(tracks.add_metadata({"process_name", {1, {}}, {}, args}));
  for (int64_t thread = 0; thread < 100; thread++) ASSERT_TRUE(tracks.id_of(thread_key(thread)));
  EXPECT_TRUE(tracks.write(std::nullopt));
  TrackTable more;
  ASSERT_TRUE(more.add_metadata({"process_name", {1, {}}, {}, args}));
  for (int64_t thread = 0; thread < 200; thread++) ASSERT_TRUE(more.id_of(thread_key(thread)));
  EXPECT_EQ(more.write(std::nullopt).error().code, ErrorCode::kLimit);
}

}  // namespace
}  // namespace nl::ingest
