// Tiles, sums and search of a time line against the plainest possible way to compute them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "base/files.h"
#include "timeline/area.h"
#include "timeline/lanes.h"
#include "timeline/tile.h"
#include "timeline/timeline_writer.h"

namespace nl::timeline {
namespace {

using Random = std::mt19937_64;

int64_t between(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// Any power of two is as likely as another.
int64_t any_size(Random& random, int most_exponent) {
  return between(random, 0, int64_t{1} << between(random, 0, most_exponent));
}

struct Shape {
  int64_t spans;
  int longest;  ///< exponent of two, ns
  int widest_gap;
  int64_t start_ns;
};

std::vector<Span> made_spans(Random& random, const Shape& shape, uint32_t names) {
  std::vector<Span> spans;
  int64_t at = shape.start_ns;
  for (int64_t i = 0; i < shape.spans; i++) {
    at += random() % 4 == 0 ? 0 : any_size(random, shape.widest_gap);
    const int64_t length = random() % 8 == 0 ? 0 : any_size(random, shape.longest);
    const auto name = static_cast<uint32_t>(std::min(random() % names, random() % names));
    spans.push_back({at, length, ItemId(static_cast<uint32_t>(i % 4), static_cast<uint32_t>(i)), name});
    at += length;
  }
  return spans;
}

// ---- The plain way

bool overlaps(const Span& span, int64_t begin, int64_t end) {
  return span.start_ns < end && span.reach_ns() > begin;
}

int64_t inside(const Span& span, int64_t begin, int64_t end) {
  return std::max<int64_t>(0, std::min(span.end_ns(), end) - std::max(span.start_ns, begin));
}

std::vector<TileItem> plain_tile(const std::vector<Span>& spans, const Viewport& view) {
  std::vector<TileItem> items;
  for (uint32_t b = 0; b < view.buckets; b++) {
    const int64_t begin = view.begin_ns(b), end = view.begin_ns(b + 1);
    TileItem item{b, 1, kFar, 0, 0};
    for (uint32_t i = 0; i < spans.size(); i++) {
      if (!overlaps(spans[i], begin, end)) continue;
      item.count += spans[i].start_ns >= begin;
      item.busy_ns += inside(spans[i], begin, end);
      if (item.place == kFar || spans[i].dur_ns > spans[item.place].dur_ns) item.place = i;
    }
    if (item.place == kFar) continue;
    if (!items.empty() && items.back().place == item.place &&
        items.back().bucket + items.back().buckets == b) {
      items.back().buckets++;
      items.back().count += item.count;
      items.back().busy_ns += item.busy_ns;
    } else {
      items.push_back(item);
    }
  }
  return items;
}

// ---- A file

class Timeline : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("timeline-" + std::to_string(::getpid()) + "-" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "timeline"; }

  std::shared_ptr<const TimelineFile> written(const std::vector<std::vector<Span>>& rows, size_t names) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < names; i++) texts.push_back("name " + std::to_string(i));
    auto writer = TimelineWriter::create(folder_ / "new-", names);
    EXPECT_TRUE(writer);
    for (size_t i = 0; i < rows.size(); i++)
      EXPECT_TRUE(writer->add_row({static_cast<int32_t>(i), 0, 0}, rows[i]));
    EXPECT_TRUE(writer->finish(path(), {texts.begin(), texts.end()}, 1'000, 7));
    const auto file = TimelineFile::open(path());
    EXPECT_TRUE(file) << file.error().message;
    return file ? *file : nullptr;
  }

  std::filesystem::path folder_;
};

Viewport any_view(Random& random, const Shape& shape, int64_t end_ns) {
  const auto exponent = static_cast<uint32_t>(between(random, 0, 40));
  const int64_t at = between(random, shape.start_ns - 1000, end_ns + 1000);
  return {exponent, (at >> exponent) - between(random, 0, 20), static_cast<uint32_t>(between(random, 1, 64))};
}

TEST_F(Timeline, TilesAreThoseOfThePlainWay) {
  Random random(1);
  const Shape shapes[] = {
      {1, 3, 3, 0},          {15, 10, 10, -500},        {17, 4, 20, 1'700'000'000'000'000'000},
      {257, 34, 34, 5},      {600, 12, 6, -90'000'000}, {3'000, 20, 14, 77},
      {5'000, 26, 3, 10'000}};
  for (const Shape& shape : shapes) {
    const std::vector<Span> spans = made_spans(random, shape, 50);
    const auto file = written({spans}, 50);
    ASSERT_EQ(file->rows(), 1u);
    const Row row = file->row(0);
    for (uint32_t i = 0; i < spans.size(); i++) ASSERT_EQ(row.span(i), spans[i]) << i;
    for (int k = 0; k < 300; k++) {
      const Viewport view = any_view(random, shape, spans.back().end_ns());
      ASSERT_EQ(tile_of(row, view), plain_tile(spans, view))
          << shape.spans << " " << view.exponent << " " << view.first << " " << view.buckets;
    }
  }
}

TEST_F(Timeline, CoarseSumsAreExact) {
  Random random(2);
  const Shape shape{60'000, 17, 17, 123};  // dense enough for levels of 4 ms and wider
  const std::vector<Span> spans = made_spans(random, shape, 9);
  std::vector<Span> sparse = spans;
  for (Span& span : sparse) span.start_ns *= 3;  // instants and gaps between
  const auto file = written({spans, sparse}, 9);
  ASSERT_FALSE(file->row(0).level_within(60).buckets.empty());
  for (size_t number = 0; number < 2; number++) {
    const Row row = file->row(number);
    const std::vector<Span>& own = number == 0 ? spans : sparse;
    for (int k = 0; k < 60; k++) {
      const auto exponent = static_cast<uint32_t>(between(random, 20, 32));
      const int64_t at = between(random, row.begin_ns(), row.end_ns());
      const Viewport view{exponent, (at >> exponent) - 3, 12};
      ASSERT_EQ(tile_of(row, view), plain_tile(own, view)) << number << " " << exponent << " " << view.first;
    }
  }
}

TEST_F(Timeline, ASpanTakesAtMostSixteenBytes) {
  Random random(3);
  const auto file = written({made_spans(random, {200'000, 14, 12, 0}, 1'000)}, 1'000);
  EXPECT_LE(static_cast<double>(file->bytes()), 16.0 * static_cast<double>(file->spans()));
  EXPECT_EQ(file->origin_ns(), 1'000);
  EXPECT_EQ(file->not_placed(), 7u);
  EXPECT_EQ(file->name(999), "name 999");
  EXPECT_EQ(file->name(1'000), "");
}

TEST_F(Timeline, ManyNamesAreKept) {
  Random random(4);
  const std::vector<Span> spans = made_spans(random, {2'000, 10, 10, 0}, 70'000);
  const auto file = written({spans}, 70'000);
  const Row row = file->row(0);
  for (uint32_t i = 0; i < spans.size(); i++) ASSERT_EQ(row.span(i), spans[i]) << i;
}

TEST_F(Timeline, SumsOfAnAreaAreThoseOfThePlainWay) {
  Random random(5);
  std::vector<std::vector<Span>> rows;
  for (int i = 0; i < 4; i++) rows.push_back(made_spans(random, {700, 12, 12, 50 * i}, i == 0 ? 20 : 9));
  const auto file = written(rows, 20);
  for (int k = 0; k < 100; k++) {
    const int64_t begin = between(random, -100, 600'000);
    const Stretch area{begin, begin + any_size(random, 20) + 1};
    std::vector<uint32_t> chosen;
    for (uint32_t i = 0; i < 4; i++) {
      if (random() % 3 != 0) chosen.push_back(i);
    }
    const AreaSums sums = sums_of(*file, chosen, area);
    uint64_t count = 0;
    for (const NameSums& one : sums.names) {
      std::vector<Span> own;
      for (const uint32_t row : chosen) {
        for (const Span& span : rows[row]) {
          if (span.name == one.name && overlaps(span, area.begin_ns, area.end_ns)) own.push_back(span);
        }
      }
      ASSERT_FALSE(own.empty());
      const auto by_length = [](const Span& a, const Span& b) { return a.dur_ns < b.dur_ns; };
      const int64_t shortest = std::min_element(own.begin(), own.end(), by_length)->dur_ns;
      const int64_t longest = std::max_element(own.begin(), own.end(), by_length)->dur_ns;
      int64_t sum = 0, covered = 0, until = INT64_MIN;
      for (const Span& span : own) sum += inside(span, area.begin_ns, area.end_ns);
      std::sort(own.begin(), own.end(), [](const Span& a, const Span& b) { return a.start_ns < b.start_ns; });
      for (const Span& span : own) {
        const int64_t from = std::max({span.start_ns, area.begin_ns, until});
        const int64_t to = std::min(span.end_ns(), area.end_ns);
        covered += std::max<int64_t>(0, to - from);
        until = std::max(until, to);
      }
      EXPECT_EQ(one.count, own.size());
      EXPECT_EQ(one.sum_ns, sum);
      EXPECT_EQ(one.min_ns, shortest);
      EXPECT_EQ(one.max_ns, longest);
      ASSERT_TRUE(one.union_ns);
      EXPECT_EQ(*one.union_ns, covered);
      count += own.size();
    }
    EXPECT_EQ(sums.count, count);
    uint64_t all = 0;
    for (const uint32_t row : chosen) {
      for (const Span& span : rows[row]) all += overlaps(span, area.begin_ns, area.end_ns);
    }
    EXPECT_EQ(count, all);
  }
}

TEST_F(Timeline, SearchCountsAllAndFindsTheNearest) {
  Random random(6);
  std::vector<std::vector<Span>> rows;
  for (int i = 0; i < 3; i++) rows.push_back(made_spans(random, {500, 10, 10, 0}, 30));
  const auto file = written(rows, 30);
  const std::vector<bool> wanted = names_with(*file, "NAME 1");  // name 1 and name 10 to name 19
  EXPECT_EQ(std::count(wanted.begin(), wanted.end(), true), 11);
  for (int k = 0; k < 50; k++) {
    const int64_t at = between(random, -10, rows[0].back().end_ns() + 10);
    uint64_t count = 0;
    std::optional<int64_t> next, previous;
    for (const auto& row : rows) {
      for (const Span& span : row) {
        if (!wanted[span.name]) continue;
        count++;
        if (span.start_ns >= at) next = std::min(next.value_or(INT64_MAX), span.start_ns);
        if (span.start_ns < at) previous = std::max(previous.value_or(INT64_MIN), span.start_ns);
      }
    }
    const Matches found = find_spans(*file, {0, 1, 2}, wanted, at);
    EXPECT_EQ(found.count, count);
    ASSERT_EQ(found.next.has_value(), next.has_value());
    ASSERT_EQ(found.previous.has_value(), previous.has_value());
    if (next) {
      EXPECT_EQ(found.next->span.start_ns, *next);
    }
    if (previous) {
      EXPECT_EQ(found.previous->span.start_ns, *previous);
    }
  }
}

TEST_F(Timeline, LanesHideNothing) {
  Random random(7);
  std::vector<Span> spans;
  for (uint32_t i = 0; i < 3'000; i++)
    spans.push_back({between(random, 0, 20'000), any_size(random, 9), ItemId(1, i), 0});
  const auto lanes = lanes_of(spans);
  size_t count = 0;
  for (const auto& lane : lanes) {
    count += lane.size();
    for (size_t i = 1; i < lane.size(); i++) ASSERT_LE(lane[i - 1].reach_ns(), lane[i].start_ns);
  }
  EXPECT_EQ(count, spans.size());
  EXPECT_GT(lanes.size(), 3u);
}

/// A damaged file is refused, or gives figures that are wrong; it never makes the reader leave the file.
TEST_F(Timeline, ADamagedFileIsHarmless) {
  Random random(8);
  const Shape shape{9'000, 13, 16, 0};
  (void)written({made_spans(random, shape, 5), made_spans(random, {50, 34, 34, 0}, 5)}, 5);
  const auto whole = read_file(path());
  ASSERT_TRUE(whole);
  int opened = 0;
  for (int k = 0; k < 400; k++) {
    std::string text = *whole;
    const size_t tail = k % 2 == 0 ? 400 : text.size();
    for (int n = 0; n < 3; n++) text[text.size() - 1 - random() % tail] = static_cast<char>(random());
    if (k % 10 == 0) text.resize(random() % text.size());
    std::ofstream(path(), std::ios::binary) << text;
    const auto file = TimelineFile::open(path());
    if (!file) continue;
    opened++;
    for (uint32_t i = 0; i < (*file)->rows(); i++) {
      const Row row = (*file)->row(i);
      for (int n = 0; n < 20; n++) (void)tile_of(row, any_view(random, shape, 90'000'000));
      (void)sums_of(**file, {i}, {0, 1'000'000});
      (void)find_spans(**file, {i}, names_with(**file, "name"), 1'000);
    }
  }
  EXPECT_GT(opened, 50);
}

}  // namespace
}  // namespace nl::timeline
