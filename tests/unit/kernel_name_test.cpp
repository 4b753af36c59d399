#include "analyze/names/kernel_name.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/demangle.h"
#include "cpu_time.h"

namespace nl::analyze {
namespace {

struct Case {
  const char* raw;
  const char* short_name;
  const char* dtype;
  const char* tile;
};

constexpr Case kCases[] = {
    // Libraries with flat names.
    {"cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8",
     "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn_align8", "bf16", "256x128x32"},
    {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn",
     "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "fp16", "128x64x64"},
    {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn [clone .kd]",
     "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", "fp16", "128x64x64"},
    {"turing_s1688gemm_fp16_128x128_ldg8_tn", "turing_s1688gemm_fp16_128x128_ldg8_tn", "fp16", "128x128"},
    {"volta_dgemm_64x64_nn", "volta_dgemm_64x64_nn", "fp64", "64x64"},
    {"ampere_cgemm_64x64_nt", "ampere_cgemm_64x64_nt", "", "64x64"},
    {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", "fp16",
     "128x256x64"},
    {"sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize128x64x64_stage3_warpsize2x2x1_tensor16x8x32_kernel",
     "sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize128x64x64_stage3_warpsize2x2x1_tensor16x8x32_kernel", "int8",
     "128x64x64"},
    {"cutlass3x_sm100_tensorop_s64x256x32gemm_f8_f8_f32_f16_f16_64x256x128_1x1x1_0_tnn_align4_1sm",
     "cutlass3x_sm100_tensorop_s64x256x32gemm_f8_f8_f32_f16_f16_64x256x128_1x1x1_0_tnn_align4_1sm", "fp8",
     ""},
    {"sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x64_stage3",
     "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x64_stage3", "fp8", "128x128x64"},
    {"cutlass_tensorop_i16832gemm_s8_128x128_64x3_tn_align16",
     "cutlass_tensorop_i16832gemm_s8_128x128_64x3_tn_align16", "int8", "128x128x64"},
    {"cutlass_tensorop_i8832gemm_s4_128x128_128x2_tn_align32",
     "cutlass_tensorop_i8832gemm_s4_128x128_128x2_tn_align32", "int4", "128x128x128"},
    {"Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0 (.kd)",
     "Cijk_Alik_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0", "fp16", "256x256x64"},
    {"Cijk_Ailk_Bjlk_I8II_BH_MT128x128x32_SE.kd", "Cijk_Ailk_Bjlk_I8II_BH_MT128x128x32_SE", "int8",
     "128x128x32"},
    // Triton.
    {"triton_poi_fused_add_mul_0", "triton_poi_fused_add_mul_0", "", ""},
    {"matmul_kernel_0d1d2d3de4de5c6de7c8de9c", "matmul_kernel", "", ""},
    {"softmax_kernel_0d1d2c3c", "softmax_kernel", "", ""},
    {"step_00", "step_00", "", ""},
    {"cache_decode", "cache_decode", "", ""},
    // C++.
    {"void gemmSN_NN_kernel<float, 256, 4, 2, 8, 6, 4, false, cublasGemvTensorStridedBatched<float "
     "const>>(int)",
     "gemmSN_NN_kernel", "fp32", ""},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half, float>(int, float)",
     "vectorized_layer_norm_kernel", "fp16", ""},
    {"void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float, (bool)0>(int, T2, const T1 *)",
     "vectorized_layer_norm_kernel", "fp32", ""},
    {"std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
     "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, int)",
     "fused_add_rms_norm_kernel", "bf16", ""},
    {"void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_64x64_32x6_nn_align8>(Params)",
     "cutlass_80_tensorop_f16_s16816gemm_f16_64x64_32x6_nn_align8", "fp16", "64x64x32"},
    {"void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaMultistage<"
     "cutlass::gemm::GemmShape<(int)128, (int)96, (int)64>, int>>>(T1::Params)",
     "Gemm", "", "128x96x64"},
    {"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<cutlass::half_t>>>(P)",
     "FlashAttnFwdSm90", "fp16", ""},
    {"void (anonymous namespace)::softmax_warp_forward<float>(float*)", "softmax_warp_forward", "fp32", ""},
    {"run(int)::{lambda(int)#1}::operator()(int) const", "run", "", ""},
    {"void ns::apply<ns::operator<< >(int)", "apply", "", ""},
    {"void vllm::scaled_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(int)", "scaled_fp8_quant_kernel",
     "bf16", ""},
    // Other records.
    {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD", "", ""},
    {"[CUDA memcpy DtoH]", "[CUDA memcpy DtoH]", "", ""},
    {"", "", "", ""},
};

TEST(KernelName, ReadsTheNamesOfLibraries) {
  for (const Case& c : kCases) {
    const KernelName name = parse_kernel_name(c.raw);
    EXPECT_EQ(name.short_name, c.short_name) << c.raw;
    EXPECT_EQ(name.dtype, c.dtype) << c.raw;
    EXPECT_EQ(name.tile, c.tile) << c.raw;
    EXPECT_EQ(name.demangled, c.raw);
  }
}

TEST(KernelName, TellsFunctionFromFunctors) {
  const KernelName name = parse_kernel_name(
      "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
      "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::"
      "{lambda()#7}::operator()() "
      "const::{lambda(c10::BFloat16)#1}>(at::TensorIteratorBase&)::{lambda(int)#1}>(int)");
  EXPECT_EQ(name.function, "at::native::elementwise_kernel");
  const std::vector<std::string> functors = {"at::native::gpu_kernel_impl_nocast",
                                             "at::native::direct_copy_kernel_cuda"};
  EXPECT_EQ(name.functors, functors);
  EXPECT_EQ(name.dtype, "bf16");
}

TEST(KernelName, Demangles) {
  const KernelName name = parse_kernel_name("_ZN4vllm15rms_norm_kernelIN3c108BFloat16ELi8EEEvPT_PKS3_fi");
  EXPECT_EQ(name.demangled,
            "void vllm::rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16 const*, float, int)");
  EXPECT_EQ(name.short_name, "rms_norm_kernel");
  EXPECT_EQ(name.dtype, "bf16");
  EXPECT_EQ(parse_kernel_name("_Z3addPfS_i [clone .kd]").demangled, "add(float*, float*, int) [clone .kd]");
  EXPECT_EQ(parse_kernel_name("_Z3addPfS_i.kd").short_name, "add");
}

TEST(KernelName, ReadsMangledNamesThatItDoesNotExpand) {
  // Cut off: no demangler takes it, yet it names the kernel and its pipeline.
  const KernelName name = parse_kernel_name(
      "_ZN7ck_tile6kentryILi2ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_"
      "27Rmsnorm2dFwdPipelineProblemI"
      "DF16bDF16bf");
  EXPECT_EQ(name.function, "ck_tile::kentry");
  EXPECT_EQ(name.short_name, "Rmsnorm2dFwd");
  EXPECT_EQ(name.dtype, "bf16");
  EXPECT_EQ(name.demangled.substr(0, 4), "_ZN7");
}

/// pair<pair<...>, pair<...>>, doubled `levels` times in a few bytes each.
std::string doubling_name(int levels) {
  constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f4pairIiiE";
  for (int i = 0; i < levels; i++) {
    const std::string reference = i == 0 ? "S0_" : std::string("S") + kDigits[std::min(i, 35)] + "_";
    name += "S_I" + reference + reference + "E";
  }
  return name;
}

TEST(KernelName, DoesNotExpandWithoutBound) {
  for (int levels = 1; levels < 36; levels++) {  // 2^35 names would never end
    const KernelName name = parse_kernel_name(doubling_name(levels));
    EXPECT_EQ(name.short_name, "f");
    EXPECT_LE(name.demangled.size(), 64u * 1024);
  }
}

std::string repeat(std::string_view text, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

void read_long_names(size_t bytes) {
  for (const std::string_view text :
       {"a<", "a::", "(", ")>", "<unnamed>::", "operator<", "{lambda(", "x ", "[", "_", "f<int>(",
        "(anonymous namespace)::", "4pairIS0_", "Li1", "_0d1d", " [clone "}) {
    for (const std::string_view prefix : {"void f<", "_ZN", "", "void at::native::k<g<"}) {
      const std::string raw = std::string(prefix) + repeat(text, bytes);
      const KernelName name = parse_kernel_name(raw);
      EXPECT_EQ(name.demangled, raw);
      EXPECT_LE(name.functors.size(), 32u);
    }
  }
}

TEST(KernelName, LongNamesAreReadInLinearTime) {
  EXPECT_LE(growth_of_sixteenfold(16 * 1024, read_long_names), kLinearGrowth);
}

TEST(KernelName, NestedTemplatesKeepTheFunction) {
  std::string raw = "void ns::deep_kernel<";
  for (int i = 0; i < 10000; i++) raw += "ns::node<";
  raw += "float" + std::string(10001, '>') + "(int)";
  const KernelName name = parse_kernel_name(raw);
  EXPECT_EQ(name.short_name, "deep_kernel");
  EXPECT_EQ(name.functors.size(), 32u);
}

TEST(KernelName, RandomTextDoesNoHarm) {
  std::mt19937 random(7);
  constexpr std::string_view kPieces[] = {"<",   ">",           "(",    ")",  "::",   " ", "void", "operator",
                                          "_Z",  "N",           "3abc", "S_", "I",    "E", "Li3E", "{lambda(",
                                          "#1}", "[clone .kd]", "T0_",  "Dp", "\xff", "\n"};
  for (int i = 0; i < 20000; i++) {
    std::string raw = i % 2 == 0 ? "" : "_Z";
    const size_t pieces = random() % 40;
    for (size_t k = 0; k < pieces; k++) raw += kPieces[random() % std::size(kPieces)];
    for (int k = 0; k < 3 && !raw.empty(); k++) raw[random() % raw.size()] = static_cast<char>(random());
    const KernelName name = parse_kernel_name(raw);
    EXPECT_LE(name.short_name.size(), name.demangled.size());
  }
}

TEST(KernelName, ALabelSaysWhatFillsAFrame) {
  const auto label = [](const char* raw) { return kernel_label(parse_kernel_name(raw)); };
  EXPECT_EQ(
      label(
          "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
          "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int)"),
      "vectorized_elementwise_kernel<MulFunctor>");
  EXPECT_EQ(label("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
}

}  // namespace
}  // namespace nl::analyze
