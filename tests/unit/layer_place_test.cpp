#include "analyze/names/layer_place.h"

#include <gtest/gtest.h>

namespace nl::analyze {
namespace {

TEST(LayerPlace, PathsOfModulesTellTheirLayer) {
  const std::pair<const char*, LayerPlace> cases[] = {
      {"layers.12", {"layers", 12, 0}},
      {"h.5", {"h", 5, 0}},
      {"blocks.3", {"blocks", 3, 0}},
      {"model.layers.12.self_attn.q_proj", {"model.layers", 12, 2}},
      {"encoder.layer.7", {"encoder.layer", 7, 0}},
      {"transformer.h.4", {"transformer.h", 4, 0}},
      {"unet.down_blocks.1.resnets.0", {"unet.down_blocks", 1, 2}},
      {"/model/layers.3/self_attn/q_proj/MatMul", {"model.layers", 3, 3}},
      {"/encoder/layer.0/attention/self/Softmax", {"encoder.layer", 0, 3}},
      {"/layers.1/Add", {"layers", 1, 1}},
      {"/layers.0/attn/qk/MatMul/MatMulScaleFusion/", {"layers", 0, 4}},
      {"/features/features.3/conv/Conv", {"features", 3, 2}},
      {"/backbone/layer4/layer4.0/conv2/Conv", {"backbone.layer4", 0, 2}},
      {"layer1.0.conv2.weight", {"layer1", 0, 2}},
      {"bert/encoder/transformer/layer_23/dropout_2/Const_0:_Send",
       {"bert.encoder.transformer.layer", 23, 2}},
      {"encoder_layer_3", {"encoder_layer", 3, 0}},
      {"block_0", {"block", 0, 0}},
      {"LlamaDecoderLayer_12", {"LlamaDecoderLayer", 12, 0}},
      {"ResnetBlock_3", {"ResnetBlock", 3, 0}},
      {"layer_4", {"layer", 4, 0}},
      {"Layer 4", {"Layer", 4, 0}},
      {"layer4", {"layer", 4, 0}},
      {"{'Module': 'model.layers.2.mlp', 'Inputs': [[1, 8]]}", {"model.layers", 2, 1}}};
  for (const auto& [name, place] : cases) EXPECT_EQ(layer_place_of(name), place) << name;
}

TEST(LayerPlace, TheOutermostLayerCounts) {
  EXPECT_EQ(layer_place_of("encoder.block.0.layer.1.DenseReluDense"), (LayerPlace{"encoder.block", 0, 3}));
  EXPECT_EQ(layer_place_of("layer_4.attention.blocks.0"), (LayerPlace{"layer", 4, 3}));
}

TEST(LayerPlace, OtherNumbersAreNoLayers) {
  for (const char* name : {"aten::add_2",
                           "stream 7",
                           "step 3",
                           "ProfilerStep#7",
                           "relu_1",
                           "Conv_15",
                           "Conv_5 + Add_6 + Relu_7",
                           "QuantizeLinear_32",
                           "nn.Module: BertLayer_0",
                           "conv1.0",
                           "gpu_layer_norm_2",
                           "block_1_expand_relu",
                           "EagerLocalExecute: __inference_block_87",
                           "FSDP::post_forward (blocks.10), op_id = 994664",
                           "void layer_norm_kernel<128>(float*)",
                           "layers",
                           "layer",
                           "model.3.conv",
                           "layers.99999",
                           "",
                           "12",
                           "torch/nn/layers.py(12): forward",
                           "execute_context_0(0)_generation_2(2)"})
    EXPECT_EQ(layer_place_of(name), std::nullopt) << name;
  EXPECT_EQ(layer_place_of("layers.1" + std::string(2000, 'x')), std::nullopt);
}

TEST(LayerPlace, ClassesOfModulesHaveRoles) {
  for (const char* name : {"BertLayer", "LlamaDecoderLayer", "TransformerBlock", "ResnetBlock2D", "Block"})
    EXPECT_EQ(module_role(name), ModuleRole::kLayer) << name;
  for (const char* name : {"Sequential", "FullyShardedDataParallel", "CheckpointWrapper", "GraphModule"})
    EXPECT_EQ(module_role(name), ModuleRole::kWrapper) << name;
  for (const char* name : {"T5Stack", "BertEncoder", "Qwen2Attention", "Qwen2MLP", "Linear", "Qwen2Model"})
    EXPECT_EQ(module_role(name), ModuleRole::kOther) << name;
  for (const char* name : {"Bottleneck", "InvertedResidual", "Dropout"})
    EXPECT_EQ(module_role(name), ModuleRole::kUnknown) << name;
}

}  // namespace
}  // namespace nl::analyze
