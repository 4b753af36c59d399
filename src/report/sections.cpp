#include "report/sections.h"

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

using nlohmann::json;

constexpr size_t kStepsInTable = 20;

constexpr struct {
  const char* key;
  const char* css_class;
  const char* title;
} kParts[] = {{"compute_ns", "compute", "Compute"},
              {"exposed_comm_ns", "comm", "Exposed communication"},
              {"exposed_copy_ns", "copy", "Exposed copies"},
              {"idle_ns", "idle", "Idle"}};

json part_of(const json& ns, const json& whole) {
  return whole == 0 ? json(nullptr) : json(ns.get<double>() / whole.get<double>());
}

std::string part_title(const json& device, const char* title) {
  return device["kind"] == "host" && std::string_view(title) == "Compute" ? "Ops" : title;
}

std::vector<LegendEntry> parts_legend(const json& device) {
  std::vector<LegendEntry> legend;
  for (const auto& part : kParts) legend.push_back({part.css_class, part_title(device, part.title)});
  return legend;
}

Section timeline(const json& device) {
  Section section{"timeline-" + device_id(device), "Over time"};
  section.chart = strip_chart(device["strip"]);
  section.legend = parts_legend(device);
  section.axis = {"0", duration_text(device["window_ns"])};
  return section;
}

Section decomposition(const json& device) {
  Section section{"decomposition-" + device_id(device), "Where the time went"};
  section.chart = decomposition_chart(device);
  section.table.columns = {"Part", "Time", "Share", ""};
  for (const auto& part : kParts) {
    const json of_window = part_of(device[part.key], device["window_ns"]);
    section.legend.push_back({part.css_class, part_title(device, part.title)});
    section.table.rows.push_back({words(part_title(device, part.title)), duration(device[part.key]),
                                  share(of_window), share_bar(of_window)});
  }
  section.table.rows.push_back({words("Window"), duration(device["window_ns"]),
                                share(part_of(device["window_ns"], device["window_ns"])), bar(0)});
  section.notes.push_back("The parts are unions of time on the device and add up to the window.");
  if (device["comm_ns"] != 0) {
    section.notes.push_back(fmt::format("Communication ran for {}; {} of it beside compute.",
                                        duration_text(device["comm_ns"]),
                                        duration_text(device["overlap_ns"])));
  }
  if (device["untimed"] != 0)
    section.notes.push_back(grouped(device["untimed"]) + " rows without timing are in no figure.");
  return section;
}

std::string cause_words(const json& report, const std::string& cause) {
  const json info = report["metrics"].value("idle_" + cause + "_time", json::object());
  std::string title = info.value("name", cause);
  if (title.starts_with("Idle: ")) title = title.substr(6);
  return title;
}

Section idle(const json& report, const json& device) {
  Section section{"idle-" + device_id(device), "Idle causes"};
  section.table.columns = {"Cause", "Time", "Share of the window", ""};
  std::vector<std::pair<int64_t, std::string>> causes;
  for (const auto& [cause, ns] : device["idle_causes"].items())
    causes.emplace_back(-ns.get<int64_t>(), cause);
  std::sort(causes.begin(), causes.end());
  for (const auto& [minus_ns, cause] : causes) {
    const json of_window = part_of(-minus_ns, device["window_ns"]);
    section.table.rows.push_back(
        {words(cause_words(report, cause)), duration(-minus_ns), share(of_window), share_bar(of_window)});
  }
  section.notes.push_back(
      fmt::format("The causes add up to the idle time, {}.", duration_text(device["idle_ns"])));
  section.notes.push_back(
      "The query gives the idle time; how each gap gets its cause is in docs/metrics.md.");
  return section;
}

Section kernels(const json& report, const json& device) {
  Section section{"kernels-" + device_id(device), "Kernels and copies"};
  section.table = kernels_table(report, device, report["top"], false);
  section.notes.push_back(
      "Share: of the sum of their times. Exposed: the part in which nothing else ran on the device.");
  return section;
}

