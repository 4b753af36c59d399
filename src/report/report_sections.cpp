// Builds the sections of a run's report from its analysis. Markdown and HTML show the same sections, so this
// file only decides what is said and in which order: the devices first, then what only some runs have
// (recorded program, phases, layers, counters, collectives), then what is unknown and where the data comes
// from. Notes say what a figure covers, so that it is not read for more than it is.

#include "report/report_sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/number_text.h"
#include "report/charts.h"
#include "report/device_label.h"
#include "report/escape.h"
#include "report/roofline_plot.h"

namespace nl::report {
namespace {

using analyze::CountedDevice;
using analyze::CountedKernel;
using analyze::Decomposition;
using analyze::DeviceAnswer;
using analyze::Metric;
using nlohmann::json;

constexpr size_t kStepsInTable = 20;

constexpr struct {
  int64_t Decomposition::*part;
  const char* css_class;
  const char* title;
} kParts[] = {{&Decomposition::compute_ns, "compute", "Compute"},
              {&Decomposition::exposed_comm_ns, "comm", "Exposed communication"},
              {&Decomposition::exposed_copy_ns, "copy", "Exposed copies"},
              {&Decomposition::idle_ns, "idle", "Idle"}};

std::optional<double> part_of(int64_t ns, int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(ns) / static_cast<double>(whole);
}

std::string part_title(const DeviceAnswer& device, const char* title) {
  return device.is_host() && std::string_view(title) == "Compute" ? "Ops" : title;
}

std::vector<LegendEntry> parts_legend(const DeviceAnswer& device) {
  std::vector<LegendEntry> legend;
  for (const auto& part : kParts) legend.push_back({part.css_class, part_title(device, part.title)});
  return legend;
}

Section timeline(const DeviceAnswer& device) {
  Section section{"timeline-" + device_id(device.on), "Over time"};
  section.chart = strip_chart(*device.strip);
  section.legend = parts_legend(device);
  section.axis = {"0", duration_text(device.time.window_ns)};
  return section;
}

Section decomposition(const DeviceAnswer& device) {
  const Decomposition& time = device.time;
  Section section{"decomposition-" + device_id(device.on), "Where the time went"};
  section.chart = decomposition_chart(time);
  section.table.columns = {"Part", "Time", "Share", ""};
  for (const auto& part : kParts) {
    const auto of_window = part_of(time.*part.part, time.window_ns);
    section.legend.push_back({part.css_class, part_title(device, part.title)});
    section.table.rows.push_back({words(part_title(device, part.title)), duration(time.*part.part),
                                  share(of_window), share_bar(of_window)});
  }
  section.table.rows.push_back(
      {words("Window"), duration(time.window_ns), share(part_of(time.window_ns, time.window_ns)), bar(0)});
  section.notes.push_back("The parts are unions of time on the device and add up to the window.");
  if (time.comm_ns != 0) {
    section.notes.push_back(fmt::format("Communication ran for {}; {} of it beside compute.",
                                        duration_text(time.comm_ns), duration_text(time.overlap_ns)));
  }
  if (device.untimed != 0)
    section.notes.push_back(grouped(device.untimed) + " rows without timing are in no figure.");
  return section;
}

std::string cause_words(const std::string& cause) {
  const auto metric = analyze::find_metric("idle_" + cause + "_time");
  std::string title = metric ? std::string(metric_info(*metric).name) : cause;
  if (title.starts_with("Idle: ")) title = title.substr(6);
  return title;
}

/// Largest time first; equal times stay in the order of their names.
std::vector<std::pair<std::string, int64_t>> by_time(const std::map<std::string, int64_t>& times) {
  std::vector<std::pair<std::string, int64_t>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

Section idle(const DeviceAnswer& device) {
  Section section{"idle-" + device_id(device.on), "Idle causes"};
  section.table.columns = {"Cause", "Time", "Share of the window", ""};
  for (const auto& [cause, ns] : by_time(device.idle_causes)) {
    const auto of_window = part_of(ns, device.time.window_ns);
    section.table.rows.push_back(
        {words(cause_words(cause)), duration(ns), share(of_window), share_bar(of_window)});
  }
  section.notes.push_back(
      fmt::format("The causes add up to the idle time, {}.", duration_text(device.time.idle_ns)));
  section.notes.push_back(
      "The query gives the idle time; how each gap gets its cause is in docs/metrics.md.");
  return section;
}

Section kernels(const Report& report, const DeviceAnswer& device) {
  Section section{"kernels-" + device_id(device.on), "Kernels and copies"};
  section.table = kernels_table(report, &device.on, report.shown_rows());
  section.notes.push_back(
      "Share: of the sum of their times. Exposed: the part in which nothing else ran on the device.");
  return section;
}

Section classes(const DeviceAnswer& device) {
  Section section{"classes-" + device_id(device.on), "Classes of kernels"};
  section.table.columns = {"Class", "Time", "Share of the kernel time", ""};
  int64_t sum = 0;
  for (const auto& [name, ns] : device.classes) sum += ns;
  for (const auto& [name, ns] : by_time(device.classes)) {
    const auto of_sum = part_of(ns, sum);
    section.table.rows.push_back({words(name), duration(ns), share(of_sum), share_bar(of_sum)});
  }
  return section;
}

Section ops(const Report& report, const DeviceAnswer& device) {
  Section section{"ops-" + device_id(device.on), "Ops"};
  section.table = ops_table(report, &device.on, report.shown_rows());
  section.notes.push_back(device.is_host() ? "Time of an op without that of ops and calls inside it."
                                           : "Device time of the kernels and copies that each op launched.");
  return section;
}

/// "and 12 more ops"; empty if none are left.
std::string more_text(size_t all, size_t shown, const char* what) {
  return shown < all ? "and " + counted(static_cast<int64_t>(all - shown), what) : "";
}

Section modules(const Report& report, const DeviceAnswer& device) {
  Section section{"modules-" + device_id(device.on), "Modules"};
  section.table.columns = {"Module", "Total ms", "Kernels", "Share", ""};
  const auto rows = rows_of(report.analysis.top_modules, device.on);
  const size_t most = std::min(rows.size(), report.shown_rows());
  for (size_t i = 0; i < most; i++) {
    const analyze::ModuleAnswer& row = *rows[i];
    section.table.rows.push_back({name(row.path.value_or("(outside of modules)")),
                                  milliseconds(row.device_ns), count(row.kernels), share(row.share),
                                  share_bar(row.share)});
  }
  section.table.more = more_text(rows.size(), most, "more module");
  return section;
}

constexpr size_t kLayersInTable = 200;

/// The layers of the model, in their order, and what lies in none of them.
Section model_layers(const std::string& id, const analyze::DeviceLayers& data) {
  Section section{"model-layers-" + id, "Layers of the model"};
  section.table.columns = {"Stack", "Layer",   "Total ms", "Self ms", "Kernels",
                           "Calls", "Mean ms", "Share",    ""};
  const size_t most = std::min(data.layers.size(), kLayersInTable);
  for (size_t i = 0; i < most; i++) {
    const analyze::ModelLayer& row = data.layers[i];
    section.table.rows.push_back({name(row.stack), count(row.index), milliseconds(row.device_ns),
                                  milliseconds(row.self_ns), count(row.kernels), count(row.calls),
                                  milliseconds(row.mean_ns()), share(row.share), share_bar(row.share)});
  }
  const std::optional<double> outside =
      data.total_ns == 0
          ? std::nullopt
          : std::optional(static_cast<double>(data.outside_ns) / static_cast<double>(data.total_ns));
  section.table.rows.push_back({words("(in no layer)"), words("-"), milliseconds(data.outside_ns), words("-"),
                                count(data.outside_kernels), words("-"), words("-"), share(outside),
                                share_bar(outside)});
  for (const analyze::Remark& remark : data.remarks) section.notes.push_back(remark.text);
  section.table.more =
      more_text(data.layers.size() + static_cast<size_t>(data.not_shown.rows), most, "more layer");
  return section;
}

std::string not_in_plot(const analyze::RooflineAnswer& roofline) {
  const auto no_operations = std::count_if(roofline.ops.begin(), roofline.ops.end(),
                                           [](const analyze::RooflineOp& op) { return op.flops == 0; });
  if (no_operations == 0) return "";
  return fmt::format("{} of the ops move bytes without operations and are in the table only.",
                     grouped(no_operations));
}

Table roofline_table(const Report& report, const analyze::RooflineAnswer& roofline) {
  Table table{
      {"Op", "Type", "Kernel time", "Operations per byte", "FLOP/s", "B/s", "Bound", "Roof share", ""},
      {},
      {}};
  const size_t most = std::min(roofline.ops.size(), report.shown_rows());
  for (size_t i = 0; i < most; i++) {
    const analyze::RooflineOp& op = roofline.ops[i];
    const bool wrong = op.model_or_peak_error.value_or(false);
    table.rows.push_back({name(op.name), words(op.dtype), duration(op.kernel_ns),
                          number(op.intensity ? fmt::format("{:.2f}", *op.intensity) : "-"),
                          value_cell(op.flops_per_s, "FLOP/s"), value_cell(op.bytes_per_s, "B/s"),
                          words(wrong ? "model or peak is wrong" : op.bound.value_or("-")),
                          share(op.roof_share), share_bar(op.roof_share)});
  }
  table.more = more_text(roofline.ops.size(), most, "more op");
  return table;
}

/// Ops as points, placed by the operations and bytes of their models.
RoofPicture model_points(const analyze::RooflineAnswer& roofline) {
  RoofPicture picture{roofline.peaks, {}};
  for (const analyze::RooflineOp& op : roofline.ops)
    picture.points.push_back(
        {op.name, op.dtype, op.intensity, op.flops_per_s, op.kernel_ns, op.bound == "memory"});
  return picture;
}

/// The picture twice, for wide and for narrow screens: its text cannot be scaled. Empty without points.
std::string both_plots(const RoofPicture& picture) {
  const std::string wide = roofline_plot(picture, 960, "roofline wide");
  return wide.empty() ? "" : wide + roofline_plot(picture, 350, "roofline narrow");
}

Section roofline(const Report& report, const DeviceAnswer& device) {
  const analyze::RooflineAnswer& data = device.roofline;
  Section section{"roofline-" + device_id(device.on), "Roofline"};
  section.chart = both_plots(model_points(data));
  if (!section.chart.empty()) {
    section.legend = {{"op", "compute-bound op"}, {"memory-bound", "memory-bound op"}};
    section.notes.push_back("A circle is an op, as large as its kernel time.");
    if (const std::string rest = not_in_plot(data); !rest.empty()) section.notes.push_back(rest);
  }
  if (data.peaks) {
    section.notes.push_back(
        fmt::format("Peaks of {}, dense: {}.", visible(data.peaks->device), visible(data.peaks->source)));
  } else {
    section.notes.push_back("No roofs: " + data.peaks.reason() + ".");
  }
  if (data.ops.empty()) section.notes.push_back("No op has a model: shapes are not in the capture.");
  section.notes.push_back(
      fmt::format("Models cover {} of {} of kernel time; operations and bytes come from "
                  "them. The query gives the kernel time of all ops.",
                  duration_text(data.modelled_ns), duration_text(data.kernel_ns)));
  section.table = roofline_table(report, data);
  return section;
}

Section memory(const Report& report, const DeviceAnswer& device) {
  Section section{"memory-" + device_id(device.on), "Memory"};
  const analyze::IntervalSet& window = report.analysis.window.intervals;
  const int64_t length = window.back().end - window.front().begin;
  section.chart = memory_chart(*device.memory, length);
  section.legend = {{"allocated", "allocated"}, {"reserved", "reserved"}};
  section.axis = {"0", duration_text(length)};
  section.notes.push_back("The top of the picture is " + bytes_text(most_memory(*device.memory)) + ".");
  section.table.columns = {"What", "Value"};
  for (const Metric id : {Metric::memory_peak_bytes, Metric::memory_reserved_peak_bytes, Metric::memory_slack,
                          Metric::allocation_count}) {
    const Known<double>& value = device.metrics.get(id);
    const std::string title(metric_info(id).name);
    section.table.rows.push_back({words(title), value_cell(value, metric_info(id).unit)});
    if (!value) section.notes.push_back(title + " is absent: " + value.reason() + ".");
  }
  if (device.memory->relative)
    section.notes.push_back("The source gives changes only: the picture is relative to the first event.");
  return section;
}

Section steps(const Report& report, const DeviceAnswer& device) {
  const analyze::StepsAnswer& data = report.analysis.steps;
  Section section{"steps-" + device_id(device.on), "Steps"};
  section.chart = steps_chart(data, device.on);
  section.legend = parts_legend(device);
  section.axis = {"first step", data.list.size() == 1 ? "" : "last step"};
  std::string told = "Steps were found by " + data.source;
  if (data.source == "period")
    told += fmt::format(", found in the kernels; {:.1f} % of them repeat", data.confidence.value_or(0) * 100);
  section.notes.push_back(told + ". They are those of the whole capture.");
  if (data.count > static_cast<int64_t>(data.list.size()))
    section.notes.push_back(fmt::format("The first {} of {} steps.", data.list.size(), grouped(data.count)));
  section.table = steps_table(report, device.on, kStepsInTable);
  return section;
}

Chapter device_chapter(const Report& report, const DeviceAnswer& device) {
  const analyze::Analysis& analysis = report.analysis;
  const std::string title = device_title(device.on);
  Chapter chapter{
      device_id(device.on), std::string(1, static_cast<char>(std::toupper(title[0]))) + title.substr(1), {}};
  if (device.name) chapter.title += ": " + visible(*device.name, 80);
  if (analysis.window.intervals.empty()) return chapter;
  auto& sections = chapter.sections;
  sections.push_back(timeline(device));
  sections.push_back(decomposition(device));
  sections.push_back(idle(device));
  if (!rows_of(analysis.top_kernels, device.on).empty()) {
    sections.push_back(kernels(report, device));
    if (!device.classes.empty()) sections.push_back(classes(device));
  }
  if (!rows_of(analysis.top_ops, device.on).empty()) sections.push_back(ops(report, device));
  if (!rows_of(analysis.top_modules, device.on).empty()) sections.push_back(modules(report, device));
  for (const analyze::DeviceLayers& layers : analysis.model_layers.devices) {
    if (layers.on == device.on) sections.push_back(model_layers(device_id(device.on), layers));
  }
  if (!device.is_host()) sections.push_back(roofline(report, device));
  if (device.memory) sections.push_back(memory(report, device));
  if (!analysis.steps.list.empty()) sections.push_back(steps(report, device));
  return chapter;
}

/// The rank that waited least; the others waited for it.
std::string least_waiting(const std::vector<analyze::RankWait>& waits) {
  if (waits.empty()) return "-";
  const auto least = std::min_element(
      waits.begin(), waits.end(),
      [](const analyze::RankWait& a, const analyze::RankWait& b) { return a.wait_ns < b.wait_ns; });
  return std::to_string(least->rank);
}

Section collective_kinds(const analyze::CollectivesAnswer& data) {
  Section section{"collectives", "Collectives by kind"};
  section.table.columns = {"Kind",         "Group",        "Calls",         "Collectives", "Size p50",
                           "Duration p50", "Transfer p50", "Bus bandwidth", "Waits least"};
  for (const analyze::CollectiveKindAnswer& row : data.kinds) {
    section.table.rows.push_back({words(row.kind), name(row.group), count(row.calls), count(row.collectives),
                                  number(row.bytes_p50 ? bytes_text(*row.bytes_p50) : "-"),
                                  duration(row.dur_p50_ns), duration(row.transfer_p50_ns),
                                  value_cell(row.busbw_bytes_per_s, "B/s"), words(least_waiting(row.waits))});
  }
  section.notes.push_back(
      "Transfer is the quickest call of a collective; the rest of a call is waiting for other ranks.");
  if (data.absent) section.notes.push_back("No waits: " + *data.absent + ".");
  return section;
}

std::string clocks_note(const std::optional<analyze::ClockAgreement>& clocks) {
  if (!clocks || clocks->compared == 0)
    return "The clocks of the ranks are not known: waits are durations only.";
  return fmt::format("With clocks, {} of {} collectives agree within the bound ({} in the median).",
                     grouped(clocks->agreeing), grouped(clocks->compared),
                     duration_text(clocks->bound_p50_ns.value_or(0)));
}

Section rank_waits(const analyze::CollectivesAnswer& data) {
  Section section{"rank-waits", "Waits of ranks"};
  section.table.columns = {"Rank", "Waited", "Last", ""};
  int64_t most = 1;
  for (const analyze::RankWait& row : data.waits) most = std::max(most, row.wait_ns);
  for (const analyze::RankWait& row : data.waits)
    section.table.rows.push_back({count(row.rank), duration(row.wait_ns), count(row.last),
                                  bar(static_cast<double>(row.wait_ns) / static_cast<double>(most))});
  const analyze::StragglerAnswer& straggler = *data.straggler;
  section.notes.push_back(
      fmt::format("Rank {} waited least; it was last in {:.1f} % of the collectives, and the others waited "
                  "{} each for it.",
                  straggler.rank, straggler.last_share * 100, duration_text(straggler.waited_ns)));
  section.notes.push_back(clocks_note(data.clocks));
  return section;
}

Chapter collectives_chapter(const analyze::CollectivesAnswer& data) {
  Chapter chapter{"collectives-chapter", "Collectives", {collective_kinds(data)}};
  if (data.straggler) chapter.sections.push_back(rank_waits(data));
  return chapter;
}

Chapter layers_chapter(const Report& report, const analyze::EngineLayers& layers) {
  Section section{"layers", "Layers of the engine"};
  section.table.columns = {"Layer", "Type", "Class", "Total ms", "Calls", "Share", ""};
  const size_t most = std::min(layers.top.size(), report.shown_rows());
  for (size_t i = 0; i < most; i++) {
    const analyze::OpAnswer& row = layers.top[i];
    section.table.rows.push_back(
        {name(row.name), name(row.op_type.value_or("")), words(std::string(op_class_name(row.op_class))),
         milliseconds(row.time_ns()), count(row.calls), share(row.share), share_bar(row.share)});
  }
  section.notes.push_back(fmt::format("{}, {} with times: {} in total.", counted(layers.count, "layer"),
                                      grouped(layers.timed), duration_text(layers.total_ns)));
  section.table.more = more_text(layers.top.size(), most, "more layer");
  Chapter chapter{"engine", "Engine", {section}};
  for (const analyze::DeviceLayers& of_model : report.analysis.model_layers.devices) {
    if (!of_model.on) chapter.sections.push_back(model_layers("engine", of_model));
  }
  return chapter;
}

Cell percent_cell(const std::optional<double>& percent) {
  return number(percent ? fmt::format("{:.1f}", *percent) : "-");
}

Cell significant(const std::optional<double>& value) {
  return number(value ? fmt::format("{:.3g}", *value) : "-");
}

std::vector<const CountedKernel*> kernels_of(const Report& report, const CountedDevice& device) {
  std::vector<const CountedKernel*> rows;
  for (const CountedKernel& row : report.analysis.counters->kernels) {
    if (row.device == device.name) rows.push_back(&row);
  }
  return rows;
}

Table counters_table(const Report& report, const std::vector<const CountedKernel*>& kernels) {
  Table table;
  table.columns = {"Kernel", "Replayed",  "Launches", "Occupancy %", "Warp eff. %", "L2 hit %",
                   "DRAM %", "DRAM GB/s", "SM %",     "FLOP/B",      "Of the roof", "Bound"};
  const size_t most = std::min(kernels.size(), report.shown_rows());
  for (size_t i = 0; i < most; i++) {
    const CountedKernel& row = *kernels[i];
    std::optional<double> rate;
    if (row.dram_bytes_per_s) rate = *row.dram_bytes_per_s / 1e9;
    table.rows.push_back({name(row.kernel, row.label), duration(row.replay_ns), count(row.launches),
                          percent_cell(row.achieved_occupancy_pct), percent_cell(row.warp_efficiency_pct),
                          percent_cell(row.l2_hit_pct), percent_cell(row.dram_pct), significant(rate),
                          percent_cell(row.sm_pct), significant(row.intensity), share(row.roof_share),
                          words(row.bound.value_or("-"))});
  }
  table.more = more_text(kernels.size(), most, "more kernel");
  return table;
}

/// Kernels as points, placed by their counted operations and bytes.
RoofPicture counter_points(const CountedDevice& device, const std::vector<const CountedKernel*>& kernels) {
  RoofPicture picture{device.peaks, {}};
  for (const CountedKernel* row : kernels) {
    if (!row->dtype) continue;
    picture.points.push_back({row->label, *row->dtype, row->intensity, row->flops_per_s,
                              row->replay_ns.value_or(0), row->roof_bound == "memory"});
  }
  return picture;
}

/// Says why some kernels have no point, each reason once with the number of kernels.
void note_missing_points(const std::vector<const CountedKernel*>& kernels, Section& section) {
  std::map<std::string, int64_t> reasons;
  for (const CountedKernel* row : kernels) {
    for (const char* key : {"flops", "dram_bytes", "roof_share"}) {
      const auto reason = row->absent.find(key);
      if (reason == row->absent.end()) continue;
      reasons[reason->second]++;
      break;
    }
  }
  for (const auto& [reason, count] : reasons)
    section.notes.push_back(
        fmt::format("{} without a share of the roof: {}.", counted(count, "kernel"), reason));
}

Section counters(const Report& report, const CountedDevice& device, size_t index) {
  Section section{index == 0 ? "counters" : "counters-" + std::to_string(index),
                  device.name ? "Counters by kernel: " + visible(*device.name, 80) : "Counters by kernel"};
  const auto kernels = kernels_of(report, device);
  section.chart = both_plots(counter_points(device, kernels));
  if (!section.chart.empty()) {
    section.legend = {{"op", "compute-bound kernel"}, {"memory-bound", "memory-bound kernel"}};
    section.notes.push_back(
        "A circle is a kernel, as large as its replayed time; operations and bytes are counted.");
  }
  const analyze::CountersAnswer& all = *report.analysis.counters;
  section.notes.push_back(
      fmt::format("{}, replayed in {} with fixed clocks and cold caches: this is not the time of the run. "
                  "Means are weighted by it.",
                  counted(all.launches, "launch", "launches"), duration_text(all.replay_ns)));
  note_missing_points(kernels, section);
  section.table = counters_table(report, kernels);
  return section;
}

Section advice(const Report& report) {
  Section section{"counter-advice", "What the profiler itself advises"};
  section.table.columns = {"Kernel", "Rule", "Estimated speed-up %", "Kind", "Launches", "Text"};
  for (const analyze::AdviceAnswer& row : report.analysis.counters->advice) {
    if (section.table.rows.size() == report.shown_rows()) break;
    section.table.rows.push_back({name(row.kernel, row.label), words(row.rule.value_or("-")),
                                  significant(row.speedup_pct), words(row.speedup_kind), count(row.times),
                                  name(row.text)});
  }
  section.folded = true;
  return section;
}

Chapter counters_chapter(const Report& report) {
  Chapter chapter{"counters-chapter", "Counters", {}};
  const auto& devices = report.analysis.counters->devices;
  for (size_t i = 0; i < devices.size(); i++) chapter.sections.push_back(counters(report, devices[i], i));
  if (!report.analysis.counters->advice.empty()) chapter.sections.push_back(advice(report));
  return chapter;
}

Section coverage(const analyze::CoverageAnswer& row) {
  Section section{"coverage-" + device_id(row.on), "Coverage of " + device_title(row.on)};
  section.table.columns = {"Kernel time", "Time", "Share", ""};
  const auto add = [&](const char* title, int64_t ns, const std::optional<double>& part) {
    section.table.rows.push_back({words(title), duration(ns), share(part), share_bar(part)});
  };
  add("with its launch", row.with_launch_ns, row.with_launch);
  add("with its op", row.with_op_ns, row.with_op);
  add("in graphs", row.in_graphs_ns, row.in_graphs);
  section.table.rows.push_back(
      {words("with a class"), number("-"), share(row.classified), share_bar(row.classified)});
  section.table.rows.push_back({words("all"), duration(row.kernel_ns), number("100.0 %"), bar(1)});
  return section;
}

/// The ids of metrics that are absent, by reason, in the order of the ids.
std::map<std::string, std::string> absent_metrics(const analyze::MetricSet& metrics) {
  std::map<std::string, std::string> reasons, by_reason;
  for (size_t i = 0; i < analyze::kMetrics; i++) {
    const auto metric = static_cast<Metric>(i);
    if (!metrics.get(metric)) reasons[std::string(metric_info(metric).id)] = metrics.get(metric).reason();
  }
  for (const auto& [id, reason] : reasons) {
    std::string& ids = by_reason[reason];
    ids += (ids.empty() ? "" : ", ") + id;
  }
  return by_reason;
}

/// The metrics without a value, grouped by reason.
Section unknown(const Report& report) {
  Section section{"unknown", "What is not known"};
  section.table.columns = {"Device", "Why", "Metrics"};
  for (const DeviceAnswer& device : report.analysis.devices) {
    for (const auto& [reason, ids] : absent_metrics(device.metrics))
      section.table.rows.push_back({words(device_title(device.on)), words(reason), words(ids)});
  }
  section.folded = true;
  if (section.table.empty()) section.notes.push_back("Every metric has a value.");
  return section;
}

Section abstentions(const Report& report) {
  Section section{"abstentions", "Rules that could not be evaluated"};
  section.table.columns = {"Rule", "Device", "Needs", "Why"};
  for (const auto& [abstention, on] : report.analysis.abstentions) {
    section.table.rows.push_back({words(abstention.rule), words(device_title(on)),
                                  words(abstention.metric.value_or("-")), words(abstention.reason)});
  }
  section.folded = true;
  if (section.table.empty()) section.notes.push_back("None.");
  return section;
}

Chapter unknown_chapter(const Report& report) {
  Chapter chapter{"coverage", "Coverage and what is unknown", {}};
  for (const analyze::CoverageAnswer& row : report.analysis.coverage)
    chapter.sections.push_back(coverage(row));
  chapter.sections.push_back(unknown(report));
  chapter.sections.push_back(abstentions(report));
  return chapter;
}

Section sources(const Report& report) {
  Section section{"sources", "Sources"};
  section.table.columns = {"Role", "Format", "Bytes", "sha256"};
  for (const json& source : report.run.sources)
    section.table.rows.push_back({words(source["role"]), words(source["format"]),
                                  count(source["bytes"].get<int64_t>()), words(source["sha256"])});
  section.notes.push_back("Run " + report.run.run_id + ".");
  section.notes.push_back("Made by neurolens " + report.tool.version +
                          "; neurolens report --verify report.json computes every figure again.");
  return section;
}

Section tables(const Report& report) {
  Section section{"tables", "Tables of the run"};
  section.table.columns = {"Table", "Rows", "sha256"};
  for (const auto& [name, table] : report.run.tables)
    section.table.rows.push_back({words(name), count(table.rows), words(table.sha256)});
  section.folded = true;
  return section;
}

Section options(const Report& report) {
  Section section{"options", "Options"};
  section.table.columns = {"Option", "Value"};
  for (const auto& [option, value] : report.options.items())
    section.table.rows.push_back(
        {words(option), name(value.is_string() ? value.get<std::string>() : value.dump())});
  return section;
}

Cell name_or_none(const std::optional<std::string>& text) {
  return name(text.value_or("(no name)"));
}

Section recorded_functions(const std::vector<analyze::RecordedFunction>& rows, const char* id,
                           const char* title) {
  Section section{id, title};
  section.table.columns = {"Function", "Share", "", "Own time", "Total time"};
  for (const analyze::RecordedFunction& row : rows)
    section.table.rows.push_back({name_or_none(row.name), share(row.share), share_bar(row.share),
                                  duration(row.own_ns), duration(row.total_ns)});
  return section;
}

Section recorded_scopes(const std::vector<analyze::RecordedScope>& scopes) {
  Section section{"recorded-scopes", "Scopes"};
  section.table.columns = {"Scope", "Own time", "Total time", "Calls"};
  for (const analyze::RecordedScope& row : scopes)
    section.table.rows.push_back(
        {name_or_none(row.name), duration(row.own_ns), duration(row.total_ns), count(row.calls)});
  section.notes.push_back("Own time is the time of a scope without the scopes inside it.");
  return section;
}

Section recorded_waits(const std::vector<analyze::RecordedWait>& waits) {
  Section section{"recorded-waits", "Threads that did not run"};
  section.table.columns = {"Why", "Time", "Times"};
  for (const analyze::RecordedWait& row : waits)
    section.table.rows.push_back({name_or_none(row.name), duration(row.total_ns), count(row.times)});
  section.notes.push_back("The sum over all threads.");
  return section;
}

/// A program that ran under `record`: its scopes, its sampled functions and what its threads waited for.
Chapter recorded_chapter(const analyze::RecordedTimes& times) {
  Chapter chapter{"recorded", "The recorded program", {}};
  if (!times.scopes.empty()) chapter.sections.push_back(recorded_scopes(times.scopes));
  if (!times.functions.empty())
    chapter.sections.push_back(recorded_functions(times.functions, "recorded-functions",
                                                  "Functions, by the sampled processor time"));
  if (!times.python.empty())
    chapter.sections.push_back(recorded_functions(
        times.python, "recorded-python", "Python functions (C code that they call counts as theirs)"));
  if (!times.waits.empty()) chapter.sections.push_back(recorded_waits(times.waits));
  return chapter;
}

}  // namespace

std::vector<Chapter> chapters_of(const Report& report) {
  const analyze::Analysis& analysis = report.analysis;
  std::vector<Chapter> chapters;
  for (const DeviceAnswer& device : analysis.devices) chapters.push_back(device_chapter(report, device));
  if (analysis.recorded_times) {
    if (Chapter chapter = recorded_chapter(*analysis.recorded_times); !chapter.sections.empty())
      chapters.push_back(std::move(chapter));
  }
  if (!analysis.phases.empty()) {
    Section section{"phases", "Phases"};
    section.table = phases_table(report);
    section.notes.push_back("Device time of the work whose launch call began in a range of the phase.");
    chapters.push_back({"phases-chapter", "Phases", {section}});
  }
  if (analysis.layers) chapters.push_back(layers_chapter(report, *analysis.layers));
  if (analysis.counters) chapters.push_back(counters_chapter(report));
  if (!analysis.collectives.kinds.empty()) chapters.push_back(collectives_chapter(analysis.collectives));
  chapters.push_back(unknown_chapter(report));
  Section environment{"environment", "Environment"};
  environment.table = environment_table(report);
  chapters.push_back(
      {"provenance", "Provenance", {environment, sources(report), tables(report), options(report)}});
  return chapters;
}

}  // namespace nl::report
