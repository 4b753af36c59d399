#include "compare/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "analyze/run_analysis.h"
#include "analyze/time/strip.h"
#include "assemble/assemble.h"
#include "base/call_control.h"
#include "compare/across.h"
#include "compare/apportion.h"
#include "compare/difference.h"
#include "compare/repeats.h"
#include "compare/sentence.h"

namespace nl::compare {
namespace {

using analyze::IntervalSet;
using analyze::LoadedRun;
using analyze::Taxonomy;

Result<std::unique_ptr<LoadedRun>> open_run(const RunInput& input, const store::EngineStart& engine,
                                            const Taxonomy& taxonomy, const CompareOptions& options) {
  NL_TRY(auto open, store::OpenRun::open(input.place, engine));
  NL_CHECK(assemble::ensure_derived(*open));
  NL_TRY(LoadedRun loaded, load_run(std::move(open), taxonomy, options.analysis));
  return std::make_unique<LoadedRun>(std::move(loaded));
}

/// Marks of one kind mean the same on both sides. Found periods do if they have about as many kernels; else
/// one of them may be a layer and the other one a step.
bool has_like_steps(const analyze::Steps& base, const analyze::Steps& next) {
  if (base.list.empty() || next.list.empty() || base.source != next.source) return false;
  if (base.source != "period") return true;
  return base.period * 5 >= next.period * 4 && next.period * 5 >= base.period * 4;
}

std::string window_for(const LoadedRun& base, const LoadedRun& next, const std::string& wanted) {
  if (wanted != "auto") return wanted;
  return has_like_steps(base.run.windows.steps, next.run.windows.steps) ? "steps" : "steady";
}

/// The device of that name, or the busiest one.
size_t device_like(const LoadedRun& run, const std::string& device, const IntervalSet& window) {
  for (size_t i = 0; i < run.run.devices.size(); i++) {
    if (analyze::device_text(run.run.devices[i].device) == device) return i;
  }
  return busiest_device(run, window);
}

Result<void> check_window(const LoadedRun& run, const std::string& window) {
  if (window != "steps" || !run.run.windows.steps.list.empty()) return {};
  return Error{ErrorCode::kNotFound, "a run has no steps", "--window whole compares the captures"};
}

/// One side: which run stands for it, and the figures of all.
struct SideRuns {
  std::vector<RunSample> samples;
  size_t middle = 0;  ///< index of the run that stands for the side
};

class Comparer {
 public:
  Comparer(const std::vector<RunInput>& base, const std::vector<RunInput>& next, const Taxonomy& taxonomy,
           const CompareOptions& options)
      : inputs_{&base, &next}, taxonomy_(taxonomy), options_(options) {}

  Result<Comparison> run() {
    NL_TRY(auto base, open_run(inputs_[0]->front(), engine_, taxonomy_, options_));
    NL_TRY(auto next, open_run(inputs_[1]->front(), engine_, taxonomy_, options_));
    NL_CHECK(choose_window(*base, *next));
    NL_TRY(runs_[0], sample_runs(0, *base));
    NL_TRY(runs_[1], sample_runs(1, *next));
    if (runs_[0].middle != 0) {
      NL_TRY(base, open_run((*inputs_[0])[runs_[0].middle], engine_, taxonomy_, options_));
    }
    if (runs_[1].middle != 0) {
      NL_TRY(next, open_run((*inputs_[1])[runs_[1].middle], engine_, taxonomy_, options_));
    }
    return compare(*base, *next);
  }

 private:
  const RunInput& input(size_t side) const { return (*inputs_[side])[runs_[side].middle]; }

  Result<void> choose_window(const LoadedRun& base, const LoadedRun& next) {
    window_ = window_for(base, next, options_.window);
    NL_CHECK(check_window(base, window_));
    if (!has_devices(base)) return {};
    NL_TRY(const IntervalSet window, window_of(base, {window_}));
    device_ = analyze::device_text(base.run.devices[busiest_device(base, window)].device);
    return {};
  }

  Result<SideChoice> choice_for(const LoadedRun& run, bool with_groups) const {
    SideChoice choice{window_, 0, 0, with_groups};
    NL_CHECK(check_cancelled());
    NL_CHECK(check_window(run, window_));
    if (window_ == "steps" && !options_.keep_warm_up) choice.warm_up = warm_up_of(run);
    if (!has_devices(run)) return choice;
    NL_TRY(const IntervalSet window, window_of(run, choice));
    choice.device = device_like(run, device_, window);
    return choice;
  }

  Result<void> build_side(size_t which, LoadedRun& run, bool with_groups) {
    NL_TRY(choices_[which], choice_for(run, with_groups));
    NL_TRY(sides_[which], make_side(run, taxonomy_, choices_[which], texts_));
    return {};
  }

  static int64_t warm_up_of(const LoadedRun& run) {
    return static_cast<int64_t>(run.run.windows.steady.first_step);
  }