Section classes(const json& device) {
  Section section{"classes-" + device_id(device), "Classes of kernels"};
  section.table.columns = {"Class", "Time", "Share of the kernel time", ""};
  std::vector<std::pair<int64_t, std::string>> list;
  int64_t sum = 0;
  for (const auto& [name, ns] : device["classes"].items()) {
    list.emplace_back(-ns.get<int64_t>(), name);
    sum += ns.get<int64_t>();
  }
  std::sort(list.begin(), list.end());
  for (const auto& [minus_ns, name] : list) {
    const json of_sum = part_of(-minus_ns, sum);
    section.table.rows.push_back({words(name), duration(-minus_ns), share(of_sum), share_bar(of_sum)});
  }
  return section;
}

Section ops(const json& report, const json& device) {
  const bool host = device["kind"] == "host";
  Section section{"ops-" + device_id(device), "Ops"};
  section.table = ops_table(report, device, report["top"], false);
  section.notes.push_back(host ? "Time of an op less that of ops and calls inside it."
                               : "Device time of the kernels and copies that each op launched.");
  return section;
}

Section modules(const json& report, const json& device) {
  Section section{"modules-" + device_id(device), "Modules"};
  section.table.columns = {"Module", "Total ms", "Kernels", "Share", ""};
  const json rows = rows_of(report["analysis"]["top_modules"], device);
  const auto most = std::min<size_t>(rows.size(), report["top"].get<size_t>());
  for (size_t i = 0; i < most; i++) {
    section.table.rows.push_back(
        {name(rows[i]["path"].is_null() ? "(outside of modules)" : rows[i]["path"].get<std::string>()),
         milliseconds(rows[i]["device_ns"]), count(rows[i]["kernels"]), share(rows[i]["share"]),
         share_bar(rows[i]["share"])});
  }
  if (most < rows.size())
    section.table.more = "and " + counted(static_cast<int64_t>(rows.size() - most), "more module");
  return section;
}

std::string not_in_plot(const json& roofline) {
  int64_t no_operations = 0;
  for (const json& op : roofline["ops"]) no_operations += op["flops"] == 0;
  if (no_operations == 0) return "";
  return fmt::format("{} of the ops move bytes without operations and are in the table only.",
                     grouped(no_operations));
}

Table roofline_table(const json& report, const json& roofline) {
  Table table{
      {"Op", "Type", "Kernel time", "Operations per byte", "FLOP/s", "B/s", "Bound", "Roof share", ""},
      {},
      {}};
  const auto most = std::min<size_t>(roofline["ops"].size(), report["top"].get<size_t>());
  for (size_t i = 0; i < most; i++) {
    const json& op = roofline["ops"][i];
    const auto rate = [&](const char* key, const char* unit) {
      return number(op[key].is_null() ? "-" : value_text(op[key], unit));
    };
    const bool wrong = op.value("model_or_peak_error", false);
    table.rows.push_back(
        {name(op["name"]), words(op["dtype"]), duration(op["kernel_ns"]),
         number(op["intensity"].is_null() ? "-" : fmt::format("{:.2f}", op["intensity"].get<double>())),
         rate("flops_per_s", "FLOP/s"), rate("bytes_per_s", "B/s"),
         words(wrong ? "model or peak is wrong" : op.value("bound", "-")), share(op["roof_share"]),
         share_bar(op["roof_share"])});
  }
  if (most < roofline["ops"].size())
    table.more = "and " + counted(static_cast<int64_t>(roofline["ops"].size() - most), "more op");
  return table;
}

Section roofline(const json& report, const json& device) {
  const json& data = device["roofline"];
  Section section{"roofline-" + device_id(device), "Roofline"};
  const std::string wide = roofline_plot(data, 960, "roofline wide");
  if (!wide.empty()) {
    section.chart = wide + roofline_plot(data, 350, "roofline narrow");
    section.legend = {{"op", "compute-bound op"}, {"memory-bound", "memory-bound op"}};
    section.notes.push_back("A circle is an op, as large as its kernel time.");
    if (const std::string rest = not_in_plot(data); !rest.empty()) section.notes.push_back(rest);
  }
  const json& peaks = data["peaks"];
  if (peaks.contains("absent")) {
    section.notes.push_back("No roofs: " + peaks["absent"].get<std::string>() + ".");
  } else {
    section.notes.push_back(fmt::format("Peaks of {}, dense: {}.",
                                        visible(peaks["device"].get<std::string>()),
                                        visible(peaks["source"].get<std::string>())));
  }
  if (data["ops"].empty()) section.notes.push_back("No op has a model: shapes are not in the capture.");
  section.notes.push_back(
      fmt::format("Models cover {} of {} of kernel time; operations and bytes come from "
                  "them. The query gives the kernel time of all ops.",
                  duration_text(data["modelled_ns"]), duration_text(data["kernel_ns"])));
  section.table = roofline_table(report, data);
  return section;
}

