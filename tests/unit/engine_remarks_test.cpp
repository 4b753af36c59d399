// What stands out in the layer times of an engine.

#include "analyze/time/engine_remarks.h"

#include <gtest/gtest.h>

#include "analyze/time/engine_layers.h"

namespace nl::analyze {
namespace {

constexpr const char* kFp32 = "Row major linear FP32";
constexpr const char* kFp16 = "Channel major FP16 format where channel % 8 == 0";
constexpr const char* kInt8 = "Thirty-two wide channel vectorized row major Int8 format";

TimedLayer layer(const std::string& name, OpClass op_class, int64_t ns, const char* input = "",
                 const char* output = "") {
  return {.name = name, .op_class = op_class, .ns = ns, .calls = 10, .input = input, .output = output};
}

/// The layers as they are executed.
EngineLayers engine(std::vector<TimedLayer> timed) {
  EngineLayers out{.iterations = 10};
  for (size_t i = 0; i < timed.size(); i++) {
    timed[i].order = static_cast<int64_t>(i);
    out.total_ns += timed[i].ns;
    out.classes[std::string(op_class_name(timed[i].op_class))] += timed[i].ns;
  }
  add_remarks(out, timed);
  return out;
}

std::vector<std::string> ids(const EngineLayers& layers) {
  std::vector<std::string> list;
  for (const Remark& remark : layers.remarks) list.push_back(remark.id);
  return list;
}

using Ids = std::vector<std::string>;

TEST(EngineRemarks, AnFp32EngineShouldBeBuiltNarrower) {
  const EngineLayers layers = engine({layer("Conv_0", OpClass::k_conv, 500, kFp32, kFp32),
                                      layer("Conv_1", OpClass::k_conv, 480, kFp32, kFp32),
                                      layer("MaxPool_2", OpClass::k_pool, 20, kFp32, kFp32)});
  EXPECT_EQ(ids(layers), Ids{"fp32_engine"});
  EXPECT_EQ(layers.precisions, (std::map<std::string, int64_t>{{"fp32", 980}}));
  EXPECT_EQ(layers.inference_ns, 100);
}

TEST(EngineRemarks, NothingIsSaidOfPrecisionWhereItIsNotKnownOrNarrow) {
  EXPECT_EQ(ids(engine({layer("Conv_0", OpClass::k_conv, 500), layer("Conv_1", OpClass::k_conv, 500)})),
            Ids());
  EXPECT_EQ(ids(engine({layer("Conv_0", OpClass::k_conv, 500, kFp16, kFp16),
                        layer("Conv_1", OpClass::k_conv, 500, kFp32, kFp32)})),
            Ids());
}

TEST(EngineRemarks, AFirstLayerThatDominates) {
  const EngineLayers layers = engine({layer("QuantizeLinear_2", OpClass::k_quantize, 10, kFp32, kInt8),
                                      layer("Conv_9", OpClass::k_conv, 500, kInt8, kFp32),
                                      layer("Conv_10", OpClass::k_conv, 240, kInt8, kInt8)});
  EXPECT_EQ(ids(layers), Ids{"first_layer"});
  EXPECT_NE(layers.remarks[0].text.find("It reads int8 and writes fp32."), std::string::npos);
  EXPECT_EQ(ids(engine({layer("Conv_9", OpClass::k_conv, 500), layer("Conv_10", OpClass::k_conv, 300)})),
            Ids());
}

TEST(EngineRemarks, ConversionsCountUnderAnyName) {
  std::vector<TimedLayer> timed = {
      layer("Conv_0", OpClass::k_conv, 350, kInt8, kInt8),
      layer("Conv_1 + QuantizeLinear_2", OpClass::k_conv, 350, kInt8, kInt8),
      layer("QuantizeLinear_5", OpClass::k_quantize, 100, kFp32, kInt8),
      layer("rescale", OpClass::k_other, 100, kFp32, kInt8),
      layer("bias", OpClass::k_other, 40, kInt8, kInt8),
      layer("Reformatting CopyNode for Input Tensor 0 to QuantizeLinear_5", OpClass::k_memory, 60)};
  timed[3].type = timed[4].type = "Scale";
  const EngineLayers layers = engine(timed);
  EXPECT_EQ(layers.quantize_ns, 200);
  EXPECT_EQ(layers.reformat_ns, 60);
  EXPECT_EQ(ids(layers), Ids{"conversions"});
}

TEST(EngineRemarks, ManyLayersOfEqualTimeAreFlat) {
  std::vector<TimedLayer> timed;
  for (int i = 0; i < 30; i++) timed.push_back(layer("Conv_" + std::to_string(i), OpClass::k_conv, 70'000));
  const EngineLayers small = engine(timed);
  EXPECT_EQ(ids(small), Ids{"flat_profile"});
  EXPECT_NE(small.remarks[0].text.find("small layers"), std::string::npos);
  for (TimedLayer& one : timed) one.ns = 7'000'000;
  EXPECT_EQ(engine(timed).remarks[0].text.find("small layers"), std::string::npos);
}

TEST(EngineRemarks, LayersAreTheLimiterWithoutATimeLine) {
  const EngineLayers layers =
      engine({layer("Conv_0", OpClass::k_conv, 600), layer("MaxPool", OpClass::k_pool, 400)});
  const std::vector<LimiterAnswer> limiters = engine_limiters(layers);
  ASSERT_EQ(limiters.size(), 1u);
  EXPECT_EQ(limiters[0].what, "compute");
  EXPECT_EQ(limiters[0].time_ns, 1000);
  EXPECT_EQ(limiters[0].share, 1);
  EXPECT_EQ(limiters[0].words,
            "layers of the engine, 100 ns per inference, mostly conv (60.0 % of their sum)");
  EXPECT_TRUE(engine_limiters({}).empty());
}

}  // namespace
}  // namespace nl::analyze
