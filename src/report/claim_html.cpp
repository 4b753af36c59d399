#include "report/claim_html.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/json.h"
#include "base/number_text.h"
#include "report/bench_words.h"
#include "report/escape.h"
#include "report/html_page.h"
#include "report/svg.h"

namespace nl::report {
namespace {

using nlohmann::json;

/// A process run of one of the two sides.
struct ShownRun {
  const json* sample = nullptr;
  bool is_variant = false;
  std::string run_id = {};  ///< of those that count

  bool counts() const { return text_of(*sample, "phase") == "counted"; }
  double ns() const { return number_of(*sample, "value_ns").value_or(0); }
  const json& conditions() const { return (*sample)["conditions"]; }
  bool is_disturbed() const { return !conditions()["marks"].empty(); }
};

std::vector<ShownRun> runs_of(const json& claim, const json& samples) {
  std::map<bool, size_t> counted;  // of each side; its run ids are in the same order
  std::vector<ShownRun> runs;
  for (const json& sample : samples) {
    const std::string side = text_of(sample, "side");
    if (side != "baseline" && side != text_of(claim, "variant")) continue;
    ShownRun run{&sample, side != "baseline"};
    const json& ids = claim[run.is_variant ? "changed" : "baseline"]["run_ids"];
    if (run.counts()) {
      const size_t at = counted[run.is_variant]++;
      if (at < ids.size()) run.run_id = ids[at];
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

/// Runs from left to right as they were measured; slower ones are higher.
std::string order_chart(const std::vector<ShownRun>& runs) {
  constexpr double kWidth = 960, kPlotHeight = 260, kLeft = 90, kRight = 12, kTop = 12, kBottom = 26;
  double low = INFINITY, high = 0, count = 0;
  for (const ShownRun& run : runs) {
    if (!run.counts()) continue;
    low = std::min(low, run.ns());
    high = std::max(high, run.ns());
    count++;
  }
  if (count == 0) return {};
  const double margin = std::max(0.05 * (high - low), 0.005 * high);
  low = std::max(0.0, low - margin);
  high += margin;
  const auto y = [&](double ns) {
    return kPlotHeight - kBottom - (kPlotHeight - kTop - kBottom) * (ns - low) / (high - low);
  };
  Svg svg(kWidth, kPlotHeight, "order",
          "Process runs of both sides in the order in which they were measured");
  for (int tick = 0; tick <= 4; tick++) {
    const double ns = low + (high - low) * tick / 4;
    svg.line(kLeft, y(ns), kWidth - kRight, y(ns), "grid");
    svg.text(kLeft - 10, y(ns) + 4, duration_text(static_cast<int64_t>(ns)), "axis", "end");
  }
  double at = 0.5;
  for (const ShownRun& run : runs) {
    if (!run.counts()) continue;
    const double x = kLeft + (kWidth - kLeft - kRight) * at / count;
    if (run.is_disturbed()) svg.circle(x, y(run.ns()), 7, "disturbed");
    svg.circle(x, y(run.ns()), 4, run.is_variant ? "new" : "base");
    at++;
  }
  svg.text(kLeft, kPlotHeight - 6, "first run", "axis");
  svg.text(kWidth - kRight, kPlotHeight - 6, "last run", "axis", "end");
  return svg.str();
}

/// What is known of the machine during a run, in a few words.
std::string conditions_words(const json& conditions) {
  std::string out;
  const auto add = [&](const std::string& words) { out += (out.empty() ? "" : ", ") + words; };
  if (const auto busy = number_of(conditions, "others_busy")) add(fmt::format("others {:.2f}", *busy));
  if (const auto stolen = number_of(conditions, "stolen")) add(fmt::format("stolen {:.2f}", *stolen));
  if (const auto khz = number_of(conditions, "khz")) add(fmt::format("{:.2f} GHz", *khz / 1e6));
  if (const auto celsius = number_of(conditions, "temperature_c")) add(fmt::format("{:.0f} °C", *celsius));
  for (const json& gpu : conditions.value("gpus", json::array())) {
    std::string words = fmt::format("GPU {}:", gpu["index"].get<int64_t>());
    if (const auto mhz = number_of(gpu, "sm_mhz_low")) words += fmt::format(" {:.0f} MHz", *mhz);
    if (const auto watts = number_of(gpu, "power_w")) words += fmt::format(" {:.0f} W", *watts);
    if (const auto celsius = number_of(gpu, "temperature_c")) words += fmt::format(" {:.0f} °C", *celsius);
    add(words);
  }
  return out;
}

std::string marks_words(const json& marks) {
  std::string out;
  for (const json& mark : marks) out += (out.empty() ? "" : ", ") + mark.get<std::string>();
  return out;
}

Section runs_section(const std::vector<ShownRun>& runs, const std::string& variant) {
  Section section{"runs", "Every run"};
  section.chart = order_chart(runs);
  section.legend = {{"base", "baseline"}, {"new", variant}};
  section.notes = {
      "Each dot is a process run, in the order in which they were measured. A ring marks a run that "
      "something disturbed. It counts."};
  section.table.columns = {"side",   "phase",        "time",    "processor time",
                           "memory", "disturbed by", "machine", "run"};
  for (const ShownRun& run : runs) {
    const auto memory = number_of(*run.sample, "peak_memory_bytes");
    section.table.rows.push_back(
        {words(visible(text_of(*run.sample, "side"))), words(text_of(*run.sample, "phase")),
         number(time_of(*run.sample, "value_ns")), number(time_of(*run.sample, "cpu_ns")),
         number(memory ? bytes_text(static_cast<int64_t>(*memory)) : "-"),
         words(marks_words(run.conditions()["marks"])), words(conditions_words(run.conditions())),
         name(run.run_id.empty() ? "-" : run.run_id.substr(0, 16))});
  }
  return section;
}

Section expectations_section(const json& claim) {
  Section section{"expectations", "What was expected"};
  section.notes = {
      "Each interval allows for all looks that were planned, so it is wider than that of one look."};
  section.table.columns = {"expectation", "verdict", "measured", "interval", "why"};
  for (const json& expectation : claim["expectations"]) {
    const auto figure = [&](const char* key) {
      const auto value = number_of(expectation, key);
      return value ? fmt::format("{:.4g}", *value) : std::string("-");
    };
    section.table.rows.push_back({words(visible(text_of(expectation, "text"))),
                                  words(verdict_words(text_of(expectation, "verdict"))),
                                  number(figure("value")), number(figure("low") + " to " + figure("high")),
                                  words(visible(text_of(expectation, "reason")))});
  }
  return section;
}

std::string paragraph(const std::string& start, const std::string& text) {
  return text.empty() ? "" : "<p>" + html(start + visible(text, 1000)) + "</p>";
}

std::string verdict_card(const json& claim) {
  std::string verdict = verdict_words(text_of(claim, "verdict"));
  if (const std::string speedup = speedup_words(claim); !speedup.empty()) verdict += ": " + speedup;
  return "<section id=\"summary\"><h2>Verdict</h2><div class=\"card\"><p class=\"sentence\"><strong>" +
         html(verdict) + "</strong></p>" + paragraph("", text_of(claim, "reason")) +
         paragraph("Why: ", text_of(claim, "why")) + "</div></section>\n";
}

constexpr char kStyle[] =
    "<style>.order .grid{stroke:var(--grid)}.order .axis{font-size:11px;fill:var(--soft)}.order "
    ".base{fill:var(--base)}"
    ".order .new{fill:var(--new)}.order .disturbed{fill:none;stroke:var(--worse);stroke-width:2}</style>\n";

}  // namespace

std::string claim_html(const json& session, const json& claim, const json& samples, const std::string& back) {
  const std::string title = text_of(claim, "name");
  const auto runs = runs_of(claim, samples);
  std::string out = page_head(title_with("Claim " + visible(title, 60), "")) + kStyle;
  out += fmt::format(
      "<header><h1>Claim {}</h1><p class=\"facts\"><a href=\"{}\">All claims of {}</a>, session {}, the "
      "results were {}</p>"
      "</header>\n<main>\n",
      html_name(title, 100), html(back), html_name(text_of(session, "suite")),
      html_name(text_of(session, "session")), claim.value("checked", false) ? "checked" : "not checked");
  out += verdict_card(claim);
  const Chapter chapter{
      "claim",
      "Claim",
      {expectations_section(claim), runs_section(runs, visible(text_of(claim, "variant")))}};
  return out + chapter_html(chapter) + "</main></body></html>\n";
}

}  // namespace nl::report
