#pragma once
// The page of a bench session: verdicts, speed-ups with their intervals, history, machine, what was refused.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace nl::report {

/// `session` is the data of bench report.
std::string bench_html(const nlohmann::json& session);

}  // namespace nl::report
