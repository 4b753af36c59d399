#include "ops/runs/run_figure.h"

#include <algorithm>

#include "analyze/metrics/metric.h"
#include "analyze/names/op_class.h"
#include "ops/operation.h"

namespace nl::ops {
namespace {

using nlohmann::json;

/// The device with the most busy time; null if there is none.
const json* busiest_device(const json& measures) {
  const json* busiest = nullptr;
  int64_t most = -1;
  for (const json& device : measures["devices"]) {
    const json& busy = device["decomposition"]["busy_ns"];
    const int64_t busy_ns = busy.is_number() ? busy.get<int64_t>() : 0;
    if (busy_ns > most) busiest = &device;
    most = std::max(most, busy_ns);
  }
  return busiest;
}

Known<double> step_time(const json& measures) {
  const json& median = measures["steps"]["median_ns"];
  if (!median.is_number()) return Absent{"the run marks no steps"};
  return median.get<double>();
}

Known<double> kernel_time(const json& measures, const std::string& part) {
  double total = 0;
  bool any = false;
  for (const json& kernel : measures["kernels"]) {
    if (kernel["name"].get_ref<const std::string&>().find(part) == std::string::npos) continue;
    any = true;
    total += kernel["total_ns"].get<double>();
  }
  if (!any) return Absent{"no kernel of the run has this name"};
  return total / steps_of(measures);
}

Known<double> class_time(const json& measures, const std::string& name) {
  const Times times = class_times(measures);
  const auto found = times.find(name);
  if (found == times.end()) return Absent{"the run has no kernel of this class"};
  return found->second;
}

Error unknown(const std::string& what, const std::string& name, const std::string& hint,
              std::vector<SuggestedCall> calls = {}) {
  return {ErrorCode::kBadInput, "no such " + what + ": " + name, hint, std::move(calls)};
}

}  // namespace

double steps_of(const json& measures) {
  const json& count = measures["steps"]["count"];
  return count.is_number() ? std::max(1.0, count.get<double>()) : 1;
}

Times class_times(const json& measures) {
  Times times;
  for (const json& device : measures["devices"]) {
    for (const auto& [name, total_ns] : device["classes"].items()) {
      if (total_ns.is_number()) times[name] += total_ns.get<double>();
    }
  }
  const double steps = steps_of(measures);
  for (auto& [name, ns] : times) ns /= steps;
  return times;
}

Result<RunFigure> RunFigure::metric(const std::string& id) {
  if (id == "step_time") return RunFigure(Kind::kStep, id, id);
  const auto metric = analyze::find_metric(id);
  if (!metric) return unknown("metric", id, "step_time, or an id of docs/metrics.md such as total_time");
  RunFigure figure(Kind::kMetric, id, id);
  figure.unit_ = analyze::metric_info(*metric).unit;
  figure.direction_ = analyze::metric_info(*metric).direction;
  return figure;
}

RunFigure RunFigure::kernels(const std::string& name_part) {
  return {Kind::kKernels, "kernel " + name_part, name_part};
}

Result<RunFigure> RunFigure::op_class(const std::string& name) {
  if (!analyze::find_op_class(name))
    return unknown("class", name, "gemm, attention, …: see {}", {suggested("analyze")});
  return RunFigure(Kind::kClass, "class " + name, name);
}

Known<double> RunFigure::of(const json& measures) const {
  switch (kind_) {
    case Kind::kStep:
      return step_time(measures);
    case Kind::kKernels:
      return kernel_time(measures, name_);
    case Kind::kClass:
      return class_time(measures, name_);
    case Kind::kMetric:
      break;
  }
  const json* device = busiest_device(measures);
  if (device == nullptr) return Absent{"the run has no device"};
  return measured(*device, name_);
}

}  // namespace nl::ops
