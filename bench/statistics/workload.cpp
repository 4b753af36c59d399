#include "workload.h"

#include <numeric>

namespace nl::bench {
namespace {

double outlier(Noise& noise) {
  return noise.happens(0.01) ? noise.uniform(1.2, 2) : 1;
}

std::vector<double> one_run(Noise& noise, const std::vector<double>& weights, double spread) {
  const double shared =
      (1 + kRunSpread * noise.normal()) * (noise.happens(0.01) ? noise.uniform(1.1, 1.5) : 1);
  std::vector<double> run;
  run.reserve(weights.size());
  for (const double w : weights) run.push_back(w * shared * (1 + spread * noise.normal()) * outlier(noise));
  return run;
}

}  // namespace

std::vector<double> kernel_weights(Noise& noise) {
  std::vector<double> weights(kKernels);
  for (double& w : weights) w = 1000 * std::exp(2 * noise.normal());
  return weights;
}

Pair::Pair(Noise& noise, const std::vector<double>& weights, double spread, size_t runs) {
  for (size_t i = 0; i < runs; i++) {
    base_.push_back(one_run(noise, weights, spread));
    candidate_.push_back(one_run(noise, weights, spread));
  }
  const double window = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t k = 0; k < weights.size(); k++) {
    if (weights[k] >= 0.001 * window) tested_.push_back(k);
  }
}

stats::Series Pair::total(const std::vector<double>& factors, size_t first, size_t step) const {
  stats::Series series;
  for (size_t run = 0; run < runs(); run++) {
    double base = 0, candidate = 0;
    for (size_t k = first; k < kKernels; k += step) {
      base += base_[run][k];
      candidate += candidate_[run][k] * factors[k];
    }
    series.base.push_back(base);
    series.candidate.push_back(candidate);
  }
  return series;
}

std::vector<stats::Level> Pair::with_change(const std::vector<double>& factors, size_t levels) const {
  std::vector<stats::Level> all = {{"window", {total(factors, 0, 1)}}};
  if (levels == 1) return all;
  all.resize(3);
  for (size_t c = 0; c < kClasses; c++) {
    all[1].series.push_back(total(factors, c, kClasses));
    all[1].series.back().parent = 0;
  }
  for (const size_t k : tested_) {
    all[2].series.push_back(total(factors, k, kKernels));
    all[2].series.back().parent = class_of(k);
  }
  return all;
}

}  // namespace nl::bench
