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

using nlohmann::json;

constexpr size_t kMostChangeRows = 30;
constexpr size_t kMostNames = 6;
constexpr char kRepeatsNote[] =
    "Repeats: one dot a run on an axis of its own from least to most, the base above, a line at the middle "
    "of "
    "each side.";

constexpr struct {
  const char* kind;
  const char* css_class;
  const char* title;
} kPartKinds[] = {{"compute", "compute", "Compute"},
                  {"communication", "comm", "Exposed communication"},
                  {"copy", "copy", "Exposed copies"},
                  {"idle", "idle", "Idle"},
                  {"rest", "rest", "Not explained by the source"}};

int64_t largest_row_delta(const json& rows) {
  int64_t largest = 0;
  for (const json& row : rows) largest = std::max(largest, std::abs(row["delta_ns"].get<int64_t>()));
  return largest;
}

Cell delta_bar(const json& row, int64_t largest) {
  return picture(delta_chart(row["delta_ns"], largest));
}

/// +12.3 % of the base, or ×12.3 of it; nothing if there was none.
std::vector<std::string> relative(const json& base_ns, const json& delta_ns) {
  if (base_ns.is_null() || base_ns == 0) return {};
  const double more = delta_ns.get<double>() / base_ns.get<double>();
  return {more < 10 ? signed_percent_text(more) : fmt::format("×{:.4g}", 1 + more)};
}

Cell share_of(const json& ns, const json& whole) {
  return share(whole == 0 ? json(nullptr) : json(ns.get<double>() / whole.get<double>()));
}

Cell repeats_cell(const json& row) {
  return picture(row.contains("values") ? dots_chart(row["values"], 120, 24, "dots") : "");
}

// ---- Expectations

Chapter expectations_chapter(const json& comparison) {
  Chapter chapter{"expectations", "Expectations", {}};
  Section section{"limits", "Limits of the new side"};
  section.table.columns = {"Limit of", "", "At most", "Is", "Share of the window", ""};
  for (const json& limit : comparison.value("expectations", json::array()))
    section.table.rows.push_back({words(limit["kind"]), words(limit["what"]), words(limit["limit"]),
                                  duration(limit["value_ns"]), share(limit["share"]),
                                  words(limit["met"].get<bool>() ? "kept" : "not kept")});
  if (!section.table.empty()) chapter.sections.push_back(std::move(section));
  return chapter;
}

// ---- The difference

