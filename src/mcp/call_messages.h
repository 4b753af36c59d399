#pragma once
// What a call says ahead of its answer: how far it has come, and its log. Only what the client asked for is
// sent, in order, and nothing once it has cancelled. Lives as long as the call; any thread may report.

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/era.h"
#include "mcp/message.h"
#include "mcp/provider.h"

namespace nl::mcp {

bool is_log_level(std::string_view level);

/// Puts the answers of the client to earlier questions into the call; a fault if they have another form.
std::optional<Fault> take_input(const Message& request, Call& call);

class CallMessages {
 public:
  using Say = std::function<void(const nlohmann::json& message)>;

  CallMessages(const Message& request, const Session& session, const Era& era, Say say,
               std::function<bool()> cancelled);
  CallMessages(const CallMessages&) = delete;
  CallMessages& operator=(const CallMessages&) = delete;

  /// For the provider; it must not outlive this object.
  Call call();

 private:
  void progress(double done, double total, const std::string& what);
  void log(std::string_view level, const nlohmann::json& data);

  const Era& era_;
  const Say say_;
  const std::function<bool()> cancelled_;
  nlohmann::json token_ = nullptr;  ///< of its progress; null: the client does not want to know
  int least_level_ = 0;
  std::mutex mutex_;
  double last_ = -1;
};

}  // namespace nl::mcp
