// Runs that are large in one direction. Whoever looks at all pairs, or keeps a copy for each, does not end
// here.

#include <gtest/gtest.h>

#include "analyze/load/module_paths.h"
#include "analyze/time/model_layers.h"
#include "unit/small_run.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

TEST(Costs, PathsOfDeepModulesLeaveOutTheMiddle) {
  constexpr uint32_t kDepth = 200'000;
  SmallRun small;
  uint32_t outer = kNoRow;
  for (uint32_t i = 0; i < kDepth; i++)
    outer = small.span(SpanKind::python, i % 2 == 0 ? "nn.Module: Even_1" : "nn.Module: Odd_2",
                       {i, 2 * kDepth - i}, outer);
  ModulePaths paths(small.run);
  EXPECT_EQ(paths.around(2), "Even / Odd / Even");
  std::string whole = "Even";
  for (uint32_t i = 1; i < ModulePaths::kMostModules; i++) whole += i % 2 == 0 ? " / Even" : " / Odd";
  EXPECT_EQ(paths.around(ModulePaths::kMostModules - 1), whole);
  for (uint32_t i = 0; i < kDepth; i++) ASSERT_LE(paths.around(i).size(), whole.size());
  const std::string& deepest = paths.around(kDepth - 1);
  EXPECT_TRUE(deepest.starts_with("Even / Odd / ")) << deepest;
  EXPECT_NE(deepest.find(" / (199984 modules) / "), std::string::npos) << deepest;
  EXPECT_TRUE(deepest.ends_with(" / Even / Odd")) << deepest;
}

TEST(Costs, LayersAreFoundBelowADeepRecursion) {
  constexpr uint32_t kFrames = 200'000, kModules = 20'000;
  SmallRun small;
  uint32_t frame = small.span(SpanKind::python, "nn.Module: Model_0", {0, 1'000'000});
  for (uint32_t i = 0; i < kFrames; i++)
    frame = small.span(SpanKind::python, "model.py(7): forward", {i, 1'000'000 - i}, frame);
  for (uint32_t i = 0; i < kModules; i++) {
    const uint32_t layer = small.span(SpanKind::python, "nn.Module: DecoderLayer_" + std::to_string(i),
                                      {kFrames, 300'000}, frame);
    small.span(SpanKind::python, "nn.Module: Linear_" + std::to_string(i), {kFrames, 300'000}, layer);
  }
  EXPECT_EQ(LayerFrames::by_modules(small.run).layers().size(), kModules);
}

/// Launch calls of one thread, in turn for each of the devices.
struct ManyDevices : SmallRun {
  ManyDevices(int32_t devices, int32_t launches) {
    for (int32_t i = 0; i < launches; i++) {
      launched(100 * i, {100 * i + 20, 100 * i + 40 + i % 7});
      run.kernels.device.back() = i % devices;
    }
    classes.kernel.assign(run.names.size(), OpClass::k_gemm);
    classes.op = classes.kernel;
  }
  NameClasses classes;
};

TEST(Costs, TheDevicesWithTheLongestWorkAreKept) {
  constexpr int32_t kDevices = 3'000;
  ManyDevices many(kDevices, 2 * kDevices);
  for (int32_t i = 0; i < kDevices; i += 3) many.run.kernels.end[static_cast<size_t>(i)] += 20;
  DevicesLeftOut left_out;
  const std::vector<Device> devices = devices_of(many.run, many.classes, &left_out);
  ASSERT_EQ(devices.size(), kMostDevices);
  EXPECT_EQ(left_out.devices, 2'000);
  EXPECT_EQ(left_out.rows, 4'000);
  for (size_t i = 0; i < devices.size(); i++) EXPECT_EQ(devices[i].number, 3 * static_cast<int32_t>(i));
}

TEST(Costs, IdleDevicesShareTheRecordOfTheirThread) {
  constexpr int32_t kDevices = 500, kLaunches = 50'000;
  const ManyDevices many(kDevices, kLaunches);
  const HostActivity host(many.run);
  const CauseRecord waits = record_of_waits({});
  size_t stretches = 0, pieces = 0;
  int64_t idle_ns = 0, busy_ns = 0;
  for (const Device& device : devices_of(many.run, many.classes)) {
    const IdleTimes idle = idle_times(many.run, device, host, waits);
    idle.for_each_stretch([&](const IdlePiece&) { stretches++; });
    idle.for_each([&](const IdlePiece& piece) {
      pieces++;
      idle_ns += piece.time.length();
    });
    busy_ns += total_length(device.busy);
  }
  EXPECT_EQ(idle_ns + busy_ns, kDevices * many.run.capture.length());
  EXPECT_LE(stretches, size_t{4} * kLaunches) << "kept in memory";
  EXPECT_GE(pieces, size_t{kDevices / 2} * kLaunches) << "what the devices waited for";
}

TEST(Costs, ActivityOfManyThreadsIsUnitedAtOnce) {
  constexpr int32_t kThreads = 200'000;
  SmallRun small;
  small.run.tracks.resize(kThreads);
  for (int32_t i = 0; i < kThreads; i++) {
    small.span(SpanKind::op, "aten::add", {2 * i, 2 * i + 1});
    small.run.spans.track.back() = i;
  }
  const HostActivity host(small.run);
  EXPECT_EQ(host.everywhere(IdleCause::kHostOp).size(), size_t{kThreads});
  EXPECT_EQ(host.causes_of(7).size(), 3u) << "before, in and behind the op";
}

}  // namespace
}  // namespace nl::analyze
