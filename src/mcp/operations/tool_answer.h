#pragma once
// Answers of operations as results of tools: the envelope as structured content, and a short text whose first
// line is the conclusion. Pure functions, any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "mcp/operations/tools.h"
#include "ops/operation.h"

namespace nl::mcp {

/// Suggestions that lead to a tool; others would send an agent where it cannot go.
std::vector<SuggestedCall> calls_of_tools(const std::vector<SuggestedCall>& calls, const Rights& rights);

/// Takes `budget` out of the arguments; the default where there is none. A budget that is wrong stays, so
/// that the door refuses it.
int64_t take_budget(const ops::Operation& operation, nlohmann::json& arguments, int64_t tokens_by_default);

/// Cuts the answer to so many tokens. If even the least does not fit and the caller did not choose the budget
/// (`may_grow`), the budget is doubled until it does: an answer is worth more than the default.
Result<void> fit(const ops::Operation& operation, int64_t tokens, bool may_grow, const ops::Context& context,
                 ops::Outcome& outcome);

/// `text`: what the operation says to people, made before the answer was cut.
nlohmann::json answer_result(const ops::Operation& operation, const ops::Outcome& outcome,
                             const std::string& text, const Rights& rights);
nlohmann::json error_result(std::string_view operation, const Error& error, const Rights& rights);

/// What an operation says to people, its conclusion first, at most some 2,000 bytes.
std::string short_text(const ops::Operation& operation, const ops::Outcome& outcome);

}  // namespace nl::mcp
