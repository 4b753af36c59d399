#include "analyze/rules/prediction.h"

#include <cmath>

namespace nl::analyze {
namespace {

using nlohmann::json;

Known<double> metric_of(const Known<MetricSet>& metrics, Metric metric) {
  return map(metrics, [&](const MetricSet& set) -> Known<double> {
    const auto& value = set.get(metric);
    if (value) return value;
    return Absent{std::string(metric_info(metric).id) + ": " + value.reason()};
  });
}

/// The gain as a share of the window it was predicted for, so that windows of several steps compare to steps.
Known<double> gain_share(const store::Prediction& prediction) {
  if (!prediction.gain_ns) return Absent{"no gain was predicted"};
  if (prediction.window_ns <= 0) return Absent{"the window of the prediction is empty"};
  return static_cast<double>(*prediction.gain_ns) / static_cast<double>(prediction.window_ns);
}

Known<double> promised_quotient(double a, double b, const char* what) {
  if (b == 0) return Absent{what};
  return a / b;
}

json number_json(const Known<double>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

std::vector<store::Prediction> predictions_of(const std::vector<Finding>& findings, const std::string& window,
                                              const std::string& device, int64_t window_ns) {
  std::vector<store::Prediction> all;
  for (const auto& finding : findings) {
    int64_t number = 0;
    for (const auto& suggestion : finding.suggestions) {
      all.push_back({finding.rule, finding.rule_version, ++number, window, device, finding.at_stake_ns,
                     suggestion.gain_ns.optional(), suggestion.at_most, window_ns});
    }
  }
  return all;
}

std::string PredictionScore::not_resolvable() const {
  if (!predicted_ns) return predicted_ns.reason();
  if (!measured_ns) return measured_ns.reason();
  return ratio.reason();
}

PredictionScore score_prediction(const store::Prediction& prediction, const Known<MetricSet>& before,
                                 const Known<MetricSet>& after) {
  const bool steps = metric_of(before, Metric::step_median) && metric_of(after, Metric::step_median);
  const Metric basis = steps ? Metric::step_median : Metric::total_time;
  const Known<double> was = metric_of(before, basis);
  const Known<double> is = metric_of(after, basis);
  const Known<double> predicted =
      combine(gain_share(prediction), was, [](double share, double ns) { return share * ns; });
  const Known<double> measured = combine(was, is, [](double a, double b) { return a - b; });
  return {std::string(metric_info(basis).id),
          was,
          is,
          predicted,
          measured,
          combine(measured, predicted,
                  [](double m, double p) { return promised_quotient(m, p, "no gain was predicted"); }),
          combine(measured, predicted, [](double m, double p) {
            return promised_quotient(std::abs(p - m), std::abs(m), "nothing was gained or lost");
          })};
}

json to_json(const PredictionScore& score) {
  const std::string reason = score.not_resolvable();
  return {{"basis", score.basis},
          {"before_ns", number_json(score.before_ns)},
          {"after_ns", number_json(score.after_ns)},
          {"predicted_ns", number_json(score.predicted_ns)},
          {"measured_ns", number_json(score.measured_ns)},
          {"ratio", number_json(score.ratio)},
          {"relative_error", number_json(score.relative_error)},
          {"not_resolvable", reason.empty() ? json(nullptr) : json(reason)}};
}

}  // namespace nl::analyze
