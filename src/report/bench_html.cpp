#include "report/bench_html.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/json.h"
#include "base/number_text.h"
#include "report/bench_words.h"
#include "report/escape.h"
#include "report/html_page.h"
#include "report/svg.h"

namespace nl::report {
namespace {

using nlohmann::json;

/// The bound of the expectation of a speed-up, from its text.
std::optional<double> expected_speedup(const json& claim) {
  for (const json& expectation : claim["expectations"]) {
    const std::string text = text_of(expectation, "text");
    constexpr std::string_view kStart = "speedup >= ";
    if (text.starts_with(kStart)) return std::strtod(text.c_str() + kStart.size(), nullptr);
  }
  return std::nullopt;
}

// ---- Forest plot

/// Speed-ups on a logarithmic axis, so that twice as fast and half as fast are as far from 1.
class Forest {
 public:
  explicit Forest(const json& claims) {
    for (const json& claim : claims) {
      for (const auto value : {number_of(claim, "low"), number_of(claim, "high"), number_of(claim, "speedup"),
                               expected_speedup(claim)})
        if (value && *value > 0) add(*value);
    }
    add(1);
    const double margin = std::max(0.01, (high_ - low_) * 0.06);
    low_ -= margin;
    high_ += margin;
  }

  std::string draw(const json& claims) const {
    const double height = kTop + kRow * static_cast<double>(claims.size()) + 30;
    Svg svg(kWidth, height, "forest", "Speed-ups of all claims with their intervals");
    const double bottom = kTop + kRow * static_cast<double>(claims.size());
    for (const double tick : ticks()) {
      svg.line(x(tick), kTop - 6, x(tick), bottom, tick == 1 ? "one" : "grid");
      svg.text(x(tick), bottom + 18, fmt::format("{:g} ×", tick), "axis", "middle");
    }
    double y = kTop + kRow / 2;
    for (const json& claim : claims) {
      draw_claim(svg, claim, y);
      y += kRow;
    }
    return svg.str();
  }

 private:
  static constexpr double kWidth = 960, kLeft = 330, kRight = 30, kTop = 20, kRow = 26;
  static constexpr size_t kNameLetters = 44;

  void add(double value) {
    low_ = std::min(low_, std::log(value));
    high_ = std::max(high_, std::log(value));
  }
  double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * (std::log(value) - low_) / (high_ - low_);
  }

  std::vector<double> ticks() const {
    std::vector<double> ticks;
    const double range = std::exp(high_) - std::exp(low_);
    double step = std::pow(10, std::floor(std::log10(range / 3)));
    if (range / step > 12) step *= 5;
    if (range / step > 6) step *= 2;
    for (double at = std::ceil(std::exp(low_) / step) * step; at <= std::exp(high_); at += step)
      ticks.push_back(std::round(at / step) * step);
    if (std::find(ticks.begin(), ticks.end(), 1.0) == ticks.end()) ticks.push_back(1);
    return ticks;
  }

  void draw_claim(Svg& svg, const json& claim, double y) const {
    svg.text(kLeft - 14, y + 4, visible(text_of(claim, "name"), kNameLetters), "label", "end");
    const auto speedup = number_of(claim, "speedup"), low = number_of(claim, "low"),
               high = number_of(claim, "high");
    const std::string verdict = text_of(claim, "verdict");
    if (const auto expected = expected_speedup(claim))
      svg.line(x(*expected), y - 9, x(*expected), y + 9, "expected");
    if (!speedup || *speedup <= 0) {
      svg.text(x(1) + 8, y + 4, verdict_words(verdict), "axis");
      return;
    }
    if (low && high && *low > 0)
      svg.line(x(*low), y, x(*high), y, std::string("interval ") + verdict_class(verdict));
    svg.circle(x(*speedup), y, 5, verdict_class(verdict));
  }

