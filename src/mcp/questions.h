#pragma once
// Questions that a server of 2025 asks its client in the middle of a call: the call waits here, and the
// response, which comes as a message of its own, finds it by its id. Any thread.

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "mcp/message.h"

namespace nl::mcp {

class Questions {
 public:
  /// An id that no other client can guess: over HTTP all of them answer at the same address.
  std::string open();
  /// The outcome of the response; nothing if the call is cancelled, if it takes too long or if nobody can
  /// answer any more. The question is closed then.
  std::optional<nlohmann::json> wait(const std::string& id, const std::function<bool()>& cancelled);
  /// A response that nobody waits for is dropped.
  void take(const Message& response);
  /// No response will come.
  void end();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::optional<nlohmann::json>> open_;
  bool has_ended_ = false;
};

}  // namespace nl::mcp
