#include "http/api/mcp_endpoint.h"

#include <algorithm>

#include "base/checked_thread.h"
#include "base/text.h"
#include "http/answers.h"
#include "http/parameters.h"
#include "ops/door.h"
#include "store/projects.h"

namespace nl::http {
namespace {

using nlohmann::json;

constexpr size_t kBytesLookedAt = 16 << 10;

std::string event_of(const json& message) {
  return "event: message\ndata: " + mcp::line_of(message) + "\n\n";
}

Response response_of(const mcp::Answer& answer) {
  Response response{.status = answer.status};
  if (answer.body.is_null()) {
    response.type.clear();
  } else {
    response.body = mcp::line_of(answer.body) + "\n";
  }
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Response not_post() {
  Response response =
      refused(405, "bad_input", "messages are sent by POST; there is no stream to listen to", "", "mcp");
  response.headers.emplace_back("Allow", "POST");
  return response;
}

bool takes_events(const Request& request) {
  return has_part(request.header("accept"), "text/event-stream");
}

bool takes_json(const Request& request) {
  const std::string_view accept = request.header("accept");
  return accept.empty() || has_part(accept, "application/json") || has_part(accept, "*/*") ||
         has_part(accept, "application/*");
}

/// Copies what the answer needs of a request, since an answer in pieces outlives the function that begins it.
mcp::Arrival arrival_of(const Request& request, const Caller& caller) {
  mcp::Arrival arrival;
  arrival.owner = caller.project + "\n" + caller.name;
  arrival.header = [headers = request.headers](std::string_view name) -> std::string_view {
    const auto it = headers.find(name);
    return it == headers.end() ? std::string_view() : std::string_view(it->second);
  };
  arrival.cancelled = request.is_gone;
  return arrival;
}

/// For the revision that refuses a request whose headers do not say what its body says.
ops::Cost cost_by_headers(const Request& request) {
  const std::string_view method = trimmed(request.header("mcp-method"));
  if (method == "resources/read") return ops::Cost::kHeavy;
  if (method != "tools/call") return ops::Cost::kLight;
  const auto name = mcp::meant_by(trimmed(request.header("mcp-name")));
  const auto* const operation = name ? ops::find_operation(*name) : nullptr;
  return operation == nullptr ? ops::Cost::kHeavy : operation->cost;
}

bool may_take_long(const mcp::Messages& messages) {
  return std::any_of(messages.all.begin(), messages.all.end(), [](const mcp::ReadMessage& one) {
    const auto* const message = std::get_if<mcp::Message>(&one);
    return message != nullptr && !mcp::is_quick(*message);
  });
}

/// A call as events, if it says something ahead of its answer.
struct Conversation {
  std::shared_ptr<mcp::Core> core;
  std::shared_ptr<mcp::Provider> provider;
  mcp::Messages messages;
  mcp::Arrival arrival;
  bool takes_events;

  std::optional<Response> operator()(const Bytes& write) const {
    bool has_said = false;
    mcp::Arrival own = arrival;
    own.provider_lives = provider;
    if (takes_events)
      own.say = [&](const json& message) {
        has_said = true;
        (void)write(event_of(message));  // that a client has left is seen by `cancelled`
      };
    const mcp::Answer answer = core->answer_all(messages, own, *provider);
    if (!has_said) return response_of(answer);
    if (!answer.body.is_null()) (void)write(event_of(answer.body));
    return std::nullopt;
  }
};

/// What a write does is noted before it begins; without the line it is refused.
std::function<Result<void>(const ops::Operation&, const json&)> noting(AuditLog* audit, const Caller& caller,
                                                                       const std::string& address) {
  return [=](const ops::Operation& operation, const json& parameters) -> Result<void> {
    if (ops::effect_of(operation, parameters) == ops::Effect::kRead) return {};
    return audit->write({"asked", caller.name, caller.project, address, operation.name, parameters, 0});
  };
}

void note_end(AuditLog* audit, const Caller& caller, const std::string& address,
              const ops::Operation& operation, const json& parameters, const Error* error) {
  const bool is_refused = error != nullptr && error->code == ErrorCode::kPermission;
  const bool writes = ops::effect_of(operation, parameters) != ops::Effect::kRead;
  if (!writes && !is_refused) return;
  const int status = error == nullptr ? 200 : status_of(error->code);
  (void)audit->write({is_refused ? "refused" : "answered", caller.name, caller.project, address,
                      operation.name, writes && !is_refused ? json(nullptr) : parameters, status});
}

}  // namespace

McpProviders providers_of_operations(const std::string& ledger_folder, store::SqlWorkers* sql_workers,
                                     AuditLog* audit) {
  return [=](const Request& request, const Caller& caller) -> std::unique_ptr<mcp::Provider> {
    mcp::Offer offer;
    // Who may manage may write; what manages tokens is no tool.
    offer.rights.may = std::min(caller.may, ops::Effect::kWrite);
    offer.context = [=, address = request.address](const ops::Operation&) {
      ops::Context context;
      context.ledger_folder = store::project_folder(ledger_folder, caller.project);
      context.principal = caller.name;
      context.sql_workers = sql_workers;
      context.authorise = noting(audit, caller, address);
      return context;
    };
    offer.ended = [=, address = request.address](const ops::Operation& operation, const json& arguments,
                                                 const Error* error) {
      note_end(audit, caller, address, operation, arguments, error);
    };
    return std::make_unique<mcp::OperationProvider>(std::move(offer));
  };
}

Response McpEndpoint::answer(const Request& request, const Caller& caller) const {
  if (request.method != Method::kPost) return not_post();
  if (!is_json(request)) return failed("mcp", not_json());
  if (!takes_json(request) && !takes_events(request))
    return refused(406, "bad_input", "answers are application/json or text/event-stream", "", "mcp");
  mcp::Messages messages = mcp::read_messages(request.body);
  const bool is_long = may_take_long(messages);
  const Conversation conversation{core_, providers_(request, caller), std::move(messages),
                                  arrival_of(request, caller), takes_events(request)};
  if (!is_long) return *conversation([](std::string_view) { return Result<void>(); });
  Response response{.type = "text/event-stream"};
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Accel-Buffering", "no");  // a proxy must not hold events back
  response.talk = [conversation](const Bytes& write) -> std::optional<Response> {
    try {
      return conversation(write);
    } catch (...) {
      return failed("mcp", error_of_exception());
    }
  };
  return response;
}

ops::Cost McpEndpoint::cost_of(const Request& request) const {
  if (trimmed(request.header("mcp-protocol-version")) == mcp::kModernVersion) return cost_by_headers(request);
  // The thread of the connections asks this, of anybody's bytes: it must not read them all. A text with a
  // backslash may spell a method in another way.
  const std::string_view text = request.body;
  const bool may_be_heavy = text.size() > kBytesLookedAt || has_part(text, "tools/call") ||
                            has_part(text, "resources/read") || has_part(text, "\\");
  return may_be_heavy ? ops::Cost::kHeavy : ops::Cost::kLight;
}

}  // namespace nl::http
