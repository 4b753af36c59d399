#include "analyze/models/language_model.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace nl::analyze {
namespace {

using Config = nlohmann::json;

constexpr double kLargest = 1e15;  // no size of a model is larger; keeps products finite

Error bad_config(std::string message) {
  return {ErrorCode::kBadInput, "the model's config: " + std::move(message),
          "give the config.json of a decoder, as on Hugging Face"};
}

/// The first of the keys that is a number above 0.
std::optional<double> size_of(const Config& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto it = config.find(key);
    if (it == config.end() || !it->is_number()) continue;
    const auto value = it->get<double>();
    if (value > 0 && value < kLargest) return value;
  }
  return std::nullopt;
}

std::string text_of(const Config& config, const char* key) {
  const auto it = config.find(key);
  return it != config.end() && it->is_string() ? it->get<std::string>() : "";
}

bool is_true(const Config& config, const char* key) {
  const auto it = config.find(key);
  return it != config.end() && *it == true;
}

struct WeightType {
  std::string_view said;
  std::string_view name;
  Bounds bytes;
};

// Scales add up to 1/16 of a byte a weight at fp8 (a block of 32), and at 4 bits up to a quarter of a byte (a
// group of 16 with a scale of two bytes and a zero point).
constexpr WeightType kWeightTypes[] = {
    {"float32", "fp32", {4, 4}},        {"fp32", "fp32", {4, 4}},      {"float16", "fp16", {2, 2}},
    {"fp16", "fp16", {2, 2}},           {"half", "fp16", {2, 2}},      {"bfloat16", "bf16", {2, 2}},
    {"bf16", "bf16", {2, 2}},           {"fp8", "fp8", {1, 1.0625}},   {"float8_e4m3fn", "fp8", {1, 1.0625}},
    {"fbgemm_fp8", "fp8", {1, 1.0625}}, {"int8", "int8", {1, 1.0625}}, {"int4", "int4", {0.5, 0.75}},
    {"awq", "int4", {0.5, 0.75}},       {"mxfp4", "fp4", {0.5, 0.75}}, {"nvfp4", "fp4", {0.5, 0.75}},
    {"fp4", "fp4", {0.5, 0.75}}};

const WeightType* weight_type(std::string_view said) {
  const auto* found = std::find_if(std::begin(kWeightTypes), std::end(kWeightTypes),
                                   [&](const WeightType& type) { return type.said == said; });
  return found == std::end(kWeightTypes) ? nullptr : found;
}

/// How the weights lie in memory: as the quantisation says, else as the model computes.
Result<const WeightType*> weight_type_of(const Config& config) {
  std::string said = text_of(config, "torch_dtype");
  if (said.empty()) said = text_of(config, "dtype");
  if (const auto it = config.find("quantization_config"); it != config.end() && it->is_object()) {
    const auto bits = size_of(*it, {"bits", "w_bit"});
    const std::string method = text_of(*it, "quant_method");
    said = bits == 4 ? "int4" : bits == 8 ? "int8" : method;
  }
  if (const WeightType* type = weight_type(said)) return type;
  return bad_config(said.empty() ? "it does not name the data type of the weights"
                                 : "the data type of the weights is not known: " + said);
}

double bytes_of_activation(const Config& config) {
  const WeightType* type = weight_type(text_of(config, "torch_dtype"));
  if (type == nullptr) type = weight_type(text_of(config, "dtype"));
  return type == nullptr ? 2 : type->bytes.low;
}

// Decoders whose MLP has a gate (three matrices), and those with two.
constexpr std::string_view kGated[] = {
    "llama",     "mistral", "mixtral",       "qwen2",          "qwen2_moe",   "qwen3",   "qwen3_moe",
    "gemma",     "gemma2",  "gemma3_text",   "phi3",           "deepseek_v2", "granite", "deepseek_v3",
    "internlm2", "olmo",    "olmo2",         "olmoe",          "cohere",      "cohere2", "minicpm",
    "stablelm",  "glm",     "glm4",          "glm4_moe",       "kimi_k2",     "gpt_oss", "ernie4_5",
    "seed_oss",  "smollm3", "qwen2_vl_text", "qwen2_5_vl_text"};
