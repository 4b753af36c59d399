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

Result<analyze::AnalysisOptions> analysis_options(const Context& context, const nlohmann::json& parameters) {
  analyze::AnalysisOptions options;
  options.window = parameters.value("window", "whole");
  options.top = parameters.value("top", 10);
  options.peaks_file = parameters.value("peaks", "");
  options.rule_folders = parameters.value("rules", std::vector<std::string>());
  if (!options.peaks_file.empty() || !options.rule_folders.empty()) NL_CHECK(may_name_files(context));
  for (const auto& given : parameters.value("phase", std::vector<std::string>()))
    NL_CHECK(set_phase(options.phases, given));
  return options;
}

}  // namespace nl::ops