  /// A side of one run is built once, with all that matching needs.
  Result<SideRuns> sample_runs(size_t which, LoadedRun& first) {
    const std::vector<RunInput>& inputs = *inputs_[which];
    SideRuns runs;
    for (size_t i = 0; i < inputs.size(); i++) {
      std::unique_ptr<LoadedRun> opened;
      if (i > 0) {
        NL_TRY(opened, open_run(inputs[i], engine_, taxonomy_, options_));
      }
      LoadedRun& run = i == 0 ? first : *opened;
      NL_CHECK(build_side(which, run, inputs.size() == 1));
      runs.samples.push_back(sample_of(inputs[i].facts.run_id, sides_[which]));
      options_.progress(static_cast<double>(++done_) /
                        static_cast<double>(inputs_[0]->size() + inputs_[1]->size()));
    }
    runs.middle = middle_of(runs.samples);
    return runs;
  }

  /// Of an even number the lower one of the two in the middle.
  static size_t middle_of(const std::vector<RunSample>& samples) {
    std::vector<size_t> order(samples.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return samples[a].window_ns < samples[b].window_ns; });
    return order[(order.size() - 1) / 2];
  }

  Result<Comparison> compare(LoadedRun& base, LoadedRun& next) {
    LoadedRun* loaded[] = {&base, &next};
    for (size_t i = 0; i < 2; i++) {
      if (inputs_[i]->size() > 1) NL_CHECK(build_side(i, *loaded[i], true));
      if (!has_devices(*loaded[i])) continue;
      NL_TRY(windows_[i], window_of(*loaded[i], choices_[i]));
    }
    mode_ = mode_between(input(0).facts, input(1).facts);
    if (mode_ == Mode::kSame) {
      for (LoadedRun* run : loaded) forget_rows(*run);
    }
    NL_TRY(changes_, find_changes(sides_[0], sides_[1], texts_));
    const auto score = comparability(input(0).facts, input(1).facts, sides_[0], sides_[1], changes_);
    NL_TRY(repeats_,
           judge_repeats(runs_[0].samples, runs_[1].samples, changes_, {options_.practical_bound, 0.05}));
    NL_CHECK(check_cancelled());
    KernelCounters counters(texts_);
    NL_CHECK(counters.read(base, next));
    Comparison out;
    put_difference({sides_[0], sides_[1], texts_, changes_, repeats_, counters, options_.with_figures,
                    options_.most_changes},
                   out);
    out.base = side_of(0, base);
    out.next = side_of(1, next);
    out.mode = mode_;
    out.comparability = score_of(score);
    out.remarks = score.remarks;
    put_verdict(out, score);
    for (const auto& one : differences(input(0).facts, input(1).facts)) out.differences.push_back(one.text());
    out.statistics = window_statistics();
    out.devices = device_rows(base, next);
    out.totals = {totals_of(base, 0), totals_of(next, 1)};
    if (mode_ != Mode::kSame && !score.is_refused()) out.across = across(base, next);
    out.sentence = sentence_of(out);
    return out;
  }

  /// The sides have what is matched; of the run itself only the work of its devices is asked for from here
  /// on.
  static void forget_rows(LoadedRun& run) {
    run.run.timeline = {};
    for (auto& state : run.run.devices) state.idle = {};
  }

  ComparedSide side_of(size_t i, const LoadedRun& run) const {
    const Side& side = sides_[i];
    ComparedSide out;
    out.run_id = input(i).facts.run_id;
    for (const RunSample& sample : runs_[i].samples) out.runs.push_back(sample.run_id);
    out.files = input(i).facts.files;
    if (const auto model = input(i).facts.labels.find("model"); model != input(i).facts.labels.end())
      out.model = model->second;
    out.source = side.source;
    if (!side.device.empty()) out.device = side.device;
    out.window = side.window;
    out.unit = side.unit;
    out.units = side.units;
    out.warm_up_left_out = side.warm_up;
    out.total_ns = side.window_ns;
    out.window_ns = per_unit(side.window_ns, side.units);
    if (options_.with_figures) put_strip(out, run, i);
    return out;
  }

  /// Over time; a side of sums has none.
  void put_strip(ComparedSide& out, const LoadedRun& run, size_t side) const {
    if (!has_devices(run)) return;
    const IntervalSet& window = windows_[side];
    out.strip = analyze::strip_of(run.run.devices[choices_[side].device].device, window);
    out.strip_ns = window.empty() ? 0 : window.back().end - window.front().begin;
  }

  // ---- Is it real

  void put_verdict(Comparison& out, const Comparability& score) const {
    stats::Verdict verdict = repeats_.window.verdict;
    std::vector<std::string> reasons;
    if (same_runs()) {
      verdict = stats::Verdict::kNoChange;
      reasons.push_back("both sides are the same");
    } else if (reasons = unlike_repeats(); !reasons.empty()) {
      verdict = stats::Verdict::kIncomparable;
    } else if (score.is_refused()) {
      verdict = stats::Verdict::kIncomparable;
      reasons = score.reasons();
    } else if (mode_ != Mode::kSame) {
      verdict = stats::Verdict::kIncomparable;
      reasons.push_back(mode_ == Mode::kOtherHardware
                            ? "other hardware: shares and figures relative to the peaks are compared"
                            : "another backend: shares of classes are compared");
    } else if (!score.is_enough()) {
      verdict = stats::Verdict::kIncomparable;
      reasons = score.reasons();
    } else if (!repeats_.window.reason.empty()) {
      reasons.push_back(repeats_.window.reason);
    }
    out.verdict = verdict;
    out.reasons = std::move(reasons);
  }