Section memory(const json& report, const json& device) {
  Section section{"memory-" + device_id(device), "Memory"};
  const json& window = report["analysis"]["window"]["intervals"];
  const int64_t length = window.back()[1].get<int64_t>() - window.front()[0].get<int64_t>();
  section.chart = memory_chart(device, length);
  section.legend = {{"allocated", "allocated"}, {"reserved", "reserved"}};
  section.axis = {"0", duration_text(length)};
  section.notes.push_back("The top of the picture is " + bytes_text(most_memory(device)) + ".");
  section.table.columns = {"What", "Value"};
  for (const char* id :
       {"memory_peak_bytes", "memory_reserved_peak_bytes", "memory_slack", "allocation_count"}) {
    const json& metric = device["metrics"][id];
    section.table.rows.push_back(
        {words(report["metrics"][id]["name"]),
         number(metric.contains("value") ? value_text(metric["value"], metric["unit"]) : "-")});
    if (!metric.contains("value"))
      section.notes.push_back(report["metrics"][id]["name"].get<std::string>() +
                              " is absent: " + metric["absent"].get<std::string>() + ".");
  }
  if (device["memory"]["relative"])
    section.notes.push_back("The source gives changes only: the picture is relative to the first event.");
  return section;
}

Section steps(const json& report, const json& device) {
  const json& data = report["analysis"]["steps"];
  Section section{"steps-" + device_id(device), "Steps"};
  section.chart = steps_chart(data, device);
  section.legend = parts_legend(device);
  section.axis = {"first step", data["list"].size() == 1 ? "" : "last step"};
  std::string told = "Steps are told by " + data["source"].get<std::string>();
  if (data["source"] == "period")
    told += fmt::format(", found in the kernels; {:.1f} % of them repeat",
                        data["confidence"].get<double>() * 100);
  section.notes.push_back(told + ". They are those of the whole capture.");
  if (data["count"] > data["list"].size())
    section.notes.push_back(
        fmt::format("The first {} of {} steps.", data["list"].size(), grouped(data["count"])));
  section.table = steps_table(report, device, kStepsInTable);
  return section;
}

Chapter device_chapter(const json& report, const json& device) {
  const std::string title = device_title(device);
  Chapter chapter{
      device_id(device), std::string(1, static_cast<char>(std::toupper(title[0]))) + title.substr(1), {}};
  if (device["name"].is_string()) chapter.title += ": " + visible(device["name"].get<std::string>(), 80);
  if (report["analysis"]["window"]["intervals"].empty()) return chapter;
  auto& sections = chapter.sections;
  const bool host = device["kind"] == "host";
  sections.push_back(timeline(device));
  sections.push_back(decomposition(device));
  sections.push_back(idle(report, device));
  if (!rows_of(report["analysis"]["top_kernels"], device).empty()) {
    sections.push_back(kernels(report, device));
    if (!device["classes"].empty()) sections.push_back(classes(device));
  }
  if (!rows_of(report["analysis"]["top_ops"], device).empty()) sections.push_back(ops(report, device));
  if (!rows_of(report["analysis"]["top_modules"], device).empty())
    sections.push_back(modules(report, device));
  if (!host) sections.push_back(roofline(report, device));
  if (device.contains("memory")) sections.push_back(memory(report, device));
  if (!report["analysis"]["steps"]["list"].empty()) sections.push_back(steps(report, device));
  return chapter;
}

