#pragma once
// Parameters of an operation from a request: a JSON object as the body of a POST, or the query of a GET,
// whose texts become what the schema of the operation says. Pure functions, any thread.

#include "base/json.h"
#include "base/result.h"
#include "http/message.h"
#include "ops/operation.h"

namespace nl::http {

/// Pages of other sites cannot send this type without asking first.
bool is_json(const Request& request);
Error not_json();

/// bad_input names the parameter that cannot be read. The door checks the rest.
Result<nlohmann::json> parameters_of(const ops::Operation& operation, const Request& request);

}  // namespace nl::http
