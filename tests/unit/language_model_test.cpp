#include "analyze/models/language_model.h"

#include <gtest/gtest.h>

#include "analyze/roofline/model_roof.h"

namespace nl::analyze {
namespace {

using nlohmann::json;

json qwen3_8b() {
  return json::parse(R"({"model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288,
    "vocab_size": 151936, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "sliding_window": null})");
}

json mixtral_8x7b() {
  return json::parse(R"({"model_type": "mixtral", "num_hidden_layers": 32, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
    "num_local_experts": 8, "num_experts_per_tok": 2, "torch_dtype": "bfloat16"})");
}

json deepseek_v3() {
  return json::parse(R"({"model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
    "num_attention_heads": 128, "num_key_value_heads": 128, "intermediate_size": 18432, "vocab_size": 129280,
    "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
    "first_k_dense_replace": 3, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128, "v_head_dim": 128, "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8"}})");
}

DevicePeaks device(double bandwidth, double bf16) {
  DevicePeaks peaks;
  peaks.device = "made";
  peaks.bandwidth = bandwidth;
  peaks.dense = {{"bf16", Known<double>(bf16)}};
  return peaks;
}

ServingRow decode_of(int64_t requests, int64_t steps, int64_t median_ns) {
  return {.phase = "decode_step",
          .decode_requests = requests,
          .steps = steps,
          .median_ns = median_ns,
          .decode_tokens = requests * steps};
}

// The makers publish 8.2, 46.7 and 671 billion parameters, of which 12.9 and 37 billion are active.
TEST(LanguageModel, CountsTheParametersThatTheMakersPublish) {
  EXPECT_NEAR(language_model(qwen3_8b())->parameters, 8.19e9, 0.01e9);
  const auto mixtral = language_model(mixtral_8x7b());
  EXPECT_NEAR(mixtral->parameters, 46.7e9, 0.05e9);
  EXPECT_NEAR(mixtral->active_parameters().low, 12.75e9, 0.1e9);  // without the table of embeddings
  const auto deepseek = language_model(deepseek_v3());
  EXPECT_NEAR(deepseek->parameters, 671e9, 1e9);
  EXPECT_NEAR(deepseek->active_parameters().low, 37e9, 1e9);
}

TEST(LanguageModel, KnowsTheCacheOfAToken) {
  EXPECT_EQ(*language_model(qwen3_8b())->cache_bytes_per_token, 36 * 2 * 8 * 128 * 2);
  EXPECT_EQ(*language_model(deepseek_v3())->cache_bytes_per_token, 61 * (512 + 64) * 2);
}

TEST(LanguageModel, AStepReadsTheExpertsOfItsTokens) {
  const auto model = *language_model(mixtral_8x7b());
  EXPECT_DOUBLE_EQ(model.weights_read(1).low, model.weights_read(1).high);
  EXPECT_DOUBLE_EQ(model.weights_read(2).low, model.weights_read(1).low);  // both may choose the same
  EXPECT_GT(model.weights_read(2).high, model.weights_read(1).high);
  EXPECT_DOUBLE_EQ(model.weights_read(4).high, model.weights_read(400).high);  // there are only eight
}

TEST(LanguageModel, ASlidingWindowBoundsTheCacheFromBelow) {
  json config = qwen3_8b();
  config["sliding_window"] = 1000;
  const auto bounded = language_model(config)->cache_read(8000, 2).value();
  EXPECT_EQ(bounded.low * 4, bounded.high);
  config["use_sliding_window"] = false;
  const auto full = language_model(config)->cache_read(8000, 2).value();
  EXPECT_EQ(full.low, full.high);
}

TEST(LanguageModel, RefusesWhatItDoesNotKnow) {
  json config = qwen3_8b();
  config["model_type"] = "mamba";
  EXPECT_FALSE(language_model(config));
  config = qwen3_8b();
  config["torch_dtype"] = "float7";
  EXPECT_FALSE(language_model(config));
  for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}) {
    config = qwen3_8b();
    config.erase(key);
    EXPECT_FALSE(language_model(config)) << key;
    config[key] = -1;
    EXPECT_FALSE(language_model(config)) << key;
    config[key] = "many";
    EXPECT_FALSE(language_model(config)) << key;
  }
  EXPECT_FALSE(language_model(json::array()));
  EXPECT_FALSE(language_model("many", "bf16"));
  EXPECT_FALSE(language_model("8B", "float7"));
}