/// Of a kind of collective the rank that waited least in it.
std::string least_waiting(const json& waits) {
  if (waits.empty()) return "-";
  const auto least = std::min_element(
      waits.begin(), waits.end(), [](const json& a, const json& b) { return a["wait_ns"] < b["wait_ns"]; });
  return (*least)["rank"].dump();
}

Section collective_kinds(const json& data) {
  Section section{"collectives", "Collectives by kind"};
  section.table.columns = {"Kind",         "Group",        "Calls",         "Collectives", "Size p50",
                           "Duration p50", "Transfer p50", "Bus bandwidth", "Waits least"};
  for (const json& row : data["kinds"]) {
    const auto sized = [&](const char* key, const char* unit) {
      return number(row[key].is_null() ? "-" : value_text(row[key], unit));
    };
    section.table.rows.push_back({words(row["kind"]), name(row["group"]), count(row["calls"]),
                                  count(row["collectives"]), sized("bytes_p50", "B"),
                                  duration(row["dur_p50_ns"]), duration(row["transfer_p50_ns"]),
                                  sized("busbw_bytes_per_s", "B/s"), words(least_waiting(row["waits"]))});
  }
  section.notes.push_back(
      "Transfer is the quickest call of a collective; what a call takes beyond that it waited for other "
      "ranks.");
  if (data.contains("absent"))
    section.notes.push_back("No waits: " + data["absent"].get<std::string>() + ".");
  return section;
}

std::string clocks_note(const json& clocks) {
  if (clocks["compared"] == 0) return "The clocks of the ranks are not known: waits are durations only.";
  return fmt::format("With clocks, {} of {} collectives agree within the bound ({} in the median).",
                     grouped(clocks["agreeing"]), grouped(clocks["compared"]),
                     duration_text(clocks["bound_p50_ns"]));
}

Section rank_waits(const json& data) {
  Section section{"rank-waits", "Waits of ranks"};
  section.table.columns = {"Rank", "Waited", "Last", ""};
  int64_t most = 1;
  for (const json& row : data["waits"]) most = std::max(most, row["wait_ns"].get<int64_t>());
  for (const json& row : data["waits"])
    section.table.rows.push_back({count(row["rank"]), duration(row["wait_ns"]), count(row["last"]),
                                  bar(row["wait_ns"].get<double>() / static_cast<double>(most))});
  const json& straggler = data["straggler"];
  section.notes.push_back(
      fmt::format("Rank {} waited least; it was last in {:.1f} % of the collectives, and the others waited "
                  "{} each for it.",
                  straggler["rank"].dump(), straggler["last_share"].get<double>() * 100,
                  duration_text(straggler["waited_ns"])));
  section.notes.push_back(clocks_note(data["clocks"]));
  return section;
}

Chapter collectives_chapter(const json& data) {
  Chapter chapter{"collectives-chapter", "Collectives", {collective_kinds(data)}};
  if (!data["straggler"].is_null()) chapter.sections.push_back(rank_waits(data));
  return chapter;
}

Chapter layers_chapter(const json& report) {
  const json& layers = report["analysis"]["layers"];
  Section section{"layers", "Layers of the engine"};
  section.table.columns = {"Layer", "Type", "Class", "Total ms", "Calls", "Share", ""};
  const auto most = std::min<size_t>(layers["top"].size(), report["top"].get<size_t>());
  for (size_t i = 0; i < most; i++) {
    const json& row = layers["top"][i];
    section.table.rows.push_back({name(row["name"]), name(row["op_type"]), words(row["class"]),
                                  milliseconds(row["device_ns"]), count(row["calls"]), share(row["share"]),
                                  share_bar(row["share"])});
  }
  section.notes.push_back(fmt::format("{}, {} with times: {} in total.", counted(layers["count"], "layer"),
                                      grouped(layers["timed"]), duration_text(layers["total_ns"])));
  if (most < layers["top"].size())
    section.table.more = "and " + counted(static_cast<int64_t>(layers["top"].size() - most), "more layer");
  return {"engine", "Engine", {section}};
}

Cell percent_cell(const json& percent) {
  return number(percent.is_null() ? "-" : fmt::format("{:.1f}", percent.get<double>()));
}

