#pragma once
// Tasks: calls that go on while their client does other things, the extension io.modelcontextprotocol/tasks
// of 2026-07-28. The client gets a handle at once, asks for its state, answers its questions and may cancel
// it. A task belongs to whoever began it and lives in this process. Any thread.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/json.h"
#include "mcp/provider.h"

namespace nl::mcp {

inline constexpr char kTasksExtension[] = "io.modelcontextprotocol/tasks";

class Tasks {
 public:
  /// Does the call. It is called again with the answers if it gives InputRequired.
  using Work = std::function<Reply(Call& call)>;

  Tasks() = default;
  ~Tasks() { end(); }
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  /// The handle as the client gets it. Nothing if there are too many tasks or no thread is left.
  std::optional<nlohmann::json> begin(const std::string& owner, const Call& call, Work work);
  /// The state; once it is over, with the result or the error. A task of somebody else is as unknown as none.
  Reply get(const std::string& owner, const std::string& id);
  /// Answers to its questions, by their keys. Keys that it did not ask for are ignored.
  Reply update(const std::string& owner, const std::string& id, const nlohmann::json& responses);
  /// It ends when it sees that; until then it goes on.
  Reply cancel(const std::string& owner, const std::string& id);
  /// Cancels all, and waits until they have ended. None begins afterwards.
  void end();

 private:
  class Task;
  std::shared_ptr<Task> find(const std::string& owner, const std::string& id);
  void forget_old();

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Task>> tasks_;  ///< by id
  bool has_ended_ = false;
};

}  // namespace nl::mcp
