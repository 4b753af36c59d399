#include "analyze/time/prepared_run.h"

#include <algorithm>

#include "analyze/names/taxonomy.h"
#include "base/call_control.h"
#include "base/number_text.h"
#include "store/open_run.h"

namespace nl::analyze {
namespace {

/// Work that a source shows as spans of a device: moves of data, or programs as a whole.
OpClass class_of_device_span(const Taxonomy& taxonomy, std::string_view name) {
  if (name.starts_with("dma_")) return OpClass::k_memory;
  const OpClass known = taxonomy.kernel(name).op_class;
  return known == OpClass::k_other ? OpClass::k_control : known;
}

/// Names of device work are looked up as kernels, types of ops as ops; the others never get asked for.
NameClasses classes_of(const Timeline& run, const Taxonomy& taxonomy) {
  NameClasses classes;
  classes.kernel.assign(run.names.size(), OpClass::k_other);
  classes.op = classes.kernel;
  std::vector<bool> as_kernel(run.names.size()), as_op(run.names.size()), as_span(run.names.size());
  for (const uint32_t name : run.kernels.name) as_kernel[name] = true;
  for (size_t i = 0; i < run.spans.size(); i++) {
    if (run.spans.kind[i] == model::SpanKind::device) as_span[run.spans.name[i]] = true;
    if (run.spans.kind[i] == model::SpanKind::op) as_op[run.spans.op_type[i]] = true;
  }
  for (uint32_t id = 0; id < run.names.size(); id++) {
    if (id % 256 == 0) stop_if_cancelled();
    if (as_span[id]) classes.kernel[id] = class_of_device_span(taxonomy, run.names[id]);
    if (as_kernel[id]) classes.kernel[id] = taxonomy.kernel(run.names[id]).op_class;
    if (as_op[id]) classes.op[id] = taxonomy.op(run.names[id]);
  }
  return classes;
}

/// When streams of a device waited, from its synchronisation records.
Result<IntervalSet> stream_waits(store::OpenRun& open) {
  if (!open.has("syncs")) return IntervalSet{};
  NL_TRY(store::Connection * connection, open.ask({"syncs"}));
  PagedVector<Interval> waits;
  NL_CHECK(
      connection->stream("SELECT start_ns, dur_ns FROM syncs WHERE name ILIKE '%stream wait%' AND dur_ns > 0",
                         [&](const store::Chunk& chunk) -> Result<void> {
                           for (size_t i = 0; i < chunk.size(); i++) {
                             const int64_t start = chunk.int64s(0)[i];
                             waits.push_back({start, start + chunk.int64s(1)[i]});
                           }
                           return {};
                         }));
  return union_of(std::move(waits));
}

void leave_out_part(Steady& steady, const char* what, Interval time, const char* why) {
  if (time.length() > 0) steady.outside.push_back({what, time, why});
}

/// For steps that `profile` ran itself: it takes turns with a pass without the profiler, so the time between
/// the steps is its own and no part of what the model does. `warm_up`: steps at the beginning that were run
/// only to warm up.
void keep_measured_steps(Steady& steady, const Steps& steps, size_t warm_up) {
  const std::vector<Step>& list = steps.list;
  if (warm_up >= list.size()) return;
  std::erase_if(steady.outside, [](const OutsidePart& part) { return part.what == "warm_up"; });
  steady.first_step = warm_up;
  steady.steps = list.size() - warm_up;
  steady.time = {list[warm_up].time.begin, list.back().time.end};
  steady.why = counted(static_cast<int64_t>(steady.steps), "measured iteration");
  leave_out_part(steady, "warm_up", {list[0].time.begin, steady.time.begin},
                 "iterations run only to warm up");
  for (size_t i = warm_up + 1; i < list.size(); i++)
    leave_out_part(steady, "between_iterations", {list[i - 1].time.end, list[i].time.begin},
                   "between the measured iterations, while iterations without the profiler ran");
  std::stable_sort(steady.outside.begin(), steady.outside.end(),
                   [](const OutsidePart& a, const OutsidePart& b) { return a.time.begin < b.time.begin; });
}

/// The runs of a session that `profile` made itself are the profiled iterations of the table, one for one.
Result<void> keep_measured_iterations(store::OpenRun& open, Windows& windows) {
  if (!open.has("iterations") || windows.steps.source != "model_run") return {};
  NL_TRY(store::Connection * connection, open.ask({"iterations"}));
  int64_t profiled = 0, warm_up = 0;
  NL_CHECK(connection->stream(
      "SELECT count(*), coalesce(sum(warm_up), 0)::BIGINT FROM iterations WHERE pass = 'profiled'",
      [&](const store::Chunk& chunk) -> Result<void> {
        if (chunk.size() == 0) return {};
        profiled = chunk.int64s(0)[0];
        warm_up = chunk.int64s(1)[0];
        return {};
      }));
  if (profiled == static_cast<int64_t>(windows.steps.list.size()))
    keep_measured_steps(windows.steady, windows.steps, static_cast<size_t>(warm_up));
  return {};
}

}  // namespace

const DeviceState* main_device(const PreparedRun& run) {
  const auto most = std::max_element(
      run.devices.begin(), run.devices.end(),
      [](const DeviceState& a, const DeviceState& b) { return has_less_compute(a.device, b.device); });
  return most == run.devices.end() ? nullptr : &*most;
}

DeviceName device_name(const Device& device) {
  return {{device.is_host, device.number}, device.rank};
}

IntervalSet ranges_of_runs(const Steps& steps) {
  if (steps.source != "model_run") return {};
  PagedVector<Interval> ranges;
  for (const Step& step : steps.list) ranges.push_back(step.host);
  return union_of(std::move(ranges));
}

Result<PreparedRun> prepare_run(store::OpenRun& open, const Taxonomy& taxonomy, const PhaseNames& phases) {
  PreparedRun run;
  NL_TRY(run.timeline, load_timeline(open));
  run.classes = classes_of(run.timeline, taxonomy);
  NL_CHECK(check_cancelled());
  std::vector<Device> devices = devices_of(run.timeline, run.classes, &run.left_out);
  NL_CHECK(check_cancelled());
  run.windows = find_windows(run.timeline, devices, phases);
  NL_CHECK(keep_measured_iterations(open, run.windows));
  NL_CHECK(check_cancelled());
  run.host = std::make_unique<HostActivity>(run.timeline);
  NL_TRY(const IntervalSet waits, stream_waits(open));
  run.waits = std::make_unique<CauseRecord>(record_of_waits(waits));
  const IntervalSet runs = ranges_of_runs(run.windows.steps);
  for (Device& device : devices) {
    NL_CHECK(check_cancelled());
    DeviceState state;
    state.idle = idle_times(run.timeline, device, *run.host, *run.waits, runs);
    state.launches = launches_of(run.timeline, device);
    state.device = std::move(device);
    run.devices.push_back(std::move(state));
  }
  return run;
}

}  // namespace nl::analyze
