#pragma once
// Prompts for common investigations: which tools to call in which order, and how to tell what was found. Pure
// functions, any thread.

#include <string>

#include "base/json.h"
#include "mcp/provider.h"

namespace nl::mcp {

/// As prompts/list has them.
nlohmann::json prompts();
/// As prompts/get has it; a fault if there is no such prompt, or if an argument is missing or wrong.
Reply filled_prompt(const std::string& name, const nlohmann::json& arguments);

}  // namespace nl::mcp
