#include "report/roofline_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "report/escape.h"
#include "report/svg.h"

namespace nl::report {
namespace {

constexpr double kLetter = 7;  // width of a letter of the labels, rather more than less
constexpr double kLine = 13;
constexpr size_t kLabelled = 12;

struct Box {
  double x1, y1, x2, y2;
  bool hits(const Box& other) const {
    return x1 < other.x2 && other.x1 < x2 && y1 < other.y2 && other.y1 < y2;
  }
};

struct Point {
  double intensity, rate, time;
  std::string label;
  bool memory_bound;
};

/// A logarithmic axis of whole decades.
struct Axis {
  int first, last;  ///< exponents of ten
  double from, to;  ///< pixels
  double at(double value) const { return from + (std::log10(value) - first) / (last - first) * (to - from); }
};

std::string power_text(int exponent) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  if (exponent < 0) return fmt::format("{:.{}f}", std::pow(10.0, exponent), -exponent);
  const auto prefix = static_cast<size_t>(exponent / 3);
  if (prefix >= std::size(kPrefixes)) return fmt::format("1e{}", exponent);
  return fmt::format("{}{}", static_cast<int>(std::pow(10.0, exponent % 3)), kPrefixes[prefix]);
}

std::vector<Point> points_of(const RoofPicture& picture) {
  std::vector<Point> points;
  for (const RoofPoint& point : picture.points) {
    if (!point.intensity || !point.flops_per_s) continue;
    if (*point.intensity <= 0 || *point.flops_per_s <= 0) continue;
    points.push_back({*point.intensity, *point.flops_per_s, static_cast<double>(point.time_ns),
                      visible(point.name, 24) + " " + point.dtype, point.memory_bound});
  }
  return points;
}

/// Peaks of the dtypes that occur, those of equal height together; the names of one height.
std::map<double, std::string> peaks_of(const RoofPicture& picture) {
  std::set<std::string> used;
  for (const RoofPoint& point : picture.points) used.insert(point.dtype);
  std::map<double, std::string> peaks;
  for (const auto& [dtype, rate] : picture.peaks->dense) {
    if (!used.contains(dtype)) continue;
    std::string& names = peaks[rate];
    names += (names.empty() ? "" : ", ") + dtype;
  }
  return peaks;
}

class Plot {
 public:
  Plot(const RoofPicture& picture, double width, std::string_view css_class)
      : points_(points_of(picture)),
        peaks_(peaks_of(picture)),
        bandwidth_(*picture.peaks->bandwidth),
        width_(width),
        svg_(width, height(), css_class, "Roofline of the ops of the device") {}

  std::string draw() {
    set_axes();
    draw_grid();
    draw_roofs();
    draw_points();
    return svg_.str();
  }

 private:
  double height() const { return width_ > 500 ? 430 : 360; }

  void set_axes() {
    double least_x = 1, most_x = peaks_.rbegin()->first / bandwidth_ * 3, least_y = 1e99;
    double most_y = peaks_.rbegin()->first;
    for (const Point& point : points_) {
      least_x = std::min(least_x, point.intensity);
      most_x = std::max(most_x, point.intensity);
      least_y = std::min(least_y, point.rate);
      most_y = std::max(most_y, point.rate);
    }
    const auto below = [](double value) { return static_cast<int>(std::floor(std::log10(value * 0.8))); };
    const auto above = [](double value) { return static_cast<int>(std::ceil(std::log10(value * 1.3))); };
    x_ = {below(least_x), above(most_x), 46, width_ - 12};
    y_ = {below(least_y), above(most_y), height() - 46, 14};
  }

  void draw_grid() {
    const int every_x = (x_.to - x_.from) / (x_.last - x_.first) < 34 ? 2 : 1;
    for (int i = x_.first; i <= x_.last; i++) {
      const double x = x_.at(std::pow(10.0, i));
      svg_.line(x, y_.to, x, y_.from, "grid");
      if ((i - x_.first) % every_x == 0) svg_.text(x, y_.from + 16, power_text(i), "axis", "middle");
    }
    for (int i = y_.first; i <= y_.last; i++) {
      const double y = y_.at(std::pow(10.0, i));
      svg_.line(x_.from, y, x_.to, y, "grid");
      svg_.text(x_.from - 6, y + 4, power_text(i), "axis", "end");
    }
    svg_.text((x_.from + x_.to) / 2, y_.from + 36, "operations per byte", "axis", "middle");
    svg_.text(x_.from + 4, y_.to + 12, "FLOP/s", "axis");
    taken_.push_back({x_.from, y_.to, x_.from + 8 * kLetter, y_.to + kLine + 3});
  }

