#include "analyze/roofline/roofline.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace nl::analyze {
namespace {

// The ridge is at 500 operations per byte.
constexpr double kPeak = 1000e12;
constexpr double kBandwidth = 2e12;

Roofline of(int64_t flops, int64_t bytes, int64_t time_ns) {
  const auto out = roofline(RoofWork{flops, bytes}, time_ns, kPeak, kBandwidth);
  EXPECT_TRUE(out) << out.reason();
  return out ? *out : Roofline{};
}

// 4e9 operations at 1e15 per second take 4000 ns, 1e6 bytes at 2e12 per second 500 ns.
TEST(Roofline, ComputeBound) {
  const Roofline out = of(4'000'000'000, 1'000'000, 5000);
  EXPECT_DOUBLE_EQ(out.intensity, 4000);
  EXPECT_DOUBLE_EQ(out.attainable, kPeak);
  EXPECT_DOUBLE_EQ(out.roof_time_ns, 4000);
  EXPECT_DOUBLE_EQ(out.share.value, 0.8);
  EXPECT_EQ(out.bound, Bound::kCompute);
  EXPECT_FALSE(out.share.model_or_peak_error);
}

// 1e8 operations take 100 ns, 1e6 bytes 500 ns; at 100 operations per byte 2e14 per second are attainable.
TEST(Roofline, MemoryBound) {
  const Roofline out = of(100'000'000, 1'000'000, 2000);
  EXPECT_DOUBLE_EQ(out.intensity, 100);
  EXPECT_DOUBLE_EQ(out.attainable, 2e14);
  EXPECT_DOUBLE_EQ(out.roof_time_ns, 500);
  EXPECT_DOUBLE_EQ(out.share.value, 0.25);
  EXPECT_EQ(out.bound, Bound::kMemory);
}

TEST(Roofline, FasterThanTheRoofIsAnError) {
  EXPECT_FALSE(of(4'000'000'000, 1'000'000, 4000).share.model_or_peak_error);
  const Roofline out = of(4'000'000'000, 1'000'000, 3999);
  EXPECT_GT(out.share.value, 1);
  EXPECT_TRUE(out.share.model_or_peak_error);
}

TEST(Roofline, ACopyNeedsNoPeak) {
  const auto out = roofline(RoofWork{int64_t{0}, int64_t{1'000'000}}, 1000, Absent{"no peak"}, kBandwidth);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->intensity, 0);
  EXPECT_EQ(out->attainable, 0);
  EXPECT_DOUBLE_EQ(out->share.value, 0.5);
  EXPECT_EQ(out->bound, Bound::kMemory);
}

TEST(Roofline, AbsenceSpreadsWithItsReason) {
  const Known<int64_t> one = int64_t{1};
  const Known<int64_t> none = Absent{"no shapes"};
  EXPECT_EQ(roofline({none, one}, 1, kPeak, kBandwidth).reason(), "no shapes");
  EXPECT_EQ(roofline({one, none}, 1, kPeak, kBandwidth).reason(), "no shapes");
  EXPECT_EQ(roofline({one, one}, 1, Absent{"no peak"}, kBandwidth).reason(), "no peak");
  EXPECT_EQ(roofline({one, one}, 1, kPeak, Absent{"no bandwidth"}).reason(), "no bandwidth");
  EXPECT_FALSE(roofline({one, one}, 0, kPeak, kBandwidth));
  EXPECT_FALSE(roofline({one, one}, -5, kPeak, kBandwidth));
  EXPECT_FALSE(roofline({one, int64_t{0}}, 1, kPeak, kBandwidth));
  EXPECT_FALSE(roofline({int64_t{-1}, one}, 1, kPeak, kBandwidth));
  EXPECT_FALSE(roofline({one, one}, 1, 0.0, kBandwidth));
  EXPECT_FALSE(roofline({one, one}, 1, kPeak, std::numeric_limits<double>::quiet_NaN()));
}

TEST(Roofline, PropertiesOfRandomWork) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int64_t> flops(0, 1'000'000'000'000);
  std::uniform_int_distribution<int64_t> bytes(1, 10'000'000'000);
  for (int i = 0; i < 2000; i++) {
    const int64_t f = flops(random);
    const int64_t b = bytes(random);
    const Roofline at_1ms = of(f, b, 1'000'000);
    const auto at_roof = static_cast<int64_t>(std::ceil(at_1ms.roof_time_ns));
    ASSERT_LE(of(f, b, at_roof).share.value, 1) << f << " " << b;             // a kernel at the roof
    ASSERT_GT(at_1ms.share.value, of(f, b, 1'000'001).share.value);           // slower is a smaller share
    ASSERT_LE(at_1ms.roof_time_ns, of(f + 1000, b, 1'000'000).roof_time_ns);  // more work never takes less
    ASSERT_LE(at_1ms.roof_time_ns, of(f, b + 1000, 1'000'000).roof_time_ns);
    ASSERT_LE(at_1ms.attainable, kPeak);
    const bool right_of_ridge = at_1ms.intensity > kPeak / kBandwidth;
    ASSERT_EQ(at_1ms.bound == Bound::kCompute, right_of_ridge);
  }
}

TEST(Roofline, UsesThePeakOfTheDtypeThatRuns) {
  auto table = PeakTable::built_in();
  ASSERT_TRUE(table);
  const auto a100 = table->find("NVIDIA A100-SXM4-80GB");
  ASSERT_TRUE(a100);
  const OpModel model{312'000'000'000, 1'000'000, "fp32", "matrix_product"};
  // 312e9 operations take 16 ms at 19.5e12 and 2 ms at 156e12.
  EXPECT_DOUBLE_EQ(roofline(model, 16'000'000, *a100)->share.value, 1);
  const auto tensor = roofline(model, 16'000'000, *a100, "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize");
  EXPECT_DOUBLE_EQ(tensor->share.value, 0.125);
  EXPECT_FALSE(roofline(OpModel{1, 1, "fp8", "elementwise"}, 1, *a100));  // no rate of this device
  // No device has a published rate of int64; 2039e6 bytes take 1 ms.
  EXPECT_DOUBLE_EQ(
      roofline(OpModel{1000, 2'039'000'000, "int64", "elementwise"}, 2'000'000, *a100)->share.value, 0.5);
  EXPECT_FALSE(
      roofline(model, 16'000'000, *a100, "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"));
}

TEST(Roofline, TellsWhatFitsTheCache) {
  auto table = PeakTable::built_in();
  ASSERT_TRUE(table);
  const auto v100 = table->find("Tesla V100-SXM2-32GB");  // with a cache of 6 MiB
  ASSERT_TRUE(v100);
  EXPECT_TRUE(roofline(OpModel{0, 6 << 20, "fp32", "copy"}, 4000, *v100)->fits_cache);
  EXPECT_FALSE(roofline(OpModel{0, (6 << 20) + 1, "fp32", "copy"}, 4000, *v100)->fits_cache);
}

TEST(Counters, DisagreeAboveTenPercent) {
  EXPECT_FALSE(compare(int64_t{100}, int64_t{100}).disagrees);
  EXPECT_FALSE(compare(int64_t{90}, int64_t{100}).disagrees);
  EXPECT_TRUE(compare(int64_t{89}, int64_t{100}).disagrees);
  EXPECT_TRUE(compare(int64_t{100}, int64_t{89}).disagrees);
  EXPECT_FALSE(compare(int64_t{0}, int64_t{0}).disagrees);
  EXPECT_TRUE(compare(int64_t{1}, int64_t{0}).disagrees);
  EXPECT_FALSE(compare(Absent{"no model"}, int64_t{5}).disagrees);
  EXPECT_EQ(compare(Absent{"no model"}, int64_t{5}).model.reason(), "no model");
}

TEST(Counters, BothAreKept) {
  const RoofWork model{int64_t{4'000'000'000}, int64_t{1'000'000}};
  const RoofWork counters{int64_t{4'100'000'000}, int64_t{3'000'000}};
  const auto out = compare_rooflines(model, counters, 5000, kPeak, kBandwidth);
  EXPECT_FALSE(out.flops.disagrees);
  EXPECT_TRUE(out.bytes.disagrees);
  EXPECT_EQ(*out.bytes.model, 1'000'000);
  EXPECT_EQ(*out.bytes.counter, 3'000'000);
  EXPECT_DOUBLE_EQ(out.by_model->share.value, 0.8);
  EXPECT_DOUBLE_EQ(out.by_counter->share.value, 0.82);
  const auto alone =
      compare_rooflines(model, {Absent{"no counters"}, Absent{"no counters"}}, 5000, kPeak, kBandwidth);
  EXPECT_TRUE(alone.by_model);
  EXPECT_EQ(alone.by_counter.reason(), "no counters");
}

// 8 devices of 989.4e12 in 1 s: half of 7915.2e12 operations is a half.
TEST(Utilisation, OfComputeAndBandwidth) {
  EXPECT_DOUBLE_EQ(mfu(int64_t{3'957'600'000'000'000}, 1'000'000'000, 8, 989.4e12)->value, 0.5);
  EXPECT_DOUBLE_EQ(mbu(int64_t{16'750'000'000}, 10'000'000, 3.35e12)->value, 0.5);
  EXPECT_TRUE(mbu(int64_t{16'750'000'000}, 4'000'000, 3.35e12)->model_or_peak_error);
  EXPECT_EQ(mfu(int64_t{1}, 1, 1, Absent{"no peak"}).reason(), "no peak");
  EXPECT_FALSE(mfu(int64_t{1}, 0, 1, 1e12));
  EXPECT_FALSE(mfu(int64_t{1}, 1, 0, 1e12));
  EXPECT_FALSE(mfu(int64_t{-1}, 1, 1, 1e12));
}

TEST(SpeedOfLightTest, SixtyPercentBinds) {
  EXPECT_EQ(*speed_of_light(60.0, 10.0), SpeedOfLight::kCompute);
  EXPECT_EQ(*speed_of_light(10.0, 60.0), SpeedOfLight::kMemory);
  EXPECT_EQ(*speed_of_light(59.9, 59.9), SpeedOfLight::kLatency);
  EXPECT_EQ(*speed_of_light(70.0, 80.0), SpeedOfLight::kMemory);
  EXPECT_EQ(speed_of_light(Absent{"no counter"}, 80.0).reason(), "no counter");
  EXPECT_FALSE(speed_of_light(-1.0, 80.0));
  EXPECT_FALSE(speed_of_light(std::numeric_limits<double>::infinity(), 80.0));
}

}  // namespace
}  // namespace nl::analyze
