#include "report/svg.h"

#include <fmt/core.h>

#include <cmath>

#include "report/escape.h"

namespace nl::report {

std::string coordinate(double value) {
  const double rounded = std::round(value * 100) / 100;
  std::string text = fmt::format("{:.2f}", rounded == 0 ? 0.0 : rounded);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

Svg::Svg(double width, double height, std::string_view css_class, std::string_view label, bool fit)
    : out_(fmt::format("<svg class=\"{}\" viewBox=\"0 0 {} {}\"{} role=\"img\" aria-label=\"{}\">", css_class,
                       coordinate(width), coordinate(height), fit ? " preserveAspectRatio=\"none\"" : "",
                       html(label))) {}

Svg& Svg::rect(double x, double y, double width, double height, std::string_view css_class) {
  out_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", css_class,
                      coordinate(x), coordinate(y), coordinate(width), coordinate(height));
  return *this;
}

Svg& Svg::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  out_ += fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>", css_class,
                      coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2));
  return *this;
}

Svg& Svg::circle(double x, double y, double radius, std::string_view css_class) {
  out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>", css_class, coordinate(x),
                      coordinate(y), coordinate(radius));
  return *this;
}

Svg& Svg::path(std::string_view data, std::string_view css_class) {
  out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", css_class, data);
  return *this;
}

Svg& Svg::text(double x, double y, std::string_view text, std::string_view css_class,
               std::string_view anchor) {
  out_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", css_class,
                      coordinate(x), coordinate(y), anchor, html(text));
  return *this;
}

}  // namespace nl::report
