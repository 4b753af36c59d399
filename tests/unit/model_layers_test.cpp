#include "analyze/time/model_layers.h"

#include <gtest/gtest.h>

#include "unit/small_run.h"

namespace nl::analyze {
namespace {

using model::SpanKind;

PreparedRun prepared(const SmallRun& small) {
  PreparedRun run;
  run.timeline = small.run;
  run.classes.kernel.assign(small.run.names.size(), OpClass::k_gemm);
  run.classes.op = run.classes.kernel;
  for (Device& device : devices_of(small.run, run.classes))
    run.devices.push_back({std::move(device), {}, {}});
  return run;
}

/// A run with frames and ranges one inside of the other. Each piece of work is launched at once.
struct NestedRun : SmallRun {
  uint32_t open(const std::string& name, uint32_t outer = kNoRow, SpanKind kind = SpanKind::python) {
    return span(kind, name, {0, 1000}, outer);
  }
  uint32_t module(const std::string& name, uint32_t outer = kNoRow) {
    return open("nn.Module: " + name, outer);
  }
  uint32_t range(const std::string& name, uint32_t outer = kNoRow) {
    return open(name, outer, SpanKind::annotation);
  }
  void work_in(uint32_t outer, int64_t ns) {
    kernel("k", {now, now + ns}, span(SpanKind::runtime, "cudaLaunchKernel", {now, now + 1}, outer));
    now += ns;
  }
  int64_t work_ns() const {
    int64_t sum = 0;
    for (size_t i = 0; i < run.kernels.size(); i++) sum += run.kernels.end[i] - run.kernels.start[i];
    return sum;
  }
  int64_t now = 0;
};

void expect_closed(const DeviceLayers& layers, int64_t whole, int64_t kernels) {
  int64_t in_layers = 0, works = layers.outside_kernels, in_classes = 0;
  for (const ModelLayer& layer : layers.layers) {
    in_layers += layer.device_ns;
    works += layer.kernels;
    EXPECT_LE(layer.self_ns, layer.device_ns);
  }
  for (const auto& [name, ns] : layers.classes) in_classes += ns;
  EXPECT_EQ(in_layers, layers.in_layers_ns);
  EXPECT_EQ(in_classes, layers.in_layers_ns);
  EXPECT_EQ(layers.in_layers_ns + layers.outside_ns, layers.total_ns);
  EXPECT_EQ(layers.total_ns, whole);
  EXPECT_EQ(works, kernels);
}

TEST(ModelLayers, ModulesThatRepeatAndHoldOthersAreLayers) {
  NestedRun small;
  const uint32_t net = small.module("Net_0"), encoder = small.module("BertEncoder_0", net);
  for (int i = 0; i < 3; i++) {
    const uint32_t layer = small.module("BertLayer_" + std::to_string(i), encoder);
    small.work_in(small.module("Linear_" + std::to_string(2 * i), layer), 10 + i);
    small.work_in(small.module("Linear_" + std::to_string(2 * i + 1), layer), 20);
    small.work_in(layer, 5);
  }
  small.work_in(small.module("Linear_6", net), 7);
  small.kernel("k", {small.now, small.now + 3});
  const auto answer = model_layers(prepared(small), {small.run.capture});
  ASSERT_EQ(answer.devices.size(), 1u);
  EXPECT_FALSE(answer.absent);
  const DeviceLayers& layers = answer.devices[0];
  EXPECT_EQ(layers.source, LayerSource::kModules);
  expect_closed(layers, small.work_ns(), 11);
  ASSERT_EQ(layers.layers.size(), 3u);
  for (int i = 0; i < 3; i++) {
    const ModelLayer& layer = layers.layers[static_cast<size_t>(i)];
    EXPECT_EQ(layer.stack, "BertLayer");
    EXPECT_EQ(layer.index, i);
    EXPECT_EQ(layer.device_ns, 35 + i);
    EXPECT_EQ(layer.self_ns, 5);
    EXPECT_EQ(layer.kernels, 3);
    EXPECT_EQ(layer.calls, 1);
  }
  EXPECT_EQ(layers.outside_ns, 10);
  ASSERT_EQ(layers.stacks.size(), 1u);
  EXPECT_EQ(layers.stacks[0].slowest, 2);
  EXPECT_EQ(layers.stacks[0].median_ns, 36);
  EXPECT_TRUE(layers.stacks[0].uneven.empty());
  ASSERT_EQ(layers.remarks.size(), 1u);
  EXPECT_EQ(layers.remarks[0].id, "layers");
}

TEST(ModelLayers, WorkIsClippedToTheWindow) {
  NestedRun small;
  const uint32_t net = small.module("Net_0");
  for (int i = 0; i < 2; i++) {
    const uint32_t layer = small.module("Block_" + std::to_string(i), net);
    small.work_in(small.module("Linear_" + std::to_string(i), layer), 100);
  }
  const auto answer = model_layers(prepared(small), {{50, 130}});
  ASSERT_EQ(answer.devices.size(), 1u);
  expect_closed(answer.devices[0], 80, 2);
  EXPECT_EQ(answer.devices[0].layers[0].device_ns, 50);
  EXPECT_EQ(answer.devices[0].layers[1].device_ns, 30);
}

TEST(ModelLayers, WrappersAreLookedThroughAndTheOutermostWins) {
  NestedRun small;
  const uint32_t net = small.module("ResNet_0");
  for (int stage = 0; stage < 2; stage++) {
    const uint32_t holder = small.module("Sequential_" + std::to_string(stage), net);
    for (int i = 0; i < 2; i++) {
      const uint32_t layer = small.module("Bottleneck_" + std::to_string(2 * stage + i), holder);
      for (int part = 0; part < 2; part++) {
        const int number = 4 * stage + 2 * i + part;
        const uint32_t inner = small.module("ConvBlock_" + std::to_string(number), layer);
        small.work_in(small.module("Conv2d_" + std::to_string(number), inner), 10);
      }
    }
  }
  const auto answer = model_layers(prepared(small), {small.run.capture});
  ASSERT_EQ(answer.devices.size(), 1u);
  ASSERT_EQ(answer.devices[0].stacks.size(), 1u);
  EXPECT_EQ(answer.devices[0].stacks[0].name, "Bottleneck");
  EXPECT_EQ(answer.devices[0].stacks[0].layers, 4);
  EXPECT_EQ(answer.devices[0].layers[3].self_ns, 0);
  expect_closed(answer.devices[0], 80, 8);
}

TEST(ModelLayers, TwoTowersAreTwoStacks) {
  NestedRun small;
  const uint32_t net = small.module("T5Model_0");
  for (int tower = 0; tower < 2; tower++) {
    const uint32_t stack = small.module("T5Stack_" + std::to_string(tower), net);
    for (int i = 0; i < 2; i++) {
      const std::string number = std::to_string(2 * tower + i);
      small.work_in(small.module("Linear_" + number, small.module("T5Block_" + number, stack)), 10);
    }
  }
  const auto answer = model_layers(prepared(small), {small.run.capture});
  ASSERT_EQ(answer.devices.size(), 1u);
  ASSERT_EQ(answer.devices[0].stacks.size(), 2u) << "and the two stacks themselves are no layers";
  EXPECT_EQ(answer.devices[0].stacks[0].name, "T5Stack_0 / T5Block");
  EXPECT_EQ(answer.devices[0].stacks[1].name, "T5Stack_1 / T5Block");
}

TEST(ModelLayers, ModulesWithoutModulesInsideAreNone) {
  NestedRun small;
  const uint32_t net = small.module("Net_0");
  for (int i = 0; i < 3; i++) small.work_in(small.module("MyLayer_" + std::to_string(i), net), 10);
  small.work_in(small.module("Head_0", small.module("OneLayer_0", net)), 10);
  const auto answer = model_layers(prepared(small), {small.run.capture});
  EXPECT_TRUE(answer.devices.empty());
  ASSERT_TRUE(answer.absent);
  EXPECT_FALSE(answer.absent->empty());
}

TEST(ModelLayers, RangesAndOpsTellLayersByTheirNames) {
  NestedRun small;
  for (int step = 0; step < 2; step++) {
    for (int i = 0; i < 4; i++) {
      const uint32_t layer = small.range("layer_" + std::to_string(i));
      small.work_in(layer, 10);
      small.work_in(small.range("attention", layer), i == 2 ? 90 : 20);
    }
  }
  small.work_in(small.range("layer_norm_2"), 6);
  const auto answer = model_layers(prepared(small), {small.run.capture});
  ASSERT_EQ(answer.devices.size(), 1u);
  const DeviceLayers& layers = answer.devices[0];
  EXPECT_EQ(layers.source, LayerSource::kNames);
  expect_closed(layers, small.work_ns(), 17);
  ASSERT_EQ(layers.layers.size(), 4u);
  EXPECT_EQ(layers.layers[0].device_ns, 60);
  EXPECT_EQ(layers.layers[0].self_ns, 20);
  EXPECT_EQ(layers.layers[0].calls, 2);
  EXPECT_EQ(layers.outside_ns, 6);
  EXPECT_EQ(layers.stacks[0].uneven, std::vector<int64_t>{2});
  ASSERT_EQ(layers.remarks.size(), 2u);
  EXPECT_EQ(layers.remarks[1].id, "layers_uneven");

  NestedRun ops;
  for (int i = 0; i < 2; i++) {
    const std::string path = "/layers." + std::to_string(i);
    for (int step = 0; step < 3; step++) {
      ops.span(SpanKind::op, path + "/attn/MatMul", {ops.now, ops.now + 30});
      ops.span(SpanKind::op, path + "/Add", {ops.now + 30, ops.now + 34});
      ops.now += 40;
    }
  }
  const auto on_host = model_layers(prepared(ops), {ops.run.capture});
  ASSERT_EQ(on_host.devices.size(), 1u);
  expect_closed(on_host.devices[0], 2 * 3 * 34, 12);
  EXPECT_EQ(on_host.devices[0].layers[1].calls, 3);
  EXPECT_EQ(on_host.devices[0].layers[1].self_ns, 12);
}

TEST(ModelLayers, ASingleLayerIsNoStack) {
  NestedRun small;
  small.work_in(small.range("layer_0"), 10);
  small.work_in(small.range("block_87"), 10);
  const auto answer = model_layers(prepared(small), {small.run.capture});
  EXPECT_TRUE(answer.devices.empty());
  EXPECT_TRUE(answer.absent);
}

TEST(ModelLayers, LayersOfAnEngineAreJoinedByTheLayerOfTheModel) {
  const auto timed = [](const std::string& name, int64_t ns) {
    return TimedLayer{
        .name = name, .op_class = OpClass::k_gemm, .ns = ns, .calls = 2, .origin = parse_layer_name(name)};
  };
  const auto layers = model_layers_of_engine(
      {timed("/layers.0/attn/MatMul + /layers.0/Add", 10), timed("/layers.1/mlp/MatMul", 20),
       timed("/layers.0/Add_1 + /layers.1/norm/Mul", 3),
       timed("{ForeignNode[/layers.1/a/Mul.../head/Add]}", 5),
       timed("{ForeignNode[/layers.1/a/Mul.../layers.1/b/Add]}", 7),
       timed("Reformatting CopyNode for Input Tensor 0 to /layers.0/attn/MatMul", 1), timed("Conv_15", 4)});
  ASSERT_TRUE(layers);
  expect_closed(*layers, 50, 7);
  ASSERT_EQ(layers->layers.size(), 2u);
  EXPECT_EQ(layers->layers[0].device_ns, 11);
  EXPECT_EQ(layers->layers[1].device_ns, 27);
  EXPECT_EQ(layers->layers[1].calls, 2);
  EXPECT_EQ(layers->outside_ns, 12) << "what spans several layers, or may, is in none";
  EXPECT_FALSE(model_layers_of_engine({timed("Conv_15", 4), timed("Conv_16", 4)}));
}

}  // namespace
}  // namespace nl::analyze
