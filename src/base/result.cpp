#include "base/result.h"

namespace nl {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadInput:
      return "bad_input";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kLimit:
      return "limit";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace nl
