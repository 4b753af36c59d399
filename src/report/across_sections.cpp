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

using compare::Across;
using compare::AcrossAmount;
using compare::AcrossDevice;
using compare::AcrossFigures;
using compare::AcrossLevel;
using compare::AcrossRow;
using compare::Comparison;
using compare::PartShares;

constexpr size_t kMostRows = 40;

std::string level_title(const Across& across) {
  return across.level == AcrossLevel::kOp ? "Op" : "Class";
}

// ---- Devices

Cell fact(std::optional<double> value, const char* unit) {
  return number(value ? value_text(*value, unit) : "-");
}

Cell fact(const std::optional<std::string>& text) {
  return number(text ? visible(*text, 80) : "-");
}

/// A note for one side.
std::string peaks_note(const AcrossFigures& side, const char* title) {
  return side.device && side.device->peaks_source
             ? fmt::format("Peaks of the {}: {}.", title, *side.device->peaks_source)
             : fmt::format("Peaks of the {} are not known.", title);
}

Section devices(const Across& across) {
  const AcrossFigures& base = across.sides[0];
  const AcrossFigures& next = across.sides[1];
  const AcrossDevice here = base.device.value_or(AcrossDevice()),
                     there = next.device.value_or(AcrossDevice());
  Section section{"across-devices", "Both devices"};
  section.table.columns = {"", "Base", "New"};
  const auto add = [&](const char* title, Cell of_base, Cell of_next) {
    section.table.rows.push_back({words(title), std::move(of_base), std::move(of_next)});
  };
  const auto add_count = [&](const char* title, int64_t AcrossFigures::*figure, const char* unit) {
    add(title, fact(static_cast<double>(base.*figure), unit), fact(static_cast<double>(next.*figure), unit));
  };
  const auto add_figure = [&](const char* title, std::optional<double> AcrossDevice::*figure,
                              const char* unit) {
    add(title, fact(here.*figure, unit), fact(there.*figure, unit));
  };
  add("Device", fact(here.device), fact(there.device));
  add_figure("Peak of bf16", &AcrossDevice::bf16_flops_per_s, "FLOP/s");
  add_figure("Peak of memory", &AcrossDevice::bandwidth_bytes_per_s, "B/s");
  add_count("Window", &AcrossFigures::window_ns, "ns");
  add_count("Busy", &AcrossFigures::busy_ns, "ns");
  add_count("Pieces of work", &AcrossFigures::pieces, "count");
  add_figure("Busy time with a model", &AcrossDevice::modelled_share, "ratio");
  add_figure("Share of the roof", &AcrossDevice::roof_share, "ratio");
  add_figure("MFU", &AcrossDevice::mfu, "ratio");
  add_figure("MBU", &AcrossDevice::mbu, "ratio");
  section.notes = {peaks_note(base, "base"), peaks_note(next, "new side")};
  return section;
}

// ---- Shares

Section shares(const Across& across) {
  Section section{"across-shares", "Shares of the window"};
  section.table.columns = {"Part", "Base", "", "New", "", "Delta"};
  const auto add = [&](const char* part, double PartShares::*kind) {
    const double base = across.sides[0].shares.*kind, next = across.sides[1].shares.*kind;
    if (base == 0 && next == 0) return;
    section.table.rows.push_back(
        {words(part), share(base), share_bar(base), share(next), share_bar(next),
         number(fmt::format("{}{:.1f} points", next > base ? "+" : "", (next - base) * 100))});
  };
  add("compute", &PartShares::compute);
  add("communication", &PartShares::communication);
  add("copy", &PartShares::copy);
  add("idle", &PartShares::idle);
  add("rest", &PartShares::rest);
  return section;
}

// ---- Ops against the peaks

int64_t largest_loss(const std::vector<AcrossRow>& rows) {
  int64_t largest = 0;
  for (const AcrossRow& row : rows) largest = std::max(largest, std::abs(row.lost_ns.value_or(0)));
  return largest;
}

Cell spent(const AcrossAmount& amount) {
  return with_below(duration(amount.time_ns),
                    {counted(amount.calls, "call") + ", " + percent_text(amount.share)});
}

/// The time that the new side would need if its calls used the peaks as well as those of the base.
std::vector<std::string> expected(const AcrossRow& row) {
  if (!row.lost_ns) return {};
  return {duration_text(row.next.time_ns - *row.lost_ns)};
}