TEST(LanguageModel, ReadsLabels) {
  EXPECT_DOUBLE_EQ(language_model("8.03B", "bf16")->weights_read(1).high, 16.06e9);
  EXPECT_DOUBLE_EQ(language_model("350M", "fp16")->parameters, 350e6);
  EXPECT_FALSE(model_facts({{"parameters", "8B"}}).model);
  EXPECT_TRUE(model_facts({{"parameters", "8B"}, {"precision", "bf16"}}).model);
  EXPECT_FALSE(model_facts({{"parameters", "large"}, {"precision", "bf16"}}).model);
}

TEST(ModelRoof, LabelsBeyondReasonSayNothing) {
  const std::map<std::string, std::string> large = {{"batch", "900000"}, {"input_length", "9000000"}};
  EXPECT_FALSE(model_facts(large).steps.prefill_tokens);
  for (const char* text : {"1e300", "-4", "0", "nan", "inf", "many", ""})
    EXPECT_FALSE(model_facts({{"batch", text}}).steps.requests) << text;
}

TEST(ModelRoof, HoldsADecodeStepAgainstTheBandwidth) {
  ModelFacts facts{.model = *language_model(qwen3_8b())};
  facts.context = Bounds{1000, 2000};
  const auto roof = model_roof(facts, {decode_of(32, 10, 9'800'000)}, device(5.3e12, 1307e12), 1);
  ASSERT_FALSE(roof.absent);
  const ModelRoofRow& row = roof.rows.at(0);
  EXPECT_NEAR(static_cast<double>(row.weights_ns_low), 15.136e9 / 5.3e12 * 1e9, 3e3);  // 2.86 ms
  EXPECT_EQ(row.weights_ns_low, row.weights_ns_high);
  EXPECT_NEAR(static_cast<double>(*row.cache_ns_low), 32'000.0 * 147'456 / 5.3e12 * 1e9, 1);
  EXPECT_NEAR(static_cast<double>(*row.cache_ns_high), 64'000.0 * 147'456 / 5.3e12 * 1e9, 1);
  EXPECT_NEAR(row.mbu_low, static_cast<double>(row.weights_ns_low + *row.cache_ns_low) / 9.8e6, 1e-6);
  EXPECT_LT(row.mbu_low, row.mbu_high);
  EXPECT_LT(*row.mfu_low, 0.1);
}

TEST(ModelRoof, DevicesThatMayShareTheWeightsMakeARange) {
  const ModelFacts facts{.model = *language_model(qwen3_8b())};
  const auto roof = model_roof(facts, {decode_of(1, 1, 9'800'000)}, device(5.3e12, 1307e12), 4);
  EXPECT_EQ(roof.devices_low, 1);
  EXPECT_EQ(roof.devices_high, 4);
  EXPECT_NEAR(roof.rows.at(0).mbu_high, 4 * roof.rows.at(0).mbu_low, 1e-9);
  EXPECT_FALSE(roof.rows.at(0).cache_ns_low);
}

TEST(ModelRoof, SaysWhatIsMissing) {
  const DevicePeaks peaks = device(5.3e12, 1307e12);
  EXPECT_TRUE(model_roof({}, {decode_of(1, 1, 1)}, peaks, 1).absent->starts_with("the model is not known"));
  const ModelFacts facts{.model = *language_model(qwen3_8b())};
  EXPECT_TRUE(model_roof(facts, {}, peaks, 1).absent->starts_with("no step says how many tokens it has"));
  EXPECT_EQ(*model_roof(facts, {decode_of(1, 1, 1)}, Absent{"no name"}, 1).absent, "no name");
}

TEST(ModelRoof, RefusesAModelThatCannotBeTheOne) {
  const ModelFacts facts{.model = *language_model(qwen3_8b())};
  const auto roof = model_roof(facts, {decode_of(1, 1, 1'000'000)}, device(5.3e12, 1307e12), 1);
  EXPECT_TRUE(roof.rows.empty());
  EXPECT_TRUE(roof.absent->starts_with("the steps are shorter than this model needs"));
}

}  // namespace
}  // namespace nl::analyze
