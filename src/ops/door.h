#pragma once
// The only way to call an operation: the command line, the server and other operations all come through here.
// What an operation declares (parameters, rights) is enforced in this place, so no operation has to do it and
// no caller can forget it.

#include <string_view>

#include "ops/operation.h"

namespace nl::ops {

/// Checks the parameters against the operation's schema, fills in its defaults, holds the call against the
/// rights of the context, and runs it. bad_input names the JSON pointers of wrong parameters; permission says
/// which right is missing; an exception becomes an error. The answer is cut to the parameter `budget`, if
/// there is one. Any thread may call, each with a context of its own.
Result<Outcome> call(std::string_view operation, nlohmann::json parameters, Context& context);

/// The same checks without the call: what call() would refuse, this refuses.
Result<void> check_call(std::string_view operation, nlohmann::json parameters, const Context& context);

/// The strongest effect that a call with these parameters may have.
Effect effect_of(const Operation& operation, const nlohmann::json& parameters);

/// call() for those who keep answers; what an operation streams as bytes goes to the text.
using AskOperation = std::function<Result<Outcome>(const std::string& operation,
                                                   const nlohmann::json& parameters, std::string& bytes)>;
/// With the rights of the context, less the right to change anything.
AskOperation asking(const Context& context);

}  // namespace nl::ops
