// Whether times of two runs compare: devices without a name, engines that fuse, models that differ.

#include "compare/comparability.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nl::compare {
namespace {

using analyze::OpClass;
using nlohmann::json;

RunFacts run(const std::string& backend, const json& devices,
             std::map<std::string, std::string> labels = {}) {
  RunFacts facts;
  facts.document = {
      {"hardware", {{"devices", devices}}},
      {"software", {{"backend", backend}, {"versions", json::object()}}},
      {"sources",
       json::array({{{"format", backend == "onnxruntime" ? "onnxruntime" : "kineto"}, {"role", "trace"}}})},
      {"capture", {{"flags", json::array()}, {"counts", {{"seen", 1}, {"dropped", json::object()}}}}}};
  facts.labels = std::move(labels);
  return facts;
}

json gpu(const char* name) {
  return json::array({{{"device", 0}, {"vendor", "NVIDIA"}, {"name", name}}});
}
json unnamed(const char* maker) {
  return json::array({{{"device", 0}, {"vendor", maker}}});
}

const Factor& factor_of(const Comparability& score, const std::string& name) {
  return *std::find_if(score.factors.begin(), score.factors.end(),
                       [&](const Factor& factor) { return factor.name == name; });
}

TEST(Comparability, ADeviceWithoutANameIsUnknownAndNotAnother) {
  const RunFacts named = run("pytorch", gpu("NVIDIA A100")), open = run("pytorch", unnamed("NVIDIA"));
  EXPECT_EQ(mode_between(named, open), Mode::kSame);
  EXPECT_EQ(mode_between(open, named), Mode::kSame);
  const auto score = comparability(named, open);
  EXPECT_EQ(factor_of(score, "device").state, FactorState::kUnknown);
  EXPECT_TRUE(score.is_enough());
  ASSERT_EQ(score.remarks.size(), 1u);
  EXPECT_NE(score.remarks[0].find("NVIDIA A100"), std::string::npos);
}

TEST(Comparability, MakersAndNamesThatDifferAreOtherHardware) {
  EXPECT_EQ(mode_between(run("pytorch", unnamed("NVIDIA")), run("pytorch", unnamed("AMD"))),
            Mode::kOtherHardware);
  EXPECT_EQ(mode_between(run("pytorch", gpu("NVIDIA A100")), run("pytorch", gpu("NVIDIA H100"))),
            Mode::kOtherHardware);
  EXPECT_EQ(mode_between(run("pytorch", unnamed("NVIDIA")), run("pytorch", unnamed("NVIDIA"))), Mode::kSame);
}

/// Ops of one step by name and class.
Side step_of(const std::vector<std::pair<std::string, OpClass>>& ops, Texts& texts) {
  Side side;
  side.source = "host";
  side.unit = "step";
  for (const auto& [name, op_class] : ops) {
    const uint32_t text = texts.add(name);
    Item item{text, text, text};
    item.part = Part::compute(op_class);
    item.owned_ns = item.time_ns = op_class == OpClass::k_elementwise ? 10'000 : 100'000;
    side.window_ns += item.owned_ns;
    side.items.push_back(item);
  }
  return side;
}

/// n convolutions, each with a sum and an activation, and a product at the end.
std::vector<std::pair<std::string, OpClass>> plain_net(int n) {
  std::vector<std::pair<std::string, OpClass>> ops;
  for (int i = 0; i < n; i++) {
    ops.push_back({"conv", OpClass::k_conv});
    for (const char* name : {"add", "relu", "mul"}) ops.push_back({name, OpClass::k_elementwise});
  }
  ops.push_back({"gemm", OpClass::k_gemm});
  return ops;
}
std::vector<std::pair<std::string, OpClass>> fused_net(int n) {
  std::vector<std::pair<std::string, OpClass>> ops;
  for (int i = 0; i < n; i++) ops.push_back({"fused conv", OpClass::k_conv});
  ops.push_back({"add", OpClass::k_elementwise});
  ops.push_back({"gemm", OpClass::k_gemm});
  return ops;
}
std::vector<std::pair<std::string, OpClass>> transformer(int n) {
  std::vector<std::pair<std::string, OpClass>> ops;
  for (int i = 0; i < n; i++) ops.push_back({"matmul", OpClass::k_gemm});
  ops.push_back({"add", OpClass::k_elementwise});
  return ops;
}

Comparability held(const RunFacts& base, const RunFacts& next,
                   const std::vector<std::pair<std::string, OpClass>>& before,
                   const std::vector<std::pair<std::string, OpClass>>& after) {
  Texts texts;
  const Side base_side = step_of(before, texts), next_side = step_of(after, texts);
  const auto changes = find_changes(base_side, next_side, texts);
  return comparability(base, next, base_side, next_side, *changes);
}

TEST(Comparability, AFusedEngineOfOneModelComputesTheSame) {
  const RunFacts facts = run("onnxruntime", json::array());
  for (const auto& [before, after] :
       {std::pair{plain_net(8), fused_net(8)}, std::pair{fused_net(8), plain_net(8)}}) {
    const auto score = held(facts, facts, before, after);
    EXPECT_TRUE(score.is_enough()) << score.score();
    EXPECT_EQ(factor_of(score, kAmountOfWork).state, FactorState::kEqual);
    ASSERT_EQ(score.remarks.size(), 1u);
    EXPECT_NE(score.remarks[0].find("compare the times, not single ops"), std::string::npos)
        << score.remarks[0];
  }
}

TEST(Comparability, OtherModelsStayIncomparable) {
  const RunFacts facts = run("onnxruntime", json::array());
  EXPECT_FALSE(held(facts, facts, plain_net(8), transformer(30)).is_enough());
  EXPECT_FALSE(held(facts, facts, plain_net(8), fused_net(20)).is_enough());
}

TEST(Comparability, TheSameOpsNeedNoRemark) {
  const RunFacts facts = run("onnxruntime", json::array());
  const auto score = held(facts, facts, plain_net(8), plain_net(8));
  EXPECT_TRUE(score.is_enough());
  EXPECT_TRUE(score.remarks.empty());
}

TEST(Comparability, TwoEnginesOfOneModelOnOneDeviceCompare) {
  const std::map<std::string, std::string> labels = {{"model", "resnet50"}, {"batch", "8"}};
  const RunFacts torch = run("pytorch", gpu("NVIDIA A100"), labels),
                 ort = run("onnxruntime", gpu("NVIDIA A100"), labels);
  EXPECT_EQ(mode_between(torch, ort), Mode::kSame);
  const auto score = held(torch, ort, plain_net(8), fused_net(8));
  EXPECT_TRUE(score.is_enough()) << score.score();
  ASSERT_EQ(score.remarks.size(), 1u);
  EXPECT_NE(score.remarks[0].find("two engines"), std::string::npos);
}

TEST(Comparability, TwoEnginesOfAnotherModelOrBatchOrDeviceDoNot) {
  const RunFacts torch = run("pytorch", gpu("NVIDIA A100"), {{"model", "resnet50"}, {"batch", "8"}});
  EXPECT_EQ(mode_between(torch, run("onnxruntime", gpu("NVIDIA A100"))), Mode::kOtherBackend);
  EXPECT_EQ(mode_between(torch, run("onnxruntime", gpu("NVIDIA A100"), {{"model", "bert"}})),
            Mode::kOtherBackend);
  EXPECT_EQ(
      mode_between(torch, run("onnxruntime", gpu("NVIDIA A100"), {{"model", "resnet50"}, {"batch", "1"}})),
      Mode::kOtherBackend);
  EXPECT_EQ(mode_between(torch, run("onnxruntime", gpu("NVIDIA H100"), {{"model", "resnet50"}})),
            Mode::kOtherBackend);
}

}  // namespace
}  // namespace nl::compare
