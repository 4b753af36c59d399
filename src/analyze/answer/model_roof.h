#pragma once
// The part of an analysis that holds the steps of a language model against what its weights and its cache of
// keys and values demand of the device. Where an input is uncertain, a figure is a range from low to high.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::analyze {

/// Steps of one phase with the same number of requests.
struct ModelRoofRow {
  std::string phase = {};
  std::optional<int64_t> requests = {};
  int64_t tokens = 0;
  int64_t steps = 0;
  int64_t step_ns = 0;
  int64_t weights_ns_low = 0;
  int64_t weights_ns_high = 0;
  std::optional<int64_t> cache_ns_low = {};
  std::optional<int64_t> cache_ns_high = {};
  double mbu_low = 0;
  double mbu_high = 0;
  std::optional<double> mfu_low = {};
  std::optional<double> mfu_high = {};

  static constexpr auto fields() {
    using R = ModelRoofRow;
    return std::tuple{
        field("phase", &R::phase, "prefill, decode_step or mixed"),
        field("requests", &R::requests, "requests that a step decodes for; null if it decodes for none"),
        field("tokens", &R::tokens, "tokens of a typical step, all its requests together"),
        field("steps", &R::steps, "such steps in the window"),
        field("step_ns", &R::step_ns, "length of a typical one on the device"),
        field("weights_ns_low", &R::weights_ns_low,
              "reading the weights of a step once at the peak bandwidth, at least"),
        field("weights_ns_high", &R::weights_ns_high, "the same, at most"),
        field("cache_ns_low", &R::cache_ns_low,
              "reading keys and values of the contexts once, at least; null if the contexts are not known"),
        field("cache_ns_high", &R::cache_ns_high, "the same, at most"),
        field("mbu_low", &R::mbu_low,
              "weights and known cache divided by what the memory can move in a step, at least"),
        field("mbu_high", &R::mbu_high, "the same, at most"),
        field("mfu_low", &R::mfu_low,
              "operations of the model divided by what the device can do in a step, at least; null without a "
              "peak"),
        field("mfu_high", &R::mfu_high, "the same, at most")};
  }
};

struct ModelRoofAnswer {
  std::optional<std::string> absent = {};
  std::optional<std::string> model = {};
  std::optional<double> parameters = {};
  std::optional<std::string> weight_type = {};
  std::optional<double> cache_bytes_per_token = {};
  int64_t devices_low = 1;
  int64_t devices_high = 1;
  std::vector<ModelRoofRow> rows = {};

  static constexpr auto fields() {
    using M = ModelRoofAnswer;
    return std::tuple{
        field("absent", &M::absent, "why there are no rows, and what is needed; null if there are some"),
        field("model", &M::model,
              "kind of the model, as its config names it; null if only its size is known"),
        field("parameters", &M::parameters, "all weights of the model"),
        field("weight_type", &M::weight_type, "data type of the weights in memory"),
        field("cache_bytes_per_token", &M::cache_bytes_per_token,
              "keys and values of one token; null if the layers are not known"),
        field("devices_low", &M::devices_low, "devices that share the weights, at least"),
        field("devices_high", &M::devices_high, "the same, at most"),
        field("rows", &M::rows, "steps by phase and batch, the most time first")};
  }
};

}  // namespace nl::analyze
