#include "http/answers.h"

#include <fmt/core.h>

#include "ops/envelope.h"

namespace nl::http {

using nlohmann::json;

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
      return 400;
    case ErrorCode::kPermission:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kConflict:
      return 409;
    case ErrorCode::kUnsupported:
      return 415;
    case ErrorCode::kLimit:
      return 422;
    case ErrorCode::kCancelled:
      return 499;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

Response json_answer(const json& body, int status) {
  Response response{.status = status};
  response.body = ops::compact_json(body) + "\n";
  return response;
}

Response refused(int status, std::string_view code, const std::string& message, const std::string& hint,
                 std::string_view operation) {
  json envelope = ops::error_envelope(operation, Error{ErrorCode::kBadInput, message, hint}, spelled);
  envelope["error"]["code"] = code;
  return json_answer(envelope, status);
}

Response failed(std::string_view operation, const Error& error) {
  return json_answer(ops::error_envelope(operation, error, spelled), status_of(error.code));
}

std::string spelled(const SuggestedCall& call) {
  return "POST /api/v1/" + call.operation + " " + call.parameters;
}

Response with_exit_code(Response response, const ops::Outcome& outcome) {
  if (outcome.exit_code != 0)
    response.headers.emplace_back("NeuroLens-Exit-Code", std::to_string(outcome.exit_code));
  return response;
}

Response answered(const ops::Operation& operation, const ops::Outcome& outcome) {
  return with_exit_code(json_answer(ops::envelope_of(operation.name, outcome, spelled)), outcome);
}

}  // namespace nl::http
