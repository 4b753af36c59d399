#include "base/paged_vector.h"

#include <gtest/gtest.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace nl {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

/// Limits and the folder are those of the process: each test gives them back.
class PagedVectorTest : public testing::Test {
 protected:
  void SetUp() override {
    set_page_folder([] { return testing::TempDir(); });
    set_page_limits({4 * kMegabyte, 16 * kMegabyte});
  }
  void TearDown() override {
    set_page_folder([] { return std::string(); });
    set_page_limits({});
  }
};

PagedVector<int64_t> numbers(size_t count) {
  PagedVector<int64_t> values;
  for (size_t i = 0; i < count; i++) values.push_back(static_cast<int64_t>(i * 3));
  return values;
}

/// Of mapped files, in the memory of this process.
size_t mapped_megabytes() {
  std::ifstream file("/proc/self/statm");
  size_t all = 0, resident = 0, mapped = 0;
  file >> all >> resident >> mapped;
  return mapped * 4096 / kMegabyte;
}

TEST_F(PagedVectorTest, KeepsValuesThatDoNotFitIntoMemory) {
  constexpr size_t kCount = 16 * kMegabyte;  // 128 MB
  const size_t before = mapped_megabytes();
  const auto values = numbers(kCount);
  size_t most = 0;
  for (size_t i = 0; i < kCount; i++) {
    ASSERT_EQ(values[i], static_cast<int64_t>(i * 3));
    if (i % kMegabyte == 0) most = std::max(most, mapped_megabytes() - std::min(before, mapped_megabytes()));
  }
  EXPECT_LT(most, 112u);  // pages are given back while others are read; how soon depends on the machine
}

TEST_F(PagedVectorTest, CopiesMovesAndSorts) {
  auto values = numbers(kMegabyte);
  auto copy = values;
  std::reverse(copy.begin(), copy.end());
  EXPECT_NE(copy, values);
  std::sort(copy.begin(), copy.end());
  EXPECT_EQ(copy, values);
  const PagedVector<int64_t> moved = std::move(copy);
  EXPECT_EQ(moved, values);
  values.clear();
  values.shrink_to_fit();
  EXPECT_EQ(moved.back(), static_cast<int64_t>((kMegabyte - 1) * 3));
}

TEST_F(PagedVectorTest, StaysInMemoryWithoutAFolder) {
  set_page_folder([] { return std::string("/nowhere"); });
  EXPECT_EQ(numbers(2 * kMegabyte).back(), static_cast<int64_t>((2 * kMegabyte - 1) * 3));
}

TEST_F(PagedVectorTest, SaysThatTheDiskIsFull) {
  struct statvfs disk {};
  ASSERT_EQ(::statvfs(testing::TempDir().c_str(), &disk), 0);
  const size_t free_bytes = disk.f_bavail * disk.f_frsize;
  PagedVector<char> values;
  EXPECT_THROW(values.reserve(free_bytes + (size_t{1} << 30)), NoRoomForPages);
}

TEST_F(PagedVectorTest, ThreadsMakeAndDropThemAtTheSameTime) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; round++)
        wrong += numbers(kMegabyte).back() != int64_t{kMegabyte - 1} * 3;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace nl
