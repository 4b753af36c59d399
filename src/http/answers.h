#pragma once
// Answers that every part of the server gives: the envelope of an outcome, and that of an error. Pure
// functions, any thread.

#include <string>
#include <string_view>

#include "base/json.h"
#include "http/message.h"
#include "ops/operation.h"

namespace nl::http {

/// Status that stands for the code of an error.
int status_of(ErrorCode code);

Response json_answer(const nlohmann::json& body, int status = 200);
/// The envelope with an error, as the command line writes it.
Response refused(int status, std::string_view code, const std::string& message, const std::string& hint,
                 std::string_view operation = "request");
Response failed(std::string_view operation, const Error& error);

/// A suggested call as the request that makes it.
std::string spelled(const SuggestedCall& call);

/// Says what the command line would end with, if it is not 0: a gate has failed.
Response with_exit_code(Response response, const ops::Outcome& outcome);
Response answered(const ops::Operation& operation, const ops::Outcome& outcome);

}  // namespace nl::http
