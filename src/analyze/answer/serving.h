#pragma once
// The part of an analysis about a serving engine: its steps by phase and batch, with rates of tokens.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/described.h"

namespace nl::analyze {

/// Steps of one phase with the same number of requests.
struct ServingRow {
  std::string engine = {};
  std::string phase = {};
  std::optional<int64_t> prefill_requests = {};
  std::optional<int64_t> decode_requests = {};
  int64_t steps = 0;
  int64_t total_ns = 0;
  int64_t median_ns = 0;
  std::optional<int64_t> prefill_tokens = {};
  std::optional<int64_t> decode_tokens = {};
  std::optional<int64_t> decode_context = {};
  std::optional<double> tokens_per_s = {};
  std::optional<int64_t> ns_per_output_token = {};
  std::map<std::string, int64_t> classes = {};

  static constexpr auto fields() {
    using R = ServingRow;
    return std::tuple{
        field("engine", &R::engine, "that writes such names"),
        field("phase", &R::phase, "prefill, decode_step or mixed"),
        field("prefill_requests", &R::prefill_requests, "requests whose prompts a step works on"),
        field("decode_requests", &R::decode_requests, "requests that get a token in a step"),
        field("steps", &R::steps, "such steps in the window"),
        field("total_ns", &R::total_ns, "their length on the device, summed"),
        field("median_ns", &R::median_ns, "length of a typical one"),
        field("prefill_tokens", &R::prefill_tokens, "tokens of prompts, of all these steps"),
        field("decode_tokens", &R::decode_tokens, "tokens that were decoded, of all these steps"),
        field("decode_context", &R::decode_context,
              "tokens that the decoding requests attend to, summed over requests and steps"),
        field("tokens_per_s", &R::tokens_per_s,
              "all tokens of these steps divided by the length of the steps on the device"),
        field("ns_per_output_token", &R::ns_per_output_token,
              "how long a decoding request waits for one token; null if nothing decodes"),
        field("classes", &R::classes, "ns of kernels by class in these steps, on the main device")};
  }
};

}  // namespace nl::analyze
