#include "analyze/roofline/device_peaks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace nl::analyze {
namespace {

class DevicePeaksTest : public testing::Test {
 protected:
  void SetUp() override {
    auto table = PeakTable::built_in();
    ASSERT_TRUE(table) << table.error().message;
    table_ = *table;
  }
  double peak(const char* device, const char* dtype, bool dense = true) const {
    const auto found = table_.find(device);
    return found ? found->peak(dtype, dense).value_or(-1) : -2;
  }
  double bandwidth(const char* device) const {
    const auto found = table_.find(device);
    return found ? found->bandwidth.value_or(-1) : -2;
  }
  PeakTable table_;
};

TEST_F(DevicePeaksTest, DenseAndSparseAreApart) {
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3", "bf16"), 989.4e12);
  EXPECT_EQ(peak("NVIDIA H100 80GB HBM3", "bf16", false), 1978.9e12);
  EXPECT_EQ(bandwidth("NVIDIA H100 80GB HBM3"), 3.35e12);
  EXPECT_EQ(peak("NVIDIA A100 80GB PCIe", "fp16"), 312e12);
  EXPECT_EQ(bandwidth("NVIDIA A100 80GB PCIe"), 1935e9);
  EXPECT_EQ(bandwidth("NVIDIA A100-SXM4-80GB"), 2039e9);
}

// The rate of an H100's tensor cores is 4096 dense fp16 operations per multiprocessor and cycle at 1830 MHz:
// 132 x 4096 x 1.83e9 = 989.4e12. An A100's is 2048: 108 x 2048 x 1.41e9 = 311.9e12. An MI300X's is 2048:
// 304 x 2048 x 2.1e9 = 1307.4e12.
TEST_F(DevicePeaksTest, PeaksFollowFromUnitsAndClock) {
  EXPECT_NEAR(peak("NVIDIA H100 80GB HBM3", "fp16") / (132 * 4096 * 1.83e9), 1, 1e-3);
  EXPECT_NEAR(peak("NVIDIA A100-SXM4-40GB", "fp16") / (108 * 2048 * 1.41e9), 1, 1e-3);
  EXPECT_NEAR(peak("AMD Instinct MI300X", "fp16") / (304 * 2048 * 2.1e9), 1, 1e-3);
}

// A lane of a unit does a multiply-add per cycle in fp32, whatever a data sheet prints: units x lanes x 2 x
// clock.
TEST_F(DevicePeaksTest, Fp32FollowsFromLanes) {
  struct Case {
    const char* device;
    int lanes;
  };
  const Case cases[] = {
      {"NVIDIA H100 80GB HBM3", 128},
      {"NVIDIA H100 PCIe", 128},
      {"NVIDIA A100-SXM4-80GB", 64},
      {"NVIDIA A30", 64},
      {"NVIDIA A10", 128},
      {"NVIDIA A40", 128},
      {"NVIDIA A2", 128},
      {"NVIDIA L4", 128},
      {"NVIDIA L40S", 128},
      {"Tesla T4", 64},
      {"Tesla V100-SXM2-32GB", 64},
      {"NVIDIA TITAN RTX", 64},
      {"Tesla P100-SXM2-16GB", 64},
      {"NVIDIA GeForce RTX 3070", 128},
      {"NVIDIA GeForce RTX 3090", 128},
      {"NVIDIA RTX A6000", 128},
      {"NVIDIA GeForce RTX 4090", 128},
      {"NVIDIA GeForce RTX 5090", 128},
      {"NVIDIA GeForce GTX 1080 Ti", 128},
      {"AMD Instinct MI100", 128},
      {"AMD Instinct MI210", 128},
      {"AMD Instinct MI250", 128},
      {"AMD Instinct MI250X", 128},
      {"AMD Instinct MI300A", 128},
      {"AMD Instinct MI300X", 128},
      {"AMD Instinct MI325X", 128},
      {"AMD Instinct MI350X", 128},
      {"AMD Instinct MI355X", 128},
  };
  for (const auto& [name, lanes] : cases) {
    const auto found = table_.find(name);
    ASSERT_TRUE(found) << name;
    ASSERT_TRUE(found->units && found->boost_hz && found->peak("fp32")) << name;
    const double expected = static_cast<double>(*found->units) * lanes * 2 * *found->boost_hz;
    EXPECT_NEAR(*found->peak("fp32") / expected, 1, 0.01) << name;
  }
}

TEST_F(DevicePeaksTest, NamesOfRealProfiles) {
  struct Case {
    DeviceFacts facts;
    const char* device;
  };
  const Case cases[] = {
      {{"NVIDIA A100-PG509-200", 42297524224, 108}, "A100 SXM4 40 GB"},
      {{"NVIDIA H100 80GB HBM3", 85018279936, 132}, "H100 SXM 80 GB"},
      {{"NVIDIA B200", 191503138816, 148}, "B200 180 GB"},
      {{"Tesla V100-DGXS-32GB", 34084028416, 80}, "V100 DGX Station"},
      {{"Tesla V100-SXM2-32GB", 34079637504, 80}, "V100 SXM2"},
      {{"AMD Instinct MI300X", 206141652992, 304}, "MI300X"},
      {{"AMD Instinct MI300X VF", 205571227648, 304}, "MI300X"},
      {{"AMD Radeon Graphics", 68702699520, 104}, "MI210 or MI250, one of two chips"},
      {{"NVIDIA H100", 85018279936, 132}, "H100 SXM 80 GB"},
      {{"NVIDIA H100", 85018279936, 114}, "H100 PCIe 80 GB"},
  };
  for (const auto& [facts, device] : cases) {
    const auto found = table_.find(facts);
    ASSERT_TRUE(found) << facts.name << ": " << found.reason();
    EXPECT_EQ(found->device, device);
    EXPECT_FALSE(found->source.empty());
  }
}

TEST_F(DevicePeaksTest, UnknownDevicesHaveAReason) {
  const DeviceFacts cases[] = {
      {"NVIDIA H100", 102085492736, 132},           // a board of 96 GB that the table does not have
      {"NVIDIA H100"},                              // SXM, PCIe or NVL
      {"AMD Radeon Graphics"},                      // anything
      {"AMD Radeon Graphics", 8589934592, 12},      // the graphics of a desktop processor
      {"AMD Instinct MI300X VF", 25000000000, 38},  // an eighth of the device
      {"NVIDIA H100 80GB HBM3 MIG 1g.10gb"},
      {"ARTEMIS"},
      {""},
  };
  for (const auto& facts : cases) {
    const auto found = table_.find(facts);
    EXPECT_FALSE(found) << facts.name << " is not " << found->device;
    EXPECT_FALSE(found.reason().empty());
  }
}

TEST_F(DevicePeaksTest, AnAmbiguousNameKeepsWhatAllShare) {
  const auto ti = table_.find("NVIDIA GeForce RTX 2080 Ti");  // two boards with different clocks
  ASSERT_TRUE(ti);
  EXPECT_EQ(*ti->bandwidth, 616e9);
  EXPECT_EQ(*ti->units, 68);
  EXPECT_FALSE(ti->peak("fp16"));
  EXPECT_NE(ti->peak("fp16").reason(), "");
  const auto mi = table_.find({"AMD Radeon Graphics", 68702699520, 104});
  ASSERT_TRUE(mi);
  EXPECT_EQ(*mi->bandwidth, 1638.4e9);
}

TEST_F(DevicePeaksTest, AMissingFigureIsAbsent) {
  const auto v100 = table_.find("Tesla V100-SXM2-16GB");
  ASSERT_TRUE(v100);
  EXPECT_FALSE(v100->peak("bf16"));
  EXPECT_FALSE(v100->peak("fp16", false));
  EXPECT_EQ(v100->peak("bf16").reason(), "no bf16 peak known of V100 SXM2");
}

TEST_F(DevicePeaksTest, TellsWhatTheFiguresWereHeldAgainst) {
  EXPECT_NE(table_.find("NVIDIA A100-SXM4-40GB")->checked, "");
  EXPECT_EQ(table_.find("NVIDIA H800")->checked, "");
  EXPECT_EQ(table_.find("NVIDIA GeForce RTX 2080 Ti")->checked, "");
}

TEST_F(DevicePeaksTest, MoreNames) {
  EXPECT_EQ(peak("NVIDIA GeForce RTX 4090", "bf16"), 165.2e12);
  EXPECT_EQ(peak("GeForce RTX 3090", "fp32"), 35.6e12);
  EXPECT_EQ(peak("NVIDIA L4", "fp16"), 121e12);
  EXPECT_EQ(peak("NVIDIA L40S", "fp8"), 733e12);
  EXPECT_EQ(peak("NVIDIA L40", "fp16"), 181.05e12);
  EXPECT_EQ(peak("Tesla T4", "int8"), 130e12);
  EXPECT_EQ(peak("NVIDIA A10", "tf32"), 62.5e12);
  EXPECT_EQ(peak("NVIDIA A10G", "tf32"), -2);  // published rates do not agree, so the device is left out
  EXPECT_EQ(bandwidth("NVIDIA TITAN V"), 652.8e9);
  EXPECT_EQ(bandwidth("Quadro GV100"), 870e9);
  EXPECT_EQ(bandwidth("NVIDIA H200"), 4.8e12);
}

constexpr char kMine[] =
    "devices:\n"
    "  - device: mine\n"
    "    vendor: NVIDIA\n"
    "    names: ['NVIDIA H100 80GB HBM3', 'Prototype [0-9]+']\n"
    "    bandwidth: 2e12\n"
    "    dense: {bf16: 800e12}\n"
    "    source: measured\n";

TEST(PeakTable, AUsersFileCountsFirst) {
  const auto table = PeakTable::with_file(kMine, "mine.yaml");
  ASSERT_TRUE(table) << table.error().message;
  const auto h100 = table->find("NVIDIA H100 80GB HBM3");
  ASSERT_TRUE(h100);
  EXPECT_EQ(h100->device, "mine");
  EXPECT_EQ(*h100->peak("bf16"), 800e12);
  EXPECT_FALSE(h100->peak("fp16"));  // nothing of the built-in device is mixed in
  EXPECT_TRUE(table->find("Prototype 7"));
  EXPECT_FALSE(table->find("Prototype 7b"));
  EXPECT_TRUE(table->find("NVIDIA A100-SXM4-40GB"));
}

TEST(PeakTable, FaultsNameFileAndLine) {
  struct Case {
    const char* from;
    const char* to;
    int line;
  };
  const Case cases[] = {
      {"bandwidth: 2e12", "bandwidth: fast", 5},
      {"bandwidth: 2e12", "bandwidth: -1", 5},
      {"bandwidth: 2e12", "bandwidth: inf", 5},
      {"bandwidth: 2e12", "bandwith: 2e12", 5},
      {"bandwidth: 2e12", "units: 1.5", 5},
      {"{bf16: 800e12}", "{bfloat: 800e12}", 6},
      {"{bf16: 800e12}", "[800e12]", 6},
      {"{bf16: 800e12}", "{bf16: 800e12}\n    sparse: {bf16: 400e12}", 7},
      {"'Prototype [0-9]+'", "'Prototype [0-9'", 4},
      {"    source: measured\n", "", 2},
      {"devices:", "things:", 1},
  };
  for (const auto& [from, to, line] : cases) {
    std::string text = kMine;
    text.replace(text.find(from), std::string(from).size(), to);
    const auto table = PeakTable::with_file(text, "mine.yaml");
    ASSERT_FALSE(table) << to;
    EXPECT_EQ(table.error().code, ErrorCode::kBadInput);
    const std::string place = "mine.yaml:" + std::to_string(line) + ":";
    EXPECT_EQ(table.error().message.substr(0, place.size()), place) << table.error().message;
  }
  EXPECT_FALSE(PeakTable::with_file("", "empty.yaml"));
  EXPECT_FALSE(PeakTable::with_file("[", "broken.yaml"));
}

}  // namespace
}  // namespace nl::analyze
