// A workload that cuts off the files it shares with the recorder harms itself, never the recorder.

#include <gtest/gtest.h>

#include "base/files.h"
#include "capture/record/recorder.h"
#include "recorded.h"

namespace nl::capture {
namespace {

/// All files below the folder whose names begin so.
std::vector<std::string> files_named(const std::string& folder, const std::string& start) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().filename().string().starts_with(start))
      found.push_back(entry.path().string());
  }
  return found;
}

class LiveTruncation : public testing::TestWithParam<const char*> {};

TEST_P(LiveTruncation, CostsMarkersAndNotTheRecorder) {
  TestFolder folder;
  auto recorder =
      Recorder::start({.folder = folder.path(), .library = "/none", .ring_bytes = 64 << 10}).value();
  const std::string live = folder.path() + "/live";
  const pid_t child = start_child([&] {
    const neurolens_api& api = start_collector(recorder->environment());
    const uint32_t name = name_of(api, "work");
    for (int i = 0; i < 100; i++) api.counter(name, i);
  });
  ASSERT_EQ(signal_of(child), 0);
  const auto files = files_named(live, GetParam());
  ASSERT_FALSE(files.empty());
  // Known to the recorder first, cut off behind its back.
  ASSERT_TRUE(recorder->poll());
  for (const std::string& file : files_named(live, GetParam())) ASSERT_EQ(truncate(file.c_str(), 0), 0);
  ASSERT_TRUE(recorder->poll());
  const auto end = recorder->finish();
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_LE(end->recorded, 100u);
  EXPECT_FALSE(path_exists(live));
}

INSTANTIATE_TEST_SUITE_P(Files, LiveTruncation, testing::Values("ring-", "process", "session"));

}  // namespace
}  // namespace nl::capture
