#pragma once
// Predictions: the gains that findings promise, and how they compare with a later run in which the suggestion
// was followed. Pure functions, any thread; the state of the ledger stores the predictions (store/state.h).

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/metrics/metric.h"
#include "analyze/rules/finding.h"
#include "base/json.h"
#include "base/known.h"
#include "store/state.h"

namespace nl::analyze {

/// One for each suggestion of each finding, also if its gain is absent: then there is nothing to score, but
/// it was said.
std::vector<store::Prediction> predictions_of(const std::vector<Finding>& findings, const std::string& window,
                                              const std::string& device, int64_t window_ns);

struct PredictionScore {
  std::string basis;             ///< step_median if both runs have steps, else total_time
  Known<double> before_ns;       ///< of the run that the prediction was made for
  Known<double> after_ns;        ///< of the run that followed
  Known<double> predicted_ns;    ///< gain as predicted: its share of the window, of the time before
  Known<double> measured_ns;     ///< before - after
  Known<double> ratio;           ///< measured / predicted; of an upper bound at most 1
  Known<double> relative_error;  ///< |predicted - measured| / |measured|

  /// Empty if the score is there, else why it is not resolvable.
  std::string not_resolvable() const;
};

/// `before` and `after`: metrics of the prediction's window and device in the two runs, or why there are
/// none.
PredictionScore score_prediction(const store::Prediction& prediction, const Known<MetricSet>& before,
                                 const Known<MetricSet>& after);

nlohmann::json to_json(const PredictionScore& score);

}  // namespace nl::analyze
