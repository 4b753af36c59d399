#pragma once
// State of a call that goes on in another request. A server of 2026-07-28 remembers nothing between requests:
// the client carries the state, and a seal shows whether it changed it or sends it with another call. Any
// thread.

#include <optional>
#include <string>
#include <string_view>

namespace nl::mcp {

class RequestState {
 public:
  /// With a key of this process: after a restart nobody's state is good any more.
  RequestState();

  /// `of`: what the state belongs to, e.g. the method and the name of the tool.
  std::string sealed(std::string_view of, std::string_view state) const;
  /// Nothing if it is not what sealed() gave for the same call.
  std::optional<std::string> opened(std::string_view of, std::string_view text) const;

 private:
  std::string seal(std::string_view of, std::string_view state) const;

  const std::string key_;
};

}  // namespace nl::mcp
