#pragma once
// Analysis: the answer to "where did the time go" for one run and one window. Reports and texts are made from
// this struct. Its JSON and the JSON Schema come from the same list of fields, so the two cannot differ.

#include <optional>
#include <string>
#include <vector>

#include "analyze/answer/clocks.h"
#include "analyze/answer/collectives.h"
#include "analyze/answer/counters.h"
#include "analyze/answer/device.h"
#include "analyze/answer/graph_ops.h"
#include "analyze/answer/inference_times.h"
#include "analyze/answer/model_layers.h"
#include "analyze/answer/model_roof.h"
#include "analyze/answer/recorded_times.h"
#include "analyze/answer/remark.h"
#include "analyze/answer/serving.h"
#include "analyze/answer/tables.h"
#include "analyze/answer/window.h"
#include "analyze/rules/finding.h"

namespace nl::analyze {

struct FindingOnDevice {
  Finding finding = {};
  DeviceName on = {};

  static constexpr auto fields() {
    return std::tuple{merged(&FindingOnDevice::finding), merged(&FindingOnDevice::on)};
  }
};

struct AbstentionOnDevice {
  Abstention abstention = {};
  DeviceName on = {};

  static constexpr auto fields() {
    return std::tuple{merged(&AbstentionOnDevice::abstention), merged(&AbstentionOnDevice::on)};
  }
};

struct Analysis {
  WindowAnswer window = {};
  std::vector<LimiterAnswer> limiters = {};
  std::optional<Remark> undecided = {};
  std::vector<Remark> notes = {};
  std::vector<Remark> host_remarks = {};
  std::vector<DeviceAnswer> devices = {};
  StepsAnswer steps = {};
  std::vector<CoverageAnswer> coverage = {};
  std::vector<KernelAnswer> top_kernels = {};
  std::vector<OpAnswer> top_ops = {};
  std::vector<ModuleAnswer> top_modules = {};
  std::optional<GraphOpsAnswer> graph_ops = {};
  ModelLayersAnswer model_layers = {};
  std::vector<PhaseAnswer> phases = {};
  std::vector<ServingRow> serving = {};
  ModelRoofAnswer model_roof = {};
  std::vector<NotShown> not_shown = {};
  std::optional<EngineLayers> layers = {};
  std::optional<InferenceTimes> inference_times = {};
  CollectivesAnswer collectives = {};
  std::optional<CountersAnswer> counters = {};
  ClocksAnswer clocks = {};
  std::optional<LaunchMatches> launch_matches = {};
  std::vector<FindingOnDevice> findings = {};
  std::vector<AbstentionOnDevice> abstentions = {};
  std::optional<RecordedTimes> recorded_times = {};  ///< whoever wants it adds it

  static constexpr auto fields() {
    using A = Analysis;
    return std::tuple{
        field("window", &A::window, "the time that the figures describe"),
        field("limiters", &A::limiters,
              "what takes the time of the window, the largest first; they add up to the window; empty if the "
              "file cannot tell"),
        field("undecided", &A::undecided,
              "why the capture does not tell what limits the run; null if the first limiter is the verdict"),
        field("notes", &A::notes, "what you must know about the capture before you trust the figures"),
        field("host_remarks", &A::host_remarks,
              "for a run without device work: what its ops tell beyond their sums"),
        field("devices", &A::devices,
              "each device with its time, idle causes, metrics and roofline; the host if there is no other "
              "device"),
        field("steps", &A::steps, "the steps of the whole capture"),
        field("coverage", &A::coverage,
              "how much of the kernel time could be linked to launches, ops and modules, by device"),
        field("top_kernels", &A::top_kernels, "kernels and copies by time, device after device"),
        field("top_ops", &A::top_ops,
              "ops by time, device after device; layers of an engine if there are no ops"),
        field("top_modules", &A::top_modules, "modules by device time"),
        field("graph_ops", &A::graph_ops,
              "ops of graph replays, taken from another run; null if no other run was used"),
        field("model_layers", &A::model_layers, "device time by the layers of the model"),
        field("phases", &A::phases, "phases of an LLM"),
        field("serving", &A::serving, "steps of a serving engine by phase and batch, the most time first"),
        field("model_roof", &A::model_roof,
              "steps of a language model compared with the least time that its weights and cache need on the "
              "device"),
        field("not_shown", &A::not_shown, "what the tables leave out, by device"),
        field("layers", &A::layers, "layers of a compiled engine; null if there is none"),
        field("inference_times", &A::inference_times,
              "latency and rate of inferences; null if the source does not time each of them"),
        field("collectives", &A::collectives,
              "what collectives move, how long they take, which ranks wait for which"),
        field("counters", &A::counters, "hardware counters of launches, by kernel; null without them"),
        field("clocks", &A::clocks, "how the clocks of the sources fit together"),
        field("launch_matches", &A::launch_matches,
              "replayed launches that were found in the trace; null unless the run has both"),
        field("findings", &A::findings, "most time at stake first"),
        field("abstentions", &A::abstentions, "rules that could not be evaluated"),
        field("recorded_times", &A::recorded_times, "times of a recorded program; null if there is none")};
  }
};

}  // namespace nl::analyze
