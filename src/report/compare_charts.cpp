#include "report/compare_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/number_text.h"
#include "report/charts.h"
#include "report/compare_words.h"
#include "report/escape.h"
#include "report/svg.h"

namespace nl::report {
namespace {

using compare::Comparison;
using compare::PartRow;

constexpr size_t kMostBars = 12;
constexpr double kLeastBar = 0.005;  // of the largest one

// ---- Waterfall

struct Bar {
  std::string label;
  int64_t from, to;
  const char* css_class;
  std::string value;
};

struct Waterfall {
  std::vector<Bar> bars;
  int64_t start = 0, end = 1;  ///< of the axis
};

int64_t largest_delta(const std::vector<PartRow>& parts) {
  int64_t largest = 0;
  for (const PartRow& part : parts) largest = std::max(largest, std::abs(part.delta_ns));
  return largest;
}

bool is_shown(const PartRow& part, size_t shown, int64_t largest) {
  return part.delta_ns != 0 && shown < kMostBars &&
         static_cast<double>(std::abs(part.delta_ns)) >= kLeastBar * static_cast<double>(largest);
}

void add_step(std::vector<Bar>& bars, std::string label, int64_t delta) {
  const int64_t from = bars.back().to;
  bars.push_back(
      {std::move(label), from, from + delta, delta > 0 ? "worse" : "better", signed_duration_text(delta)});
}

std::vector<Bar> bars_of(const Comparison& comparison) {
  const int64_t base = comparison.base.window_ns, next = comparison.next.window_ns;
  std::vector<Bar> bars = {{"base", 0, base, "base", duration_text(base)}};
  const int64_t largest = largest_delta(comparison.parts);
  size_t shown = 0, hidden = 0;
  for (const PartRow& part : comparison.parts) {
    if (is_shown(part, shown, largest)) {
      add_step(bars, part_title(part), part.delta_ns);
      shown++;
    } else if (part.delta_ns != 0) {
      hidden++;
    }
  }
  if (bars.back().to != next) add_step(bars, counted(hidden, "other part"), next - bars.back().to);
  bars.push_back({"new", 0, next, "new", duration_text(next)});
  return bars;
}

Waterfall waterfall_of(const Comparison& comparison) {
  Waterfall out{bars_of(comparison)};
  int64_t low = INT64_MAX, high = 1;
  for (const Bar& bar : out.bars) {
    low = std::min(low, bar.to);
    high = std::max(high, bar.to);
  }
  const int64_t span = high - low;
  if (low > 0 && span < high / 4) out.start = std::max<int64_t>(0, low - span / 2 - 1);
  out.end = high;
  return out;
}

/// Where things stand: on a narrow screen, the texts are above their bar.
struct Layout {
  explicit Layout(double all)
      : narrow(all < 600),
        left(narrow ? 0 : 210),
        right(narrow ? all : all - 110),
        row(narrow ? 40 : 27),
        bar_top(narrow ? 19 : 5),
        width(all) {}
  bool narrow;
  double left, right, row, bar_top, width;
  static constexpr double kBar = 16;
};

class WaterfallDrawing {
 public:
  WaterfallDrawing(const Waterfall& data, double width, std::string_view css_class)
      : data_(data),
        at_(width),
        svg_(width, at_.row * static_cast<double>(data.bars.size()), css_class,
             "From the base to the new side, part by part") {}

  std::string draw() {
    for (size_t i = 0; i < data_.bars.size(); i++) draw(data_.bars[i], i);
    return svg_.str();
  }

 private:
  double x(int64_t ns) const {
    const double share = static_cast<double>(ns - data_.start) / static_cast<double>(data_.end - data_.start);
    return at_.left + std::clamp(share, 0.0, 1.0) * (at_.right - at_.left);
  }

  void draw(const Bar& bar, size_t i) {
    const double top = at_.row * static_cast<double>(i), y = top + at_.bar_top;
    const bool whole = i == 0 || i + 1 == data_.bars.size();
    const double from = whole ? at_.left : x(std::min(bar.from, bar.to)), to = x(std::max(bar.from, bar.to));
    svg_.rect(from, y, std::max(1.0, to - from), Layout::kBar, bar.css_class);
    if (whole && data_.start > 0) svg_.rect(at_.left + 10, y - 1, 4, Layout::kBar + 2, "gap");
    if (i + 1 < data_.bars.size()) svg_.line(x(bar.to), y + Layout::kBar, x(bar.to), y + at_.row, "zero");
    const double baseline = at_.narrow ? top + 13 : y + 12;
    svg_.text(at_.narrow ? 0 : at_.left - 10, baseline, bar.label, "label", at_.narrow ? "start" : "end");
    svg_.text(at_.width, baseline, bar.value, "label", "end");
  }

