#include "analyze/models/op_model.h"

#include <gtest/gtest.h>

#include <random>

namespace nl::analyze {
namespace {

constexpr char kTwoBf16[] = R"(["c10::BFloat16","c10::BFloat16"])";

void expect_model(const OpFacts& op, int64_t flops, int64_t bytes, const char* dtype, const char* model) {
  const auto out = model_op(op);
  ASSERT_TRUE(out) << op.name << ": " << out.reason();
  EXPECT_EQ(out->flops, flops) << op.name;
  EXPECT_EQ(out->bytes_min, bytes) << op.name;
  EXPECT_EQ(out->dtype, dtype) << op.name;
  EXPECT_EQ(out->model, model) << op.name;
}

void expect_absent(const OpFacts& op, const char* reason) {
  const auto out = model_op(op);
  ASSERT_FALSE(out) << op.name << " has " << out->flops;
  EXPECT_EQ(out.reason(), reason) << op.name;
}

// ---- Matrix products

// 2 x 8944 x 1024 x 2816 = 51581550592; 2 bytes x (8944 x 1024 + 1024 x 2816 + 8944 x 2816) = 74457088.
TEST(OpModel, MatrixProduct) {
  expect_model({.name = "aten::mm", .shapes = "[[8944,1024],[1024,2816]]", .dtypes = kTwoBf16}, 51581550592,
               74457088, "bf16", "matrix_product");
  // the variant with an out argument names the result as a third tensor
  expect_model({.name = "aten::mm",
                .shapes = "[[8944,1024],[1024,2816],[8944,2816]]",
                .dtypes = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16"])"},
               51581550592, 74457088, "bf16", "matrix_product");
}

// 2 x 8944 x 1024 x 1024 = 18756927488; 2 x (1024 + 8944 x 1024 + 1024 x 1024 + 8944 x 1024) = 38733824.
TEST(OpModel, ProductWithAddend) {
  expect_model({.name = "aten::addmm",
                .shapes = "[[1024],[8944,1024],[1024,1024],[],[]]",
                .dtypes = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"])",
                .inputs = R"(["","","","1","1"])"},
               18756927488, 38733824, "bf16", "matrix_product");
}

// 2 x 96 x 3137 x 3137 x 64: 3137^2 = 9840769; x 96 = 944713824; x 128 = 120923369472.
// 2 x (2 x 96 x 3137 x 64 + 944713824) = 2 x (38547456 + 944713824) = 1966522560.
TEST(OpModel, BatchedProduct) {
  expect_model({.name = "aten::bmm", .shapes = "[[96,3137,64],[96,64,3137]]", .dtypes = kTwoBf16},
               120923369472, 1966522560, "bf16", "matrix_product");
  // 2 x 2 x 3 x 4 x 5 = 240; 4 bytes x (2x3x5 + 2x3x4 + 2x4x5 + 2x3x5) = 4 x 124
  expect_model({.name = "aten::baddbmm",
                .shapes = "[[2,3,5],[2,3,4],[2,4,5],[],[]]",
                .dtypes = R"(["float","float","float","Scalar","Scalar"])"},
               240, 496, "fp32", "matrix_product");
}

TEST(OpModel, MatmulStretchesItsBatch) {
  // batch 7 x 2, 3 x 4 times 4 x 5: 2 x 14 x 3 x 4 x 5 = 1680; 4 x (7x1x3x4 + 2x4x5 + 14x3x5) = 4 x 334
  expect_model({.name = "aten::matmul", .shapes = "[[7,1,3,4],[2,4,5]]", .dtypes = R"(["float","float"])"},
               1680, 1336, "fp32", "matrix_product");
  // a row times a matrix: 2 x 4 x 5; 4 x (4 + 20 + 5)
  expect_model({.name = "aten::matmul", .shapes = "[[4],[4,5]]", .dtypes = R"(["float","float"])"}, 40, 116,
               "fp32", "matrix_product");
  expect_absent({.name = "aten::matmul", .shapes = "[[3,4],[5,6]]", .dtypes = R"(["float","float"])"},
                "the shapes do not fit a matrix product");
  expect_absent({.name = "aten::bmm", .shapes = "[[2,3,4],[3,4,5]]", .dtypes = R"(["float","float"])"},
                "the shapes do not fit a matrix product");
}

TEST(OpModel, LinearLayer) {
  // 6 rows: 2 x 6 x 4 x 5 = 240; 2 x (24 + 20 + 5 + 30)
  expect_model({.name = "aten::linear",
                .shapes = "[[2,3,4],[5,4],[5]]",
                .dtypes = R"(["c10::Half","c10::Half","c10::Half"])"},
               240, 158, "fp16", "matrix_product");
}

TEST(OpModel, ScaledProductHasTheDtypeOfItsResult) {
  // 2 x 16 x 32 x 64 = 65536; 16x32 + 32x64 in fp8, two fp32 scales, 16x64 in bf16 = 512 + 2048 + 8 + 2048
  expect_model(
      {.name = "aten::_scaled_mm",
       .shapes = "[[16,32],[32,64],[],[],[],[],[],[]]",
       .dtypes = R"(["c10::Float8_e4m3fn","c10::Float8_e4m3fn","float","float","","","Scalar","Scalar"])",
       .inputs = R"(["","","","","","","15","False"])"},
      65536, 4616, "fp8", "matrix_product");
}

TEST(OpModel, EinsumIsAbsent) {
  expect_absent(
      {.name = "aten::einsum", .shapes = "[[],[[2,3],[3,4]],[]]", .dtypes = R"(["","TensorList",""])"},
      "the equation of an einsum is not in the source");
}

// ---- Convolutions

constexpr char kConvDtypes[] =
    R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","ScalarList","ScalarList","ScalarList","Scalar"])";

// 224 / 16 = 14: 2 x 4 x 14 x 14 x (768 x 3 x 16 x 16) = 1568 x 589824 = 924844032
// 2 x (4x3x224x224 + 589824 + 768 + 4x768x14x14) = 2 x (602112 + 589824 + 768 + 602112) = 3589632
TEST(OpModel, Convolution) {
  expect_model({.name = "aten::miopen_convolution",
                .shapes = "[[4,3,224,224],[768,3,16,16],[768],[],[],[],[],[],[]]",
                .dtypes = kConvDtypes,
                .inputs = R"(["","","","[0, 0]","[16, 16]","[1, 1]","1","False","False"])"},
               924844032, 3589632, "bf16", "convolution");
}

// (7 + 2 - 2 x 2 - 1) / 2 + 1 = 3: 2 x 1 x 9 x (4 x 2 x 9) = 1296; 4 x (4x49 + 72 + 4x9); groups 2
TEST(OpModel, ConvolutionWithGroupsStrideAndDilation) {
  expect_model({.name = "aten::conv2d",
                .shapes = "[[1,4,7,7],[4,2,3,3],[],[],[],[],[]]",
                .dtypes = R"(["float","float","","ScalarList","ScalarList","ScalarList","Scalar"])",
                .inputs = R"(["","","","[2]","[1]","[2, 2]","2"])"},
               1296, 1216, "fp32", "convolution");
}

// Transposed: (5 - 1) x 2 - 2 + 2 + 1 + 1 = 10 from 5; 2 x 25 x (3 x 6 x 9) = 8100; 4 x (3x25 + 162 + 6x100)
TEST(OpModel, TransposedConvolution) {
  expect_model(
      {.name = "aten::convolution",
       .shapes = "[[1,3,5,5],[3,6,3,3],[],[],[],[],[],[],[]]",
       .dtypes =
           R"(["float","float","","ScalarList","ScalarList","ScalarList","Scalar","ScalarList","Scalar"])",
       .inputs = R"(["","","","[2, 2]","[1, 1]","[1, 1]","True","[1, 1]","1"])"},
      8100, 3348, "fp32", "convolution");
}

TEST(OpModel, ConvolutionWithoutGeometryNeedsItsOutput) {
  OpFacts op{
      .name = "aten::cudnn_convolution",
      .shapes = "[[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[]]",
      .dtypes = R"(["float","float","GenericList","GenericList","GenericList","Int","Bool","Bool","Bool"])"};
  expect_absent(op, "stride and padding of the convolution are not in the source");
  op.output_shapes = "[[32, 64, 112, 112]]";
  // 2 x 32 x 112 x 112 x 9408 = 7552892928; 4 x (32x3x224x224 + 9408 + 32x64x112x112) = 4 x 30516416
  expect_model(op, 7552892928, 122065664, "fp32", "convolution");
}

// Both gradients: 2 x 2 x 32 x 14 x 14 x (1024 x 256) = 6576668672; out 6422528, in 1605632, weight 262144:
// 4 x (6422528 + 262144 + 1605632 + 1605632 + 262144) = 40632320
TEST(OpModel, ConvolutionBackward) {
  OpFacts op{
      .name = "aten::convolution_backward",
      .shapes = "[[32,1024,14,14],[32,256,14,14],[1024,256,1,1],[],[],[],[],[],[],[],[]]",
      .dtypes = R"(["float","float","float","","","","","","","",""])",
      .inputs = R"(["","","","[0]","[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1","[True, True, False]"])"};
  expect_model(op, 6576668672, 40632320, "fp32", "convolution");
  op.inputs = R"(["","","","[0]","[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1","[False, True, False]"])";
  expect_model(op, 3288334336, 33161216, "fp32", "convolution");
  op.inputs = {};
  expect_absent(op, "which gradients are computed is not in the source");
}

TEST(OpModel, OldGradientsTakeAShapeFromTheOpAround) {
  const OpFacts parent{.name = "aten::cudnn_convolution_backward",
                       .shapes = "[[32,256,14,14],[32,1024,14,14],[1024,256,1,1],[],[]]",
                       .dtypes = R"(["float","float","float","GenericList","GenericList"])"};
  const OpFacts weight{.name = "aten::cudnn_convolution_backward_weight",
                       .shapes = "[[],[32,1024,14,14],[32,256,14,14],[],[]]",
                       .dtypes = R"(["GenericList","float","float","GenericList","GenericList"])"};
  const auto out = model_op(weight, &parent);
  ASSERT_TRUE(out) << out.reason();
  EXPECT_EQ(out->flops, 3288334336);
  EXPECT_EQ(out->bytes_min, 33161216);
  expect_absent(weight, "the size of the gradient is not in the source");
  OpFacts other = parent;
  other.shapes = "[[32,256,7,7],[32,1024,14,14],[1024,256,1,1],[],[]]";
  EXPECT_FALSE(model_op(weight, &other));
}

// ---- Attention

OpFacts flash(const char* causal_inputs) {
  return {.name = "aten::_flash_attention_forward",
          .shapes = "[[16,559,16,64],[16,559,16,64],[16,559,16,64],[],[],[],[],[],[],[],[],[],[],[],[]]",
          .dtypes = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","","","Scalar","Scalar"])",
          .inputs = causal_inputs};
}

// 4 x 16 x 16 x 559 x 559 x 64: 559^2 = 312481; x 256 = 79995136; x 256 = 20478754816; half of it if causal.
// 2 x 4 x 16 x 559 x 16 x 64 = 73269248.
TEST(OpModel, FlashAttention) {
  expect_model(flash(R"(["","","","","","559","559","0.","False","False","0.125","","","",""])"), 20478754816,
               73269248, "bf16", "attention");
  expect_model(flash(R"(["","","","","","559","559","0.","True","False","0.125","","","",""])"), 10239377408,
               73269248, "bf16", "attention");
  expect_absent(flash(""), "whether the mask is causal is not in the source");
  expect_absent(flash(R"(["","","","","","559","559","0.","True","False","0.125","128","0","",""])"),
                "no model for attention with a window");
}

// 8 query heads share 2 key heads: 2 x 2 x 8 x 10 x 12 x (64 + 64) = 491520; bytes follow the key heads:
// 2 x (2x8x10x64 x 2 + 2 x 2x2x12x64) = 2 x (20480 + 6144)
TEST(OpModel, GroupedAttention) {
  expect_model({.name = "aten::_scaled_dot_product_flash_attention",
                .shapes = "[[2,8,10,64],[2,2,12,64],[2,2,12,64],[],[],[],[]]",
                .dtypes = R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar","Scalar",""])",
                .inputs = R"(["","","","0.","False","False",""])"},
               491520, 53248, "fp16", "attention");
  expect_absent({.name = "aten::_scaled_dot_product_flash_attention",
                 .shapes = "[[2,8,10,64],[2,2,12,64],[2,2,12,64],[],[],[],[]]",
                 .dtypes = R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar","Scalar",""])",
                 .inputs = R"(["","","","0.","True","False",""])"},
                "how a causal mask covers unequal lengths is not in the source");
}

// Five products instead of two: 5 / 2 of 4 x 2 x 8 x 10 x 10 x 64 = 409600 x 5 / 2; 2 bytes x (5 read and 3
// written tensors of 2 x 8 x 10 x 64).
TEST(OpModel, AttentionBackward) {
  expect_model(
      {.name = "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
       .shapes = "[[2,8,10,64],[2,8,10,64],[2,8,10,64],[2,8,10,64],[2,8,10,64],[2,8,10],[],[],[],[]]",
       .dtypes = R"(["c10::Half","c10::Half","c10::Half","c10::Half","c10::Half","float"])",
       .inputs = R"(["","","","","","","0.","False","",""])"},
      1024000, 163840, "fp16", "attention");
}

// 15 full sequences of 1024: 1024 x (2 x 1024 - 1024) x 15 x 32 x 256 = 128849018880.
// 2 x (2 x 15360x32x128 + 2 x 15360x8x128) = 2 x (125829120 + 31457280)
TEST(OpModel, PagedPrefillOfFullSequences) {
  OpFacts op{
      .name = "aiter::mha_batch_prefill",
      .shapes = "[[15360,32,128],[835874,8,128],[835874,8,128],[16],[16],[15616],[],[],[],[],[],[],[],[],[]]",
      .dtypes = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","int","int","int"])",
      .inputs = R"(["","","","","","","1024","1024","0.","0.08","0.","False","True","-1","-1"])"};
  expect_model(op, 128849018880, 314572800, "bf16", "attention");
  op.inputs = R"(["","","","","","","1024","2048","0.","0.08","0.","False","True","-1","-1"])";
  expect_absent(op, "the lengths of the sequences are not in the source");
}

TEST(OpModel, ServingAttentionWithoutLengthsIsAbsent) {
  expect_absent({.name = "vllm::unified_attention_with_output",
                 .shapes = "[[8192,64,64],[8192,8,64],[8192,8,64],[8192,64,64],[],[],[],[0]]",
                 .dtypes = kTwoBf16},
                "the lengths of the sequences are not in the source");
}

// ---- Memory-bound ops

TEST(OpModel, NormsAndSoftmax) {
  expect_model({.name = "aten::native_layer_norm",
                .shapes = "[[4,6],[],[6],[6],[]]",
                .dtypes = R"(["float","ScalarList","float","float","Scalar"])"},
               192, 240, "fp32", "norm");  // 24 x 8; 4 x (24 + 24 + 6 + 6)
  expect_model({.name = "_C::rms_norm",
                .shapes = "[[4,6],[4,6],[6],[]]",
                .dtypes = R"(["c10::Half","c10::Half","c10::Half","Scalar"])"},
               96, 108, "fp16", "norm");  // 24 x 4; 2 x (24 + 24 + 6)
  expect_model({.name = "_C::fused_add_rms_norm",
                .shapes = "[[4,6],[4,6],[6],[]]",
                .dtypes = R"(["c10::Half","c10::Half","c10::Half","Scalar"])"},
               120, 204, "fp16", "norm");  // 24 x 5; 2 x (4 x 24 + 6)
  expect_model({.name = "aten::_softmax",
                .shapes = "[[4,6],[],[]]",
                .dtypes = R"(["c10::Half","Scalar","Scalar"])",
                .inputs = R"(["","-1","True"])"},
               120, 144, "fp16", "softmax");  // 24 x 5; 24 x 2 read, 24 x 4 written
}

TEST(OpModel, Elementwise) {
  // 12 elements of bf16 and 3 of fp32 give 12 of fp32: 24 + 12 + 48
  expect_model(
      {.name = "aten::add", .shapes = "[[4,3],[3],[]]", .dtypes = R"(["c10::BFloat16","float","Scalar"])"},
      12, 84, "fp32", "elementwise");
  // in place the result is bf16: 24 + 12 + 24
  expect_model(
      {.name = "aten::add_", .shapes = "[[4,3],[3],[]]", .dtypes = R"(["c10::BFloat16","float","Scalar"])"},
      12, 60, "fp32", "elementwise");
  // a scalar tensor does not widen the result: 24 + 8 + 24
  expect_model({.name = "aten::mul", .shapes = "[[4,3],[]]", .dtypes = R"(["c10::BFloat16","double"])"}, 12,
               56, "bf16", "elementwise");
  // the third argument is where the result goes
  expect_model(
      {.name = "aten::clamp_min", .shapes = "[[4,3],[],[4,3]]", .dtypes = R"(["float","Int","float"])"}, 12,
      96, "fp32", "elementwise");
  expect_model({.name = "aten::eq", .shapes = "[[4,3],[]]", .dtypes = R"(["long int","Scalar"])"}, 12, 108,
               "int64", "elementwise");
  expect_absent({.name = "aten::add", .shapes = "[[4,3],[4],[]]", .dtypes = R"(["float","float","Scalar"])"},
                "the shapes do not fit an elementwise op");
}

TEST(OpModel, AnExpandedDimensionIsReadOnce) {
  // the source [4,3] with strides [0,1] lies in memory as 3 elements: 4 x (12 + 3)
  expect_model({.name = "aten::copy_",
                .shapes = "[[4,3],[4,3],[]]",
                .dtypes = R"(["float","float","Scalar"])",
                .strides = "[[3,1],[0,1],[]]"},
               0, 60, "fp32", "copy");
}

TEST(OpModel, ReductionsAndGathers) {
  expect_model({.name = "aten::mean",
                .shapes = "[[2,5,8],[],[],[]]",
                .dtypes = R"(["float","ScalarList","Scalar",""])",
                .inputs = R"(["","[-1]","True",""])"},
               80, 360, "fp32", "reduction");  // 4 x (80 + 10)
  expect_absent(
      {.name = "aten::sum", .shapes = "[[2,5],[],[]]", .dtypes = R"(["float","GenericList","Bool"])"},
      "the reduced dimensions are not in the source");
  expect_model({.name = "aten::argmax",
                .shapes = "[[15,100],[],[]]",
                .dtypes = R"(["float","Scalar","Scalar"])",
                .inputs = R"(["","-1","False"])"},
               1500, 6120, "fp32", "reduction");  // 4 x 1500 + 8 x 15
  expect_model({.name = "aten::index_select",
                .shapes = "[[100,16],[],[7]]",
                .dtypes = R"(["c10::BFloat16","Scalar","long int"])",
                .inputs = R"(["","0",""])"},
               0, 504, "bf16", "gather");  // 7 x 8 + 2 x 2 x 7 x 16
}

// ---- ONNX Runtime and TensorRT

TEST(OpModel, OnnxProductWithAPackedWeight) {
  // 2 x 2 x 64 x 128 x 128 = 4194304; 4 x (16384 + 128 x 128 + 16384)
  expect_model({.name = "/layers.0/attn/k/MatMul",
                .op_type = "MatMul",
                .shapes = "[[2,64,128]]",
                .dtypes = R"(["float"])",
                .args = R"({"output_type_shape":[{"float":[2,64,128]}]})"},
               4194304, 196608, "fp32", "matrix_product");
  // 2 x 4 x 64 x 256; the second shape is the bias: 4 x (4x64 + 256 + 64x256 + 4x256)
  expect_model({.name = "fused Gemm_0",
                .op_type = "FusedGemm",
                .shapes = "[[4,64],[256]]",
                .dtypes = R"(["float","float"])",
                .args = R"({"output_type_shape":[{"float":[4,256]}]})"},
               131072, 71680, "fp32", "matrix_product");
  // both known: 2 x 2 x 4 x 64 x 64 x 32
  expect_model({.name = "qk",
                .op_type = "FusedMatMul",
                .shapes = "[[2,4,64,32],[2,4,32,64]]",
                .dtypes = R"(["float","float"])",
                .args = R"({"output_type_shape":[{"float":[2,4,64,64]}]})"},
               2097152, 262144, "fp32", "matrix_product");
}

TEST(OpModel, OnnxNodes) {
  // 2 x 4 x 32 x 32 x (16x3x3x3) = 3538944; 4 x (4x3x64x64 + 432 + 16 + 4x16x32x32)
  expect_model({.name = "r0_nchwc",
                .op_type = "Conv",
                .shapes = "[[4,3,64,64],[16,3,3,3],[16]]",
                .dtypes = R"(["float","float","float"])",
                .args = R"({"output_type_shape":[{"float":[4,16,32,32]}]})"},
               3538944, 460544, "fp32", "convolution");
  expect_model({.name = "BiasGelu",
                .op_type = "BiasGelu",
                .shapes = "[[2,64,512],[512]]",
                .dtypes = R"(["float","float"])",
                .args = R"({"output_type_shape":[{"float":[2,64,512]}]})"},
               131072, 526336, "fp32", "elementwise");
  // 2 x 2x10 x 8 x 24 + 4 x 2 x 10 x 10 x 8 = 7680 + 6400; 4 x (160 + 192 + 24 + 160)
  expect_model({.name = "a",
                .op_type = "Attention",
                .shapes = "[[2,10,8],[8,24],[24]]",
                .dtypes = R"(["float","float","float"])",
                .args = R"({"output_type_shape":[{"float":[2,10,8]}]})"},
               14080, 2144, "fp32", "attention");
  expect_absent({.name = "a", .op_type = "Reshape", .shapes = "[[2,10,8]]", .dtypes = R"(["float"])"},
                "no model for Reshape");
}

// 2 x 32 x 7 x 7 x 1179648 = 3699376128; 2 x (32x256x14x14 + 1179648 + 512 + 32x512x7x7)
// = 2 x (1605632 + 1179648 + 512 + 802816) = 7177216
TEST(OpModel, TensorRtConvolution) {
  const char* format = R"(["Channel major FP16 format where channel % 8 == 0"])";
  const OpFacts op{.name = "Conv_35 + Relu_36",
                   .op_type = "CaskConvolution",
                   .shapes = "[[32,256,14,14]]",
                   .dtypes = format,
                   .args = R"({"Outputs":[{"Name":"x","Dimensions":[32,512,7,7],
                     "Format/Datatype":"Channel major FP16 format where channel % 8 == 0"}],
                     "ParameterType":"Convolution","Kernel":[3,3],"Groups":1,
                     "Weights":{"Type":"Half","Count":1179648},"Bias":{"Type":"Half","Count":512}})"};
  expect_model(op, 3699376128, 7177216, "fp16", "convolution");
}

// ---- Absence and hostile input

TEST(OpModel, UnknownIsNotZero) {
  expect_absent({.name = "aten::cat", .shapes = "[[[2,3],[2,3]],[]]", .dtypes = R"(["TensorList","Scalar"])"},
                "the dtype of a list of tensors is not in the source");
  expect_absent({.name = "aten::mm"}, "no shapes in the source");
  expect_absent({.name = "aten::foo", .shapes = "[[1]]", .dtypes = R"(["float"])"}, "no model for aten::foo");
  expect_absent({.name = "aten::mm", .shapes = "[[2,3],[3,4]]", .dtypes = R"(["Mystery","Mystery"])"},
                "a dtype of the op is unknown");
  expect_absent({.name = "aten::mm", .shapes = "[[2,3],[3,4]]"}, "a dtype of the op is unknown");
}

TEST(OpModel, HostileShapesAreAbsent) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const std::string deep_dims = "[" + std::string(100'000, '[') + "1" + std::string(100'000, ']') + "]";
  const std::string shapes[] = {
      deep,
      deep_dims,
      "[[9223372036854775807,9223372036854775807],[9223372036854775807,9223372036854775807]]",
      "[[4611686018427387904,2],[2,4611686018427387904]]",
      "[[18446744073709551615,2],[2,3]]",
      "[[1e30,2],[2,3]]",
      "[[-1,2],[2,3]]",
      "[[2.5,2],[2,3]]",
      "[[\"2\",2],[2,3]]",
      "[[null,2],[2,3]]",
      "[{},[2,3]]",
      "[null,[2,3]]",
      "{}",
      "[",
      "not json",
      std::string("[[2,3],\0[3,4]]", 14),
      "[[],[]]",
      "[]",
      "[[2,3]]",
      "[[[2,3]],[[3,4]]]",
  };
  const char* names[] = {"aten::mm",
                         "aten::linear",
                         "aten::convolution",
                         "aten::convolution_backward",
                         "aten::add_",
                         "aten::sum",
                         "aten::native_layer_norm",
                         "aten::_flash_attention_forward",
                         "MatMul",
                         "Conv",
                         "aten::gather",
                         "aiter::mha_batch_prefill"};
  for (const auto& shape : shapes) {
    for (const char* name : names) {
      const auto out =
          model_op({.name = name, .shapes = shape, .dtypes = kTwoBf16, .strides = shape, .inputs = shape});
      if (out) {
        EXPECT_GE(out->flops, 0) << name << " " << shape.substr(0, 80);
        EXPECT_GE(out->bytes_min, 0);
      } else {
        EXPECT_FALSE(out.reason().empty());
      }
    }
    EXPECT_FALSE(model_op({.name = "aten::mm", .shapes = shape, .dtypes = kTwoBf16})) << shape.substr(0, 80);
  }
}

TEST(OpModel, HostileGeometryIsAbsent) {
  for (const char* list : {"[0, 0]", "[-1, -1]", "[9223372036854775807, 1]", "[-9223372036854775808, 1]",
                           "[1, 1, 1]", "same", "[]", "[,]", "[[1]]", "["}) {
    const std::string inputs =
        R"(["","","",")" + std::string(list) + R"(",")" + list + R"(",")" + list + R"(","1"])";
    const OpFacts op{.name = "aten::conv2d",
                     .shapes = "[[1,4,7,7],[4,4,3,3],[],[],[],[],[]]",
                     .dtypes = R"(["float","float","","ScalarList","ScalarList","ScalarList","Scalar"])",
                     .inputs = inputs};
    EXPECT_FALSE(model_op(op)) << list;
  }
}

TEST(OpModel, RandomBytesNeverFail) {
  std::mt19937_64 random(11);
  const std::string letters = "[]{},0123456789-.\"ae \\";
  for (int i = 0; i < 5000; i++) {
    std::string text = "[[";
    for (int j = 0; j < 24; j++) text += letters[random() % letters.size()];
    for (const char* name : {"aten::mm", "aten::_softmax", "aten::conv2d", "Conv"}) {
      const auto out = model_op({.name = name, .shapes = text, .dtypes = text, .inputs = text, .args = text});
      EXPECT_EQ(out.reason().empty(), out.has_value());
    }
  }
}

// More rows never need fewer operations or bytes.
TEST(OpModel, GrowsWithItsShapes) {
  int64_t flops = 0;
  int64_t bytes = 0;
  for (int64_t rows = 1; rows < 5000; rows += 97) {
    const std::string shapes = "[[" + std::to_string(rows) + ",64],[64,32]]";
    const auto out = model_op({.name = "aten::mm", .shapes = shapes, .dtypes = kTwoBf16});
    ASSERT_TRUE(out);
    EXPECT_GT(out->flops, flops);
    EXPECT_GT(out->bytes_min, bytes);
    flops = out->flops;
    bytes = out->bytes_min;
  }
}

TEST(OpModel, CompositeOpsAreNamed) {
  EXPECT_TRUE(is_composite("aten::linear"));
  EXPECT_TRUE(is_composite("aten::scaled_dot_product_attention"));
  EXPECT_TRUE(is_composite("AddmmBackward0"));
  EXPECT_TRUE(is_composite("autograd::engine::evaluate_function: AddmmBackward0"));
  EXPECT_FALSE(is_composite("aten::addmm"));
  EXPECT_FALSE(is_composite("aten::convolution_backward"));
  EXPECT_FALSE(is_composite("aten::_flash_attention_forward"));
}

TEST(OpModel, KernelsThatSaveOperationsAreNamed) {
  EXPECT_TRUE(saves_operations("void cudnn::winograd_nonfused::winogradForwardOutput4x4<float, float>"));
  EXPECT_FALSE(saves_operations("void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1>"));
}

TEST(OpModel, Fp32RunsAsTf32IfTheKernelSaysSo) {
  EXPECT_EQ(compute_dtype("fp32", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n"), "tf32");
  EXPECT_EQ(compute_dtype("fp32", "ampere_sgemm_128x64_tn"), "fp32");
  EXPECT_EQ(compute_dtype("bf16", "cutlass_80_tensorop_s1688gemm"), "bf16");
}

}  // namespace
}  // namespace nl::analyze
