#pragma once
// A small writer for SVG inside HTML. Attributes come from our own code; texts are escaped.

#include <string>
#include <string_view>

namespace nl::report {

/// Coordinates with at most two decimals, the same everywhere.
std::string coordinate(double value);

class Svg {
 public:
  /// `fit` stretches the picture to its box; then it may hold no text.
  Svg(double width, double height, std::string_view css_class, std::string_view label, bool fit = false);

  Svg& rect(double x, double y, double width, double height, std::string_view css_class);
  Svg& line(double x1, double y1, double x2, double y2, std::string_view css_class);
  Svg& circle(double x, double y, double radius, std::string_view css_class);
  Svg& path(std::string_view data, std::string_view css_class);
  /// `anchor`: start, middle or end.
  Svg& text(double x, double y, std::string_view text, std::string_view css_class,
            std::string_view anchor = "start");
  std::string str() const { return out_ + "</svg>"; }

 private:
  std::string out_;
};

}  // namespace nl::report
