#include "mcp/call_messages.h"

#include <algorithm>
#include <iterator>

namespace nl::mcp {
namespace {

using nlohmann::json;

constexpr std::string_view kLevels[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
constexpr int kNoLevel = static_cast<int>(std::size(kLevels));

int level_number(std::string_view level) {
  return static_cast<int>(std::find(std::begin(kLevels), std::end(kLevels), level) - std::begin(kLevels));
}

/// In 2026-07-28 each request says what it wants to hear; before, all is sent until a level is set.
int least_level(const json& meta, const Session& session, bool is_modern) {
  if (is_modern) return level_number(text_of(meta, kMetaLogLevel));
  return session.log_level.empty() ? 0 : level_number(session.log_level);
}

}  // namespace

bool is_log_level(std::string_view level) {
  return level_number(level) != kNoLevel;
}

std::optional<Fault> take_input(const Message& request, Call& call) {
  if (!request.params.contains("inputResponses")) return std::nullopt;
  const json& responses = request.params["inputResponses"];
  const bool is_right = responses.is_object() && std::all_of(responses.begin(), responses.end(),
                                                             [](const json& one) { return one.is_object(); });
  if (!is_right) return Fault{kInvalidParams, "inputResponses must be an object of objects"};
  call.input = responses;
  return std::nullopt;
}

CallMessages::CallMessages(const Message& request, const Session& session, const Era& era, Say say,
                           std::function<bool()> cancelled)
    : era_(era), say_(std::move(say)), cancelled_(std::move(cancelled)) {
  const json meta = request.params.value("_meta", json::object());
  if (meta.contains("progressToken") && is_id(meta["progressToken"])) token_ = meta["progressToken"];
  least_level_ = least_level(meta, session, era.is_modern);
}

Call CallMessages::call() {
  Call call;
  call.is_modern = era_.is_modern;
  call.capabilities = era_.capabilities;
  call.cancelled = cancelled_;
  if (!say_) return call;
  if (!token_.is_null())
    call.progress = [this](double done, double total, const std::string& what) {
      progress(done, total, what);
    };
  call.log = [this](std::string_view level, const json& data) { log(level, data); };
  return call;
}

void CallMessages::progress(double done, double total, const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (done <= last_ || cancelled_()) return;  // it must grow
  last_ = done;
  json params = {{"progressToken", token_}, {"progress", done}, {"total", total}};
  if (!what.empty()) params["message"] = what;
  say_(notification("notifications/progress", std::move(params)));
}

void CallMessages::log(std::string_view level, const json& data) {
  const int number = level_number(level);
  const std::lock_guard lock(mutex_);
  if (number == kNoLevel || number < least_level_ || cancelled_()) return;
  say_(notification("notifications/message", {{"level", level}, {"data", data}}));
}

}  // namespace nl::mcp
