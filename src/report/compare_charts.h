#pragma once
// The pictures of a comparison as SVG, in the colours of the page. Pictures with a given width contain text;
// the others stretch to their box.

#include <string>
#include <string_view>
#include <vector>

#include "compare/answer.h"

namespace nl::report {

/// From the window of the base over what each part adds or takes to that of the new side. `width` in CSS
/// pixels.
std::string waterfall_chart(const compare::Comparison& comparison, double width, std::string_view css_class);
/// Where the axis of the waterfall begins: 0 unless the differences would be too small to be seen.
int64_t waterfall_start(const compare::Comparison& comparison);

/// One bar for each side, on one scale. Empty if there is no time.
std::string sides_chart(const compare::Comparison& comparison);
/// Both strips on one axis of time; empty if a side has none.
std::string strips_chart(const compare::Comparison& comparison);
/// What the right end of that axis stands for.
int64_t strips_ns(const compare::Comparison& comparison);

/// Each run a dot, the base above, with a line at the middle of each side.
std::string dots_chart(const compare::RunValues& values, double width, double height,
                       std::string_view css_class);
/// Least and largest of the values of both sides.
std::pair<double, double> range_of(const compare::RunValues& values);

/// To the left for less and to the right for more, from one axis.
std::string delta_chart(int64_t delta_ns, int64_t largest_ns);

}  // namespace nl::report
