#include "fingerprint/fingerprint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/portable_log.h"
#include "fingerprint/distance.h"
#include "fingerprint/explain.h"

namespace nl::fingerprint {
namespace {

using nlohmann::json;

struct Dice {
  uint64_t state;
  uint64_t roll() {
    state += 0x9e3779b97f4a7c15U;
    uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
  }
  double unit() { return static_cast<double>(roll() >> 11) * 0x1p-53; }
};

/// All calls of one op type last equally long.
struct TestOp {
  std::string type;
  std::string op_class;
  int64_t ns;
  int64_t calls;
  std::string shape;
};

int64_t total_of(const std::vector<TestOp>& ops) {
  int64_t sum = 0;
  for (const TestOp& op : ops) sum += op.ns * op.calls;
  return sum;
}

json pattern_of(const std::vector<TestOp>& ops) {
  double typical = 0;
  for (const TestOp& op : ops)
    typical += static_cast<double>(op.ns * op.calls) * portable_log2(static_cast<double>(op.ns));
  typical /= static_cast<double>(total_of(ops));
  json rows = json::array(), shapes = json::array();
  for (const TestOp& op : ops) {
    rows.push_back({{"token", op.type},
                    {"class", op.op_class},
                    {"calls", op.calls},
                    {"total_ns", op.ns * op.calls},
                    {"p50_ns", op.ns},
                    {"p90_ns", op.calls < 10 ? json() : json(op.ns)},
                    {"p99_ns", op.calls < 100 ? json() : json(op.ns)},
                    {"sizes", analyze::size_shares(portable_log2(static_cast<double>(op.ns)) - typical)}});
    shapes.push_back({{"shape", op.shape}, {"total_ns", op.ns * op.calls}});
  }
  return {{"rows", rows}, {"shapes", shapes}, {"total_ns", total_of(ops)}};
}

json device_of(int number, int64_t compute, int64_t idle) {
  return {{"device", number},
          {"rank", number},
          {"kind", "device"},
          {"decomposition",
           {{"window_ns", compute + idle},
            {"compute_ns", compute},
            {"exposed_comm_ns", 0},
            {"exposed_copy_ns", 0},
            {"idle_ns", idle}}},
          {"idle_causes", {{"host_op", idle}}},
          {"metrics", {{"launch_api_time", idle / 2}}}};
}

json measures_of(const std::vector<TestOp>& ops) {
  json out = {{"steps", {{"median_ns", nullptr}, {"p90_ns", nullptr}, {"p99_ns", nullptr}}}};
  out["devices"] = json::array({device_of(0, 3'000'000, 1'000'000)});
  out["patterns"] = json::array({pattern_of(ops)});
  out["kernels"] = json::array();
  out["layers"] = nullptr;
  out["model_layers"] = {{"absent", "no names"}, {"devices", json::array()}};
  out["counters"] = nullptr;
  out["roofline"] = json::array();
  return out;
}

Fingerprint print_of(const json& measures) {
  auto print = fingerprint_of(measures);
  EXPECT_TRUE(print);
  return print ? *print : Fingerprint{};
}

std::vector<TestOp> random_ops(Dice& dice) {
  static constexpr const char* kClasses[] = {"gemm", "conv", "norm", "elementwise", "memory"};
  std::vector<TestOp> ops;
  const size_t count = 3 + dice.roll() % 8;
  for (size_t i = 0; i < count; i++) {
    const auto number = dice.roll() % 40;
    ops.push_back({"op" + std::to_string(100 * i + number), kClasses[number % 5],
                   static_cast<int64_t>(1000 + dice.roll() % 100'000),
                   static_cast<int64_t>(10 + dice.roll() % 90), std::to_string(16 << number % 7)});
  }
  return ops;
}

TEST(Fingerprint, SharesOfTimeAddUp) {
  Dice dice{1};
  const Fingerprint print = print_of(measures_of(random_ops(dice)));
  for (const Dimension one : {Dimension::classes, Dimension::ops, Dimension::sizes, Dimension::op_sizes,
                              Dimension::shapes, Dimension::widths, Dimension::time}) {
    ASSERT_TRUE(has(print.present, one)) << info(one).id;
    double sum = 0;
    for (const float value : print.of(one)) sum += static_cast<double>(value);
    EXPECT_NEAR(sum, 1, 1e-3) << info(one).id;
  }
}

TEST(Fingerprint, WhatIsNotMeasuredIsAbsentWithAReason) {
  json measures = measures_of({{"mm", "gemm", 1000, 20, "8"}});
  measures["patterns"][0]["shapes"] = json::array();
  const Fingerprint print = print_of(measures);
  for (size_t i = 0; i < kDimensions; i++) {
    const auto one = static_cast<Dimension>(i);
    EXPECT_EQ(has(print.present, one), !print.absent.contains(one)) << info(one).id;
  }
  for (const Dimension one : {Dimension::occ, Dimension::l2_hit, Dimension::shapes, Dimension::step_p90,
                              Dimension::lat_norm, Dimension::tail_p99}) {
    ASSERT_TRUE(print.absent.contains(one)) << info(one).id;
    EXPECT_FALSE(print.absent.at(one).empty());
    for (const float value : print.of(one)) EXPECT_EQ(value, 0);
  }
}

TEST(Fingerprint, CountersAreMeansOverReplayedTime) {
  json measures = measures_of({{"mm", "gemm", 1000, 20, "8"}});
  const auto kernel = [](int64_t ns, json occupancy) {
    return json{{"replay_ns", ns},
                {"achieved_occupancy_pct", occupancy},
                {"warp_efficiency_pct", nullptr},
                {"l2_hit_pct", 50.0},
                {"dram_pct", 25.0},
                {"intensity", 16.0}};
  };
  measures["counters"] = {{"kernels", {kernel(300, 80.0), kernel(100, 40.0)}}};
  const Fingerprint print = print_of(measures);
  EXPECT_NEAR(print.of(Dimension::occ)[0], 0.7, 1e-4);
  EXPECT_NEAR(print.of(Dimension::ai)[0], 0.5, 1e-4) << "(log2(16) + 4) / 16";
  EXPECT_FALSE(has(print.present, Dimension::warp_eff));
  measures["counters"]["kernels"] = {kernel(100, 80.0), kernel(300, nullptr)};
  EXPECT_FALSE(has(print_of(measures).present, Dimension::occ)) << "known for a quarter of the time only";
}

/// A device whose layers take these times, with a tenth of each as their own.
json layers_of(const std::vector<int64_t>& times, int64_t outside) {
  json rows = json::array();
  int64_t sum = 0;
  for (const int64_t ns : times) {
    rows.push_back({{"stack", "layers"}, {"index", rows.size()}, {"device_ns", ns}, {"self_ns", ns / 10}});
    sum += ns;
  }
  return {{"total_ns", sum + outside},
          {"in_layers_ns", sum},
          {"layers", rows},
          {"classes", {{"gemm", sum - sum / 4}, {"norm", sum / 4}}}};
}

TEST(Fingerprint, LayersAreToldByShareNumberAndEvenness) {
  json measures = measures_of({{"mm", "gemm", 1000, 20, "8"}});
  const Fingerprint without = print_of(measures);
  for (const Dimension one : {Dimension::layer_share, Dimension::layer_count, Dimension::layer_even,
                              Dimension::layer_self, Dimension::layer_classes})
    EXPECT_TRUE(without.absent.contains(one)) << info(one).id;
  measures["model_layers"]["devices"] = json::array({layers_of({100, 100, 100, 100}, 100)});
  const Fingerprint even = print_of(measures);
  EXPECT_NEAR(even.of(Dimension::layer_share)[0], 0.8, 1e-4);
  EXPECT_NEAR(even.of(Dimension::layer_count)[0], 0.2, 1e-4) << "log2(4) / 10";
  EXPECT_NEAR(even.of(Dimension::layer_even)[0], 1, 1e-4);
  EXPECT_NEAR(even.of(Dimension::layer_self)[0], 0.1, 1e-4);
  EXPECT_NEAR(even.of(Dimension::layer_classes)[static_cast<size_t>(analyze::OpClass::k_gemm)], 0.75, 1e-4);
  const Distance apart = distance(even, without);
  EXPECT_EQ(apart.value, 0) << "a run that names no layers is not one without layers";
  EXPECT_EQ(apart.shared, without.present);
  measures["model_layers"]["devices"] = json::array({layers_of({100, 100, 100, 700}, 100)});
  EXPECT_NEAR(print_of(measures).of(Dimension::layer_even)[0], 0.55, 1e-4)
      << "45 % of the time would have to move";
  measures["model_layers"]["devices"] = json::array({layers_of({100, 100}, 300)});
  const Fingerprint few = print_of(measures);
  EXPECT_TRUE(has(few.present, Dimension::layer_share));
  EXPECT_TRUE(few.absent.contains(Dimension::layer_even)) << "most of the time is in no named layer";
}

TEST(Fingerprint, RanksAndRowsMayComeInAnyOrder) {
  Dice dice{2};
  json measures = measures_of(random_ops(dice));
  measures["devices"] = {device_of(0, 3'000'000, 1'000'000), device_of(1, 2'000'000, 2'000'001)};
  measures["patterns"] = {pattern_of(random_ops(dice)), measures["patterns"][0]};
  measures["model_layers"]["devices"] = json::array({layers_of({7, 11, 13}, 5), layers_of({3, 17}, 2)});
  json other = measures;
  std::reverse(other["model_layers"]["devices"].begin(), other["model_layers"]["devices"].end());
  std::reverse(other["devices"].begin(), other["devices"].end());
  std::reverse(other["patterns"].begin(), other["patterns"].end());
  std::reverse(other["patterns"][0]["rows"].begin(), other["patterns"][0]["rows"].end());
  EXPECT_EQ(print_of(measures).columns, print_of(other).columns);
}

TEST(Fingerprint, DamagedMeasuresAreAnError) {
  const json whole = measures_of({{"mm", "gemm", 1000, 20, "8"}});
  for (const char* key : {"devices", "patterns", "steps", "roofline", "layers", "model_layers", "counters"}) {
    json without = whole;
    without.erase(key);
    EXPECT_FALSE(fingerprint_of(without)) << key;
  }
  for (const char* key : {"devices", "patterns", "steps", "roofline"}) {
    json other = whole;
    other[key] = "text";
    EXPECT_FALSE(fingerprint_of(other)) << key;
  }
}

TEST(Distance, IsAMetricOfTheSharedDimensions) {
  Dice dice{3};
  std::vector<Fingerprint> prints;
  for (int i = 0; i < 12; i++) prints.push_back(print_of(measures_of(random_ops(dice))));
  for (const Fingerprint& a : prints) {
    EXPECT_EQ(distance(a, a).value, 0);
    for (const Fingerprint& b : prints) {
      const double apart = distance(a, b).value;
      EXPECT_GE(apart, 0);
      EXPECT_LE(apart, 1);
      EXPECT_EQ(apart, distance(b, a).value);
      for (const Fingerprint& c : prints)
        EXPECT_LE(apart, distance(a, c).value + distance(c, b).value + 1e-12);
    }
  }
}

TEST(Distance, AbsentDimensionsCountNowhere) {
  Dice dice{4};
  const Fingerprint a = print_of(measures_of(random_ops(dice)));
  Fingerprint b = print_of(measures_of(random_ops(dice)));
  const Mask without = b.present & ~bit(Dimension::classes);
  Fingerprint reduced = b;
  reduced.present = without;
  EXPECT_EQ(distance(a, reduced).shared, a.present & without);
  const double apart = distance(a, reduced).value;
  for (float& value : std::span(reduced.columns).subspan(info(Dimension::classes).first_column, 5)) value = 1;
  EXPECT_EQ(distance(a, reduced).value, apart) << "what lies in an absent dimension does not matter";
  EXPECT_NE(distance(a, b).value, apart);
  EXPECT_TRUE(comparable(a.present, without));
  EXPECT_FALSE(comparable(a.present, bit(Dimension::launch))) << "too little in common";
}

/// An op of share w moves each dimension of shares by at most w, those of sizes by at most
/// w (1 + octaves / 2), since the typical duration moves with it, and means over at least half of the time by
/// at most 2 w.
double bound_for(Mask mask, double octaves) {
  double sum = 0;
  for (size_t i = 0; i < kDimensions; i++) {
    const auto one = static_cast<Dimension>(i);
    const bool of_sizes = one == Dimension::sizes || one == Dimension::op_sizes;
    const double factor = of_sizes ? 1 + octaves / 2 : info(one).kind == DimensionKind::kNumber ? 2 : 1;
    if (has(mask, one)) sum += info(one).weight * factor * factor;
  }
  return std::sqrt(sum / weight_of(mask));
}

TEST(Distance, AnOpOfShareWMovesItByAtMostCTimesW) {
  Dice dice{5};
  double most = 0;
  for (int round = 0; round < 300; round++) {
    const auto ops = random_ops(dice);
    const Fingerprint before = print_of(measures_of(ops)), other = print_of(measures_of(random_ops(dice)));
    auto more = ops;
    const auto ns = static_cast<int64_t>(200 + dice.roll() % 2'000'000);
    more.push_back({"new", "attention", ns, static_cast<int64_t>(10 + dice.roll() % 40), "77"});
    const double share = static_cast<double>(ns * more.back().calls) / static_cast<double>(total_of(more));
    const Fingerprint after = print_of(measures_of(more));
    const Mask mask = before.present & other.present & after.present;
    ASSERT_EQ(mask, before.present & other.present);
    const double moved = std::abs(distance(after, other).value - distance(before, other).value);
    EXPECT_LE(moved, bound_for(mask, 12) * share + 1e-3) << share;
    most = std::max(most, moved / share);
    EXPECT_LE(distance(before, after).value, bound_for(mask, 12) * share + 1e-3);
  }
  EXPECT_GT(most, 0.05) << "the bound is about something that moves";
  EXPECT_LT(bound_for(print_of(measures_of(random_ops(dice))).present, 16), 4);
}

TEST(Explain, NamesWhatDiffersMost) {
  const json here = measures_of({{"mm", "gemm", 1000, 80, "64"}, {"add", "elementwise", 1000, 20, "64"}});
  const json there = measures_of({{"mm", "gemm", 1000, 30, "64"}, {"add", "elementwise", 1000, 70, "64"}});
  const Fingerprint a = print_of(here), b = print_of(there);
  const auto rows = explain({a, here}, {b, there});
  EXPECT_EQ(rows[0].id, "classes");
  EXPECT_FALSE(rows[0].agrees);
  EXPECT_NEAR(std::abs(rows[0].here - rows[0].there), 0.5, 1e-3);
  const auto shapes = std::find_if(rows.begin(), rows.end(), [](const auto& r) { return r.id == "shapes"; });
  ASSERT_NE(shapes, rows.end());
  EXPECT_TRUE(shapes->agrees);
  for (const auto& row : not_compared(a, b)) EXPECT_TRUE(row.missing_here);
}

TEST(PortableLog, IsThatOfTheLibrary) {
  Dice dice{6};
  for (int i = 0; i < 10'000; i++) {
    const double x = std::ldexp(1 + dice.unit(), static_cast<int>(dice.roll() % 120) - 60);
    EXPECT_NEAR(portable_log2(x), std::log2(x), 1e-13) << x;
  }
  EXPECT_EQ(portable_log2(1), 0);
  EXPECT_EQ(portable_log2(1024), 10);
}

TEST(WorkPattern, ShapeOfTheFirstTensorWithoutTheBatch) {
  using analyze::shape_of_first_tensor;
  EXPECT_EQ(shape_of_first_tensor("[[2,48,96],[96]]"), "48x96");
  EXPECT_EQ(shape_of_first_tensor("[[96],[2,48,96]]"), "48x96") << "a bias says less";
  EXPECT_EQ(shape_of_first_tensor("[\n  [\n 141,\n 512\n ],\n [] ]"), "512");
  EXPECT_EQ(shape_of_first_tensor("[[],[7]]"), "7");
  EXPECT_EQ(shape_of_first_tensor("[[[4,5],[4,6]],[]]"), "5");
  for (const char* text : {"", "[", "[[", "[]", "[[]]", "[[\"a\",2]]", "nonsense"})
    EXPECT_EQ(shape_of_first_tensor(text), "") << text;
}

}  // namespace
}  // namespace nl::fingerprint
