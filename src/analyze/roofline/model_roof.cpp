#include "analyze/roofline/model_roof.h"

#include <algorithm>
#include <cmath>

#include "model/labels.h"

namespace nl::analyze {
namespace {

constexpr double kNsPerSecondOfRoof = 1e9;

// Far above every engine, and small enough for sums over all steps of a run.
constexpr double kLargestLabel = 1e7;
constexpr double kMostTokensOfAStep = 1e9;

using Labels = std::map<std::string, std::string>;

const std::string* label_of(const Labels& labels, const char* key) {
  const auto it = labels.find(key);
  return it == labels.end() ? nullptr : &it->second;
}

/// A number above 0; nothing for what is no number, as labels are free text.
std::optional<double> number_label(const Labels& labels, const char* key) {
  const std::string* text = label_of(labels, key);
  if (text == nullptr) return std::nullopt;
  double number = 0;
  return model::label_number(*text, number) && number >= 1 && number < kLargestLabel ? std::optional(number)
                                                                                     : std::nullopt;
}

/// While it decodes, a request attends to its prompt and to what it has got so far.
std::optional<Bounds> context_label(const Labels& labels) {
  const auto prompt = number_label(labels, "input_length");
  if (!prompt) return std::nullopt;
  return Bounds{*prompt, *prompt + number_label(labels, "output_length").value_or(0)};
}

std::optional<Phase> phase_label(const Labels& labels) {
  const std::string* said = label_of(labels, "phase");
  if (said == nullptr) return std::nullopt;
  if (*said == "decode" || *said == phase_name(Phase::kDecodeStep)) return Phase::kDecodeStep;
  return *said == phase_name(Phase::kPrefill) ? std::optional(Phase::kPrefill) : std::nullopt;
}

/// Tokens of a typical step; nothing if the engine does not say.
std::optional<double> tokens_of(const ServingRow& row) {
  const double steps = static_cast<double>(row.steps);
  const bool prompts_known = row.prefill_requests.value_or(0) == 0 || row.prefill_tokens;
  if (row.steps == 0 || !prompts_known) return std::nullopt;
  double tokens = static_cast<double>(row.prefill_tokens.value_or(0)) / steps;
  if (row.decode_tokens) {
    tokens += static_cast<double>(*row.decode_tokens) / steps;
  } else {
    tokens += static_cast<double>(row.decode_requests.value_or(0));
  }
  return tokens > 0 ? std::optional(tokens) : std::nullopt;
}

/// Tokens that all decoding requests of a step attend to.
std::optional<Bounds> context_of(const ServingRow& row, const ModelFacts& facts) {
  if (row.decode_requests.value_or(0) == 0) return std::nullopt;
  if (row.decode_context) {
    const double sum = static_cast<double>(*row.decode_context) / static_cast<double>(row.steps);
    return Bounds{sum, sum};
  }
  if (!facts.context) return std::nullopt;
  return *facts.context * static_cast<double>(*row.decode_requests);
}

/// A model that runs on one of `least` to `most` devices has so much of a figure on each.
Bounds per_device(Bounds figure, Bounds devices) {
  return {figure.low / devices.high, figure.high / devices.low};
}

Bounds operations_of(const LanguageModel& model, double tokens, const std::optional<Bounds>& context,
                     bool has_prompts) {
  Bounds matrices = model.active_parameters() * (2 * tokens);
  if (has_prompts) matrices.low -= 2 * tokens * model.output_parameters;  // only the last token needs it
  Bounds attention = context ? *context * model.attention_flops : Bounds{};
  // A prompt of n tokens has n * n / 2 pairs, and all tokens may be of one prompt.
  if (has_prompts) attention.high += model.attention_flops * tokens * tokens / 2;
  return matrices + attention;
}

/// The slowest and the fastest rate that the weights allow: those of 8 bits and less may be widened first.
Known<Bounds> rates_of(const DevicePeaks& peaks, const std::string& weight_type) {
  const bool is_wide = weight_type == "fp32" || weight_type == "fp16" || weight_type == "bf16";
  const Known<double> own = peaks.peak(weight_type);
  if (is_wide) return map(own, [](double rate) { return Bounds{rate, rate}; });
  return map(peaks.peak("bf16"),
             [&](double rate) { return Bounds{rate, std::max(rate, own.value_or(rate))}; });
}

int64_t rounded(double ns) {
  return static_cast<int64_t>(std::llround(ns));
}

struct Roofs {
  double bandwidth;
  Known<Bounds> rates;
  Bounds sharing;  ///< devices that share the weights
};

ModelRoofRow row_of(const ServingRow& steps, double tokens, const ModelFacts& facts, const Roofs& device) {
  const LanguageModel& model = *facts.model;
  ModelRoofRow row{.phase = steps.phase,
                   .requests = steps.decode_requests,
                   .tokens = rounded(tokens),
                   .steps = steps.steps,
                   .step_ns = steps.median_ns};
  const double to_ns = kNsPerSecondOfRoof / device.bandwidth;
  const Bounds weights = per_device(model.weights_read(tokens), device.sharing) * to_ns;
  row.weights_ns_low = rounded(weights.low);
  row.weights_ns_high = rounded(weights.high);
  const auto context = context_of(steps, facts);
  Bounds bytes_ns = weights;
  if (context && model.cache_bytes_per_token) {
    const auto requests = static_cast<double>(*steps.decode_requests);
    const Bounds cache{model.cache_read(context->low, requests)->low,
                       model.cache_read(context->high, requests)->high};
    const Bounds cache_ns = per_device(cache, device.sharing) * to_ns;
    row.cache_ns_low = rounded(cache_ns.low);
    row.cache_ns_high = rounded(cache_ns.high);
    bytes_ns = bytes_ns + cache_ns;
  }
  const auto step_ns = static_cast<double>(std::max<int64_t>(row.step_ns, 1));
  row.mbu_low = bytes_ns.low / step_ns;
  row.mbu_high = std::min(std::max(bytes_ns.high / step_ns, row.mbu_low), std::max(row.mbu_low, 1.0));
  if (device.rates) {
    const bool has_prompts = steps.prefill_tokens.value_or(0) > 0;
    const Bounds flops = per_device(operations_of(model, tokens, context, has_prompts), device.sharing);
    row.mfu_low = flops.low / device.rates->high / step_ns * kNsPerSecondOfRoof;
    row.mfu_high =
        std::min(std::max(flops.high / device.rates->low / step_ns * kNsPerSecondOfRoof, *row.mfu_low),
                 std::max(*row.mfu_low, 1.0));
  }
  return row;
}

/// A step cannot be faster than the memory: then the model is another one.
bool is_impossible(const ModelRoofRow& row) {
  return row.mbu_low > 1 || row.mfu_low.value_or(0) > 1;
}

}  // namespace

ModelFacts model_facts(const Labels& labels) {
  ModelFacts facts;
  const std::string* parameters = label_of(labels, "parameters");
  const std::string* precision = label_of(labels, "precision");
  if (parameters != nullptr && precision != nullptr) {
    if (auto model = language_model(*parameters, *precision)) facts.model = std::move(*model);
  }
  facts.context = context_label(labels);
  facts.steps.phase = phase_label(labels);
  const auto batch = number_label(labels, "batch");
  if (batch) facts.steps.requests = rounded(*batch);
  if (batch && facts.context && *batch * facts.context->low < kMostTokensOfAStep)
    facts.steps.prefill_tokens = rounded(*batch * facts.context->low);
  if (const auto devices = number_label(labels, "tensor_parallel"))
    facts.devices = static_cast<int64_t>(*devices);
  return facts;
}

ModelRoofAnswer model_roof(const ModelFacts& facts, const std::vector<ServingRow>& rows,
                           const Known<DevicePeaks>& peaks, int64_t world) {
  ModelRoofAnswer answer;
  const auto devices = facts.devices.value_or(0);
  answer.devices_low = std::max<int64_t>(devices, 1);
  answer.devices_high = devices > 0 ? devices : std::max<int64_t>(world, 1);
  const auto absent = [&](std::string why) {
    answer.absent = std::move(why);
    return answer;
  };
  if (!facts.model)
    return absent("the model is not known: give its config.json, or the labels parameters and precision");
  const LanguageModel& model = *facts.model;
  if (!model.type.empty()) answer.model = model.type;
  answer.parameters = model.parameters;
  answer.weight_type = model.weight_type;
  answer.cache_bytes_per_token = model.cache_bytes_per_token.optional();
  if (!peaks) return absent(peaks.reason());
  if (!peaks->bandwidth) return absent(peaks->bandwidth.reason());
  const Roofs device{*peaks->bandwidth,
                     rates_of(*peaks, model.weight_type),
                     {static_cast<double>(answer.devices_low), static_cast<double>(answer.devices_high)}};
  for (const ServingRow& steps : rows) {
    const auto tokens = tokens_of(steps);
    if (!tokens) continue;
    answer.rows.push_back(row_of(steps, *tokens, facts, device));
    if (!is_impossible(answer.rows.back())) continue;
    answer.rows.clear();
    return absent(
        "the steps are shorter than this model needs at the peaks of the device: it is another model, or "
        "more devices share it (label tensor_parallel)");
  }
  if (answer.rows.empty())
    return absent("no step says how many tokens it has: set the labels phase, batch and input_length");
  return answer;
}

}  // namespace nl::analyze
