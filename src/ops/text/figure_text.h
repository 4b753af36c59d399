#pragma once
// A figure of a run in words, with its unit: "1.204 ms", "37.5 %".

#include <string>

namespace nl::ops {

/// `unit` as metrics name it: ns, B, ratio, …
std::string figure_text(double value, const std::string& unit);

}  // namespace nl::ops