  const Waterfall& data_;
  Layout at_;
  Svg svg_;
};

// ---- Sides

constexpr const char* kCssClasses[compare::kPartKinds] = {"compute", "comm", "copy", "idle", "rest"};

using Kinds = std::array<double, compare::kPartKinds>;

Kinds kinds_of(const Comparison& comparison, int64_t PartRow::*ns) {
  Kinds kinds{};
  for (const PartRow& part : comparison.parts)
    kinds[static_cast<size_t>(part.kind)] += static_cast<double>(part.*ns);
  return kinds;
}

/// Layers that were slowed down by being measured give a rest below zero, which no bar shows.
double drawn(const Kinds& kinds) {
  double sum = 0;
  for (const double ns : kinds) sum += std::max(0.0, ns);
  return sum;
}

std::string side_label(const char* title, const compare::ComparedSide& side, int64_t ns) {
  return fmt::format("<p class=\"side\"><span>{} {}</span><span>{}</span></p>", title, html(short_run(side)),
                     duration_text(ns));
}

std::string side_bar(const Kinds& kinds, double most, const char* label) {
  Svg svg(1000, 10, "decomposition", label, true);
  double x = 0;
  for (size_t i = 0; i < kinds.size(); i++) {
    const double width = std::max(0.0, kinds[i]) / most * 1000;
    if (width > 0) svg.rect(x, 0, width, 10, kCssClasses[i]);
    x += width;
  }
  return svg.str();
}

// ---- Dots

double middle_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

int64_t waterfall_start(const Comparison& comparison) {
  return waterfall_of(comparison).start;
}

std::string waterfall_chart(const Comparison& comparison, double width, std::string_view css_class) {
  const Waterfall data = waterfall_of(comparison);
  return WaterfallDrawing(data, width, css_class).draw();
}

std::string sides_chart(const Comparison& comparison) {
  const Kinds base = kinds_of(comparison, &PartRow::base_ns), next = kinds_of(comparison, &PartRow::new_ns);
  const double most = std::max(drawn(base), drawn(next));
  if (most <= 0) return "";
  return side_label("Base", comparison.base, comparison.base.window_ns) +
         side_bar(base, most, "Parts of the base") +
         side_label("New", comparison.next, comparison.next.window_ns) +
         side_bar(next, most, "Parts of the new side");
}

int64_t strips_ns(const Comparison& comparison) {
  return std::max(comparison.base.strip_ns.value_or(0), comparison.next.strip_ns.value_or(0));
}

std::string strips_chart(const Comparison& comparison) {
  std::string out;
  const auto most = static_cast<double>(strips_ns(comparison));
  for (const auto& [side, title] :
       {std::pair(&comparison.base, "Base"), std::pair(&comparison.next, "New")}) {
    if (!side->strip || side->strip->empty()) return "";
    const int64_t ns = side->strip_ns.value_or(0);
    out += side_label(title, *side, ns) +
           strip_chart(*side->strip, static_cast<double>(ns) / most, "strip aligned");
  }
  return out;
}

std::pair<double, double> range_of(const compare::RunValues& values) {
  double low = INFINITY, high = -INFINITY;
  for (const auto* side : {&values.base, &values.next}) {
    for (const double value : *side) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  return {low, high};
}

std::string dots_chart(const compare::RunValues& values, double width, double height,
                       std::string_view css_class) {
  Svg svg(width, height, css_class, "One dot for each run, the base above");
  const double radius = std::min(6.0, height / 6), lane = height / 2;
  const auto [low, high] = range_of(values);
  const auto x = [&, low = low, high = high](double value) {
    return high <= low ? width / 2 : 2 * radius + (value - low) / (high - low) * (width - 4 * radius);
  };
  double y = lane / 2;
  for (const auto& [numbers, side] : {std::pair(&values.base, "base"), std::pair(&values.next, "new")}) {
    for (const double value : *numbers) svg.circle(x(value), y, radius, side);
    if (numbers->size() > 1) {
      const double middle = x(middle_of(*numbers));
      svg.line(middle, y - lane / 2 + 1, middle, y + lane / 2 - 1, side);
    }
    y += lane;
  }
  return svg.str();
}

std::string delta_chart(int64_t delta_ns, int64_t largest_ns) {
  const double share =
      largest_ns == 0 ? 0 : static_cast<double>(std::abs(delta_ns)) / static_cast<double>(largest_ns);
  const double width = std::clamp(share, 0.0, 1.0) * 50;
  Svg svg(100, 10, "delta", signed_duration_text(delta_ns), true);
  svg.line(50, 0, 50, 10, "zero");
  if (width > 0) svg.rect(delta_ns < 0 ? 50 - width : 50, 1, width, 8, delta_ns < 0 ? "better" : "worse");
  return svg.str();
}

}  // namespace nl::report
