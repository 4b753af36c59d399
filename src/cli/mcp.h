#pragma once
// `neurolens mcp`: the operations as tools of an agent, by messages over standard input and output, until the
// input ends.

#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace nl::cli {

struct McpCommand {
  bool allow_exec = false;  ///< offer what runs programs, too
  bool list = false;        ///< only print the tools
};

/// The tools as tools/list gives them.
nlohmann::json mcp_tools(const McpCommand& command);
/// One line for each, for people.
std::string mcp_tools_text(const McpCommand& command);

/// Until the input ends or it must stop.
Result<void> run_mcp(const McpCommand& command, const std::string& ledger, const std::string& principal,
                     const std::function<bool()>& must_stop);

}  // namespace nl::cli
