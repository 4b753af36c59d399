#include "mcp/core.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked_thread.h"
#include "mcp/call_messages.h"

namespace nl::mcp {

using nlohmann::json;

/// A request while it is answered.
struct Core::Asked {
  const Message& request;
  const Arrival& arrival;
  Provider& provider;
  Era era;
  json offered;  ///< capabilities of the provider
  Call call = {};
};

namespace {

constexpr int kMostRounds = 16;  // of questions in one call

enum class Eras { kBoth, kModern, kLegacy };

struct Method {
  std::string_view name;
  Eras eras;
  const char* needs;  ///< the capability without which it does not exist; null: none
  bool is_cached;     ///< its result says how long it may be kept
};

constexpr Method kMethods[] = {
    {"server/discover", Eras::kModern, nullptr, true},
    {"initialize", Eras::kLegacy, nullptr, false},
    {"ping", Eras::kLegacy, nullptr, false},
    {"logging/setLevel", Eras::kLegacy, "logging", false},
    {"tools/list", Eras::kBoth, "tools", true},
    {"tools/call", Eras::kBoth, "tools", false},
    {"resources/list", Eras::kBoth, "resources", true},
    {"resources/templates/list", Eras::kBoth, "resources", true},
    {"resources/read", Eras::kBoth, "resources", true},
    {"resources/subscribe", Eras::kLegacy, "resources", false},
    {"resources/unsubscribe", Eras::kLegacy, "resources", false},
    {"prompts/list", Eras::kBoth, "prompts", true},
    {"prompts/get", Eras::kBoth, "prompts", false},
    {"completion/complete", Eras::kBoth, "completions", false},
    {"tasks/get", Eras::kModern, "extensions", false},
    {"tasks/update", Eras::kModern, "extensions", false},
    {"tasks/cancel", Eras::kModern, "extensions", false},
};

const Method* method_for(std::string_view name, bool is_modern, const json& offered) {
  for (const Method& method : kMethods) {
    if (method.name != name) continue;
    const bool is_of_era = method.eras == Eras::kBoth || (method.eras == Eras::kModern) == is_modern;
    const bool is_offered = method.needs == nullptr || offered.contains(method.needs);
    return is_of_era && is_offered ? &method : nullptr;
  }
  return nullptr;
}

bool is_call(std::string_view method) {
  return method == "tools/call" || method == "resources/read" || method == "prompts/get";
}

bool is_about_task(std::string_view method) {
  return method.starts_with("tasks/");
}

Fault bad_params(std::string what) {
  return {kInvalidParams, std::move(what)};
}

json server_json(const ServerInfo& info) {
  return {{"name", info.name}, {"version", info.version}};
}

json discovered(const ServerInfo& info, const json& offered) {
  json result = {{"supportedVersions", supported_versions()}, {"capabilities", offered}};
  if (!info.instructions.empty()) result["instructions"] = info.instructions;
  return result;
}

/// What every result of 2026-07-28 carries besides.
json modern_result(json result, const Method& method, const Provider& provider) {
  if (!result.contains("resultType")) result["resultType"] = "complete";
  result["_meta"][kMetaServer] = server_json(provider.info());
  if (!method.is_cached || result["resultType"] != "complete") return result;
  result["ttlMs"] = provider.fresh_ms(method.name);
  result["cacheScope"] = "private";  // what is offered depends on who asks
  return result;
}

/// Over HTTP. Clients of 2025 read errors of requests from answers with status 200 alone.
int status_of(const Fault& fault, bool is_modern) {
  if (!is_modern) return 200;
  return fault.code == kMethodNotFound ? 404 : fault.code == kMissingCapability ? 400 : 200;
}

Answer refused(const json& id, const Fault& fault) {
  return {400, fault_message(id, fault)};
}

/// The capability that a client needs to answer this.
const char* capability_for(std::string_view question) {
  if (question == "sampling/createMessage") return "sampling";
  return question == "roots/list" ? "roots" : "elicitation";
}

Fault missing(const json& requests, const Call& call) {
  json needed = json::object();
  for (const auto& [key, request] : requests.items()) {
    const char* const capability = capability_for(text_of(request, "method"));
    if (!call.client_has(capability)) needed[capability] = json::object();
  }
  return {kMissingCapability,
          "the client lacks a capability that this call needs",
          {{"requiredCapabilities", std::move(needed)}}};
}

bool knows_tasks(const Call& call) {
  const json extensions =
      call.capabilities.is_object() ? call.capabilities.value("extensions", json()) : json();
  return extensions.is_object() && extensions.contains(kTasksExtension);
}

Fault needs_tasks() {
  return {kMissingCapability,
          "this needs a client that knows tasks",
          {{"requiredCapabilities", {{"extensions", {{kTasksExtension, json::object()}}}}}}};
}

bool can_answer(const json& requests, const Call& call) {
  return std::all_of(requests.begin(), requests.end(), [&](const json& request) {
    return call.client_has(capability_for(text_of(request, "method")));
  });
}

/// The whole call: what somebody has agreed to for one set of arguments is not good for another one.
std::string owner_of_state(const Message& request) {
  const char* const name = request.method == "resources/read" ? "uri" : "name";
  const json arguments = request.params.value("arguments", json::object());
  return line_of({request.method, text_of(request.params, name), arguments});
}

}  // namespace

Reply Core::initialized(Asked& asked) {
  const std::string wanted = text_of(asked.request.params, "protocolVersion");
  if (wanted.empty()) return bad_params("protocolVersion is missing");
  // The client decides whether it goes on with another version than it asked for.
  const std::string version = is_legacy_version(wanted) ? wanted : std::string(kNewestLegacy);
  const ServerInfo info = asked.provider.info();
  json result = {
      {"protocolVersion", version}, {"capabilities", asked.offered}, {"serverInfo", server_json(info)}};
  if (!info.instructions.empty()) result["instructions"] = info.instructions;
  if (asked.arrival.opened != nullptr) {
    const json capabilities = asked.request.params.value("capabilities", json::object());
    *asked.arrival.opened = {version, capabilities.is_object() ? capabilities : json::object(), ""};
  }
  return result;
}

Reply Core::set_level(Asked& asked) {
  const std::string level = text_of(asked.request.params, "level");
  if (!is_log_level(level)) return bad_params("there is no such level");
  if (asked.arrival.opened != nullptr) asked.arrival.opened->log_level = level;
  return json::object();
}

Reply Core::listed(Asked& asked, Listed what) {
  const json cursor = asked.request.params.value("cursor", json(""));
  if (!cursor.is_string()) return bad_params("cursor must be a text");
  return asked.provider.list(what, cursor.get<std::string>(), asked.call);
}

/// What may need input of the client.
Reply Core::called(Asked& asked) {
  const json& params = asked.request.params;
  const bool is_resource = asked.request.method == "resources/read";
  const std::string name = text_of(params, is_resource ? "uri" : "name");
  if (name.empty()) return bad_params(is_resource ? "uri is missing" : "name is missing");
  if (is_resource) return asked.provider.read_resource(name, asked.call);
  const json arguments = params.value("arguments", json::object());
  if (!arguments.is_object()) return bad_params("arguments must be an object");
  return asked.request.method == "tools/call" ? asked.provider.call_tool(name, arguments, asked.call)
                                              : asked.provider.get_prompt(name, arguments, asked.call);
}

Reply Core::rendered(Asked& asked, const InputRequired& wanted) const {
  if (!can_answer(wanted.requests, asked.call)) return missing(wanted.requests, asked.call);
  json result = {{"resultType", "input_required"}, {"inputRequests", wanted.requests}};
  if (!wanted.state.empty())
    result["requestState"] = state_.sealed(owner_of_state(asked.request), wanted.state);
  return result;
}

/// In 2025 the call waits while the client is asked, one question after the other.
Reply Core::asked_in_between(Asked& asked, InputRequired wanted) {
  for (int round = 0; round < kMostRounds; round++) {
    if (!asked.arrival.say || !can_answer(wanted.requests, asked.call))
      return missing(wanted.requests, asked.call);
    for (const auto& [key, question] : wanted.requests.items()) {
      const std::string id = questions_.open();
      json message = {{"jsonrpc", "2.0"}, {"id", id}, {"method", text_of(question, "method")}};
      message["params"] = question.value("params", json::object());
      asked.arrival.say(message);
      const auto outcome = questions_.wait(id, asked.arrival.cancelled);
      if (!outcome || !outcome->contains("result") || !(*outcome)["result"].is_object())
        return Fault{kInternalError, "the client did not answer a question"};
      asked.call.input[key] = (*outcome)["result"];
    }
    asked.call.state = wanted.state;
    Reply reply = called(asked);
    if (!std::holds_alternative<InputRequired>(reply)) return reply;
    wanted = std::get<InputRequired>(std::move(reply));
  }
  return Fault{kInternalError, "the call asks without end"};
}

/// Nothing if it is answered like any other call: the tool or the client has no tasks, or there are too many.
std::optional<Reply> Core::as_task(Asked& asked) {
  const json& params = asked.request.params;
  const json arguments = params.value("arguments", json::object());
  const std::string name = text_of(params, "name");
  if (!asked.era.is_modern || asked.request.method != "tools/call" || !arguments.is_object())
    return std::nullopt;
  const TaskSupport support = asked.provider.task_support(name, asked.call);
  if (support == TaskSupport::kNone) return std::nullopt;
  const bool is_required = support == TaskSupport::kRequired;
  if (!knows_tasks(asked.call)) return is_required ? std::optional<Reply>(needs_tasks()) : std::nullopt;
  const auto work = [&provider = asked.provider, lives = asked.arrival.provider_lives, name,
                     arguments](Call& call) -> Reply {
    Reply reply = provider.call_tool(name, arguments, call);
    const auto* const wanted = std::get_if<InputRequired>(&reply);
    if (wanted != nullptr && !can_answer(wanted->requests, call)) return missing(wanted->requests, call);
    return reply;
  };
  if (auto begun = tasks_.begin(asked.arrival.owner, asked.call, work)) return Reply(*std::move(begun));
  if (!is_required) return std::nullopt;
  return Reply(Fault{kTooBusy, "too many tasks at once; ask again in a moment"});
}

Reply Core::task_asked(Asked& asked) {
  if (!knows_tasks(asked.call)) return needs_tasks();
  const std::string& method = asked.request.method;
  const std::string id = text_of(asked.request.params, "taskId");
  if (id.empty()) return bad_params("taskId is missing");
  if (method == "tasks/get") return tasks_.get(asked.arrival.owner, id);
  if (method == "tasks/cancel") return tasks_.cancel(asked.arrival.owner, id);
  if (auto fault = take_input(asked.request, asked.call)) return *std::move(fault);
  return tasks_.update(asked.arrival.owner, id, asked.call.input);
}

Reply Core::with_input(Asked& asked) {
  if (asked.era.is_modern) {
    if (auto fault = take_input(asked.request, asked.call)) return *std::move(fault);
    const json state = asked.request.params.value("requestState", json());
    if (!state.is_null()) {
      const auto opened = state.is_string() ? state_.opened(owner_of_state(asked.request),
                                                            state.get_ref<const std::string&>())
                                            : std::nullopt;
      if (!opened) return bad_params("requestState is not one that this server gave for this call");
      asked.call.state = *opened;
    }
  }
  if (auto task = as_task(asked)) return *std::move(task);
  Reply reply = called(asked);
  auto* const wanted = std::get_if<InputRequired>(&reply);
  if (wanted == nullptr) return reply;
  if (asked.era.is_modern) return rendered(asked, *wanted);
  return asked_in_between(asked, std::move(*wanted));
}

Reply Core::reply_to(Asked& asked) {
  const std::string& method = asked.request.method;
  const json& params = asked.request.params;
  if (is_call(method)) return with_input(asked);
  if (is_about_task(method)) return task_asked(asked);
  if (method == "server/discover") return discovered(asked.provider.info(), asked.offered);
  if (method == "initialize") return initialized(asked);
  if (method == "ping") return json::object();
  if (method == "logging/setLevel") return set_level(asked);
  if (method == "tools/list") return listed(asked, Listed::kTools);
  if (method == "resources/list") return listed(asked, Listed::kResources);
  if (method == "resources/templates/list") return listed(asked, Listed::kTemplates);
  if (method == "prompts/list") return listed(asked, Listed::kPrompts);
  if (method == "completion/complete") {
    const json ref = params.value("ref", json()), argument = params.value("argument", json());
    if (!ref.is_object() || !argument.is_object()) return bad_params("ref and argument must be objects");
    return asked.provider.complete(ref, argument, asked.call);
  }
  const std::string uri = text_of(params, "uri");
  if (uri.empty()) return bad_params("uri is missing");
  return asked.provider.subscribe(uri, method == "resources/subscribe", asked.call);
}

Answer Core::answer_request(const Message& request, const Arrival& arrival, Provider& provider) {
  auto era = era_of(request, arrival.header, arrival.session);
  if (const auto* const fault = std::get_if<Fault>(&era)) return refused(request.id, *fault);
  Asked asked{request, arrival, provider, std::get<Era>(std::move(era)), {}, {}};
  const bool is_modern = asked.era.is_modern;
  asked.offered = provider.capabilities(is_modern);
  const Method* const method = method_for(request.method, is_modern, asked.offered);
  if (method == nullptr) {
    const Fault fault{kMethodNotFound, "there is no such method"};
    return {status_of(fault, is_modern), fault_message(request.id, fault)};
  }
  CallMessages messages(request, arrival.session, asked.era, arrival.say, arrival.cancelled);
  asked.call = messages.call();
  Reply reply = reply_to(asked);
  if (const auto* const fault = std::get_if<Fault>(&reply))
    return {status_of(*fault, is_modern), fault_message(request.id, *fault)};
  json result = std::get<json>(std::move(reply));
  if (is_modern) result = modern_result(std::move(result), *method, provider);
  return {200, result_message(request.id, std::move(result))};
}

Answer Core::answer(const ReadMessage& message, const Arrival& arrival, Provider& provider) {
  if (const auto* const refusal = std::get_if<Refusal>(&message)) return refused(refusal->id, refusal->fault);
  const Message& read = std::get<Message>(message);
  if (read.kind == Kind::kResponse) questions_.take(read);
  if (read.kind != Kind::kRequest) return {202, nullptr};  // cancelling is up to whoever runs the requests
  try {
    return answer_request(read, arrival, provider);
  } catch (...) {
    const Error error = error_of_exception();
    return {500, fault_message(read.id, {kInternalError, error.message})};
  }
}

Answer Core::answer_all(const Messages& messages, const Arrival& arrival, Provider& provider) {
  if (!messages.is_batch) return answer(messages.all.front(), arrival, provider);
  const std::string version(arrival.header ? arrival.header("mcp-protocol-version")
                                           : arrival.session.version);
  const bool has_batches = version == kOldestLegacy || (arrival.header && version.empty());
  if (!has_batches) return refused(nullptr, {kInvalidRequest, "this version of the protocol has no batches"});
  json bodies = json::array();
  for (const ReadMessage& message : messages.all) {
    const Answer one = answer(message, arrival, provider);
    if (!one.body.is_null()) bodies.push_back(one.body);
  }
  if (bodies.empty()) return {202, nullptr};
  return {200, std::move(bodies)};
}

bool is_quick(const Message& message) {
  if (message.kind != Kind::kRequest) return true;
  return message.method == "initialize" || message.method == "ping" || message.method == "logging/setLevel" ||
         message.method == "server/discover" || is_about_task(message.method);
}

}  // namespace nl::mcp
