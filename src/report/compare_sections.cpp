// Builds the sections of a comparison report from its answer. Markdown and HTML show the same sections, so
// this file only decides what is said and in which order: what was expected, the difference, the work behind
// it, then the statistics and whether the runs are comparable at all. Chapters without content are left out.

#include "report/compare_sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/number_text.h"
#include "report/across_sections.h"
#include "report/compare_charts.h"
#include "report/compare_words.h"
#include "report/escape.h"

namespace nl::report {
namespace {

using compare::ChangeRow;
using compare::Comparison;
using compare::DeviceTimes;
using compare::Factor;
using compare::GroupRow;
using compare::PartKind;
using compare::PartRow;
using compare::WorkAmount;

constexpr size_t kMostChangeRows = 30;
constexpr size_t kMostNames = 6;
constexpr char kRepeatsNote[] =
    "Repeats: one dot for each run, on an axis from the smallest to the largest value; the base is above, "
    "and a line marks the middle of each side.";

/// Colour and title of each part, in the order of PartKind.
constexpr struct {
  const char* css_class;
  const char* title;
} kPartKinds[compare::kPartKinds] = {{"compute", "Compute"},
                                     {"comm", "Exposed communication"},
                                     {"copy", "Exposed copies"},
                                     {"idle", "Idle"},
                                     {"rest", "Not explained by the source"}};

template <class Row>
int64_t largest_row_delta(const std::vector<Row>& rows) {
  int64_t largest = 0;
  for (const Row& row : rows) largest = std::max(largest, std::abs(row.delta_ns));
  return largest;
}

Cell delta_bar(int64_t delta_ns, int64_t largest) {
  return picture(delta_chart(delta_ns, largest));
}

/// The change relative to the base: +12.3 %, or ×12.3 from eleven times the base on, where percents are hard
/// to read. Nothing if the base is zero.
std::vector<std::string> relative(int64_t base_ns, int64_t delta_ns) {
  if (base_ns == 0) return {};
  const double more = static_cast<double>(delta_ns) / static_cast<double>(base_ns);
  return {more < 10 ? signed_percent_text(more) : fmt::format("×{:.4g}", 1 + more)};
}

Cell share_of(int64_t ns, int64_t whole) {
  return whole == 0 ? number("-") : share(static_cast<double>(ns) / static_cast<double>(whole));
}

Cell repeats_cell(const std::optional<compare::RunValues>& values) {
  return picture(values ? dots_chart(*values, 120, 24, "dots") : "");
}

// ---- Expectations

Chapter expectations_chapter(const Comparison& comparison) {
  Chapter chapter{"expectations", "Expectations", {}};
  Section section{"limits", "Limits of the new side"};
  section.table.columns = {"Limit of", "", "At most", "Is", "Share of the window", ""};
  for (const compare::LimitCheck& limit : comparison.expectations)
    section.table.rows.push_back({words(limit.kind), words(limit.what), words(limit.limit),
                                  duration(limit.value_ns), share(limit.share),
                                  words(limit.met ? "kept" : "not kept")});
  if (!section.table.empty()) chapter.sections.push_back(std::move(section));
  return chapter;
}

// ---- The difference

Table parts_table(const Comparison& comparison) {
  const bool repeats = has_repeats(comparison);
  Table table{{"Part", "Base ms", "New ms", "Delta ms", ""}, {}, {}};
  if (repeats) table.columns.insert(table.columns.end(), {"p", "Judged", "Repeats"});
  const int64_t largest = largest_row_delta(comparison.parts);
  for (const PartRow& part : comparison.parts) {
    const std::string title = part_title(part);
    const bool says_more = part.kind != PartKind::kCompute && part.words != title;
    std::vector<Cell> cells = {
        with_below(words(title), says_more ? std::vector{part.words} : std::vector<std::string>()),
        milliseconds(part.base_ns), milliseconds(part.new_ns),
        with_below(signed_milliseconds(part.delta_ns), relative(part.base_ns, part.delta_ns)),
        delta_bar(part.delta_ns, largest)};
    if (repeats)
      cells.insert(cells.end(), {number(p_text(part.statistics)), words(judged_text(part.statistics)),
                                 repeats_cell(part.values)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void add_sum_row(Table& table, const Comparison& comparison) {
  std::vector<Cell> cells = {words("Sum: the window"), milliseconds(comparison.base.window_ns),
                             milliseconds(comparison.next.window_ns),
                             signed_milliseconds(comparison.delta_ns), picture("")};
  while (cells.size() < table.columns.size()) cells.push_back(words(""));
  table.rows.push_back(std::move(cells));
}

Section waterfall(const Comparison& comparison) {
  Section section{"waterfall",
                  fmt::format("Where the difference of {} is", signed_duration_text(comparison.delta_ns))};
  section.chart = waterfall_chart(comparison, 1080, "wide") + waterfall_chart(comparison, 340, "narrow");
  section.table = parts_table(comparison);
  add_sum_row(section.table, comparison);
  section.notes.push_back("The parts add up to the difference of the windows, exactly.");
  if (has_repeats(comparison)) section.notes.push_back(kRepeatsNote);
  if (const int64_t start = waterfall_start(comparison); start > 0)
    section.notes.push_back(fmt::format("The axis begins at {}.", duration_text(start)));
  return section;
}

/// The sums of the parts of each kind: [0] for the base, [1] for the new side.
std::map<PartKind, std::array<int64_t, 2>> sums_by_kind(const std::vector<PartRow>& parts) {
  std::map<PartKind, std::array<int64_t, 2>> sums;
  for (const PartRow& part : parts) {
    sums[part.kind][0] += part.base_ns;
    sums[part.kind][1] += part.new_ns;
  }
  return sums;
}

Section both_sides(const Comparison& comparison) {
  Section section{"sides", "Both windows on one scale"};
  section.chart = sides_chart(comparison);
  section.table.columns = {"Part", "Base", "Share", "New", "Share", "Delta"};
  for (const auto& [kind, sums] : sums_by_kind(comparison.parts)) {
    const auto& [base, next] = sums;
    const auto& shown = kPartKinds[static_cast<size_t>(kind)];
    section.legend.push_back({shown.css_class, shown.title});
    section.table.rows.push_back({words(shown.title), duration(base),
                                  share_of(base, comparison.base.window_ns), duration(next),
                                  share_of(next, comparison.next.window_ns),
                                  with_below(signed_duration(next - base), relative(base, next - base))});
  }
  return section;
}

Section over_time(const Comparison& comparison) {
  Section section{"timeline", "Both sides over time"};
  section.chart = strips_chart(comparison);
  for (size_t i = 0; i < 4; i++) section.legend.push_back({kPartKinds[i].css_class, kPartKinds[i].title});
  section.axis = {"0", duration_text(strips_ns(comparison))};
  section.notes.push_back("Each side from the beginning to the end of its window, on one time axis.");
  return section;
}

Chapter difference_chapter(const Comparison& comparison) {
  Chapter chapter{"difference", "The difference", {}};
  if (!comparison.parts.empty()) {
    chapter.sections.push_back(waterfall(comparison));
    chapter.sections.push_back(both_sides(comparison));
  }
  if (Section section = over_time(comparison); !section.chart.empty())
    chapter.sections.push_back(std::move(section));
  return chapter;
}

// ---- The work

void add_names(std::vector<std::string>& lines, const WorkAmount& amount, const std::string& title) {
  const std::vector<std::string>& names = amount.names;
  for (size_t i = 0; i < std::min(names.size(), kMostNames); i++) lines.push_back(title + names[i]);
  if (names.size() > kMostNames)
    lines.push_back(fmt::format("{}and {} more", title, names.size() - kMostNames));
}

/// The short name, and below it the full names. They are listed for each side only if the sides differ.
Cell work_cell(const ChangeRow& change) {
  std::vector<std::string> lines;
  const auto &base = change.base, &next = change.next;
  if (base && next && base->names != next->names) {
    add_names(lines, *base, "base: ");
    add_names(lines, *next, "new: ");
  } else {
    add_names(lines, base ? *base : *next, "");
    if (lines.size() == 1 && lines[0] == change.name) lines.clear();
  }
  if (change.op) lines.push_back("launched by " + *change.op);
  return with_below(name(change.name), lines);
}

std::string calls_words(double calls) {
  return fmt::format("{:.4g} call{}", calls, calls == 1 ? "" : "s");
}

Cell amount_cell(const std::optional<WorkAmount>& amount) {
  if (!amount) return number("-");
  return with_below(duration(amount->time_ns), {calls_words(amount->calls_per_unit)});
}

Cell kind_cell(const ChangeRow& change) {
  std::vector<std::string> lines = {change.op_class};
  if (change.moved != 0) lines.push_back(grouped(change.moved) + " moved");
  if (change.reshaped != 0) lines.push_back(grouped(change.reshaped) + " reshaped");
  return with_below(words(std::string(compare::change_kind_name(change.kind))), lines);
}

std::vector<Cell> change_cells(const ChangeRow& change, int64_t largest) {
  const int64_t base = change.base ? change.base->time_ns : 0;
  return {work_cell(change),
          with_below(signed_duration(change.delta_ns), relative(base, change.delta_ns)),
          delta_bar(change.delta_ns, largest),
          amount_cell(change.base),
          amount_cell(change.next),
          signed_duration(change.by_calls_ns),
          signed_duration(change.by_duration_ns),
          kind_cell(change),
          number(ratio_text(change.match_confidence, 2))};
}

std::string not_shown_words(const Comparison& comparison) {
  const int64_t rows = comparison.not_shown.rows;
  if (rows == 0) return "";
  return fmt::format("{} to {}.", counted(rows, "more row comes", "more rows come"),
                     signed_duration_text(comparison.not_shown.delta_ns));
}

Section changes(const Comparison& comparison) {
  Section section{"changes", "What changed in the work, largest first"};
  const bool repeats = has_repeats(comparison);
  section.table.columns = {"Work", "Delta", "", "Base", "New", "By calls", "By duration", "Change", "Match"};
  if (repeats) section.table.columns.insert(section.table.columns.end(), {"p", "Repeats"});
  const int64_t largest = largest_row_delta(comparison.changes);
  for (const ChangeRow& change : comparison.changes) {
    auto cells = change_cells(change, largest);
    if (repeats) {
      cells.push_back(with_below(number(p_text(change.statistics)), {judged_text(change.statistics)}));
      cells.push_back(repeats_cell(change.values));
    }
    section.table.rows.push_back(std::move(cells));
  }
  section.table.more = not_shown_words(comparison);
  if (repeats) section.notes.push_back(kRepeatsNote);
  const auto& matched = comparison.matched;
  if (matched.base && matched.next)
    section.notes.push_back(fmt::format(
        "Times are of the work alone, per {}. Work with a counterpart: {} of the base and {} of the new "
        "side.",
        comparison.unit, percent_text(*matched.base), percent_text(*matched.next)));
  return section;
}

// ---- Counters

constexpr struct {
  const char* id;
  const char* title;
  const char* unit;
} kCounters[] = {{"achieved_occupancy_pct", "Achieved occupancy", "%"},
                 {"warp_efficiency_pct", "Warp efficiency", "%"},
                 {"sm_pct", "SM throughput", "%"},
                 {"memory_pct", "Memory throughput", "%"},
                 {"dram_pct", "DRAM throughput", "%"},
                 {"dram_bytes_per_s", "DRAM rate", "B/s"},
                 {"l1_hit_pct", "L1 hits", "%"},
                 {"l2_hit_pct", "L2 hits", "%"},
                 {"tensor_pct", "Tensor pipes", "%"},
                 {"ipc", "Instructions per cycle", ""},
                 {"registers", "Registers per thread", ""},
                 {"intensity", "FLOP per byte", ""},
                 {"roof_share", "Share of the roof", "ratio"},
                 {"sm_clock_hz", "SM clock", "Hz"}};

std::string counter_text(std::optional<double> value, const std::string& unit) {
  if (!value) return "-";
  if (unit == "%") return fmt::format("{:.1f} %", *value);
  if (unit.empty()) return fmt::format("{:.4g}", *value);
  return value_text(*value, unit);
}

/// A difference of two percentages is given in percentage points, since "%" would read as a relative change.
std::string counter_delta_text(std::optional<double> value, const std::string& unit) {
  if (!value) return "-";
  const bool positive = *value > 0;
  if (unit != "%" && unit != "ratio") return (positive ? "+" : "") + counter_text(value, unit);
  const double points = *value * (unit == "ratio" ? 100 : 1);
  return std::abs(points) < 0.05 ? "0.0 points" : fmt::format("{}{:.1f} points", positive ? "+" : "", points);
}

std::vector<Cell> counter_cells(Cell work, const compare::CounterRow& counter) {
  std::string title = counter.metric, unit;
  for (const auto& known : kCounters) {
    if (title != known.id) continue;
    title = known.title;
    unit = known.unit;
    break;
  }
  return {std::move(work), words(title), number(counter_text(counter.base, unit)),
          number(counter_text(counter.next, unit)), number(counter_delta_text(counter.delta, unit))};
}

Section counters(const Comparison& comparison) {
  Section section{"counters", "Counters of the changed kernels"};
  section.table.columns = {"Work", "Counter", "Base", "New", "Delta"};
  for (const ChangeRow& change : comparison.changes) {
    bool first = true;
    for (const auto& counter : change.metrics) {
      section.table.rows.push_back(counter_cells(first ? name(change.name) : words(""), counter));
      first = false;
    }
  }
  return section;
}

// ---- Ops and modules

Section grouped_work(const Comparison& comparison, const std::vector<GroupRow>& rows, const char* id,
                     const char* title, const char* none) {
  Section section{id, title};
  section.table.columns = {title, "Base", "New", "Delta", ""};
  const int64_t largest = largest_row_delta(rows);
  const auto amount = [](int64_t ns, int64_t calls) {
    return with_below(duration(ns), {calls_words(static_cast<double>(calls))});
  };
  for (size_t i = 0; i < std::min(rows.size(), kMostChangeRows); i++) {
    const GroupRow& row = rows[i];
    section.table.rows.push_back(
        {row.name ? name(*row.name) : words(none), amount(row.base_ns, row.base_calls),
         amount(row.new_ns, row.new_calls),
         with_below(signed_duration(row.delta_ns), relative(row.base_ns, row.delta_ns)),
         delta_bar(row.delta_ns, largest)});
  }
  if (rows.size() > kMostChangeRows)
    section.table.more =
        fmt::format("The first {} of {}.", kMostChangeRows, grouped(static_cast<int64_t>(rows.size())));
  section.notes.push_back(fmt::format("Times per {}; calls of the whole window.", comparison.unit));
  return section;
}

Chapter work_chapter(const Comparison& comparison) {
  Chapter chapter{"work", "The work", {}};
  if (!comparison.changes.empty()) chapter.sections.push_back(changes(comparison));
  if (Section section = counters(comparison); !section.table.empty())
    chapter.sections.push_back(std::move(section));
  if (!comparison.ops.empty())
    chapter.sections.push_back(grouped_work(comparison, comparison.ops, "ops", "Ops", "without an op"));
  if (!comparison.modules.empty())
    chapter.sections.push_back(
        grouped_work(comparison, comparison.modules, "modules", "Modules", "outside of modules"));
  return chapter;
}

// ---- Devices

constexpr int64_t DeviceTimes::*kDeviceParts[] = {&DeviceTimes::compute_ns, &DeviceTimes::exposed_comm_ns,
                                                  &DeviceTimes::exposed_copy_ns, &DeviceTimes::idle_ns};

std::vector<Cell> device_cells(const std::string& device, const char* side, const DeviceTimes& times) {
  std::vector<Cell> cells = {words(device), words(side)};
  for (const auto part : kDeviceParts) cells.push_back(duration(times.*part));
  return cells;
}

std::vector<Cell> device_delta_cells(const DeviceTimes& base, const DeviceTimes& next) {
  std::vector<Cell> cells = {words(""), words("Delta")};
  for (const auto part : kDeviceParts) cells.push_back(signed_duration(next.*part - base.*part));
  return cells;
}

Section compared_devices(const Comparison& comparison) {
  Section section{"all-devices", "All devices"};
  section.table.columns = {"Device", "Side", "Compute", "Communication", "Copies", "Idle"};
  auto& rows = section.table.rows;
  for (const auto& [device, base, next] : comparison.devices) {
    if (base) rows.push_back(device_cells(device, "Base", *base));
    if (next) rows.push_back(device_cells(base ? "" : device, "New", *next));
    if (base && next) rows.push_back(device_delta_cells(*base, *next));
  }
  section.notes.push_back(
      fmt::format("Per {}; communication and copies only while nothing else runs.", comparison.unit));
  return section;
}

Section totals(const Comparison& comparison) {
  Section section{"totals", "Sums over all devices"};
  section.table.columns = {"What", "Base", "New", "Delta"};
  const auto& [base, next] = comparison.totals;
  const auto add = [&](const char* title, int64_t before, int64_t after, bool time) {
    const int64_t delta = after - before;
    section.table.rows.push_back(
        {words(title), time ? duration(before) : count(before), time ? duration(after) : count(after),
         time ? signed_duration(delta) : number((delta > 0 ? "+" : "") + grouped(delta))});
  };
  add("Kernels", base.kernels, next.kernels, false);
  add("Time of kernels", base.kernel_ns, next.kernel_ns, true);
  add("Copies", base.copies, next.copies, false);
  add("Time of copies", base.copy_ns, next.copy_ns, true);
  section.notes.push_back("For the whole windows; sums of durations, not wall time.");
  return section;
}

bool has_totals(const Comparison& comparison) {
  const auto any = [](const compare::WorkTotals& sums) { return sums.kernels != 0 || sums.copies != 0; };
  return any(comparison.totals.base) || any(comparison.totals.next);
}

Chapter devices_chapter(const Comparison& comparison) {
  Chapter chapter{"devices", "Devices", {}};
  if (!comparison.devices.empty()) chapter.sections.push_back(compared_devices(comparison));
  if (has_totals(comparison)) chapter.sections.push_back(totals(comparison));
  return chapter;
}

// ---- Statistics

std::vector<double> windows_of(const std::vector<compare::RunValue>& runs) {
  std::vector<double> windows;
  for (const auto& run : runs) windows.push_back(run.window_ns);
  return windows;
}

Section repeats(const Comparison& comparison) {
  Section section{"repeats", "The window of each run"};
  const auto& runs = comparison.statistics.values;
  if (has_repeats(comparison)) {
    const compare::RunValues values{windows_of(runs.base), windows_of(runs.next)};
    section.chart = dots_chart(values, 1080, 60, "wide") + dots_chart(values, 340, 60, "narrow");
    section.legend = {{"base", "Base"}, {"new", "New"}};
    const auto [low, high] = range_of(values);
    section.axis = {duration_text(std::llround(low)), duration_text(std::llround(high))};
  }
  section.table.columns = {"Side", "Run", "Window ms"};
  for (const auto& [side, title] : {std::pair(&runs.base, "Base"), std::pair(&runs.next, "New")}) {
    for (const auto& run : *side)
      section.table.rows.push_back(
          {words(title), name(run.run_id), milliseconds(int64_t{std::llround(run.window_ns)})});
  }
  section.folded = section.table.rows.size() > 12;
  return section;
}

std::string interval_text(const stats::Interval& interval) {
  return fmt::format("{} to {} at {}", duration_text(std::llround(interval.low)),
                     duration_text(std::llround(interval.high)), percent_text(interval.coverage));
}

/// Of stats::Summary or StepSpread.
template <class Summary>
std::vector<Cell> summary_cells(const char* title, const Summary& summary) {
  const auto rounded = [](double ns) { return duration(int64_t{std::llround(ns)}); };
  return {
      words(title),         count(static_cast<int64_t>(summary.n)),
      rounded(summary.min), rounded(summary.median),
      rounded(summary.max), words(summary.median_interval ? interval_text(*summary.median_interval) : "-")};
}

Section spread(const Comparison& comparison) {
  const auto& statistics = comparison.statistics;
  Section section{"spread", "Spread"};
  section.table.columns = {"Of", "n", "Least", "Middle", "Largest", "Interval of the middle"};
  auto& rows = section.table.rows;
  rows.push_back(summary_cells("Runs, base", statistics.base));
  rows.push_back(summary_cells("Runs, new", statistics.next));
  const auto& [base, next] = statistics.within_one_run;
  if (base) rows.push_back(summary_cells("Steps inside one run, base", *base));
  if (next) rows.push_back(summary_cells("Steps inside one run, new", *next));
  section.notes.push_back(
      "Steps show how much times vary inside a run; they are not repeats and do not decide anything.");
  return section;
}

Section test(const Comparison& comparison) {
  const auto& statistics = comparison.statistics;
  Section section{"test", "The test of the window"};
  section.table.columns = {"What", "Value"};
  const auto add = [&](const char* title, const std::string& text) {
    if (text != "-") section.table.rows.push_back({words(title), number(text)});
  };
  add("Ratio (Hodges and Lehmann)", ratio_text(statistics.ratio));
  if (const auto& interval = statistics.ratio_interval)
    add("Its interval", fmt::format("{} to {} at {}", ratio_text(interval->low), ratio_text(interval->high),
                                    percent_text(interval->coverage)));
  add("Ratio of the middle values", ratio_text(statistics.ratio_of_medians));
  if (statistics.shift_ns) add("Shift", signed_duration_text(std::llround(*statistics.shift_ns)));
  if (statistics.cliffs_delta) add("Cliff's delta", fmt::format("{:.2f}", *statistics.cliffs_delta));
  if (statistics.p) add("p", fmt::format("{:.2g}", *statistics.p));
  add("p, adjusted", p_text(statistics));
  add("What matters: from", percent_text(statistics.practical_bound));
  if (statistics.runs_needed)
    add("Runs on each side that would probably decide", std::to_string(*statistics.runs_needed));
  if (statistics.reason) section.notes.push_back(sentence(*statistics.reason) + ".");
  return section;
}

Chapter statistics_chapter(const Comparison& comparison) {
  Chapter chapter{"statistics", "Statistics", {}};
  chapter.sections = {repeats(comparison), spread(comparison), test(comparison)};
  return chapter;
}

// ---- Comparability

std::vector<Cell> factor_cells(const Factor& factor) {
  return {words(factor.name),
          words(std::string(compare::factor_state_name(factor.state))),
          number(ratio_text(factor.score, 2)),
          words(factor.base.value_or("-")),
          words(factor.next.value_or("-")),
          words(factor.words.value_or("-"))};
}

Section factors(const Comparison& comparison) {
  Section section{"factors", "Factors of the comparability"};
  section.table.columns = {"Factor", "State", "Score", "Base", "New", "Why"};
  for (const Factor& factor : comparison.comparability.factors)
    section.table.rows.push_back(factor_cells(factor));
  section.notes.push_back(fmt::format("The product is {}; below {} no verdict is given.",
                                      ratio_text(comparison.comparability.score, 2),
                                      ratio_text(comparison.comparability.floor, 2)));
  return section;
}

Section differences(const Comparison& comparison) {
  Section section{"differences", "Labels and facts of the runs that differ"};
  section.table.columns = {"Difference"};
  for (const std::string& line : comparison.differences) section.table.rows.push_back({words(line)});
  if (section.table.empty()) section.notes.push_back("Nothing.");
  return section;
}

Chapter comparability_chapter(const Comparison& comparison) {
  return {"comparability", "Comparability", {factors(comparison), differences(comparison)}};
}

Chapter definitions_chapter(const Comparison& comparison) {
  Section section{"meaning", "How to read it"};
  section.table.columns = {"Term", "Meaning"};
  for (const auto& [term, meaning] : compare_definitions(comparison))
    section.table.rows.push_back({words(term), words(meaning)});
  return {"definitions", "Definitions", {section}};
}

}  // namespace

std::vector<Chapter> compare_chapters(const Comparison& comparison) {
  std::vector<Chapter> chapters = {expectations_chapter(comparison)};
  if (comparison.across) chapters.push_back(across_chapter(comparison, *comparison.across));
  chapters.push_back(difference_chapter(comparison));
  chapters.push_back(work_chapter(comparison));
  chapters.push_back(devices_chapter(comparison));
  chapters.push_back(statistics_chapter(comparison));
  chapters.push_back(comparability_chapter(comparison));
  chapters.push_back(definitions_chapter(comparison));
  std::erase_if(chapters, [](const Chapter& chapter) { return chapter.sections.empty(); });
  return chapters;
}

namespace {

/// The rows that a short table leaves out. They become one row, so that the column still adds up.
struct LeftOut {
  size_t rows = 0;
  int64_t delta_ns = 0;
  void add(int64_t row_delta_ns) {
    rows++;
    delta_ns += row_delta_ns;
  }
  Cell title() const { return words(fmt::format("{} more", rows)); }
};

void drop_last_column(Table& table) {
  table.columns.pop_back();
  for (auto& row : table.rows) row.pop_back();
}

}  // namespace

Table short_parts_table(const Comparison& comparison, size_t top) {
  Table table{{"Part", "Base", "New", "Delta", "Judged"}, {}, {}};
  LeftOut left;
  for (const PartRow& part : comparison.parts) {
    if (part.delta_ns == 0) continue;
    if (table.rows.size() < top) {
      table.rows.push_back({words(part_title(part)), duration(part.base_ns), duration(part.new_ns),
                            signed_duration(part.delta_ns), words(judged_text(part.statistics))});
    } else {
      left.add(part.delta_ns);
    }
  }
  if (left.rows > 0)
    table.rows.push_back({left.title(), number(""), number(""), signed_duration(left.delta_ns), words("")});
  if (!has_repeats(comparison)) drop_last_column(table);
  return table;
}

Table short_changes_table(const Comparison& comparison, size_t top) {
  Table table{{"Work", "Change", "Base", "New", "Delta", "Judged"}, {}, {}};
  const auto time = [](const std::optional<WorkAmount>& amount) {
    return amount ? duration(amount->time_ns) : number("-");
  };
  const auto names = change_names(comparison);
  LeftOut left{static_cast<size_t>(comparison.not_shown.rows), comparison.not_shown.delta_ns};
  for (size_t i = 0; i < names.size(); i++) {
    const ChangeRow& change = comparison.changes[i];
    if (i >= top) {
      left.add(change.delta_ns);
      continue;
    }
    table.rows.push_back({name(visible(names[i], 80)),
                          words(std::string(compare::change_kind_name(change.kind))), time(change.base),
                          time(change.next), signed_duration(change.delta_ns),
                          words(judged_text(change.statistics))});
  }
  if (left.rows > 0)
    table.rows.push_back(
        {left.title(), words(""), number(""), number(""), signed_duration(left.delta_ns), words("")});
  if (!has_repeats(comparison)) drop_last_column(table);
  return table;
}

Table unlike_table(const Comparison& comparison, size_t top) {
  Table table{{"Factor", "State", "Score", "Base", "New", "Why"}, {}, {}};
  const auto unlike = unlike_factors(comparison);
  for (size_t i = 0; i < std::min(unlike.size(), top); i++) table.rows.push_back(factor_cells(unlike[i]));
  if (unlike.size() > top) table.more = fmt::format("{} more, each of less weight.", unlike.size() - top);
  return table;
}

}  // namespace nl::report