Section rows(const Across& across) {
  Section section{"across-rows",
                  across.level == AcrossLevel::kOp ? "Ops compared with the peaks" : "Classes of work"};
  section.table.columns = {level_title(across), "Base",      "New",      "Ratio", "Per call",
                           "By the peaks",      "Roof base", "Roof new", "Lost",  ""};
  const auto& all = across.rows;
  const int64_t largest = largest_loss(all);
  for (size_t i = 0; i < std::min(all.size(), kMostRows); i++) {
    const AcrossRow& row = all[i];
    section.table.rows.push_back(
        {name(row.name), spent(row.base), spent(row.next), number(ratio_text(row.time_ratio, 2)),
         number(ratio_text(row.call_time_ratio, 2)),
         with_below(number(ratio_text(row.hardware_ratio, 2)), expected(row)), share(row.base.roof_share),
         share(row.next.roof_share), signed_duration(row.lost_ns),
         picture(row.lost_ns ? delta_chart(*row.lost_ns, largest) : "")});
  }
  if (all.size() > kMostRows)
    section.table.more =
        fmt::format("The first {} of {}.", kMostRows, grouped(static_cast<int64_t>(all.size())));
  section.notes = across_summary(across);
  section.notes.push_back(
      "Ratio: time of the new side divided by that of the base; per call: the same for calls that have a "
      "model. By the peaks: the ratio that the peaks alone would give, and below it the time that this "
      "predicts for the new side. Roof: shortest time that the peaks allow divided by the time it took. "
      "Lost: time of the new side beyond that prediction.");
  return section;
}

// ---- Limits

bool has_missing_roofs(const Across& across) {
  return std::any_of(across.rows.begin(), across.rows.end(),
                     [](const AcrossRow& row) { return !row.hardware_ratio; });
}

std::vector<std::string> limits_of(const Comparison& comparison, const Across& across) {
  std::vector<std::string> limits = {
      "Whether the new side is a regression: the devices or backends differ, so no verdict is given.",
      "What the devices could really do: the peaks are those of the makers and ignore the clocks and power "
      "of these runs.",
      "Why the host or the device waited: idle time is in the shares, and no peak says how much of it is "
      "normal."};
  if (has_missing_roofs(across))
    limits.push_back(
        "What the peaks would give where there is a dash: the op has no model, the device no peak, or the "
        "calls do not compute the same on both sides.");
  if (across.level == AcrossLevel::kClass)
    limits.push_back("Anything about single kernels or ops: at this level only classes mean the same.");
  if (!has_repeats(comparison))
    limits.push_back("How much another run would differ: there is only one run on each side.");
  return limits;
}

Section limits(const Comparison& comparison, const Across& across) {
  Section section{"across-limits", "What this cannot say"};
  section.chart = "<ul class=\"summary\">";
  for (const std::string& limit : limits_of(comparison, across))
    section.chart += "<li>" + html(limit) + "</li>";
  section.chart += "</ul>";
  return section;
}

}  // namespace

std::vector<std::string> across_summary(const Across& across) {
  std::vector<std::string> out = {
      fmt::format("Work that both sides have: {} of the busy time of the base and {} of the new side.",
                  percent_text(across.covered.base), percent_text(across.covered.next))};
  int64_t lost = 0, with = 0, busy = 0;
  for (const AcrossRow& row : across.rows) {
    busy += row.next.time_ns;
    if (!row.lost_ns) continue;
    with += row.next.time_ns;
    lost += *row.lost_ns;
  }
  if (with == 0 || busy == 0) return out;
  out.push_back(
      fmt::format("Compared with what the peaks alone predict from the base, the new side {} {}; this covers "
                  "{} of its busy time.",
                  lost >= 0 ? "loses" : "gains", duration_text(std::abs(lost)),
                  percent_text(static_cast<double>(with) / static_cast<double>(busy))));
  return out;
}

Chapter across_chapter(const Comparison& comparison, const Across& across) {
  return {"across",
          sentence(across.words.substr(0, across.words.find(':'))),
          {devices(across), shares(across), rows(across), limits(comparison, across)}};
}

Table short_across_table(const Across& across, size_t top) {
  Table table{
      {level_title(across), "Base", "New", "Ratio", "By the peaks", "Roof base", "Roof new", "Lost"}, {}, {}};
  for (size_t i = 0; i < std::min(across.rows.size(), top); i++) {
    const AcrossRow& row = across.rows[i];
    table.rows.push_back({name(visible(row.name, 80)), duration(row.base.time_ns), duration(row.next.time_ns),
                          number(ratio_text(row.time_ratio, 2)), number(ratio_text(row.hardware_ratio, 2)),
                          share(row.base.roof_share), share(row.next.roof_share),
                          signed_duration(row.lost_ns)});
  }
  return table;
}

}  // namespace nl::report
