#pragma once
// Phases of an LLM and the steps of serving engines, told by the names of ranges: prefill, decode, or both in
// one batch, with the requests and tokens that the name tells. The patterns are data/engines/steps.yaml.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nl::analyze {

enum class Phase : uint8_t { kPrefill, kDecodeAll, kDecodeStep, kMixed };
std::string_view phase_name(Phase phase);

/// Names of ranges that mark phases, besides those that engines write. Exact names.
struct PhaseNames {
  std::string prefill = "LLM@prefill";
  std::string decode_all = "LLM@decode_all";
  std::string decode_step = "LLM@decode_step";
};

/// One step of a serving engine; what the name does not tell is absent.
struct EngineStep {
  std::string engine;
  Phase phase = Phase::kMixed;
  std::optional<int64_t> prefill_requests, prefill_tokens;
  std::optional<int64_t> decode_requests, decode_tokens;
  std::optional<int64_t> decode_context;  ///< tokens that the decoding requests attend to, summed

  bool operator==(const EngineStep&) const = default;
};
std::optional<EngineStep> engine_step_of(std::string_view name);

/// The phase that a range of this name marks.
std::optional<Phase> phase_of(std::string_view name, const PhaseNames& names);

}  // namespace nl::analyze
