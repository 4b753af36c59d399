#pragma once
// Addresses of what a ledger has: neurolens://run/ID, neurolens://run/ID/report, neurolens://rules,
// neurolens://rule/ID, neurolens://metrics and neurolens://metric/ID. An address names a question to an
// operation. Untrusted texts in, pure functions, any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace nl::mcp {

inline constexpr int64_t kRunsOnPage = 100;

struct Question {
  std::string_view operation;
  nlohmann::json parameters = nlohmann::json::object();
  bool as_text = false;  ///< what the operation says to people, instead of its envelope
};

/// Nothing if it is no address of ours.
std::optional<Question> resource_of(std::string_view uri);

/// What is there in every ledger.
nlohmann::json fixed_resources();
/// A row of the operation `runs` as a resource.
nlohmann::json run_resource(const nlohmann::json& run);
nlohmann::json resource_templates();

/// A cursor is the number of runs before the page; nothing if it is none.
std::optional<int64_t> offset_of(const std::string& cursor);
std::string cursor_for(int64_t offset);

/// Where values for an argument come from: rows of an answer, and the key that is offered.
struct CompletionSource {
  std::string_view operation;
  nlohmann::json parameters;
  const char* rows;
  const char* key;
};
std::optional<CompletionSource> completion_of(const nlohmann::json& ref, std::string_view argument);

}  // namespace nl::mcp