Cell significant(const json& value) {
  return number(value.is_null() ? "-" : fmt::format("{:.3g}", value.get<double>()));
}

Table counters_table(const json& report, const json& device) {
  Table table;
  table.columns = {"Kernel", "Replayed",  "Launches", "Occupancy %", "Warp eff. %", "L2 hit %",
                   "DRAM %", "DRAM GB/s", "SM %",     "FLOP/B",      "Of the roof", "Bound"};
  int64_t left = 0;
  for (const json& row : report["analysis"]["counters"]["kernels"]) {
    if (row["device"] != device["name"]) continue;
    if (table.rows.size() == report["top"].get<size_t>()) {
      left++;
      continue;
    }
    const json rate =
        row["dram_bytes_per_s"].is_null() ? json(nullptr) : json(row["dram_bytes_per_s"].get<double>() / 1e9);
    table.rows.push_back({name(row["kernel"], row["label"]), duration(row["replay_ns"]),
                          count(row["launches"]), percent_cell(row["achieved_occupancy_pct"]),
                          percent_cell(row["warp_efficiency_pct"]), percent_cell(row["l2_hit_pct"]),
                          percent_cell(row["dram_pct"]), significant(rate), percent_cell(row["sm_pct"]),
                          significant(row["intensity"]), share(row["roof_share"]),
                          words(row["bound"].is_null() ? "-" : row["bound"])});
  }
  if (left > 0) table.more = "and " + counted(left, "more kernel");
  return table;
}

/// Kernels as points, by what counters say.
json counter_points(const json& report, const json& device) {
  json points = {{"peaks", device["peaks"]}, {"ops", json::array()}};
  for (const json& row : report["analysis"]["counters"]["kernels"]) {
    if (row["device"] != device["name"] || row["dtype"].is_null()) continue;
    points["ops"].push_back({{"name", row["label"]},
                             {"dtype", row["dtype"]},
                             {"intensity", row["intensity"]},
                             {"flops_per_s", row["flops_per_s"]},
                             {"kernel_ns", row["replay_ns"].is_null() ? json(0) : row["replay_ns"]},
                             {"bound", row["roof_bound"].is_null() ? json("") : row["roof_bound"]}});
  }
  return points;
}

/// Why kernels have no point, each reason once.
void note_missing_points(const json& report, const json& device, Section& section) {
  std::map<std::string, int64_t> reasons;
  for (const json& row : report["analysis"]["counters"]["kernels"]) {
    if (row["device"] != device["name"]) continue;
    for (const char* key : {"flops", "dram_bytes", "roof_share"}) {
      if (!row["absent"].contains(key)) continue;
      reasons[row["absent"][key].get<std::string>()]++;
      break;
    }
  }
  for (const auto& [reason, kernels] : reasons)
    section.notes.push_back(
        fmt::format("{} without a share of the roof: {}.", counted(kernels, "kernel"), reason));
}

Section counters(const json& report, const json& device, size_t index) {
  Section section{index == 0 ? "counters" : "counters-" + std::to_string(index),
                  device["name"].is_null()
                      ? "Counters by kernel"
                      : "Counters by kernel: " + visible(device["name"].get<std::string>(), 80)};
  const json points = counter_points(report, device);
  const std::string wide = roofline_plot(points, 960, "roofline wide");
  if (!wide.empty()) {
    section.chart = wide + roofline_plot(points, 350, "roofline narrow");
    section.legend = {{"op", "compute-bound kernel"}, {"memory-bound", "memory-bound kernel"}};
    section.notes.push_back(
        "A circle is a kernel, as large as its replayed time; operations and bytes are counted.");
  }
  const json& all = report["analysis"]["counters"];
  section.notes.push_back(
      fmt::format("{}, replayed in {} with fixed clocks and cold caches: not the time of the run. Means are "
                  "weighted "
                  "by it.",
                  counted(all["launches"], "launch", "launches"), duration_text(all["replay_ns"])));
  note_missing_points(report, device, section);
  section.table = counters_table(report, device);
  return section;
}