  /// Runs of one side that are no repeats of each other.
  std::vector<std::string> unlike_repeats() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < 2; i++) {
      for (const RunInput& run : *inputs_[i]) {
        const auto score = comparability(input(i).facts, run.facts);
        if (score.is_enough()) continue;
        out.push_back(fmt::format("{} is not a repeat of {}: {}", run.facts.run_id.substr(0, 12),
                                  input(i).facts.run_id.substr(0, 12), score.reasons().front()));
      }
    }
    return out;
  }

  bool same_runs() const {
    std::set<std::string> ids[2];
    for (size_t i = 0; i < 2; i++) {
      for (const RunSample& sample : runs_[i].samples) ids[i].insert(sample.run_id);
    }
    return ids[0] == ids[1];
  }

  WindowStatistics window_statistics() const {
    WindowStatistics out{statistics_of(repeats_.window)};
    out.practical_bound = options_.practical_bound;
    out.values = {values_of(0), values_of(1)};
    out.within_one_run = {steps_of(0), steps_of(1)};
    return out;
  }

  std::vector<RunValue> values_of(size_t side) const {
    std::vector<RunValue> values;
    for (const RunSample& sample : runs_[side].samples) values.push_back({sample.run_id, sample.window_ns});
    return values;
  }

  /// Steps of the run that stands for the side: no repeats, but how much it varies inside.
  std::optional<StepSpread> steps_of(size_t side) const {
    const auto& units = sides_[side].unit_ns;
    if (units.size() < 2) return std::nullopt;
    std::vector<double> values(units.begin(), units.end());
    const auto summary = stats::summary_of(stats::sorted(std::move(values)));
    return StepSpread{summary.n, summary.min, summary.median, summary.max, summary.median_interval};
  }

  // ---- Whole runs

  std::vector<DeviceRow> device_rows(const LoadedRun& base, const LoadedRun& next) const {
    std::vector<DeviceRow> rows;
    if (!has_devices(base) || !has_devices(next)) return rows;
    const LoadedRun* both[] = {&base, &next};
    std::map<std::string, DeviceRow> by_device;
    for (size_t s = 0; s < 2; s++) {
      const int64_t units = sides_[s].units;
      for (const auto& state : both[s]->run.devices) {
        const auto sum = decompose(state.device, windows_[s]);
        DeviceRow& row = by_device[analyze::device_text(state.device)];
        (s == 0 ? row.base : row.next) =
            DeviceTimes{per_unit(sum.compute_ns, units), per_unit(sum.exposed_comm_ns, units),
                        per_unit(sum.exposed_copy_ns, units), per_unit(sum.idle_ns, units)};
      }
    }
    for (auto& [device, row] : by_device) {
      row.device = device;
      rows.push_back(std::move(row));
    }
    return rows;
  }

  /// Of all devices and all units: sums, not wall time.
  WorkTotals totals_of(const LoadedRun& run, size_t side) const {
    WorkTotals out;
    for (const auto& state : run.run.devices) {
      for (const auto& work : state.device.work) {
        if (state.device.is_host || !touches(work, windows_[side])) continue;
        const bool copy = work.table == analyze::WorkTable::kCopies;
        (copy ? out.copies : out.kernels)++;
        (copy ? out.copy_ns : out.kernel_ns) += clipped_ns(work, windows_[side]);
      }
    }
    return out;
  }

  Across across(const LoadedRun& base, const LoadedRun& next) const {
    return compare_across({base, sides_[0], choices_[0].device, windows_[0]},
                          {next, sides_[1], choices_[1].device, windows_[1]}, mode_, texts_);
  }

  const std::vector<RunInput>* inputs_[2];
  /// One for all runs: each has a connection with views of its own.
  const store::EngineStart engine_ = store::EngineStart::leased(store::reading_engine());
  const Taxonomy& taxonomy_;
  const CompareOptions& options_;
  Texts texts_;
  std::string window_, device_;
  SideRuns runs_[2];
  SideChoice choices_[2];
  Side sides_[2];
  IntervalSet windows_[2];  ///< empty without devices
  Mode mode_ = Mode::kSame;
  Changes changes_;
  Repeats repeats_;
  size_t done_ = 0;
};

}  // namespace

Result<Comparison> compare_runs(const std::vector<RunInput>& base, const std::vector<RunInput>& next,
                                const CompareOptions& options) {
  NL_TRY(const Taxonomy* const taxonomy, Taxonomy::shared());
  return Comparer(base, next, *taxonomy, options).run();
}

}  // namespace nl::compare
