#include "series.h"

namespace nl::bench {
namespace {

constexpr double kLevel = 1000;
constexpr double kSpread = 0.01;

/// Levels 1, 1 + change, ... with breaks at least `gap` apart.
KnownSeries levels(Noise& noise, size_t n, std::vector<double> factors) {
  KnownSeries series;
  const size_t part = n / factors.size();
  for (size_t i = 0; i < factors.size(); i++) {
    const size_t size = i + 1 == factors.size() ? n - series.values.size() : part + noise.below(9) - 4;
    if (i > 0) series.breaks.push_back(series.values.size());
    series.values.insert(series.values.end(), size, kLevel * factors[i]);
  }
  return series;
}

void add_normal(KnownSeries& series, Noise& noise, double spread = kSpread) {
  for (double& v : series.values) v *= 1 + spread * noise.normal();
}

void add_heavy(KnownSeries& series, Noise& noise) {
  for (double& v : series.values) v *= 1 + kSpread * noise.heavy();
}

void add_outliers(KnownSeries& series, Noise& noise) {
  for (double& v : series.values) v *= noise.happens(0.02) ? noise.uniform(1.1, 1.5) : 1;
}

/// Each value remembers half of the one before.
void add_memory(KnownSeries& series, Noise& noise) {
  constexpr double kMemory = 0.5;
  double state = noise.normal();
  for (double& v : series.values) {
    v *= 1 + kSpread * state;
    state = kMemory * state + std::sqrt(1 - kMemory * kMemory) * noise.normal();
  }
}

template <int kPercent>
KnownSeries one_step(Noise& noise) {
  const double change = kPercent / 100.0;
  KnownSeries s =
      levels(noise, 60 + noise.below(200), {1, noise.happens(0.5) ? 1 + change : 1 / (1 + change)});
  add_normal(s, noise);
  return s;
}

KnownSeries no_break(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(400), {1});
  add_normal(s, noise);
  return s;
}

KnownSeries no_break_heavy(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(400), {1});
  add_heavy(s, noise);
  return s;
}

KnownSeries no_break_memory(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(400), {1});
  add_memory(s, noise);
  return s;
}

KnownSeries no_break_outliers(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(400), {1});
  add_normal(s, noise);
  add_outliers(s, noise);
  return s;
}

KnownSeries step_heavy(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(200), {1, 1.05});
  add_heavy(s, noise);
  return s;
}

KnownSeries step_memory(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(200), {1, 1.05});
  add_memory(s, noise);
  return s;
}

KnownSeries step_outliers(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(200), {1, 1.05});
  add_normal(s, noise);
  add_outliers(s, noise);
  return s;
}

KnownSeries stairs(Noise& noise) {
  KnownSeries s = levels(noise, 120 + noise.below(200), {1, 1.05, 1.1, 1.04});
  add_normal(s, noise);
  return s;
}

/// A bump of 6 to 10 values that goes away again.
KnownSeries bump(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(200), {1});
  const size_t begin = 15 + noise.below(s.values.size() - 40);
  s.breaks = {begin, begin + 6 + noise.below(5)};
  for (size_t i = s.breaks[0]; i < s.breaks[1]; i++) s.values[i] *= 1.05;
  add_normal(s, noise);
  return s;
}

/// A break with only 3 to 5 values behind it, as a watcher meets it.
KnownSeries late_step(Noise& noise) {
  KnownSeries s = levels(noise, 60 + noise.below(200), {1});
  s.breaks = {s.values.size() - 3 - noise.below(3)};
  for (size_t i = s.breaks[0]; i < s.values.size(); i++) s.values[i] *= 1.05;
  add_normal(s, noise);
  return s;
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes = {{"none", no_break},
                                             {"none, heavy tails", no_break_heavy},
                                             {"none, memory 0.5", no_break_memory},
                                             {"none, 2 % outliers", no_break_outliers},
                                             {"step 1 %", one_step<1>},
                                             {"step 2 %", one_step<2>},
                                             {"step 3 %", one_step<3>},
                                             {"step 5 %", one_step<5>},
                                             {"step 10 %", one_step<10>},
                                             {"step 5 %, heavy tails", step_heavy},
                                             {"step 5 %, memory 0.5", step_memory},
                                             {"step 5 %, 2 % outliers", step_outliers},
                                             {"stairs of 5 %", stairs},
                                             {"bump of 5 %, 6-10 values", bump},
                                             {"step 5 %, 3-5 values behind", late_step}};
  return kShapes;
}

}  // namespace nl::bench
