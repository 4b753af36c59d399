#pragma once
// The one JSON document that an answer is, whichever face gives it: data, warnings, what to do next and, if a
// budget cut it, what was left out. Pure functions, any thread.

#include <functional>
#include <string>
#include <string_view>

#include "ops/operation.h"

namespace nl::ops {

/// `spell` writes a suggested call in the words of the face.
nlohmann::json envelope_of(std::string_view operation, const Outcome& outcome,
                           const std::function<std::string(const SuggestedCall&)>& spell);

/// The same for a call that failed.
nlohmann::json error_envelope(std::string_view operation, const Error& error,
                              const std::function<std::string(const SuggestedCall&)>& spell);

/// The hint with its calls in their places; empty if the error has none.
std::string hint_of(const Error& error, const std::function<std::string(const SuggestedCall&)>& spell);

/// JSON Schema of that document; errors have another one.
nlohmann::json envelope_schema(const Operation& operation);

/// On one line, without blanks; what is no UTF-8 is replaced. Budgets count these bytes.
std::string compact_json(const nlohmann::json& value);

}  // namespace nl::ops
