#pragma once
// Operations as tools: which ones are offered to whom, and how they are described. What an operation declares
// is all there is; nobody writes a tool. Pure functions, any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "ops/operation.h"

namespace nl::mcp {

inline constexpr int64_t kDefaultTokens = 1500;  ///< of an answer, unless the caller gives a budget

/// What whoever asks may do.
struct Rights {
  ops::Effect may = ops::Effect::kRead;
  bool host_paths = false;  ///< may arguments name files of this machine?
};

/// May it be a tool at all? Not if its answer is a stream of bytes, or read by an address alone.
bool can_be_tool(const ops::Operation& operation);
/// Is it a tool for somebody with these rights? Not if it needs more, or a file that cannot be named.
bool is_offered(const ops::Operation& operation, const Rights& rights);

/// Its parameters without our own marks, without rare ones, which it takes all the same, without what the
/// rights do not allow, and without files that it would write for people: so a tool that reads stays one that
/// only reads.
nlohmann::json input_schema(const ops::Operation& operation, const Rights& rights);
bool takes(const ops::Operation& operation, const std::string& argument, const Rights& rights);

/// As tools/list has it.
nlohmann::json tool_of(const ops::Operation& operation, const Rights& rights);
/// In the order of their names.
nlohmann::json tools_for(const Rights& rights);

/// A call in the words of tools: `analyze {"run": "…"}`.
std::string spelled_for(const SuggestedCall& call, const Rights& rights);

}  // namespace nl::mcp