  void draw_roofs() {
    const double top = peaks_.rbegin()->first, left = std::pow(10.0, x_.first);
    const double start = std::max(left, std::pow(10.0, y_.first) / bandwidth_);
    svg_.line(x_.at(start), y_.at(start * bandwidth_), x_.at(top / bandwidth_), y_.at(top), "roof");
    double free_y = -1e9;
    for (auto it = peaks_.rbegin(); it != peaks_.rend(); ++it) {
      const double y = y_.at(it->first);
      svg_.line(x_.at(it->first / bandwidth_), y, x_.to, y, "roof");
      const std::string label = fmt::format("{} {:.4g} TFLOP/s", it->second, it->first / 1e12);
      const double at = std::max(y - 4, free_y);
      free_y = at + kLine;
      keep_roof_label(x_.to, at, label);
    }
    const double middle = std::sqrt(start * top / bandwidth_);
    const std::string label = fmt::format("{:.4g} GB/s", bandwidth_ / 1e9);
    keep_roof_label(x_.at(middle) - 8, y_.at(middle * bandwidth_) - 4, label);
  }

  /// Its place is taken from now on; it is drawn above the circles.
  void keep_roof_label(double x, double y, const std::string& label) {
    taken_.push_back(box(x, y, label, "end"));
    roof_labels_.push_back({x, y, label});
  }

  void place(double x, double y, const std::string& label, const char* anchor) {
    taken_.push_back(box(x, y, label, anchor));
    svg_.text(x, y, label, "label", anchor);
  }

  static Box box(double x, double y, const std::string& label, std::string_view anchor) {
    const auto letters = std::count_if(label.begin(), label.end(), [](char c) { return (c & 0xC0) != 0x80; });
    const double width = static_cast<double>(letters) * kLetter;
    const double left = anchor == "end" ? x - width : anchor == "middle" ? x - width / 2 : x;
    return {left, y - kLine + 3, left + width, y + 3};
  }

  double radius(const Point& point) const {
    double most = 1;
    for (const Point& other : points_) most = std::max(most, other.time);
    return 3 + (width_ > 500 ? 15 : 10) * std::sqrt(point.time / most);
  }

  void draw_points() {
    for (const Point& point : points_) {
      const double x = x_.at(point.intensity), y = y_.at(point.rate), r = radius(point);
      svg_.circle(x, y, r, point.memory_bound ? "op memory-bound" : "op");
      if (r > 5) taken_.push_back({x - r * 0.9, y - r * 0.9, x + r * 0.9, y + r * 0.9});
    }
    for (const Label& label : roof_labels_) svg_.text(label.x, label.y, label.text, "roof-label", "end");
    for (size_t i = 0; i < std::min(points_.size(), kLabelled); i++) draw_label(points_[i]);
  }

  /// Beside, above or below its circle, where nothing else stands; else not at all: the table has it.
  void draw_label(const Point& point) {
    const double x = x_.at(point.intensity), y = y_.at(point.rate), r = radius(point) + 3;
    const struct {
      double x, y;
      const char* anchor;
    } places[] = {{x + r, y + 4, "start"},  {x - r, y + 4, "end"},
                  {x, y - r - 2, "middle"}, {x, y + r + kLine - 3, "middle"},
                  {x + r, y - r, "start"},  {x + r, y + r + 8, "start"},
                  {x - r, y - r, "end"},    {x - r, y + r + 8, "end"}};
    for (const auto& at : places) {
      const Box here = box(at.x, at.y, point.label, at.anchor);
      const bool inside = here.x1 >= x_.from && here.x2 <= x_.to && here.y1 >= y_.to && here.y2 <= y_.from;
      if (!inside || std::any_of(taken_.begin(), taken_.end(), [&](const Box& b) { return b.hits(here); }))
        continue;
      return place(at.x, at.y, point.label, at.anchor);
    }
  }

  std::vector<Point> points_;
  std::map<double, std::string> peaks_;
  double bandwidth_;
  double width_;
  Svg svg_;
  Axis x_{}, y_{};
  struct Label {
    double x, y;
    std::string text;
  };
  std::vector<Label> roof_labels_;
  std::vector<Box> taken_;
};

}  // namespace

std::string roofline_plot(const RoofPicture& picture, double width, std::string_view css_class) {
  if (!picture.peaks || !picture.peaks->bandwidth) return "";
  if (points_of(picture).empty() || peaks_of(picture).empty()) return "";
  return Plot(picture, width, css_class).draw();
}

}  // namespace nl::report
