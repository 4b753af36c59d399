#include "report/trend_plot.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/number_text.h"
#include "report/svg.h"

namespace nl::report {
namespace {

using compare::TrendChange;
using compare::TrendGroup;

constexpr double kWidth = 900, kPanel = 150, kLeft = 110, kRight = 20, kTop = 30, kPlot = 100;
constexpr size_t kMostPanels = 40;

constexpr char kStyle[] =
    "<style>svg{background:#fff;font:12px "
    "sans-serif}.dot{fill:#2f6fb5}.level{stroke:#1d2126;stroke-width:1.5}"
    ".worse{stroke:#b5302f}.better{stroke:#2f8f4e}.changed{stroke:#8a6fb8}.pending{stroke:#b0b5bb}"
    ".worse,.better,.changed,.pending{stroke-width:1.5;stroke-dasharray:4 "
    "3}.axis{fill:#59626d;font-size:11px}"
    ".frame{fill:none;stroke:#dcdfe3}.title{fill:#1d2126;font-weight:600}</style>";

std::string value_text(double value, const std::string& unit) {
  if (unit == "ns") return duration_text(static_cast<int64_t>(value));
  if (unit == "ratio") return percent_text(value);
  return fmt::format("{:.5g} {}", value, unit);
}

/// Where values and runs lie in a panel.
struct Scale {
  double low, high, top;
  size_t runs;
  double x(double run) const {
    return kLeft + (kWidth - kLeft - kRight) * (run + 0.5) / static_cast<double>(runs);
  }
  double y(double value) const { return top + kPlot * (high > low ? (high - value) / (high - low) : 0.5); }
};

Scale scale_of(const TrendGroup& group, double top) {
  const double min = group.summary.min, max = group.summary.max;
  const double margin = (max - min) * 0.05;
  return {min - margin, max + margin, top, group.points.size()};
}

void draw_levels(Svg& svg, const TrendGroup& group, const Scale& scale) {
  const auto& changes = group.change_points;
  double level = changes.empty() ? group.summary.median : changes[0].before;
  double from = -0.5;
  for (const TrendChange& change : changes) {
    const double at = static_cast<double>(change.at) - 0.5;
    svg.line(scale.x(from), scale.y(level), scale.x(at), scale.y(level), "level");
    const std::string_view kind = change.alert ? compare::trend_meaning_name(change.meaning) : "pending";
    svg.line(scale.x(at), scale.top, scale.x(at), scale.top + kPlot, kind);
    level = change.after;
    from = at;
  }
  svg.line(scale.x(from), scale.y(level), scale.x(static_cast<double>(scale.runs) - 0.5), scale.y(level),
           "level");
}

void draw_group(Svg& svg, const TrendGroup& group, const std::string& unit, double top) {
  const Scale scale = scale_of(group, top + kTop);
  svg.text(kLeft, top + kTop - 10,
           compare::group_title(group.group, " · ") + ", " +
               counted(static_cast<int64_t>(group.points.size()), "run"),
           "title");
  svg.rect(kLeft, scale.top, kWidth - kLeft - kRight, kPlot, "frame");
  svg.text(kLeft - 8, scale.top + 10, value_text(group.summary.max, unit), "axis", "end");
  svg.text(kLeft - 8, scale.top + kPlot, value_text(group.summary.min, unit), "axis", "end");
  draw_levels(svg, group, scale);
  double run = 0;
  for (const auto& point : group.points) svg.circle(scale.x(run++), scale.y(point.value), 2, "dot");
}

}  // namespace

std::string trend_plot(const compare::Trend& trend) {
  const size_t panels = std::min(trend.groups.size(), kMostPanels);
  Svg svg(kWidth, kPanel * static_cast<double>(std::max<size_t>(panels, 1)) + 30, "trend",
          "trend of " + trend.figure.id);
  svg.text(kLeft, 18,
           fmt::format("{} in the order of {}", trend.figure.id,
                       trend.order == "imported" ? "imports" : trend.order),
           "axis");
  for (size_t i = 0; i < panels; i++) {
    draw_group(svg, trend.groups[i], trend.figure.unit, 15 + kPanel * static_cast<double>(i));
  }
  std::string text = svg.str();
  text.insert(text.find('>') + 1, kStyle);
  return text.insert(5, "xmlns=\"http://www.w3.org/2000/svg\" ") + "\n";
}

}  // namespace nl::report