constexpr std::string_view kUngated[] = {"gpt2", "opt",        "gpt_neox", "bloom", "falcon",
                                         "phi",  "starcoder2", "gptj",     "mpt",   "gpt_bigcode"};

template <size_t N>
bool is_among(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// Matrices of an MLP.
Result<double> matrices_of(const std::string& type) {
  if (is_among(kGated, type)) return 3.0;
  if (is_among(kUngated, type)) return 2.0;
  return bad_config("its model_type is not known: " + (type.empty() ? "(none)" : type));
}

struct ModelSizes {
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double vocabulary = 0;
};

Result<ModelSizes> model_sizes(const Config& config) {
  const auto layers = size_of(config, {"num_hidden_layers", "n_layer", "num_layers"});
  const auto hidden = size_of(config, {"hidden_size", "n_embd", "d_model"});
  const auto heads = size_of(config, {"num_attention_heads", "n_head"});
  const auto vocabulary = size_of(config, {"vocab_size"});
  if (!layers || !hidden || !heads || !vocabulary)
    return bad_config("num_hidden_layers, hidden_size, num_attention_heads or vocab_size is missing");
  return ModelSizes{*layers, *hidden, *heads, *vocabulary};
}

struct Attention {
  double parameters = 0;      ///< of a layer
  double cache_elements = 0;  ///< of a layer, for each token
  double flops = 0;           ///< of a layer, of a token for each token that it attends to
};

/// Latent attention: keys and values are kept compressed, the same for all heads.
Attention latent_attention(const Config& config, const ModelSizes& sizes, double rank) {
  const double rope = size_of(config, {"qk_rope_head_dim"}).value_or(0);
  const double nope = size_of(config, {"qk_nope_head_dim"}).value_or(0);
  const double value = size_of(config, {"v_head_dim"}).value_or(nope);
  const double query = sizes.heads * (nope + rope);
  const auto query_rank = size_of(config, {"q_lora_rank"});
  const double queries = query_rank ? *query_rank * (sizes.hidden + query) : sizes.hidden * query;
  const double keys = sizes.hidden * (rank + rope) + rank * sizes.heads * (nope + value);
  return {queries + keys + sizes.heads * value * sizes.hidden, rank + rope,
          2 * sizes.heads * (nope + rope + value)};
}

Attention attention_of(const Config& config, const ModelSizes& sizes) {
  if (const auto rank = size_of(config, {"kv_lora_rank"})) return latent_attention(config, sizes, *rank);
  const double head = size_of(config, {"head_dim"}).value_or(sizes.hidden / sizes.heads);
  const bool one_for_all = is_true(config, "multi_query") && !is_true(config, "new_decoder_architecture");
  const double kv_heads =
      one_for_all ? 1 : size_of(config, {"num_key_value_heads", "num_kv_heads"}).value_or(sizes.heads);
  const double query = sizes.heads * head;
  const double cache = 2 * kv_heads * head;
  return {sizes.hidden * (2 * query + cache), cache, 4 * query};
}

void add_experts(LanguageModel& model, const Config& config, const ModelSizes& sizes, double matrices,
                 double dense_mlp) {
  const auto experts = size_of(config, {"num_local_experts", "n_routed_experts", "num_experts"});
  const auto chosen = size_of(config, {"num_experts_per_tok", "moe_topk", "experts_per_token"});
  if (!experts || !chosen || *experts <= 1) {
    model.always_read = model.always_read + Bounds{dense_mlp, dense_mlp} * sizes.layers;
    return;
  }
  const double own = size_of(config, {"moe_intermediate_size", "intermediate_size", "ffn_dim"}).value_or(0);
  const double every = size_of(config, {"decoder_sparse_step"}).value_or(1);
  const double dense = std::min(size_of(config, {"first_k_dense_replace"}).value_or(0), sizes.layers);
  model.expert_layers = std::floor((sizes.layers - dense) / every);
  model.experts = *experts;
  model.experts_per_token = std::min(*chosen, *experts);
  model.expert_parameters = matrices * sizes.hidden * own;
  const double shared_width = size_of(config, {"shared_expert_intermediate_size"})
                                  .value_or(size_of(config, {"n_shared_experts"}).value_or(0) * own);
  const double in_all =
      (sizes.layers - model.expert_layers) * dense_mlp +
      model.expert_layers * (matrices * sizes.hidden * shared_width + *experts * sizes.hidden);
  model.always_read = model.always_read + Bounds{in_all, in_all};
}

/// "8.03B" as a number.
std::optional<double> parameters_of(std::string_view text) {
  double factor = 1;
  if (!text.empty()) {
    const char last = text.back();
    factor = last == 'B' || last == 'b' ? 1e9 : last == 'M' || last == 'm' ? 1e6 : 1;
    if (factor > 1) text.remove_suffix(1);
  }
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  number *= factor;
  return number >= 1e5 && number < kLargest ? std::optional(number) : std::nullopt;
}

}  // namespace