Section advice(const json& report) {
  Section section{"counter-advice", "What the profiler itself advises"};
  section.table.columns = {"Kernel", "Rule", "Estimated speed-up %", "Kind", "Launches", "Text"};
  for (const json& row : report["analysis"]["counters"]["advice"]) {
    if (section.table.rows.size() == report["top"].get<size_t>()) break;
    section.table.rows.push_back({name(row["kernel"], row["label"]),
                                  words(row["rule"].is_null() ? "-" : row["rule"]),
                                  significant(row["speedup_pct"]), words(row["speedup_kind"]),
                                  count(row["times"]), name(row["text"])});
  }
  section.folded = true;
  return section;
}

Chapter counters_chapter(const json& report) {
  Chapter chapter{"counters-chapter", "Counters", {}};
  const json& devices = report["analysis"]["counters"]["devices"];
  for (size_t i = 0; i < devices.size(); i++) chapter.sections.push_back(counters(report, devices[i], i));
  if (!report["analysis"]["counters"]["advice"].empty()) chapter.sections.push_back(advice(report));
  return chapter;
}

Section coverage(const json& row) {
  Section section{"coverage-" + device_id(row), "Coverage of " + device_title(row)};
  section.table.columns = {"Kernel time", "Time", "Share", ""};
  const struct {
    const char* title;
    const char* ns;
    const char* share;
  } kinds[] = {{"with its launch", "with_launch_ns", "with_launch"},
               {"with its op", "with_op_ns", "with_op"},
               {"in graphs", "in_graphs_ns", "in_graphs"}};
  for (const auto& kind : kinds)
    section.table.rows.push_back(
        {words(kind.title), duration(row[kind.ns]), share(row[kind.share]), share_bar(row[kind.share])});
  section.table.rows.push_back(
      {words("with a class"), number("-"), share(row["classified"]), share_bar(row["classified"])});
  section.table.rows.push_back({words("all"), duration(row["kernel_ns"]), number("100.0 %"), bar(1)});
  return section;
}

/// Metrics that are absent, by reason.
Section unknown(const json& report) {
  Section section{"unknown", "What is not known"};
  section.table.columns = {"Device", "Why", "Metrics"};
  for (const json& device : report["analysis"]["devices"]) {
    std::map<std::string, std::string> by_reason;
    for (const auto& [id, metric] : device["metrics"].items()) {
      if (!metric.contains("absent")) continue;
      std::string& ids = by_reason[metric["absent"].get<std::string>()];
      ids += (ids.empty() ? "" : ", ") + id;
    }
    for (const auto& [reason, ids] : by_reason)
      section.table.rows.push_back({words(device_title(device)), words(reason), words(ids)});
  }
  section.folded = true;
  if (section.table.empty()) section.notes.push_back("Every metric has a value.");
  return section;
}

Section abstentions(const json& report) {
  Section section{"abstentions", "Rules that could not be asked"};
  section.table.columns = {"Rule", "Device", "Needs", "Why"};
  for (const json& row : report["analysis"]["abstentions"]) {
    section.table.rows.push_back({words(row["rule"]), words(device_title(row)),
                                  words(row["metric"].is_null() ? "-" : row["metric"]),
                                  words(row["reason"])});
  }
  section.folded = true;
  if (section.table.empty()) section.notes.push_back("None.");
  return section;
}

Chapter unknown_chapter(const json& report) {
  Chapter chapter{"coverage", "Coverage and what is unknown", {}};
  for (const json& row : report["analysis"]["coverage"]) chapter.sections.push_back(coverage(row));
  chapter.sections.push_back(unknown(report));
  chapter.sections.push_back(abstentions(report));
  return chapter;
}

Section sources(const json& report) {
  Section section{"sources", "Sources"};
  section.table.columns = {"Role", "Format", "Bytes", "sha256"};
  for (const json& source : report["run"]["sources"])
    section.table.rows.push_back(
        {words(source["role"]), words(source["format"]), count(source["bytes"]), words(source["sha256"])});
  section.notes.push_back("Run " + report["run"]["run_id"].get<std::string>() + ".");
  section.notes.push_back("Made by neurolens " + report["tool"]["version"].get<std::string>() +
                          "; neurolens report --verify report.json computes every figure again.");
  return section;
}

