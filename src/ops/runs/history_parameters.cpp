#include "ops/runs/history_parameters.h"

#include "base/text.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// Without empty ones.
std::vector<std::string> keys_of(const std::string& text) {
  std::vector<std::string> keys = split(text, ',');
  std::erase(keys, "");
  return keys;
}

}  // namespace

Result<RunFigure> figure_asked(const json& parameters) {
  const int asked =
      static_cast<int>(parameters.contains("kernel")) + static_cast<int>(parameters.contains("class"));
  if (asked > 1)
    return Error{ErrorCode::kBadInput,
                 "one figure at a time: use only one of --metric, --kernel and --class"};
  if (parameters.contains("kernel")) return RunFigure::kernels(parameters["kernel"]);
  if (parameters.contains("class")) return RunFigure::op_class(parameters["class"]);
  return RunFigure::metric(parameters["metric"]);
}

Result<HistoryQuestion> history_asked(const json& parameters) {
  HistoryQuestion question;
  for (const auto& text : parameters.value("where", std::vector<std::string>())) {
    NL_TRY(auto condition, store::parse_condition(text));
    question.where.push_back(std::move(condition));
  }
  for (const auto& tag : parameters.value("tag", std::vector<std::string>())) {
    question.where.push_back({"tag", store::Comparison::kEqual, tag});
  }
  question.group_by = keys_of(parameters["group_by"]);
  question.order = parameters.value("order", question.order);
  question.limit = parameters["limit"];
  return question;
}

compare::GroupValues group_values(const RunGroupHistory& group, const std::vector<std::string>& keys) {
  compare::GroupValues values;
  for (size_t i = 0; i < keys.size(); i++) {
    values[keys[i]] = group.values[i].empty() ? std::nullopt : std::optional(group.values[i]);
  }
  return values;
}

}  // namespace nl::ops
