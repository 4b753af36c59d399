#include "ops/runs/analysis_options.h"

namespace nl::ops {
namespace {

Result<void> set_phase(analyze::PhaseNames& names, const std::string& given) {
  const size_t at = given.find('=');
  const std::string phase = given.substr(0, at);
  const Error bad{ErrorCode::kBadInput, "not a phase: " + given,
                  "--phase prefill=NAME, decode=NAME or decode_step=NAME"};
  if (at == std::string::npos || at + 1 == given.size()) return bad;
  if (phase == "prefill") {
    names.prefill = given.substr(at + 1);
  } else if (phase == "decode") {
    names.decode_all = given.substr(at + 1);
  } else if (phase == "decode_step") {
    names.decode_step = given.substr(at + 1);
  } else {
    return bad;
  }
  return {};
}

}  // namespace

Result<analyze::AnalysisOptions> analysis_options(const nlohmann::json& parameters) {
  analyze::AnalysisOptions options;
  if (parameters.contains("window")) options.window = parameters["window"];
  if (parameters.contains("top")) options.top = parameters["top"];
  options.peaks_file = parameters.value("peaks", "");
  options.rule_folders = parameters.value("rules", std::vector<std::string>());
  for (const auto& given : parameters.value("phase", std::vector<std::string>()))
    NL_CHECK(set_phase(options.phases, given));
  return options;
}

}  // namespace nl::ops
