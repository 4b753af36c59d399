#pragma once
// The address of a server, as people type it and as a server prints it. Pure functions, any thread.

#include <string>
#include <string_view>

#include "base/result.h"

namespace nl::remote {

/// http://host:port/base, https://…, or unix:///path of a socket.
struct Address {
  bool is_secure = false;
  std::string host;
  std::string port;
  std::string base_path = {};
  std::string socket = {};  ///< a file instead of host and port
  std::string token = {};   ///< from ?token=…, as a server prints it
};
bool is_address(std::string_view text);
Result<Address> parse_address(std::string_view text);

}  // namespace nl::remote
