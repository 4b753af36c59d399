#include "analyze/names/layer_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "cpu_time.h"

namespace nl::analyze {
namespace {

using Parts = std::vector<std::string>;

struct LayerCase {
  const char* name;
  LayerFusion fusion;
  Parts parts;
};

// As trtexec writes them.
const LayerCase kLayerCases[] = {
    {"MaxPool_2", LayerFusion::kNone, {"MaxPool_2"}},
    {"Conv_0 + Relu_1", LayerFusion::kVertical, {"Conv_0", "Relu_1"}},
    {"layer2.0.conv1.weight + QuantizeLinear_81 + Conv_83 || layer2.0.downsample.0.weight + "
     "QuantizeLinear_93",
     LayerFusion::kHorizontal,
     {"layer2.0.conv1.weight", "QuantizeLinear_81", "Conv_83", "layer2.0.downsample.0.weight",
      "QuantizeLinear_93"}},
    {"PWN(Sigmoid_1, Mul_2)", LayerFusion::kPointwise, {"Sigmoid_1", "Mul_2"}},
    {"PWN(PWN(Sigmoid_1), Mul_2)", LayerFusion::kPointwise, {"Sigmoid_1", "Mul_2"}},
    {"PWN((Unnamed Layer* 112) [ElementWise], PWN(PWN((Unnamed Layer* 109) [Constant] + (Unnamed Layer* 110) "
     "[ElementWise], (Unnamed Layer* 111) [Unary]), (Unnamed Layer* 113) [ElementWise]))",
     LayerFusion::kPointwise,
     {"(Unnamed Layer* 112) [ElementWise]", "(Unnamed Layer* 109) [Constant]",
      "(Unnamed Layer* 110) [ElementWise]", "(Unnamed Layer* 111) [Unary]",
      "(Unnamed Layer* 113) [ElementWise]"}},
    {"features.18.0.weight + QuantizeLinear_834 + Conv_838 + PWN(Clip_842)",
     LayerFusion::kVertical,
     {"features.18.0.weight", "QuantizeLinear_834", "Conv_838", "Clip_842"}},
    {"{ForeignNode[/head/Constant_2_output_0.../Unsqueeze_2]}",
     LayerFusion::kRange,
     {"/head/Constant_2_output_0", "/Unsqueeze_2"}},
    {"{ForeignNode[onnx::MatMul_1]}", LayerFusion::kRange, {"onnx::MatMul_1"}},
    {"Reformatting CopyNode for Input Tensor 0 to Conv_0 + Relu_1",
     LayerFusion::kReformat,
     {"Conv_0", "Relu_1"}},
    {"Reformatting CopyNode for Output Tensor 0 to {ForeignNode[a...b]}", LayerFusion::kReformat, {"a", "b"}},
    {"Reformatting CopyNode for Network Input images", LayerFusion::kReformat, {}},
    {"[trainStation1]", LayerFusion::kEngine, {}},
    {"(Unnamed Layer* 12) [Shuffle]", LayerFusion::kNone, {"(Unnamed Layer* 12) [Shuffle]"}},
    {"fc.bias + (Unnamed Layer* 306) [Shuffle] + unsqueeze_node_after_fc.bias + (Unnamed Layer* 306) "
     "[Shuffle]_(Unnamed Layer* 306) [Shuffle]_output",
     LayerFusion::kVertical,
     {"fc.bias", "(Unnamed Layer* 306) [Shuffle]", "unsqueeze_node_after_fc.bias",
      "(Unnamed Layer* 306) [Shuffle]_(Unnamed Layer* 306) [Shuffle]_output"}},
    {"", LayerFusion::kNone, {}},
};

TEST(LayerName, ReadsTheGrammar) {
  for (const LayerCase& c : kLayerCases) {
    const LayerName name = parse_layer_name(c.name);
    EXPECT_EQ(layer_fusion_name(name.fusion), layer_fusion_name(c.fusion)) << c.name;
    EXPECT_EQ(name.parts, c.parts) << c.name;
  }
}

TEST(LayerName, MetadataNamesTheParts) {
  const LayerName name =
      parse_layer_name("__myl_ConvRelu_0", "[ONNX Layer: /a/Conv]\x1E[Other: x]\x1E[ONNX Layer: /a/Relu]");
  EXPECT_EQ(name.parts, (Parts{"/a/Conv", "/a/Relu"}));
  EXPECT_EQ(parse_layer_name("Conv_0 + Relu_1", "[ONNX Layer: ]").parts, (Parts{"Conv_0", "Relu_1"}));
  EXPECT_EQ(parse_layer_name("Conv_0 + Relu_1", "").parts, (Parts{"Conv_0", "Relu_1"}));
  EXPECT_EQ(
      parse_layer_name("{ForeignNode[a...c]}", "[ONNX Layer: a]\x1E[ONNX Layer: b]\x1E[ONNX Layer: c]").parts,
      (Parts{"a", "b", "c"}));
}

TEST(LayerName, UnbalancedNamesStayWhole) {
  EXPECT_EQ(parse_layer_name("a ( + b").parts, (Parts{"a ( + b"}));
  EXPECT_EQ(parse_layer_name("a) + b").parts, (Parts{"a)", "b"}));
  EXPECT_EQ(parse_layer_name("PWN(a, b").parts, (Parts{"a", "b"}));
  EXPECT_EQ(parse_layer_name("{ForeignNode[a...b").parts, (Parts{"{ForeignNode[a...b"}));
}

void read_long_layer_names(size_t bytes) {
  for (const std::string_view text :
       {"PWN(", "a + ", "(", ")", " || ", "Reformatting CopyNode for a to ", "[", "..."}) {
    std::string name;
    while (name.size() < bytes) name += text;
    parse_layer_name(name, name);
  }
}

TEST(LayerName, LongNamesAreReadInLinearTime) {
  EXPECT_LE(growth_of_sixteenfold(64 * 1024, read_long_layer_names), kLinearGrowth);
}

TEST(LayerName, RandomNamesAreSplitWithoutGrowing) {
  std::mt19937 random(11);
  constexpr std::string_view kPieces[] = {"PWN(",
                                          ")",
                                          ", ",
                                          " + ",
                                          " || ",
                                          "a",
                                          "[",
                                          "]",
                                          "{ForeignNode[",
                                          "...",
                                          "]}",
                                          "Reformatting CopyNode for ",
                                          " to ",
                                          "[ONNX Layer: ",
                                          "\x1E",
                                          "\xff"};
  for (int i = 0; i < 20000; i++) {
    std::string name;
    for (size_t k = random() % 30; k > 0; k--) name += kPieces[random() % std::size(kPieces)];
    size_t bytes = 0;
    for (const auto& part : parse_layer_name(name).parts) bytes += part.size();
    EXPECT_LE(bytes, name.size());
  }
}

}  // namespace
}  // namespace nl::analyze
