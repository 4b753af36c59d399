#include <gtest/gtest.h>

#include "analyze/names/kernel_kinds.h"
#include "analyze/names/stated_name.h"
#include "analyze/names/taxonomy.h"
#include "base/demangle.h"
#include "redact/name_redactor.h"
#include "redact/policy.h"
#include "redact/public_words.h"
#include "redact/text_redactor.h"

namespace nl::redact {
namespace {

class RedactionTest : public ::testing::Test {
 protected:
  std::string text(std::string_view given) { return texts_.text(given); }
  std::string back(const std::string& shown) const { return revealed(shown, pseudonyms_.known()); }

  Pseudonyms pseudonyms_{"key", {}};
  TextRedactor texts_{pseudonyms_, {}};
};

TEST_F(RedactionTest, LeavesPublicNames) {
  for (const char* name :
       {"aten::_scaled_dot_product_flash_attention", "cudaLaunchKernel", "Memcpy HtoD (Pageable -> Device)",
        "void at::native::vectorized_elementwise_kernel<4, float>(int, float)", "ampere_sgemm_128x64_nn",
        "cutlass_80_tensorop_s16816gemm_f16_256x128_32x3_nn_align8",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", "ProfilerStep#12", "nn.Module: Linear_3"})
    EXPECT_EQ(text(name), name);
}

TEST_F(RedactionTest, HidesPrivateWordsAndNothingElse) {
  const std::string shown = text("zorblat::qwixGemm<128, float>");
  EXPECT_EQ(shown.find("zorblat"), std::string::npos);
  EXPECT_EQ(shown.find("qwix"), std::string::npos);
  EXPECT_NE(shown.find("::"), std::string::npos);
  EXPECT_TRUE(shown.ends_with("Gemm<128, float>")) << shown;
  EXPECT_EQ(back(shown), "zorblat::qwixGemm<128, float>");
}

TEST_F(RedactionTest, KeepsTheCaseOfWords) {
  const std::string small = text("zorblat"), first = text("Zorblat"), all = text("ZORBLAT");
  EXPECT_EQ(all.find_first_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos);
  EXPECT_EQ(first.substr(1), small.substr(1));
  for (const char* word : {"zorblat", "Zorblat", "ZORBLAT", "ZORBLATKernel", "myZorblat2d", "_zorblat_"})
    EXPECT_EQ(back(text(word)), word);
}

TEST_F(RedactionTest, GivesOneWordOnePseudonymUnderOneKey) {
  Pseudonyms same("key", {}), other("another key", {});
  EXPECT_EQ(pseudonyms_.of_word("zorblat"), same.of_word("zorblat"));
  EXPECT_NE(pseudonyms_.of_word("zorblat"), other.of_word("zorblat"));
  EXPECT_NE(pseudonyms_.of_word("zorblat"), pseudonyms_.of_word("zorblatt"));
  Pseudonyms later("key", pseudonyms_.known());
  EXPECT_EQ(later.of_word("zorblat"), same.of_word("zorblat"));
  EXPECT_TRUE(later.added().empty());
}

TEST_F(RedactionTest, HidesWhatTellsMachinesAndPeople) {
  for (const char* secret :
       {"10.12.13.14", "node at fe80:0:0:1:2:3", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "00:1b:44:11:3a:b7",
        "at 0x7f3a9bc01200", "key a1B2c3D4e5F6", "port of pid 12345678"}) {
    const std::string shown = text(secret);
    const std::string last = std::string(secret).substr(std::string(secret).rfind(' ') + 1);
    EXPECT_EQ(shown.find(last), std::string::npos) << secret;
    EXPECT_EQ(back(shown), secret);
  }
}

TEST_F(RedactionTest, LeavesFigures) {
  for (const char* figure :
       {"12345678901", "[1, 4096, 0.0009999999999999998e-5]", "-1", "128", "m16n8k16", "[]", ""})
    EXPECT_EQ(text(figure), figure);
  EXPECT_EQ(texts_.version("12.4.5.8"), "12.4.5.8");
}

TEST_F(RedactionTest, HidesWordsOfOtherAlphabets) {
  const std::string shown = text("модель_v2");
  EXPECT_EQ(shown.find("модель"), std::string::npos);
  EXPECT_EQ(back(shown), "модель_v2");
}

TEST_F(RedactionTest, KeepsMangledNamesReadable) {
  const std::string mangled = "_ZN7zorblat4gemmILi128EN6qwixes5LayerIfEEEEvPKT0_";
  const auto readable = demangle(mangled);
  ASSERT_TRUE(readable);
  const std::string shown = text(mangled);
  EXPECT_TRUE(is_mangled(shown));
  EXPECT_EQ(demangle(shown), text(*readable));
  EXPECT_EQ(back(shown), mangled);
}

TEST_F(RedactionTest, HidesNamesThatWereCut) {
  const std::string shown = text("_ZN7cutlass20zorblatKernelWith");
  EXPECT_EQ(shown.find("zorblat"), std::string::npos) << shown;
}

TEST_F(RedactionTest, KeepsMangledTypesOfSixteenBits) {
  const std::string mangled = "_ZN7ck_tile6kentryIDF16bDF16bN7zorblatEEEvT_";
  EXPECT_EQ(back(text(mangled)), mangled);
}

TEST_F(RedactionTest, ReadsTextsInJson) {
  const std::string shown = texts_.json(R"({"zorblat": ["qwi\u0078es", 1.5e300, 123456789012, true, null]})");
  EXPECT_EQ(shown.find("zorblat"), std::string::npos);
  EXPECT_EQ(shown.find("qwi"), std::string::npos);
  EXPECT_TRUE(shown.ends_with(", 1.5e300, 123456789012, true, null]}")) << shown;
  for (const char* broken : {R"({"zorblat)", R"(["\u12"zorblat)", R"("a" zorblat)", "zorblat"})
    EXPECT_EQ(texts_.json(broken).find("zorblat"), std::string::npos) << broken;
}

TEST_F(RedactionTest, NamesStateWhatTheyNoLongerTell) {
  const auto taxonomy = analyze::Taxonomy::shared();
  ASSERT_TRUE(taxonomy);
  NameRedactor names(texts_, **taxonomy);
  for (const char* name : {"wgemmx_sm80_128x64x32_kernel", "zorblatgemm", "myflashattnfwd",
                           "zorblat_kernel_sgemmx", "void zorblatnormkernel<float>(float*)"}) {
    const std::string shown = names.name(name, NameRole::kKernel);
    const auto before = (*taxonomy)->kernel(name), after = (*taxonomy)->kernel(shown);
    EXPECT_EQ(before.op_class, after.op_class) << shown;
    EXPECT_EQ(before.family, after.family) << shown;
    EXPECT_EQ(before.name.dtype, after.name.dtype) << shown;
    EXPECT_EQ(before.name.tile, after.name.tile) << shown;
    EXPECT_EQ(analyze::kinds_text(analyze::kernel_kinds(name)),
              analyze::kinds_text(analyze::kernel_kinds(shown)));
    EXPECT_EQ(back(shown), name);
  }
  const std::string op = names.name("zorblat::layernormx", NameRole::kOp);
  EXPECT_EQ((*taxonomy)->op("zorblat::layernormx"), (*taxonomy)->op(op)) << op;
}

TEST(StatedNameTest, ReadsWhatItWrites) {
  const std::string name = analyze::with_statement("name<int>", {{"kernel", "gemm/x"}, {"tile", ""}});
  EXPECT_EQ(analyze::without_statement(name), "name<int>");
  EXPECT_EQ(analyze::stated(name, "kernel"), "gemm/x");
  EXPECT_EQ(analyze::stated(name, "tile"), "");
  EXPECT_EQ(analyze::stated(name, "op"), std::nullopt);
  EXPECT_EQ(analyze::stated("name {nl", "op"), std::nullopt);
  EXPECT_EQ(analyze::stated(" {nl }", "op"), std::nullopt);
  EXPECT_EQ(analyze::without_statement("struct {nl"), "struct {nl");
}

TEST(PolicyTest, KnowsEveryTextField) {
  const auto fields = redacted_fields();
  for (const char* field : {"spans.name", "kernels.args", "samples.stack", "run.hosts", "requests.name"})
    EXPECT_NE(std::find(fields.begin(), fields.end(), field), fields.end()) << field;
  EXPECT_EQ(std::find(fields.begin(), fields.end(), "span_tree.depth"), fields.end());
}

TEST(PublicWordsTest, HasWordsOfPublicNames) {
  for (const char* word : {"gemm", "aten", "cutlass", "nccl", "softmax", "forward", "llama"})
    EXPECT_TRUE(is_public_word(word)) << word;
  for (const char* word : {"zorblat", "", "acme", "secret sauce"}) EXPECT_FALSE(is_public_word(word)) << word;
}

}  // namespace
}  // namespace nl::redact
