#include "report/across_sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "report/compare_charts.h"
#include "report/compare_words.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using nlohmann::json;

constexpr size_t kMostRows = 40;

std::string level_title(const json& across) {
  return across["level"] == "op" ? "Op" : "Class";
}

// ---- Devices

Cell fact(const json& side, const char* key, const char* unit) {
  const json value = side.value(key, json());
  if (value.is_null()) return number("-");
  return number(value.is_string() ? visible(value.get<std::string>(), 80) : value_text(value, unit));
}

Section devices(const json& comparison) {
  const json& sides = comparison["across"]["sides"];
  Section section{"across-devices", "Both devices"};
  section.table.columns = {"", "Base", "New"};
  const auto add = [&](const char* title, const char* key, const char* unit) {
    section.table.rows.push_back({words(title), fact(sides[0], key, unit), fact(sides[1], key, unit)});
  };
  add("Device", "device", "");
  add("Peak of bf16", "bf16_flops_per_s", "FLOP/s");
  add("Peak of memory", "bandwidth_bytes_per_s", "B/s");
  add("Window", "window_ns", "ns");
  add("Busy", "busy_ns", "ns");
  add("Pieces of work", "pieces", "count");
  add("Busy time with a model", "modelled_share", "ratio");
  add("Share of the roof", "roof_share", "ratio");
  add("MFU", "mfu", "ratio");
  add("MBU", "mbu", "ratio");
  for (const auto& [i, title] : {std::pair(0, "base"), std::pair(1, "new side")}) {
    const json source = sides[static_cast<size_t>(i)].value("peaks_source", json());
    section.notes.push_back(source.is_string()
                                ? fmt::format("Peaks of the {}: {}.", title, source.get<std::string>())
                                : fmt::format("Peaks of the {} are not known.", title));
  }
  return section;
}

// ---- Shares

Section shares(const json& comparison) {
  const json& sides = comparison["across"]["sides"];
  Section section{"across-shares", "Shares of the window"};
  section.table.columns = {"Part", "Base", "", "New", "", "Delta"};
  for (const char* part : {"compute", "communication", "copy", "idle", "rest"}) {
    const double base = sides[0]["shares"].value(part, 0.0), next = sides[1]["shares"].value(part, 0.0);
    if (base == 0 && next == 0) continue;
    section.table.rows.push_back(
        {words(part), share(base), share_bar(base), share(next), share_bar(next),
         number(fmt::format("{}{:.1f} points", next > base ? "+" : "", (next - base) * 100))});
  }
  return section;
}

// ---- Ops against the peaks

int64_t largest_loss(const json& rows) {
  int64_t largest = 0;
  for (const json& row : rows) {
    if (!row["lost_ns"].is_null()) largest = std::max(largest, std::abs(row["lost_ns"].get<int64_t>()));
  }
  return largest;
}

Cell spent(const json& side) {
  return with_below(duration(side["time_ns"]),
                    {counted(side["calls"], "call") + ", " + percent_text(side["share"])});
}

/// The time that the new side would need if its calls used the peaks as well as those of the base.
std::vector<std::string> expected(const json& row) {
  if (row["lost_ns"].is_null()) return {};
  return {duration_text(row["new"]["time_ns"].get<int64_t>() - row["lost_ns"].get<int64_t>())};
}

Section rows(const json& comparison) {
  const json& across = comparison["across"];
  Section section{"across-rows", level_title(across) == "Op" ? "Ops against the peaks" : "Classes of work"};
  section.table.columns = {level_title(across), "Base",      "New",      "Ratio", "Per call",
                           "By the peaks",      "Roof base", "Roof new", "Lost",  ""};
  const json& all = across["rows"];
  const int64_t largest = largest_loss(all);
  for (size_t i = 0; i < std::min(all.size(), kMostRows); i++) {
    const json& row = all[i];
    section.table.rows.push_back(
        {name(row["name"]), spent(row["base"]), spent(row["new"]), number(ratio_text(row["time_ratio"], 2)),
         number(ratio_text(row["call_time_ratio"], 2)),
         with_below(number(ratio_text(row["hardware_ratio"], 2)), expected(row)),
         share(row["base"]["roof_share"]), share(row["new"]["roof_share"]), signed_duration(row["lost_ns"]),
         picture(row["lost_ns"].is_null() ? "" : delta_chart(row["lost_ns"], largest))});
  }
  if (all.size() > kMostRows)
    section.table.more =
        fmt::format("The first {} of {}.", kMostRows, grouped(static_cast<int64_t>(all.size())));
  section.notes = across_summary(comparison);
  section.notes.push_back(
      "Ratio: of the times; per call: of the calls that have a model. By the peaks: least time of such a "
      "call "
      "there over least time here, and below it what the work of the new side would take by that. Roof: "
      "least "
      "time that the peaks allow over the time it took. Lost: time of the new side beyond what the peaks "
      "alone "
      "would make of the calls of the base.");
  return section;
}

