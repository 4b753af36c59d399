// Windows, idle causes, launches and attribution on small time lines made by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/load/host_calls.h"
#include "analyze/load/launches.h"
#include "analyze/load/period.h"
#include "analyze/load/windows.h"
#include "analyze/names/copy_kinds.h"
#include "analyze/time/attribution.h"
#include "analyze/time/idle.h"
#include "small_run.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

TEST(Idle, SplitsAGapBeforeTheLaunchCallByWhatTheHostDid) {
  SmallRun small;
  small.launched(0, {20, 100'000});
  small.span(SpanKind::runtime, "cudaStreamSynchronize", {50'000, 150'000});
  small.span(SpanKind::op, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", {150'000, 200'000});
  small.span(SpanKind::runtime, "cudaMalloc", {200'000, 210'000});
  small.span(SpanKind::op, "aten::add", {210'000, 230'000});
  small.launched(240'000, {240'500, 300'000});
  EXPECT_EQ(small.cause(IdleCause::kHostSync), 50'000);
  EXPECT_EQ(small.cause(IdleCause::kHostData), 50'000);
  EXPECT_EQ(small.cause(IdleCause::kHostAlloc), 10'000);
  EXPECT_EQ(small.cause(IdleCause::kHostOp), 20'000);
  EXPECT_EQ(small.cause(IdleCause::kHostOther), 10'000);
  EXPECT_EQ(small.cause(IdleCause::kLaunch), 20 + 500);
}

TEST(Idle, WorkLaunchedInTimeIsTurnaroundOrQueued) {
  SmallRun small;
  small.launched(0, {100, 1'000});
  small.launched(10, {2'000, 3'000});    // 1 us later: turnaround
  small.launched(20, {53'000, 54'000});  // 50 us later
  const IntervalSet waits = {{10'000, 30'000}};
  EXPECT_EQ(small.cause(IdleCause::kTurnaround), 1'000);
  EXPECT_EQ(small.cause(IdleCause::kQueued), 50'000);
  EXPECT_EQ(small.cause(IdleCause::kQueued, waits), 30'000);
  EXPECT_EQ(small.cause(IdleCause::kWait, waits), 20'000);
}

TEST(Idle, EndsOfTheCaptureAndUnknownLaunchesHaveTheirOwnCause) {
  SmallRun small;
  small.kernel("k", {500, 600});
  small.span(SpanKind::op, "aten::add", {0, 900});
  EXPECT_EQ(small.cause(IdleCause::kUnlinked), 500);
  EXPECT_EQ(small.cause(IdleCause::kEnd), 300);
  SmallRun late;
  late.launched(0, {5'000'000, 5'000'100});  // the device may be busy with what came before
  EXPECT_EQ(late.cause(IdleCause::kStart), 5'000'000);
  EXPECT_EQ(late.cause(IdleCause::kLaunch), 0);
}

TEST(Idle, ALaunchThatTakesTooLongWaitsForWorkThatIsNotRecorded) {
  SmallRun small;
  small.launched(0, {20, 1'000});
  small.launched(2'000, {102'010, 103'000});  // 100 us behind its call
  small.launched(200'000, {5'000'000, 5'000'100});
  EXPECT_EQ(small.cause(IdleCause::kQueued), 5'000'000 - 200'010);
  EXPECT_EQ(small.cause(IdleCause::kWait, {{300'000, 400'000}}), 100'000);
  EXPECT_EQ(small.cause(IdleCause::kLaunch), 20 + 100'010 + 10);
}

TEST(Idle, TheFirstWorkOfAStreamMayWaitForEarlierWorkOfThatStream) {
  SmallRun small;
  small.launched(0, {20, 1'000});
  const uint32_t call = small.span(SpanKind::runtime, "cudaLaunchKernel", {2'000, 2'010});
  small.kernel("k", {5'000'000, 5'000'100}, call, 2);
  EXPECT_EQ(small.cause(IdleCause::kStart), 5'000'000 - 2'000);
  EXPECT_EQ(small.cause(IdleCause::kHostOther), 1'000);
  EXPECT_EQ(small.cause(IdleCause::kQueued), 0);
  const IntervalSet waits = {{300'000, 400'000}};  // a recorded wait is a better reason
  EXPECT_EQ(small.cause(IdleCause::kStart, waits), 0);
  EXPECT_EQ(small.cause(IdleCause::kWait, waits), 100'000);
}

TEST(Idle, AStreamThatOpensInTheMiddleOfTheRunIsQueued) {
  SmallRun small;
  small.launched(0, {20, 6'000'000});
  const uint32_t call = small.span(SpanKind::runtime, "cudaLaunchKernel", {2'000, 2'010});
  small.kernel("k", {11'000'000, 11'000'100}, call, 2);
  EXPECT_EQ(small.cause(IdleCause::kStart), 0);
  EXPECT_EQ(small.cause(IdleCause::kQueued), 5'000'000);
}

TEST(Idle, NamesWhatTheHostDidInAGap) {
  SmallRun small;
  small.launched(0, {20, 1'000});
  small.span(SpanKind::annotation, "step", {0, 500'000});
  small.span(SpanKind::python, "loader.py(7): decode", {10'000, 200'000});
  small.span(SpanKind::python, "loader.py(9): one_row", {10'000, 20'000});
  small.launched(240'000, {240'500, 300'000});
  const Device device = small.device();
  const auto pieces = explain_idle(small.run, device, HostActivity(small.run), {});
  const auto gap = std::find_if(pieces.begin(), pieces.end(),
                                [](const IdlePiece& p) { return p.cause == IdleCause::kHostOther; });
  ASSERT_NE(gap, pieces.end());
  const auto found = host_spans(small.run, device, {*gap, {{0, 20}, IdleCause::kLaunch, 0}});
  ASSERT_EQ(found.size(), 2u);
  ASSERT_NE(found[0], kNoRow);
  EXPECT_EQ(small.run.names[small.run.spans.name[found[0]]], "loader.py(7): decode");
  EXPECT_EQ(found[1], kNoRow);
}

TEST(Idle, OneStreamsGapThatAnotherCoversIsNotIdle) {
  SmallRun small;
  small.launched(0, {0, 100});
  small.kernel("b", {50, 400}, kNoRow, 2);
  small.launched(10, {400, 500});
  EXPECT_EQ(decompose(small.device(), {small.run.capture}).idle_ns, 0);
}

TEST(Launches, AGraphIsOneCall) {
  SmallRun small;
  const uint32_t graph = small.span(SpanKind::runtime, "cudaGraphLaunch", {0, 50});
  for (int64_t i = 0; i < 100; i++) small.kernel("k", {100 + i * 10, 108 + i * 10}, graph);
  small.launched(60, {2'000, 2'100});
  const auto launches = launches_of(small.run, small.device());
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernels, 100u);
  EXPECT_TRUE(launches[0].is_graph);
  EXPECT_EQ(launches[1].queued, 1);  // the graph was not done at 60
  const LaunchStats stats = launch_stats(launches, {small.run.capture});
  EXPECT_EQ(stats.calls, 2);
  EXPECT_EQ(stats.api_ns, 60);
  EXPECT_EQ(stats.graph_kernels, 100);
  EXPECT_EQ(stats.negative, 0);
}

TEST(Launches, KernelsBeforeTheirLaunchAreCounted) {
  SmallRun small;
  small.launched(100, {50, 80});
  small.launched(200, {250, 280});
  EXPECT_EQ(launch_stats(launches_of(small.run, small.device()), {small.run.capture}).negative, 1);
}

TEST(Launches, QuantilesAreNearestRank) {
  PagedVector<int64_t> values = {5, 1, 4, 2, 3, 6};
  EXPECT_EQ(median(values), 3);
  EXPECT_EQ(quantile(values, 0.75), 5);
  EXPECT_EQ(quantile(values, 1), 6);
}

TEST(Attribution, ExposedTimeIsWhatRunsAlone) {
  SmallRun small;
  small.kernel("a", {0, 100});
  small.kernel("b", {60, 160}, kNoRow, 2);
  small.kernel("b", {200, 250}, kNoRow, 2);
  const auto rows = kernel_rows(small.run, small.device(), {small.run.capture});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(small.run.names[rows[0].name], "b");
  EXPECT_EQ(rows[0].total_ns, 150);
  EXPECT_EQ(rows[0].exposed_ns, 60 + 50);
  EXPECT_EQ(rows[1].total_ns, 100);
  EXPECT_EQ(rows[1].exposed_ns, 60);
  EXPECT_EQ(rows[0].longest_ns, 100);
}

TEST(Attribution, TablesAddUpToTheWorkOfTheWindow) {
  SmallRun small;
  const uint32_t op = small.span(SpanKind::op, "aten::mm", {0, 40});
  const uint32_t in_op = small.span(SpanKind::runtime, "cudaLaunchKernel", {10, 20}, op, op);
  small.kernel("a", {50, 150}, in_op);
  const uint32_t graph = small.span(SpanKind::runtime, "hipGraphLaunch", {41, 45});
  small.kernel("b", {150, 170}, graph);
  small.kernel("b", {170, 190}, graph);
  small.kernel("c", {190, 200}, small.span(SpanKind::runtime, "cudaLaunchKernel", {46, 48}));
  small.kernel("d", {200, 205});
  const auto rows = op_rows(small.run, small.device(), {{100, 204}});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].device_ns, 50);
  EXPECT_EQ(rows[0].owner, Owner::kOp);
  EXPECT_EQ(rows[1].device_ns, 40);
  EXPECT_EQ(rows[1].owner, Owner::kGraphLaunch);
  EXPECT_EQ(rows[1].calls, 1);
  EXPECT_EQ(rows[1].works, 2);
  EXPECT_EQ(rows[2].owner, Owner::kCall);
  EXPECT_EQ(rows[3].owner, Owner::kNoLaunch);
  int64_t sum = 0;
  for (const auto& row : rows) sum += row.device_ns;
  EXPECT_EQ(sum, 104);
}

TEST(Attribution, ModulePathsComeFromFramesAroundTheLaunch) {
  SmallRun small;
  const uint32_t model = small.span(SpanKind::python, "nn.Module: Net_0", {0, 100});
  const uint32_t layer = small.span(SpanKind::python, "nn.Module: Linear_12", {10, 90}, model);
  const uint32_t call = small.span(SpanKind::runtime, "cudaLaunchKernel", {20, 30}, layer);
  small.kernel("a", {40, 60}, call);
  small.kernel("b", {60, 65});
  const auto rows = module_rows(small.run, small.device(), {small.run.capture});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].path, "Net / Linear");
  EXPECT_EQ(rows[0].device_ns, 20);
  EXPECT_EQ(rows[1].path, kNoLaunchName);
}

TEST(Attribution, OwnTimeIsWithoutWhatIsInside) {
  SmallRun small;
  const uint32_t outer = small.span(SpanKind::op, "aten::linear", {0, 100});
  small.span(SpanKind::op, "aten::mm", {20, 60}, outer);
  const auto rows = host_op_rows(small.run, {{0, 100}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].own_ns, 60);
  EXPECT_EQ(rows[1].own_ns, 40);
}

TEST(Windows, PhasesAreToldByTheNamesThatServersWrite) {
  const PhaseNames names;
  EXPECT_EQ(phase_of("execute_32_context_0(sq0sk0)_generation_32(sq32sk55086)", names), Phase::kDecodeStep);
  EXPECT_EQ(phase_of("execute_15360_context_15(sq1)_generation_0(sq0)", names), Phase::kPrefill);
  EXPECT_EQ(phase_of("execute_8192_context_9(sq8155)_generation_37(sq37)", names), Phase::kMixed);
  EXPECT_EQ(phase_of("step[EXTEND bs=15 toks=15360]", names), Phase::kPrefill);
  EXPECT_EQ(phase_of("step[DECODE bs=32]", names), Phase::kDecodeStep);
  EXPECT_EQ(phase_of("LLM@decode_all", names), Phase::kDecodeAll);
  EXPECT_EQ(phase_of("execute_context_(generation_", names), std::nullopt);
  EXPECT_EQ(phase_of("aten::mm", names), std::nullopt);
}

TEST(Windows, APeriodIsFoundWithItsConfidence) {
  PagedVector<uint32_t> sequence = {90, 91};  // a beginning of its own
  for (int step = 0; step < 10; step++) {
    for (uint32_t layer = 0; layer < 4; layer++) sequence.insert(sequence.end(), {1, 2, 3});
    sequence.push_back(7);
  }
  const auto period = find_period(sequence);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->length, 13u);
  EXPECT_GT(period->confidence, 0.97);
  PagedVector<uint32_t> none;
  for (uint32_t i = 0; i < 500; i++) none.push_back(i * 2654435761u >> 20);
  EXPECT_FALSE(find_period(none));
  EXPECT_FALSE(find_period({}));
  EXPECT_FALSE(find_period(PagedVector<uint32_t>(29, 1)));
}

TEST(Windows, StepsAndNamesGiveWindows) {
  SmallRun small;
  small.span(SpanKind::annotation, "ProfilerStep#7", {0, 100});
  small.span(SpanKind::device_annotation, "ProfilerStep#7", {30, 130});
  small.span(SpanKind::annotation, "ProfilerStep#8", {100, 250});
  small.span(SpanKind::annotation, "load", {10, 20});
  small.span(SpanKind::annotation, "load", {110, 130});
  const Windows windows = find_windows(small.run, {}, {});
  ASSERT_EQ(windows.steps.list.size(), 2u);
  EXPECT_EQ(windows.steps.source, "profiler_step");
  EXPECT_EQ(window_named("step:1", small.run, windows).value(), (IntervalSet{{100, 250}}));
  EXPECT_EQ(window_named("load", small.run, windows).value(), (IntervalSet{{10, 20}, {110, 130}}));
  EXPECT_EQ(window_named("whole", small.run, windows).value(), (IntervalSet{{0, 250}}));
  EXPECT_EQ(window_named("ns:40..60", small.run, windows).value(), (IntervalSet{{40, 60}}));
  EXPECT_EQ(window_named("ns:-5..9999", small.run, windows).value(), (IntervalSet{{0, 250}}));
  for (const char* wrong :
       {"step:2", "step:", "step:-1", "step:1x", "prefill", "nothing", "ns:", "ns:1..", "ns:..1", "ns:5..5",
        "ns:9..3", "ns:250..300", "ns:1..2..3", "ns:99999999999999999999..1"}) {
    const auto window = window_named(wrong, small.run, windows);
    ASSERT_FALSE(window) << wrong;
    EXPECT_EQ(window.error().code, ErrorCode::kNotFound);
  }
}

TEST(HostCalls, AreToldByTheirNames) {
  EXPECT_EQ(host_call("cudaDeviceSynchronize"), HostCall::kSync);
  EXPECT_EQ(host_call("hipMemcpy"), HostCall::kSync);
  EXPECT_EQ(host_call("cudaMemcpyAsync"), HostCall::kOther);
  EXPECT_EQ(host_call("cuMemAlloc_v2"), HostCall::kAlloc);
  EXPECT_EQ(host_call("cudaFreeHost"), HostCall::kAlloc);
  EXPECT_EQ(host_call("hipGraphLaunch"), HostCall::kGraphLaunch);
  // As Nsight Systems writes them.
  EXPECT_EQ(host_call("cudaStreamSynchronize_v3020"), HostCall::kSync);
  EXPECT_EQ(host_call("cudaMemcpy_ptds_v7000"), HostCall::kSync);
  EXPECT_EQ(host_call("cudaMemcpyAsync_ptsz_v7000"), HostCall::kOther);
  EXPECT_EQ(host_call("cudaMalloc_v3020"), HostCall::kAlloc);
  EXPECT_EQ(host_call("cudaGraphLaunch_v10000"), HostCall::kGraphLaunch);
  EXPECT_EQ(host_call("cudaLaunchKernelExC_v11060"), HostCall::kOther);
  EXPECT_EQ(host_call("cudaLaunchKernel"), HostCall::kOther);
  EXPECT_EQ(host_call("aten::Synchronize"), HostCall::kOther);
}

TEST(Copies, AreToldByTheirNames) {
  EXPECT_EQ(copy_direction("Memcpy HtoD (Pageable -> Device)"), CopyDirection::kHostToDevice);
  EXPECT_EQ(copy_direction("Memcpy PtoP"), CopyDirection::kDeviceToDevice);
  EXPECT_EQ(copy_direction("Memset (Device)"), CopyDirection::kSet);
  EXPECT_EQ(host_memory("Memcpy DtoH (Device -> Pinned)"), HostMemory::kPinned);
  EXPECT_EQ(host_memory("Memcpy HtoD (Host -> Device)"), HostMemory::kUnknown);
}

}  // namespace
}  // namespace nl::analyze