  double low_ = 0, high_ = 0;
};

// ---- Sections

std::string speedup_or_dash(const json& claim) {
  const std::string speedup = speedup_words(claim);
  return speedup.empty() ? "-" : speedup;
}

std::vector<std::string> remarks_of(const json& claim) {
  std::vector<std::string> remarks;
  if (std::string reason = text_of(claim, "reason"); !reason.empty()) remarks.push_back(std::move(reason));
  if (const std::string why = text_of(claim, "why"); !why.empty()) remarks.push_back("why: " + why);
  return remarks;
}

/// To a page of the claim; empty where there is none.
Cell page_cell(const json& claim, const char* what, const char* title) {
  const std::string page = text_of(claim.value("pages", json::object()), what);
  return page.empty() ? words("") : linked(title, page);
}

std::string results_words(const json& claim) {
  if (text_of(claim, "verdict") == "refused") return "-";
  return claim.value("checked", false) ? "checked" : "not checked";
}

void leave_out_last_if_empty(Table& table) {
  const auto is_empty = [](const std::vector<Cell>& row) { return row.back().text.empty(); };
  if (!std::all_of(table.rows.begin(), table.rows.end(), is_empty)) return;
  table.columns.pop_back();
  for (auto& row : table.rows) row.pop_back();
}

Section verdict_section(const json& session) {
  Section section{"verdicts", "Claims"};
  section.chart = Forest(session["targets"]).draw(session["targets"]);
  section.legend = {{"better", "met"}, {"worse", "not met, refused"}, {"base", "inconclusive"}};
  section.notes = {
      "A dot is how many times as fast as its baseline a variant is, and its line the interval; the short "
      "upright line is what was expected."};
  section.table.columns = {"claim",   "verdict", "speed-up (interval)", "expected", "runs", "baseline",
                           "variant", "results", "runs in order",       "profiles"};
  for (const json& claim : session["targets"]) {
    std::string expected;
    for (const json& expectation : claim["expectations"])
      expected += (expected.empty() ? "" : ", ") + text_of(expectation, "text");
    section.table.rows.push_back(
        {with_below(name(text_of(claim, "name")), remarks_of(claim)),
         words(verdict_words(text_of(claim, "verdict"))), words(speedup_or_dash(claim)),
         words(visible(expected)), number(grouped(claim["runs"].get<int64_t>())),
         number(time_of(claim["baseline"], "median_ns")), number(time_of(claim["changed"], "median_ns")),
         words(results_words(claim)), page_cell(claim, "runs", "every run"),
         page_cell(claim, "profiles", "comparison")});
  }
  leave_out_last_if_empty(section.table);
  return section;
}

std::string spark(const json& points) {
  Svg svg(120, 28, "spark", "speed-up by session");
  double low = INFINITY, high = -INFINITY;
  for (const json& point : points) {
    low = std::min(low, point["speedup"].get<double>());
    high = std::max(high, point["speedup"].get<double>());
  }
  const auto count = static_cast<double>(points.size());
  double at = 0.5;
  for (const json& point : points) {
    const double share = high > low ? (point["speedup"].get<double>() - low) / (high - low) : 0.5;
    svg.circle(4 + 112 * at / count, 24 - 20 * share, 2, "new");
    at++;
  }
  return svg.str();
}

Section history_section(const json& session) {
  Section section{"history", "History of the suite"};
  section.table.columns = {"claim", "sessions", "speed-up", "first", "now", "changes of level"};
  for (const auto& [claim, history] : session["history"].items()) {
    const json& points = history["points"];
    if (points.empty()) continue;
    std::string changes;
    for (const json& change : history["change_points"])
      changes += fmt::format("{}{:.3f} × → {:.3f} × at session {}", changes.empty() ? "" : "; ",
                             change["before"].get<double>(), change["after"].get<double>(),
                             change["at"].get<int64_t>() + 1);
    section.table.rows.push_back({name(claim), number(grouped(static_cast<int64_t>(points.size()))),
                                  picture(spark(points)), words(speedup_or_dash(points.front())),
                                  words(speedup_or_dash(points.back())),
                                  words(changes.empty() ? "none" : changes)});
  }
  return section;
}

Section machine_section(const json& session) {
  Section section{"machine", "The machine"};
  section.notes = {session["environment"].value("fit", false)
                       ? "Nothing that disturbs was found that is not allowed."
                       : "The machine was unfit."};
  section.table.columns = {"check", "state", "found", "allowed because"};
  for (const json& check : session["environment"]["checks"])
    section.table.rows.push_back({words(text_of(check, "id")), words(text_of(check, "state")),
                                  words(visible(text_of(check, "what"))),
                                  words(visible(text_of(check, "allowed_because")))});
  if (const auto overhead = number_of(session, "overhead_ns"))
    section.notes.push_back("A command that does nothing takes " +
                            duration_text(static_cast<int64_t>(*overhead)) + " here.");
  return section;
}

Section side_section(const json& session) {
  Section section{"sides", "Both sides in figures"};
  section.table.columns = {"claim",        "side",           "runs",     "median",        "cold",
                           "first result", "memory at most", "a second", "disturbed runs"};
  for (const json& claim : session["targets"]) {
    if (claim["runs"] == 0) continue;
    for (const char* const key : {"baseline", "changed"}) {
      const json& side = claim[key];
      const auto time = [&](const char* field) { return number(time_of(side, field)); };
      const auto memory = number_of(side, "peak_memory_bytes"), rate = number_of(side, "per_second");
      section.table.rows.push_back({name(text_of(claim, "name")), name(text_of(side, "name")),
                                    number(grouped(side["runs"].get<int64_t>())), time("median_ns"),
                                    time("cold_ns"), time("first_ns"),
                                    number(memory ? bytes_text(static_cast<int64_t>(*memory)) : "-"),
                                    number(rate ? fmt::format("{:.4g}", *rate) : "-"),
                                    number(grouped(side["disturbed"].get<int64_t>()))});
    }
  }
  section.notes = {
      "Cold is the first run of all, one value that does not count. Disturbed runs count; what disturbed "
      "them "
      "stands with each run."};
  return section;
}

std::string summary_words(const json& session) {
  std::map<std::string, int> counts;
  for (const json& claim : session["targets"]) counts[text_of(claim, "verdict")]++;
  std::string out;
  for (const char* const verdict : {"met", "not_met", "inconclusive", "refused"}) {
    if (counts[verdict] > 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[verdict], verdict_words(verdict));
  }
  return out.empty() ? "no claim is decided" : out;
}

}  // namespace