Bounds LanguageModel::weights_read(double tokens) const {
  const double most = std::min(experts, experts_per_token * std::max(tokens, 1.0));
  const double low = always_read.low + expert_layers * expert_parameters * experts_per_token;
  const double high = always_read.high + expert_layers * expert_parameters * most;
  return {low * bytes_per_weight.low, high * bytes_per_weight.high};
}

Known<Bounds> LanguageModel::cache_read(double context, double requests) const {
  return map(cache_bytes_per_token, [&](double bytes) {
    const double in_window = attention_window ? std::min(context, *attention_window * requests) : context;
    return Bounds{in_window * bytes, context * bytes};
  });
}

Bounds LanguageModel::active_parameters() const {
  const double chosen = expert_layers * expert_parameters * experts_per_token;
  return {always_read.low + chosen, always_read.high + chosen};
}

Result<LanguageModel> language_model(const Config& given) {
  if (!given.is_object()) return bad_config("it is not a JSON object");
  Config config = given;
  if (const auto text = given.find("text_config"); text != given.end() && text->is_object())
    config.update(*text);  // of a model that also sees
  LanguageModel model;
  model.type = text_of(config, "model_type");
  NL_TRY(const ModelSizes sizes, model_sizes(config));
  NL_TRY(const double matrices, matrices_of(model.type));
  const WeightType* type = nullptr;
  NL_TRY(type, weight_type_of(config));
  model.weight_type = type->name;
  model.bytes_per_weight = type->bytes;
  const Attention attention = attention_of(config, sizes);
  const double mlp = size_of(config, {"intermediate_size", "n_inner", "ffn_dim"}).value_or(4 * sizes.hidden);
  const double table = sizes.vocabulary * sizes.hidden;
  const double around = sizes.layers * attention.parameters + table;  // the last matrix has the table's size
  model.always_read = {around, around};
  model.output_parameters = table;
  add_experts(model, config, sizes, matrices, matrices * sizes.hidden * mlp);
  const bool tied = is_true(config, "tie_word_embeddings");
  model.parameters = model.always_read.high + (tied ? 0 : table) +
                     model.expert_layers * model.experts * model.expert_parameters;
  model.cache_bytes_per_token = sizes.layers * attention.cache_elements * bytes_of_activation(config);
  model.attention_flops = sizes.layers * attention.flops;
  const bool unused = config.contains("use_sliding_window") && !is_true(config, "use_sliding_window");
  if (!unused) model.attention_window = size_of(config, {"sliding_window"});
  return model;
}

Result<LanguageModel> language_model(const std::string& parameters, const std::string& precision) {
  const auto count = parameters_of(parameters);
  if (!count)
    return Error{ErrorCode::kBadInput, "not a number of parameters: " + parameters,
                 "such as parameters=8.03e9 or parameters=8.03B"};
  const WeightType* type = weight_type(precision);
  if (type == nullptr)
    return Error{ErrorCode::kBadInput, "the data type of the weights is not known: " + precision,
                 "such as precision=bf16, fp16, fp8 or int4"};
  // The table of embeddings is counted among the parameters but only looked up: rarely more than a fifth.
  constexpr double kLeastRead = 0.8;
  LanguageModel model{.parameters = *count, .always_read = {kLeastRead * *count, *count}};
  model.weight_type = type->name;
  model.bytes_per_weight = type->bytes;
  return model;
}

}  // namespace nl::analyze
