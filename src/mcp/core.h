#pragma once
// The protocol itself: one message in, its answer out, whoever carries them and whatever is offered. It keeps
// nothing between messages but questions that wait for an answer, and tasks. Any thread may ask, each with
// its own Arrival.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/era.h"
#include "mcp/message.h"
#include "mcp/provider.h"
#include "mcp/questions.h"
#include "mcp/request_state.h"
#include "mcp/tasks.h"

namespace nl::mcp {

/// How a message came, and how the client is reached while it is answered.
struct Arrival {
  Header header = {};         ///< of HTTP; without it there is none
  Session session = {};       ///< what `initialize` agreed on, where the connection remembers it
  Session* opened = nullptr;  ///< where `initialize` and `logging/setLevel` write that down; may be null
  /// Sends a message ahead of the answer, on the stream of this request. Without it the client gets none.
  std::function<void(const nlohmann::json& message)> say = {};
  std::function<bool()> cancelled = [] { return false; };
  std::string owner = {};  ///< whose tasks it can see
  std::shared_ptr<const void> provider_lives =
      {};  ///< kept by tasks, where the provider ends with its request
};

struct Answer {
  int status = 200;               ///< of HTTP
  nlohmann::json body = nullptr;  ///< null: nothing is sent
};

class Core {
 public:
  /// Of one message.
  Answer answer(const ReadMessage& message, const Arrival& arrival, Provider& provider);
  /// Of a text with one message or a batch; only revision 2025-03-26 has batches.
  Answer answer_all(const Messages& messages, const Arrival& arrival, Provider& provider);
  /// No client can answer questions any more, or ask for its tasks: they are cancelled.
  void end() {
    questions_.end();
    tasks_.end();
  }

 private:
  struct Asked;
  Answer answer_request(const Message& request, const Arrival& arrival, Provider& provider);
  Reply reply_to(Asked& asked);
  Reply initialized(Asked& asked);
  Reply listed(Asked& asked, Listed what);
  Reply set_level(Asked& asked);
  Reply called(Asked& asked);
  Reply with_input(Asked& asked);
  std::optional<Reply> as_task(Asked& asked);
  Reply task_asked(Asked& asked);
  Reply asked_in_between(Asked& asked, InputRequired wanted);
  Reply rendered(Asked& asked, const InputRequired& wanted) const;

  RequestState state_;
  Questions questions_;
  Tasks tasks_;
};

/// Is it answered at once? Else it may take long, or say something ahead of its answer.
bool is_quick(const Message& message);

}  // namespace nl::mcp