Table parts_table(const json& comparison) {
  const bool repeats = has_repeats(comparison);
  Table table{{"Part", "Base ms", "New ms", "Delta ms", ""}, {}, {}};
  if (repeats) table.columns.insert(table.columns.end(), {"p", "Judged", "Repeats"});
  const int64_t largest = largest_row_delta(comparison["parts"]);
  for (const json& part : comparison["parts"]) {
    const std::string title = part_title(part), explained = part["words"];
    const bool says_more = part["kind"] != "compute" && explained != title;
    std::vector<Cell> cells = {
        with_below(words(title), says_more ? std::vector{explained} : std::vector<std::string>()),
        milliseconds(part["base_ns"]), milliseconds(part["new_ns"]),
        with_below(signed_milliseconds(part["delta_ns"]), relative(part["base_ns"], part["delta_ns"])),
        delta_bar(part, largest)};
    if (repeats)
      cells.insert(cells.end(), {number(p_text(part)), words(judged_text(part)), repeats_cell(part)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void add_sum_row(Table& table, const json& comparison) {
  std::vector<Cell> cells = {words("Sum: the window"), milliseconds(comparison["base"]["window_ns"]),
                             milliseconds(comparison["new"]["window_ns"]),
                             signed_milliseconds(comparison["delta_ns"]), picture("")};
  while (cells.size() < table.columns.size()) cells.push_back(words(""));
  table.rows.push_back(std::move(cells));
}

Section waterfall(const json& comparison) {
  Section section{"waterfall",
                  fmt::format("Where the difference of {} is", signed_duration_text(comparison["delta_ns"]))};
  section.chart = waterfall_chart(comparison, 1080, "wide") + waterfall_chart(comparison, 340, "narrow");
  section.table = parts_table(comparison);
  add_sum_row(section.table, comparison);
  section.notes.push_back("The parts add up to the difference of the windows, exactly.");
  if (has_repeats(comparison)) section.notes.push_back(kRepeatsNote);
  if (const int64_t start = waterfall_start(comparison); start > 0)
    section.notes.push_back(fmt::format("The axis begins at {}.", duration_text(start)));
  return section;
}

std::map<std::string, std::array<int64_t, 2>> sums_by_kind(const json& parts) {
  std::map<std::string, std::array<int64_t, 2>> sums;
  for (const json& part : parts) {
    sums[part["kind"]][0] += part["base_ns"].get<int64_t>();
    sums[part["kind"]][1] += part["new_ns"].get<int64_t>();
  }
  return sums;
}

Section both_sides(const json& comparison) {
  Section section{"sides", "Both windows on one scale"};
  section.chart = sides_chart(comparison);
  section.table.columns = {"Part", "Base", "Share", "New", "Share", "Delta"};
  const auto sums = sums_by_kind(comparison["parts"]);
  for (const auto& kind : kPartKinds) {
    const auto it = sums.find(kind.kind);
    if (it == sums.end()) continue;
    const auto& [base, next] = it->second;
    section.legend.push_back({kind.css_class, kind.title});
    section.table.rows.push_back({words(kind.title), duration(base),
                                  share_of(base, comparison["base"]["window_ns"]), duration(next),
                                  share_of(next, comparison["new"]["window_ns"]),
                                  with_below(signed_duration(next - base), relative(base, next - base))});
  }
  return section;
}

Section over_time(const json& comparison) {
  Section section{"timeline", "Both sides over time"};
  section.chart = strips_chart(comparison);
  for (size_t i = 0; i < 4; i++) section.legend.push_back({kPartKinds[i].css_class, kPartKinds[i].title});
  section.axis = {"0", duration_text(strips_ns(comparison))};
  section.notes.push_back("Each side from the begin to the end of its window, on one axis of time.");
  return section;
}

Chapter difference_chapter(const json& comparison) {
  Chapter chapter{"difference", "The difference", {}};
  if (!comparison["parts"].empty()) {
    chapter.sections.push_back(waterfall(comparison));
    chapter.sections.push_back(both_sides(comparison));
  }
  if (Section section = over_time(comparison); !section.chart.empty())
    chapter.sections.push_back(std::move(section));
  return chapter;
}

// ---- The work

void add_names(std::vector<std::string>& lines, const json& side, const std::string& title) {
  if (side.is_null()) return;
  for (size_t i = 0; i < std::min(side["names"].size(), kMostNames); i++)
    lines.push_back(title + side["names"][i].get<std::string>());
  if (side["names"].size() > kMostNames)
    lines.push_back(fmt::format("{}and {} more", title, side["names"].size() - kMostNames));
}

bool has_one_name(const json& change) {
  const json &base = change["base"], &next = change["new"];
  return base.is_null() || next.is_null() || base["names"] == next["names"];
}

/// The short name, and below it the full ones of both sides.
Cell work_cell(const json& change) {
  std::vector<std::string> lines;
  if (has_one_name(change)) {
    add_names(lines, change["base"].is_null() ? change["new"] : change["base"], "");
    if (lines.size() == 1 && lines[0] == change["name"]) lines.clear();
  } else {
    add_names(lines, change["base"], "base: ");
    add_names(lines, change["new"], "new: ");
  }
  if (change["op"].is_string()) lines.push_back("launched by " + change["op"].get<std::string>());
  return with_below(name(change["name"]), lines);
}

std::string calls_words(double calls) {
  return fmt::format("{:.4g} call{}", calls, calls == 1 ? "" : "s");
}

Cell amount_cell(const json& side) {
  if (side.is_null()) return number("-");
  return with_below(duration(side["time_ns"]), {calls_words(side["calls_per_unit"])});
}

Cell kind_cell(const json& change) {
  std::vector<std::string> lines = {change["class"]};
  for (const char* how : {"moved", "reshaped"}) {
    if (change[how] != 0) lines.push_back(fmt::format("{} {}", grouped(change[how]), how));
  }
  return with_below(words(change["kind"]), lines);
}

std::vector<Cell> change_cells(const json& change, int64_t largest) {
  const json base = change["base"].is_null() ? json(nullptr) : change["base"]["time_ns"];
  return {work_cell(change),
          with_below(signed_duration(change["delta_ns"]), relative(base, change["delta_ns"])),
          delta_bar(change, largest),
          amount_cell(change["base"]),
          amount_cell(change["new"]),
          signed_duration(change["by_calls_ns"]),
          signed_duration(change["by_duration_ns"]),
          kind_cell(change),
          number(ratio_text(change["match_confidence"], 2))};
}

std::string not_shown_words(const json& comparison) {
  const int64_t rows = comparison["not_shown"]["rows"];
  if (rows == 0) return "";
  return fmt::format("{} to {}.", counted(rows, "more row comes", "more rows come"),
                     signed_duration_text(comparison["not_shown"]["delta_ns"]));
}

Section changes(const json& comparison) {
  Section section{"changes", "What changed in the work, largest first"};
  const bool repeats = has_repeats(comparison);
  section.table.columns = {"Work", "Delta", "", "Base", "New", "By calls", "By duration", "Change", "Match"};
  if (repeats) section.table.columns.insert(section.table.columns.end(), {"p", "Repeats"});
  const int64_t largest = largest_row_delta(comparison["changes"]);
  for (const json& change : comparison["changes"]) {
    auto cells = change_cells(change, largest);
    if (repeats) {
      cells.push_back(with_below(number(p_text(change)), {judged_text(change)}));
      cells.push_back(repeats_cell(change));
    }
    section.table.rows.push_back(std::move(cells));
  }
  section.table.more = not_shown_words(comparison);
  if (repeats) section.notes.push_back(kRepeatsNote);
  const json& matched = comparison["matched"];
  if (matched["base"].is_number() && matched["new"].is_number())
    section.notes.push_back(fmt::format(
        "Times are of the work alone, per {}. Work with a counterpart: {} of the base and {} of the new "
        "side.",
        comparison["unit"].get<std::string>(), percent_text(matched["base"]), percent_text(matched["new"])));
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

std::string counter_text(const json& value, const std::string& unit) {
  if (!value.is_number()) return "-";
  if (unit == "%") return fmt::format("{:.1f} %", value.get<double>());
  if (unit.empty()) return fmt::format("{:.4g}", value.get<double>());
  return value_text(value, unit);
}

/// Differences of percentages are points.
std::string counter_delta_text(const json& value, const std::string& unit) {
  if (!value.is_number()) return "-";
  const bool positive = value > 0;
  if (unit != "%" && unit != "ratio") return (positive ? "+" : "") + counter_text(value, unit);
  const double points = value.get<double>() * (unit == "ratio" ? 100 : 1);
  return std::abs(points) < 0.05 ? "0.0 points" : fmt::format("{}{:.1f} points", positive ? "+" : "", points);
}

std::vector<Cell> counter_cells(Cell work, const json& metric) {
  std::string title = metric["metric"], unit;
  for (const auto& known : kCounters) {
    if (title != known.id) continue;
    title = known.title;
    unit = known.unit;
    break;
  }
  return {std::move(work), words(title), number(counter_text(metric["base"], unit)),
          number(counter_text(metric["new"], unit)), number(counter_delta_text(metric["delta"], unit))};
}

Section counters(const json& comparison) {
  Section section{"counters", "Counters of the changed kernels"};
  section.table.columns = {"Work", "Counter", "Base", "New", "Delta"};
  for (const json& change : comparison["changes"]) {
    bool first = true;
    for (const json& metric : change["metrics"]) {
      section.table.rows.push_back(counter_cells(first ? name(change["name"]) : words(""), metric));
      first = false;
    }
  }
  return section;
}

// ---- Ops and modules

Section grouped_work(const json& comparison, const char* key, const char* title, const char* none) {
  Section section{key, title};
  section.table.columns = {title, "Base", "New", "Delta", ""};
  const json& rows = comparison[key];
  const int64_t largest = largest_row_delta(rows);
  for (size_t i = 0; i < std::min(rows.size(), kMostChangeRows); i++) {
    const json& row = rows[i];
    const auto amount = [&](const char* ns, const char* calls) {
      return with_below(duration(row[ns]), {calls_words(row[calls].get<double>())});
    };
    section.table.rows.push_back(
        {row["name"].is_null() ? words(none) : name(row["name"]), amount("base_ns", "base_calls"),
         amount("new_ns", "new_calls"),
         with_below(signed_duration(row["delta_ns"]), relative(row["base_ns"], row["delta_ns"])),
         delta_bar(row, largest)});
  }
  if (rows.size() > kMostChangeRows)
    section.table.more =
        fmt::format("The first {} of {}.", kMostChangeRows, grouped(static_cast<int64_t>(rows.size())));
  section.notes.push_back(
      fmt::format("Times per {}; calls of the whole window.", comparison["unit"].get<std::string>()));
  return section;
}

Chapter work_chapter(const json& comparison) {
  Chapter chapter{"work", "The work", {}};
  if (!comparison["changes"].empty()) chapter.sections.push_back(changes(comparison));
  if (Section section = counters(comparison); !section.table.empty())
    chapter.sections.push_back(std::move(section));
  if (!comparison["ops"].empty())
    chapter.sections.push_back(grouped_work(comparison, "ops", "Ops", "without an op"));
  if (!comparison["modules"].empty())
    chapter.sections.push_back(grouped_work(comparison, "modules", "Modules", "outside of modules"));
  return chapter;
}

// ---- Devices

constexpr const char* kDeviceParts[] = {"compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"};

std::vector<Cell> device_cells(const json& row, const char* side, const char* title) {
  std::vector<Cell> cells = {
      words(title[0] == 'B' || !row.contains("base") ? row["device"].get<std::string>() : std::string()),
      words(title)};
  for (const char* part : kDeviceParts) cells.push_back(duration(row[side][part]));
  return cells;
}

std::vector<Cell> device_delta_cells(const json& row) {
  std::vector<Cell> cells = {words(""), words("Delta")};
  for (const char* part : kDeviceParts)
    cells.push_back(signed_duration(row["new"][part].get<int64_t>() - row["base"][part].get<int64_t>()));
  return cells;
}

Section compared_devices(const json& comparison) {
  Section section{"all-devices", "All devices"};
  section.table.columns = {"Device", "Side", "Compute", "Communication", "Copies", "Idle"};
  for (const json& row : comparison["devices"]) {
    if (row.contains("base")) section.table.rows.push_back(device_cells(row, "base", "Base"));
    if (row.contains("new")) section.table.rows.push_back(device_cells(row, "new", "New"));
    if (row.contains("base") && row.contains("new")) section.table.rows.push_back(device_delta_cells(row));
  }
  section.notes.push_back(fmt::format("Per {}; communication and copies as far as nothing hides them.",
                                      comparison["unit"].get<std::string>()));
  return section;
}

Section totals(const json& comparison) {
  Section section{"totals", "Sums over all devices"};
  section.table.columns = {"What", "Base", "New", "Delta"};
  const json &base = comparison["totals"]["base"], &next = comparison["totals"]["new"];
  const auto add = [&](const char* title, const char* key, bool time) {
    const int64_t before = base[key], after = next[key], delta = after - before;
    section.table.rows.push_back(
        {words(title), time ? duration(before) : count(before), time ? duration(after) : count(after),
         time ? signed_duration(delta) : number((delta > 0 ? "+" : "") + grouped(delta))});
  };
  add("Kernels", "kernels", false);
  add("Time of kernels", "kernel_ns", true);
  add("Copies", "copies", false);
  add("Time of copies", "copy_ns", true);
  section.notes.push_back("Of the whole windows; sums of durations, no wall time.");
  return section;
}

bool has_totals(const json& comparison) {
  for (const char* side : {"base", "new"}) {
    const json& sums = comparison["totals"][side];
    if (sums["kernels"] != 0 || sums["copies"] != 0) return true;
  }
  return false;
}

Chapter devices_chapter(const json& comparison) {
  Chapter chapter{"devices", "Devices", {}};
  if (!comparison["devices"].empty()) chapter.sections.push_back(compared_devices(comparison));
  if (has_totals(comparison)) chapter.sections.push_back(totals(comparison));
  return chapter;
}

// ---- Statistics

json window_values(const json& comparison) {
  json values = {{"base", json::array()}, {"new", json::array()}};
  for (const char* side : {"base", "new"}) {
    for (const json& run : comparison["statistics"]["values"][side]) values[side].push_back(run["window_ns"]);
  }
  return values;
}

Section repeats(const json& comparison) {
  Section section{"repeats", "The window of each run"};
  const json values = window_values(comparison);
  if (has_repeats(comparison)) {
    section.chart = dots_chart(values, 1080, 60, "wide") + dots_chart(values, 340, 60, "narrow");
    section.legend = {{"base", "Base"}, {"new", "New"}};
    const auto [low, high] = range_of(values);
    section.axis = {duration_text(std::llround(low)), duration_text(std::llround(high))};
  }
  section.table.columns = {"Side", "Run", "Window ms"};
  for (const auto& [side, title] : {std::pair("base", "Base"), std::pair("new", "New")}) {
    for (const json& run : comparison["statistics"]["values"][side])
      section.table.rows.push_back({words(title), name(run["run_id"]), milliseconds(run["window_ns"])});
  }
  section.folded = section.table.rows.size() > 12;
  return section;
}

void add_summary(Table& table, const char* title, const json& sides) {
  for (const auto& [side, what] : {std::pair("base", "base"), std::pair("new", "new")}) {
    const json& summary = sides[side];
    if (!summary.is_object()) continue;
    const json& interval = summary["median_interval"];
    table.rows.push_back(
        {words(fmt::format("{}, {}", title, what)), count(summary["n"]), duration(summary["min"]),
         duration(summary["median"]), duration(summary["max"]),
         words(interval.is_null()
                   ? "-"
                   : fmt::format("{} to {} at {}", duration(interval["low"]).text,
                                 duration(interval["high"]).text, percent_text(interval["coverage"])))});
  }
}

Section spread(const json& comparison) {
  const json& statistics = comparison["statistics"];
  Section section{"spread", "Spread"};
  section.table.columns = {"Of", "n", "Least", "Middle", "Largest", "Interval of the middle"};
  add_summary(section.table, "Runs", statistics);
  add_summary(section.table, "Steps inside one run", statistics["within_one_run"]);
  section.notes.push_back("Steps say how much a run varies inside; they are no repeats and decide nothing.");
  return section;
}

Section test(const json& comparison) {
  const json& statistics = comparison["statistics"];
  Section section{"test", "The test of the window"};
  section.table.columns = {"What", "Value"};
  const auto add = [&](const char* title, const std::string& text) {
    if (text != "-") section.table.rows.push_back({words(title), number(text)});
  };
  const auto plain = [&](const char* key, const char* format) {
    return statistics.contains(key) ? fmt::format(fmt::runtime(format), statistics[key].get<double>()) : "-";
  };
  add("Ratio (Hodges and Lehmann)", ratio_text(statistics.value("ratio", json())));
  if (const json& interval = statistics["ratio_interval"]; !interval.is_null())
    add("Its interval", fmt::format("{} to {} at {}", ratio_text(interval["low"]),
                                    ratio_text(interval["high"]), percent_text(interval["coverage"])));
  add("Ratio of the middle values", ratio_text(statistics.value("ratio_of_medians", json())));
  add("Shift", statistics.contains("shift_ns")
                   ? signed_duration_text(std::llround(statistics["shift_ns"].get<double>()))
                   : "-");
  add("Cliff's delta", plain("cliffs_delta", "{:.2f}"));
  add("p", plain("p", "{:.2g}"));
  add("p, adjusted", p_text({{"statistics", statistics}}));
  add("What matters: from", percent_text(statistics["practical_bound"]));
  add("Runs a side that would probably decide",
      statistics.contains("runs_needed") ? statistics["runs_needed"].dump() : "-");
  if (statistics.contains("reason")) section.notes.push_back(sentence(statistics["reason"]) + ".");
  return section;
}

Chapter statistics_chapter(const json& comparison) {
  Chapter chapter{"statistics", "Statistics", {}};
  chapter.sections = {repeats(comparison), spread(comparison), test(comparison)};
  return chapter;
}

// ---- Comparability

Cell text_or_dash(const json& text) {
  return text.is_string() ? words(text.get<std::string>()) : words("-");
}

std::vector<Cell> factor_cells(const json& factor) {
  return {words(factor["name"]),        words(factor["state"]),      number(ratio_text(factor["score"], 2)),
          text_or_dash(factor["base"]), text_or_dash(factor["new"]), text_or_dash(factor["words"])};
}

Section factors(const json& comparison) {
  Section section{"factors", "Factors of the comparability"};
  section.table.columns = {"Factor", "State", "Score", "Base", "New", "Why"};
  for (const json& factor : comparison["comparability"]["factors"])
    section.table.rows.push_back(factor_cells(factor));
  section.notes.push_back(fmt::format("The product is {}; below {} no verdict is given.",
                                      ratio_text(comparison["comparability"]["score"], 2),
                                      ratio_text(comparison["comparability"]["floor"], 2)));
  return section;
}

Section differences(const json& comparison) {
  Section section{"differences", "What the runs say of themselves and differs"};
  section.table.columns = {"Difference"};
  for (const json& line : comparison["differences"]) section.table.rows.push_back({words(line)});
  if (section.table.empty()) section.notes.push_back("Nothing.");
  return section;
}

Chapter comparability_chapter(const json& comparison) {
  return {"comparability", "Comparability", {factors(comparison), differences(comparison)}};
}

Chapter definitions_chapter(const json& comparison) {
  Section section{"meaning", "How to read it"};
  section.table.columns = {"Term", "Meaning"};
  for (const auto& [term, meaning] : compare_definitions(comparison))
    section.table.rows.push_back({words(term), words(meaning)});
  return {"definitions", "Definitions", {section}};
}

}  // namespace

std::vector<Chapter> compare_chapters(const json& comparison) {
  std::vector<Chapter> chapters = {expectations_chapter(comparison)};
  if (!comparison["across"].is_null()) chapters.push_back(across_chapter(comparison));
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

/// Rows that a short table leaves out, as one row that keeps the sum.
struct LeftOut {
  size_t rows = 0;
  int64_t delta_ns = 0;
  void add(const json& row) {
    rows++;
    delta_ns += row["delta_ns"].get<int64_t>();
  }
  Cell title() const { return words(fmt::format("{} more", rows)); }
};

void drop_last_column(Table& table) {
  table.columns.pop_back();
  for (auto& row : table.rows) row.pop_back();
}

}  // namespace

Table short_parts_table(const json& comparison, size_t top) {
  Table table{{"Part", "Base", "New", "Delta", "Judged"}, {}, {}};
  LeftOut left;
  for (const json& part : comparison["parts"]) {
    if (part["delta_ns"] == 0) continue;
    if (table.rows.size() < top) {
      table.rows.push_back({words(part_title(part)), duration(part["base_ns"]), duration(part["new_ns"]),
                            signed_duration(part["delta_ns"]), words(judged_text(part))});
    } else {
      left.add(part);
    }
  }
  if (left.rows > 0)
    table.rows.push_back({left.title(), number(""), number(""), signed_duration(left.delta_ns), words("")});
  if (!has_repeats(comparison)) drop_last_column(table);
  return table;
}

Table short_changes_table(const json& comparison, size_t top) {
  Table table{{"Work", "Change", "Base", "New", "Delta", "Judged"}, {}, {}};
  const auto time = [](const json& side) {
    return duration(side.is_null() ? json(nullptr) : side["time_ns"]);
  };
  const auto names = change_names(comparison);
  LeftOut left{comparison["not_shown"]["rows"], comparison["not_shown"]["delta_ns"]};
  for (size_t i = 0; i < names.size(); i++) {
    const json& change = comparison["changes"][i];
    if (i >= top) {
      left.add(change);
      continue;
    }
    table.rows.push_back({name(visible(names[i], 80)), words(change["kind"]), time(change["base"]),
                          time(change["new"]), signed_duration(change["delta_ns"]),
                          words(judged_text(change))});
  }
  if (left.rows > 0)
    table.rows.push_back(
        {left.title(), words(""), number(""), number(""), signed_duration(left.delta_ns), words("")});
  if (!has_repeats(comparison)) drop_last_column(table);
  return table;
}

Table unlike_table(const json& comparison, size_t top) {
  Table table{{"Factor", "State", "Score", "Base", "New", "Why"}, {}, {}};
  const auto unlike = unlike_factors(comparison);
  for (size_t i = 0; i < std::min(unlike.size(), top); i++) table.rows.push_back(factor_cells(unlike[i]));
  if (unlike.size() > top) table.more = fmt::format("{} more, each of less weight.", unlike.size() - top);
  return table;
}

}  // namespace nl::report
