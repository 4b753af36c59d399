#pragma once
// From an answer in text or JSON to a page: what operations on one run suggest at the end.

#include <string>

#include "ops/operation.h"

namespace nl::ops {

/// Adds the report of a run as files and its page in the browser. `id`: the short id.
inline void suggest_pages(Outcome& outcome, const std::string& id) {
  outcome.next.push_back(suggested("report", {{"run", id}, {"output", "report-" + id}}));
  outcome.next.push_back(suggested("view", {{"runs", nlohmann::json::array({id})}}));
}

}  // namespace nl::ops