Section tables(const json& report) {
  Section section{"tables", "Tables of the run"};
  section.table.columns = {"Table", "Rows", "sha256"};
  for (const auto& [name, table] : report["run"]["tables"].items())
    section.table.rows.push_back({words(name), count(table["rows"]), words(table["sha256"])});
  section.folded = true;
  return section;
}

Section options(const json& report) {
  Section section{"options", "Options"};
  section.table.columns = {"Option", "Value"};
  for (const auto& [option, value] : report["options"].items())
    section.table.rows.push_back(
        {words(option), name(value.is_string() ? value.get<std::string>() : value.dump())});
  return section;
}

Cell name_or_none(const json& row) {
  return name(row["name"].is_null() ? "(no name)" : row["name"].get<std::string>());
}

Section recorded_functions(const json& rows, const char* id, const char* title) {
  Section section{id, title};
  section.table.columns = {"Function", "Share", "", "Own time", "Total time"};
  for (const json& row : rows)
    section.table.rows.push_back({name_or_none(row), share(row["share"]), share_bar(row["share"]),
                                  duration(row["own_ns"]), duration(row["total_ns"])});
  return section;
}

/// A program under `record`: its scopes, and where its processors' time was sampled.
Chapter recorded_chapter(const json& times) {
  Chapter chapter{"recorded", "The recorded program", {}};
  if (!times["scopes"].empty()) {
    Section section{"recorded-scopes", "Scopes"};
    section.table.columns = {"Scope", "Own time", "Total time", "Calls"};
    for (const json& row : times["scopes"])
      section.table.rows.push_back(
          {name_or_none(row), duration(row["own_ns"]), duration(row["total_ns"]), count(row["calls"])});
    section.notes.push_back("Own time is that which no scope inside of a scope has.");
    chapter.sections.push_back(std::move(section));
  }
  if (!times["functions"].empty())
    chapter.sections.push_back(recorded_functions(times["functions"], "recorded-functions",
                                                  "Functions, by the sampled processor time"));
  if (!times["python"].empty())
    chapter.sections.push_back(recorded_functions(times["python"], "recorded-python",
                                                  "Python functions, with what they call in C as their own"));
  if (!times["waits"].empty()) {
    Section section{"recorded-waits", "Threads that did not run"};
    section.table.columns = {"Why", "Time", "Times"};
    for (const json& row : times["waits"])
      section.table.rows.push_back({name_or_none(row), duration(row["total_ns"]), count(row["times"])});
    section.notes.push_back("The sum over all threads.");
    chapter.sections.push_back(std::move(section));
  }
  return chapter;
}

}  // namespace

std::vector<Chapter> chapters_of(const json& report) {
  std::vector<Chapter> chapters;
  for (const json& device : report["analysis"]["devices"]) chapters.push_back(device_chapter(report, device));
  const json recorded = report["analysis"].value("recorded_times", json());
  if (!recorded.is_null())
    if (Chapter chapter = recorded_chapter(recorded); !chapter.sections.empty())
      chapters.push_back(std::move(chapter));
  if (!report["analysis"]["phases"].empty()) {
    Section section{"phases", "Phases"};
    section.table = phases_table(report);
    section.notes.push_back("Device time of the work whose launch call began in a range of the phase.");
    chapters.push_back({"phases-chapter", "Phases", {section}});
  }
  if (!report["analysis"]["layers"].is_null()) chapters.push_back(layers_chapter(report));
  if (!report["analysis"].value("counters", json()).is_null()) chapters.push_back(counters_chapter(report));
  const json collectives = report["analysis"].value("collectives", json::object());
  if (!collectives.value("kinds", json::array()).empty())
    chapters.push_back(collectives_chapter(collectives));
  chapters.push_back(unknown_chapter(report));
  Section environment{"environment", "Environment"};
  environment.table = environment_table(report);
  chapters.push_back(
      {"provenance", "Provenance", {environment, sources(report), tables(report), options(report)}});
  return chapters;
}

}  // namespace nl::report
