#pragma once
// From an answer in text or JSON to a page: what operations on one run suggest at the end.

#include <string>

#include "ops/runs/run_names.h"

namespace nl::ops {

/// Adds the report of a run as files and its page in the browser.
inline void suggest_pages(Outcome& outcome, const NamedRun& run) {
  const std::string name = run.call_name();
  outcome.next.push_back(suggested("report", {{"run", name}, {"output", "report-" + short_id(run.run_id)}}));
  outcome.next.push_back(suggested("view", {{"runs", nlohmann::json::array({name})}}));
}

}  // namespace nl::ops
