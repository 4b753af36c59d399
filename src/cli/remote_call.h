#pragma once
// A call of an operation on the ledger of a server: --ledger https://… . Files of this machine stay here:
// only `push` sends some.

#include <string>
#include <string_view>

#include "base/json.h"
#include "ops/operation.h"

namespace nl::cli {

/// Does it work on a ledger of this machine, whatever server it asks?
bool is_between_ledgers(const ops::Operation& operation);

/// Writes what the server answers: its envelope, or text for people. What this process should end with.
Result<int> ask_server(const std::string& address, const ops::Operation& operation,
                       const nlohmann::json& parameters, bool as_json,
                       Result<void> (*write)(std::string_view));

/// What a server suggests, as commands; hints for programs alone are left out.
Error in_our_words(Error error);
std::string in_our_words(std::string text);

}  // namespace nl::cli
