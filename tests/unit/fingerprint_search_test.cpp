#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/files.h"
#include "fingerprint/search.h"

namespace nl::fingerprint {
namespace {

struct SearchDice {
  uint64_t state;
  uint64_t roll() {
    state += 0x9e3779b97f4a7c15U;
    uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  double unit() { return static_cast<double>(roll() >> 11) * 0x1p-53; }
};

constexpr Mask kHost = bit(Dimension::classes) | bit(Dimension::time) | bit(Dimension::ops) |
                       bit(Dimension::sizes) | bit(Dimension::shapes);
constexpr Mask kMasks[] = {kHost, kHost | bit(Dimension::occ),
                           kHost | bit(Dimension::ai) | bit(Dimension::lat_norm),
                           bit(Dimension::occ) | bit(Dimension::l2_hit)};

/// One of a few kinds of runs, and a little different.
Fingerprint random_print(Mask mask, uint64_t kind, SearchDice& dice) {
  SearchDice of_kind{kind + 1};
  Fingerprint print;
  print.present = mask;
  for (size_t i = 0; i < kDimensions; i++) {
    const auto one = static_cast<Dimension>(i);
    if (!has(mask, one)) continue;
    float* values = print.columns.data() + info(one).first_column;
    for (size_t c = 0; c < info(one).columns; c++) {
      const double scale = 1 / static_cast<double>(info(one).columns);
      values[c] = static_cast<float>((0.9 * of_kind.unit() + 0.1 * dice.unit()) * scale);
    }
  }
  return print;
}

RowKey key_of(uint64_t number) {
  RowKey key;
  std::memcpy(key.run_id.data(), &number, sizeof(number));
  key.stamp = number + 1;
  return key;
}

class Search : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "neurolens-search-" + std::to_string(::getpid());
    ASSERT_TRUE(make_folders(folder_));
  }
  void TearDown() override { remove_tree(folder_); }

  std::string path_of(Mask mask) const { return folder_ + "/" + std::to_string(mask) + ".rows"; }

  void add(Mask mask, const std::vector<NewRow>& rows) {
    ASSERT_TRUE(append_rows(path_of(mask), mask, rows));
  }

  /// Runs of all masks; the number of a run is its place.
  void add_many(size_t count) {
    SearchDice dice{count};
    std::map<Mask, std::vector<NewRow>> rows;
    for (size_t i = 0; i < count; i++) {
      const Mask mask = kMasks[dice.roll() % std::size(kMasks)];
      prints_.push_back(random_print(mask, dice.roll() % 8, dice));
      rows[mask].push_back({key_of(i), packed(prints_.back(), mask)});
    }
    for (const auto& [mask, list] : rows) add(mask, list);
  }

  std::vector<SearchedBlock> blocks(bool with_index) const {
    std::vector<SearchedBlock> list;
    for (const Mask mask : kMasks) {
      if (!path_exists(path_of(mask))) continue;
      SearchedBlock block{RowBlock::open(path_of(mask)).value()};
      if (with_index) block.index.emplace(PivotIndex::open(block.rows, path_of(mask)).value());
      list.push_back(std::move(block));
    }
    return list;
  }

  void build_indexes() const {
    for (const Mask mask : kMasks) {
      if (!path_exists(path_of(mask))) continue;
      ASSERT_TRUE(PivotIndex::build(RowBlock::open(path_of(mask)).value(), path_of(mask)));
    }
  }

