#include "ops/runs/analysis_options.h"

#include "base/files.h"

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

constexpr int64_t kMaxConfigBytes = 4 * int64_t{1024} * 1024;

Result<analyze::LanguageModel> model_of_config(const std::string& path) {
  NL_TRY(const std::string text, read_small_file(path, kMaxConfigBytes));
  const auto config = nlohmann::json::parse(text, nullptr, false);
  if (config.is_discarded())
    return Error{ErrorCode::kBadInput, "not JSON: " + path, "give the config.json of the model"};
  return analyze::language_model(config);
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
  if (const std::string path = parameters.value("model_config", ""); !path.empty()) {
    NL_TRY(options.model.model, model_of_config(path));
  }
  return options;
}

void use_labels(analyze::AnalysisOptions& options, const std::map<std::string, std::string>& labels) {
  auto given = std::move(options.model.model);
  options.model = analyze::model_facts(labels);
  if (given) options.model.model = std::move(given);
}

}  // namespace nl::ops
