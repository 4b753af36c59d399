#pragma once
// One figure of a run, chosen by name: a metric, the time of a step, or the time of kernels by name or class.
// It is read from the stored measures of the run, so that questions about many runs are fast.

#include <map>
#include <string>

#include "base/json.h"
#include "base/known.h"
#include "base/result.h"
#include "ops/runs/run_measures.h"

namespace nl::ops {

class RunFigure {
 public:
  /// step_time (median), or the id of a metric of the device with the most busy time.
  static Result<RunFigure> metric(const std::string& id);
  /// Kernels whose name has this part, per step where the run has steps, else of the whole capture.
  static RunFigure kernels(const std::string& name_part);
  /// Kernels of a class, in the same way.
  static Result<RunFigure> op_class(const std::string& name);

  const std::string& id() const { return id_; }
  /// ns, ratio, B, …
  const std::string& unit() const { return unit_; }
  /// lower, higher or none is better
  const std::string& direction() const { return direction_; }

  MeasureDetail detail() const {
    return kind_ == Kind::kKernels ? MeasureDetail::kAll : MeasureDetail::kFigures;
  }
  Known<double> of(const nlohmann::json& measures) const;

 private:
  enum class Kind { kMetric, kStep, kKernels, kClass };
  RunFigure(Kind kind, std::string id, std::string name)
      : kind_(kind), id_(std::move(id)), name_(std::move(name)) {}

  Kind kind_;
  std::string id_, name_;
  std::string unit_ = "ns", direction_ = "lower";
};

/// Steps of the run, 1 if it has none: what sums are divided by.
double steps_of(const nlohmann::json& measures);

using Times = std::map<std::string, double>;  ///< ns, by name

/// Kernels of each class, per step where the run has steps, over all devices.
Times class_times(const nlohmann::json& measures);

}  // namespace nl::ops