  /// By distance() alone.
  std::vector<std::pair<double, uint64_t>> truth(const Fingerprint& asked) const {
    std::vector<std::pair<double, uint64_t>> all;
    for (size_t i = 0; i < prints_.size(); i++) {
      if (comparable(asked.present, prints_[i].present))
        all.emplace_back(distance(asked, prints_[i]).value, i);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  std::string folder_;
  std::vector<Fingerprint> prints_;
};

uint64_t number_of(const RowKey& key) {
  return key.stamp - 1;
}

void expect_same(const SearchResult& found, const std::vector<std::pair<double, uint64_t>>& truth,
                 size_t top) {
  ASSERT_EQ(found.neighbors.size(), std::min(top, truth.size()));
  for (size_t i = 0; i < found.neighbors.size(); i++) {
    EXPECT_NEAR(found.neighbors[i].distance, truth[i].first, 1e-6);
    EXPECT_EQ(number_of(found.neighbors[i].key), truth[i].second) << i;
  }
}

TEST_F(Search, AgreesWithDistanceWhateverIsAbsent) {
  add_many(1500);
  const auto flat = blocks(false);
  build_indexes();
  const auto indexed = blocks(true);
  SearchDice dice{99};
  for (int i = 0; i < 40; i++) {
    const Fingerprint asked = random_print(kMasks[i % 4], dice.roll() % 8, dice);
    const auto expected = truth(asked);
    const SearchResult found = search(flat, asked, {.top = 10}).value();
    expect_same(found, expected, 10);
    expect_same(search(indexed, asked, {.top = 10}).value(), expected, 10);
    EXPECT_EQ(found.searched, prints_.size());
    EXPECT_EQ(found.too_different, prints_.size() - expected.size());
    for (const Neighbor& one : found.neighbors)
      EXPECT_EQ(one.shared, asked.present & prints_[number_of(one.key)].present);
  }
}

TEST_F(Search, LeavesOutTheAskedRunAndDeadRows) {
  add_many(300);
  auto all = blocks(false);
  const Fingerprint asked = prints_[7];
  const auto first = search(all, asked, {.top = 3}).value();
  EXPECT_EQ(number_of(first.neighbors[0].key), 7U);
  const auto second = search(all, asked, {.top = 3, .without = key_of(7)}).value();
  EXPECT_EQ(second.neighbors[0].key, first.neighbors[1].key);
  EXPECT_EQ(second.neighbors.size(), 3U);
  for (SearchedBlock& block : all) {
    block.dead.assign(block.rows.size(), false);
    for (size_t row = 0; row < block.rows.size(); row++) {
      block.dead[row] = block.rows.key(row) == second.neighbors[0].key;
    }
  }
  const auto third = search(all, asked, {.top = 2, .without = key_of(7)}).value();
  EXPECT_EQ(third.neighbors[0].key, second.neighbors[1].key);
  EXPECT_EQ(third.searched, prints_.size() - 1);
}

TEST_F(Search, ThreadsAndManyEqualRowsChangeNothing) {
  constexpr Mask kSmall = bit(Dimension::occ) | bit(Dimension::l2_hit);
  SearchDice dice{5};
  std::vector<NewRow> rows;
  for (uint64_t i = 0; i < 120'000; i++) {
    const float value = static_cast<float>(dice.roll() % 50) / 50;
    rows.push_back({key_of(i * 7919 % 120'000), {value, value}});
  }
  add(kSmall, rows);
  Fingerprint asked;
  asked.present = kSmall;
  asked.columns[info(Dimension::occ).first_column] = 0.41F;
  const auto all = blocks(false);
  const auto one = search(all, asked, {.top = 20, .threads = 1}).value(),
             two = search(all, asked, {.top = 20, .threads = 3}).value();
  ASSERT_EQ(one.neighbors.size(), 20U);
  for (size_t i = 0; i < 20; i++) {
    EXPECT_EQ(one.neighbors[i].key, two.neighbors[i].key);
    EXPECT_EQ(one.neighbors[i].distance, two.neighbors[i].distance);
    const bool sorted = i == 0 || one.neighbors[i - 1].key < one.neighbors[i].key;
    EXPECT_TRUE(sorted) << "equal distances go by run id";
  }
}

TEST_F(Search, RowsAddedLaterAreFoundBesideTheIndex) {
  add_many(400);
  build_indexes();
  SearchDice dice{17};
  const Fingerprint late = random_print(kHost, 100, dice);
  add(kHost, {{key_of(5000), packed(late, kHost)}});
  const auto all = blocks(true);
  EXPECT_EQ(number_of(search(all, late, {.top = 1}).value().neighbors.at(0).key), 5000U);
  EXPECT_LT(all[0].index->size(), all[0].rows.size());
}

TEST_F(Search, TheSameRowsGiveTheSameIndex) {
  add_many(600);
  build_indexes();
  const std::string rows = read_file(path_of(kHost)).value();
  const std::string pivots = read_file(PivotIndex::path_of(path_of(kHost))).value();
  remove_tree(folder_);
  ASSERT_TRUE(make_folders(folder_));
  prints_.clear();
  add_many(600);
  build_indexes();
  EXPECT_EQ(rows, read_file(path_of(kHost)).value());
  EXPECT_EQ(pivots, read_file(PivotIndex::path_of(path_of(kHost))).value());
}

TEST_F(Search, AnIndexOfOtherRowsIsRefused) {
  add_many(200);
  build_indexes();
  const std::string pivots = read_file(PivotIndex::path_of(path_of(kHost))).value();
  ASSERT_TRUE(write_rows(path_of(kHost), kHost, 100, [](size_t i) {
    SearchDice dice{i};
    return NewRow{key_of(i), packed(random_print(kHost, i, dice), kHost)};
  }));
  const RowBlock other = RowBlock::open(path_of(kHost)).value();
  EXPECT_FALSE(PivotIndex::open(other, path_of(kHost)));
  for (const size_t length : {size_t{0}, size_t{7}, size_t{60}, pivots.size() - 1}) {
    ASSERT_TRUE(write_file_durably(PivotIndex::path_of(path_of(kHost)), pivots.substr(0, length)));
    EXPECT_FALSE(PivotIndex::open(other, path_of(kHost)));
  }
}

TEST_F(Search, ADamagedFileIsAnErrorAndATornEndIsCutOff) {
  add_many(100);
  const std::string whole = read_file(path_of(kHost)).value();
  const size_t rows = RowBlock::open(path_of(kHost)).value().size();
  SearchDice dice{23};
  for (int i = 0; i < 60; i++) {
    std::string damaged = whole;
    damaged[dice.roll() % whole.size()] ^= static_cast<char>(1 + dice.roll() % 255);
    ASSERT_TRUE(write_file_durably(path_of(kHost), damaged));
    const auto opened = RowBlock::open(path_of(kHost));
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, ErrorCode::kBadInput);
  }
  ASSERT_TRUE(write_file_durably(path_of(kHost), whole.substr(0, whole.size() - 5)));
  EXPECT_EQ(RowBlock::open(path_of(kHost)).value().size(), rows - 1);
  SearchDice more{1};
  add(kHost, {{key_of(900), packed(random_print(kHost, 1, more), kHost)}});
  const RowBlock again = RowBlock::open(path_of(kHost)).value();
  EXPECT_EQ(again.size(), rows);
  EXPECT_EQ(number_of(again.key(rows - 1)), 900U);
}

TEST(Scan, TheProcessorsWayIsThePlainOne) {
  SearchDice dice{31};
  for (size_t n = 0; n < 80; n++) {
    std::vector<float> a(n), b(n);
    for (size_t i = 0; i < n; i++) {
      a[i] = static_cast<float>(dice.unit());
      b[i] = static_cast<float>(dice.unit());
    }
    const float plain = squared_distance_plain(a.data(), b.data(), n);
    EXPECT_NEAR(squared_distance_here()(a.data(), b.data(), n), plain, 1e-5F * (1 + plain)) << n;
  }
}

TEST(RowKeys, AreRunIds) {
  const std::string id = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
  EXPECT_EQ(run_id_text(row_key(id, 3).value()), id);
  for (const std::string& bad :
       {std::string(), id.substr(1), id + "0", std::string(64, 'g'), std::string(64, 'A')})
    EXPECT_FALSE(row_key(bad, 0)) << bad;
}

}  // namespace
}  // namespace nl::fingerprint