// ---- Limits

bool has_missing_roofs(const json& across) {
  for (const json& row : across["rows"]) {
    if (row["hardware_ratio"].is_null()) return true;
  }
  return false;
}

std::vector<std::string> limits_of(const json& comparison) {
  const json& across = comparison["across"];
  std::vector<std::string> limits = {
      "Whether the new side is a regression: the devices or backends differ, so no verdict is given.",
      "What the devices could do as they ran: the peaks are those of the makers, without the clocks and "
      "power "
      "of these runs.",
      "Why the host or the device waited: idle time stands in the shares, and no peak says what it ought to "
      "be."};
  if (has_missing_roofs(across))
    limits.push_back(
        "What the peaks would give where a dash stands: no model of the op, no peak, or calls that do not "
        "compute the same on both sides.");
  if (across["level"] == "class")
    limits.push_back("Anything about single kernels or ops: at this level only classes mean the same.");
  if (!has_repeats(comparison))
    limits.push_back("How much another run would differ: there is one run a side.");
  return limits;
}

Section limits(const json& comparison) {
  Section section{"across-limits", "What this cannot say"};
  section.chart = "<ul class=\"summary\">";
  for (const std::string& limit : limits_of(comparison)) section.chart += "<li>" + html(limit) + "</li>";
  section.chart += "</ul>";
  return section;
}

}  // namespace

std::vector<std::string> across_summary(const json& comparison) {
  const json& across = comparison["across"];
  std::vector<std::string> out = {
      fmt::format("Work that both sides have: {} of the busy time of the base and {} of the new side.",
                  percent_text(across["covered"]["base"]), percent_text(across["covered"]["new"]))};
  int64_t lost = 0, with = 0, busy = 0;
  for (const json& row : across["rows"]) {
    const int64_t ns = row["new"]["time_ns"];
    busy += ns;
    if (row["lost_ns"].is_null()) continue;
    with += ns;
    lost += row["lost_ns"].get<int64_t>();
  }
  if (with == 0 || busy == 0) return out;
  out.push_back(
      fmt::format("Against what the peaks alone would make of the base, the new side {} {}; that is said of "
                  "{} of its busy "
                  "time.",
                  lost >= 0 ? "loses" : "gains", duration_text(std::abs(lost)),
                  percent_text(static_cast<double>(with) / static_cast<double>(busy))));
  return out;
}

Chapter across_chapter(const json& comparison) {
  const std::string what = comparison["across"]["words"];
  return {"across",
          sentence(what.substr(0, what.find(':'))),
          {devices(comparison), shares(comparison), rows(comparison), limits(comparison)}};
}

Table short_across_table(const json& comparison, size_t top) {
  const json& across = comparison["across"];
  Table table{
      {level_title(across), "Base", "New", "Ratio", "By the peaks", "Roof base", "Roof new", "Lost"}, {}, {}};
  for (size_t i = 0; i < std::min(across["rows"].size(), top); i++) {
    const json& row = across["rows"][i];
    table.rows.push_back({name(visible(row["name"].get<std::string>(), 80)), duration(row["base"]["time_ns"]),
                          duration(row["new"]["time_ns"]), number(ratio_text(row["time_ratio"], 2)),
                          number(ratio_text(row["hardware_ratio"], 2)), share(row["base"]["roof_share"]),
                          share(row["new"]["roof_share"]), signed_duration(row["lost_ns"])});
  }
  return table;
}

}  // namespace nl::report
