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
        field("window", &A::window, "the stretch of time that the figures are about"),
        field("limiters", &A::limiters,
              "what takes the time of the window, the largest first; together they are it; none if the file "
              "cannot tell"),
        field("undecided", &A::undecided,
              "why the capture cannot carry a verdict; null if the first limiter is one"),
        field("notes", &A::notes, "what a reader must know of the capture before the figures are believed"),
        field("host_remarks", &A::host_remarks,
              "of a run without device work: what its ops tell beyond their sums"),
        field("devices", &A::devices,
              "each device with its time, idle causes, metrics and roofline; a host counts if there is no "
              "other"),
        field("steps", &A::steps, "the steps of the run, of the whole capture"),
        field("coverage", &A::coverage,
              "how much of the kernel time is known to belong to something, by device"),
        field("top_kernels", &A::top_kernels, "kernels and copies by time, device after device"),
        field("top_ops", &A::top_ops,
              "ops by time, device after device; layers of an engine if there are no ops"),
        field("top_modules", &A::top_modules, "modules by device time"),
        field("graph_ops", &A::graph_ops,
              "ops of graph replays that another run told; null if no other run was asked"),
        field("model_layers", &A::model_layers, "device time by the layers of the model"),
        field("phases", &A::phases, "phases of an LLM"),
        field("serving", &A::serving, "steps of a serving engine by phase and batch, the most time first"),
        field("model_roof", &A::model_roof,
              "steps of a language model against what its weights and its cache demand of the device"),
        field("not_shown", &A::not_shown, "what the tables leave out, by device"),
        field("layers", &A::layers, "of a compiled engine; null without such"),
        field("inference_times", &A::inference_times,
              "latency and rate of inferences; null if the source does not time each of them"),
        field("collectives", &A::collectives,
              "what collectives move, how long that takes, which ranks wait for which"),
        field("counters", &A::counters,
              "what a counter profiler says of launches, by kernel; null without such"),
        field("clocks", &A::clocks, "how the clocks of the sources fit together"),
        field("launch_matches", &A::launch_matches,
              "replayed launches that were found in the trace; null without both"),
        field("findings", &A::findings, "most time at stake first"),
        field("abstentions", &A::abstentions, "rules that could not be asked"),
        field("recorded_times", &A::recorded_times, "of a recorded program; null without such")};
  }
};

}  // namespace nl::analyze
