#pragma once
// Which part of the capture a report is about, for people.

#include <string>

#include "analyze/answer/window.h"

namespace nl::report {

/// Length of the window, and how it was chosen: "45.600 ms of 49.840 ms: 3 steps by profiler_step".
std::string window_words(const analyze::WindowAnswer& window);
/// "Outside: 1.200 ms, set-up before the first step." Empty if nothing worth a word is outside.
std::string outside_words(const analyze::WindowAnswer& window);

}  // namespace nl::report
