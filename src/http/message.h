#pragma once
// A request and its answer, without the library that carries them.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace nl::http {

enum class Method { kGet, kHead, kPost, kPut, kDelete, kOther };

struct Request {
  Method method = Method::kGet;
  std::string path = {};                                         ///< decoded, without the base path
  std::vector<std::pair<std::string, std::string>> query = {};   ///< decoded, in order
  std::map<std::string, std::string, std::less<>> headers = {};  ///< names in lower case
  std::string body = {};
  std::string address = {};                              ///< of the client
  bool is_near = false;                                  ///< the client is on this machine
  bool is_secure = false;                                ///< it came by TLS
  std::function<bool()> is_gone = [] { return false; };  ///< has the client left?

  /// Empty if there is none.
  std::string_view header(std::string_view lower_name) const {
    const auto it = headers.find(lower_name);
    return it == headers.end() ? std::string_view() : std::string_view(it->second);
  }
  /// Of the query; nothing if it is not there.
  std::optional<std::string> asked(std::string_view name) const {
    for (const auto& [key, value] : query) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
};

using Bytes = std::function<Result<void>(std::string_view)>;

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  /// Writes the body piece by piece instead. An error ends the connection, so that a client sees that the
  /// answer is cut.
  std::function<Result<void>(const Bytes& write)> stream = {};
  /// The same for an answer of which nobody knows yet whether it has pieces. If it writes none, what it
  /// returns is the answer.
  std::function<std::optional<Response>(const Bytes& write)> talk = {};
  /// Gives what is new, perhaps nothing, each time it is asked; no value: that was all. For server-sent
  /// events.
  std::function<std::optional<std::string>()> news = {};
  std::string who = {};  ///< who asked, for the log
};

/// Takes the body of a request while it comes, for bodies that are too large for memory. Called from one
/// thread at a time.
class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual Result<void> write(std::string_view piece) = 0;
  /// The whole body is there.
  virtual Response finish() = 0;
};

}  // namespace nl::http
