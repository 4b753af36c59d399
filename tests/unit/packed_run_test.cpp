#include "store/packed_run.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/sha256.h"

namespace nl::store {
namespace {

using nlohmann::json;

const std::string kId(64, 'a');

std::string packed(const std::vector<FileToPack>& files) {
  std::string bytes;
  const auto sha256 = write_packed_run(kId, files, [&](std::string_view more) -> Result<void> {
    bytes += more;
    return {};
  });
  EXPECT_TRUE(sha256);
  return bytes;
}

class PackedRunTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "packed-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { remove_tree(folder_); }

  std::string file(const std::string& bytes) {
    const std::string path = folder_ + "/run.nlz";
    EXPECT_TRUE(replace_file(path, bytes));
    return path;
  }
  /// With another index.
  std::string with_index(const std::string& content, const json& index) {
    const std::string text = index.dump();
    return file("NLZ1\n" + content + text + tail(5 + content.size(), text));
  }
  static std::string tail(size_t begin, const std::string& index) {
    std::string digits = std::to_string(begin);
    return "NLZ1 " + std::string(20 - digits.size(), '0') + digits + " " + sha256_hex(index) + "\n";
  }
  static json entry(const std::string& name, int64_t offset, const std::string& content) {
    return {{"name", name}, {"offset", offset}, {"bytes", content.size()}, {"sha256", sha256_hex(content)}};
  }
  static json index(const std::vector<json>& files) {
    return {{"files", files}, {"run_id", kId}, {"version", 1}};
  }

  std::string folder_;
};

TEST_F(PackedRunTest, GivesBackWhatWasPacked) {
  const std::string path = file(packed({{"run.json", "", "{}"}, {"kernels.parquet", "", "PAR1"}}));
  EXPECT_TRUE(is_packed_run(path));
  const auto run = PackedRun::open(path);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->run_id(), kId);
  ASSERT_EQ(run->files().size(), 2u);
  EXPECT_EQ(run->files()[0].name, "kernels.parquet");  // in the order of names
  EXPECT_EQ(run->read(*run->find("run.json"), 10).value(), "{}");
  EXPECT_EQ(run->find("spans.parquet"), nullptr);
  EXPECT_FALSE(run->read(*run->find("kernels.parquet"), 3));
}

TEST_F(PackedRunTest, HasTheSameBytesInEveryOrder) {
  EXPECT_EQ(packed({{"run.json", "", "{}"}, {"spans.parquet", "", "x"}}),
            packed({{"spans.parquet", "", "x"}, {"run.json", "", "{}"}}));
}

TEST_F(PackedRunTest, RefusesEveryPrefix) {
  const std::string whole = packed({{"run.json", "", "{\"a\": 1}"}});
  for (size_t size = 0; size < whole.size(); size++)
    EXPECT_FALSE(PackedRun::open(file(whole.substr(0, size)))) << size;
}

TEST_F(PackedRunTest, NoticesEveryChangedByte) {
  const std::string whole = packed({{"kernels.parquet", "", "PAR1"}, {"run.json", "", "{}"}});
  for (size_t at = 0; at < whole.size(); at++) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto run = PackedRun::open(file(changed));
    bool all_right = run.has_value();
    for (size_t i = 0; all_right && i < run->files().size(); i++)
      all_right = run->check(run->files()[i]).has_value();
    EXPECT_FALSE(all_right) << at;
  }
}

TEST_F(PackedRunTest, RefusesNamesThatLeadElsewhere) {
  for (const char* name : {"../x", "/etc/passwd", "derived/../../x", "derived/a/..", "sources/../x",
                           "sources/", "run.json/x", "kernels.parquet/../x", "derived/a", "unknown.parquet",
                           "artifacts/log", "sources/.hidden", "span_tree.parquet", ""}) {
    const std::string path = with_index("{}", index({entry("run.json", 5, "{}"), entry(name, 7, "")}));
    EXPECT_FALSE(PackedRun::open(path)) << name;
  }
}

TEST_F(PackedRunTest, RefusesFilesThatOverlapOrLeaveGaps) {
  EXPECT_TRUE(PackedRun::open(with_index("{}", index({entry("run.json", 5, "{}")}))));
  EXPECT_FALSE(PackedRun::open(with_index("{}", index({entry("run.json", 4, "{}")}))));
  EXPECT_FALSE(PackedRun::open(with_index("{} ", index({entry("run.json", 5, "{}")}))));
  EXPECT_FALSE(PackedRun::open(
      with_index("{}", index({entry("kernels.parquet", 5, "{}"), entry("run.json", 5, "{}")}))));
  EXPECT_FALSE(
      PackedRun::open(with_index("{}", index({entry("run.json", 5, "{}"), entry("run.json", 7, "")}))));
  json huge = entry("run.json", 5, "{}");
  huge["bytes"] = INT64_MAX;
  EXPECT_FALSE(PackedRun::open(with_index("{}", index({huge}))));
}

TEST_F(PackedRunTest, RefusesAnotherVersionAndAnotherShape) {
  json newer = index({entry("run.json", 5, "{}")});
  newer["version"] = 2;
  const auto run = PackedRun::open(with_index("{}", newer));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(PackedRun::open(with_index("{}", json::array())));
  EXPECT_FALSE(PackedRun::open(with_index("{}", index({1, 2}))));
  EXPECT_FALSE(PackedRun::open(with_index("", index({}))));
  json nameless = index({entry("run.json", 5, "{}")});
  nameless["run_id"] = "../../x";
  EXPECT_FALSE(PackedRun::open(with_index("{}", nameless)));
}

}  // namespace
}  // namespace nl::store