std::string bench_html(const json& session) {
  const std::string suite = text_of(session, "suite");
  std::string out = page_head(title_with("Claims of " + visible(suite, 60), ""));
  out +=
      "<style>.forest .grid{stroke:var(--grid)}.forest .one{stroke:var(--soft);stroke-width:1.5}.forest "
      ".expected{stroke:var(--ink);"
      "stroke-width:2}.forest .interval{stroke-width:3}.forest .interval.better{stroke:var(--better)}.forest "
      ".interval.worse{stroke:var(--worse)}.forest .interval.base{stroke:var(--base)}.forest "
      ".label{font:12px ui-monospace,"
      "monospace;fill:var(--ink)}.forest "
      ".axis{font-size:11px;fill:var(--soft)}svg.spark{height:28px;width:120px}"
      ".spark "
      ".new{fill:var(--new)}.better{background:var(--better)}.worse{background:var(--worse)}</style>\n";
  out += fmt::format(
      "<header><h1>Claims of {}</h1><p class=\"facts\">Session {}, file {}, by {}{}</p></header>\n<main>\n",
      html_name(suite, 100), html_name(text_of(session, "session")), html_name(text_of(session, "file")),
      html_name(text_of(session, "started_by")),
      session.value("finished", true) ? "" : ". <strong>It was interrupted and is not finished.</strong>");
  out += "<section id=\"summary\"><h2>Verdict</h2><div class=\"card\"><p class=\"sentence\"><strong>" +
         html(summary_words(session)) + "</strong></p></div></section>\n";
  Chapter chapter{"claims", "Claims", {verdict_section(session), side_section(session)}};
  if (Section history = history_section(session); !history.table.empty())
    chapter.sections.push_back(std::move(history));
  chapter.sections.push_back(machine_section(session));
  return out + chapter_html(chapter) + "</main></body></html>\n";
}

}  // namespace nl::report
