// Fuzz harness over messages that agents send (mcp/core.h). Whatever the bytes are, in each era and over each
// transport, the answer is nothing or whole messages on one line, with the id that was sent; a state is
// believed only if it was given; an address of a resource names no path. A broken promise is printed and
// traps.

#include <cstdint>
#include <string>

#include "mcp/core.h"
#include "mcp/operations/prompts.h"
#include "mcp/operations/resources.h"
#include "promise.h"

namespace nl::mcp {
namespace {

using nlohmann::json;

/// Offers a little of everything, and asks back.
class EchoProvider : public Provider {
 public:
  ServerInfo info() const override { return {"fuzz", "1", "some instructions"}; }
  json capabilities(bool) const override {
    const json plain = json::object();
    return {{"tools", plain},
            {"resources", plain},
            {"prompts", plain},
            {"completions", plain},
            {"logging", plain}};
  }
  Reply list(Listed, const std::string& cursor, Call&) override { return json{{"tools", cursor}}; }
  Reply call_tool(const std::string& name, const json& arguments, Call& call) override {
    call.progress(1, 2, name);
    call.log("info", arguments);
    if (name == "ask" && call.input.empty())
      return InputRequired{{{"key", {{"method", "elicitation/create"}}}}, "state"};
    return json{{"content", arguments}, {"state", call.state}};
  }
  Reply read_resource(const std::string& uri, Call&) override {
    if (const auto question = resource_of(uri)) return question->parameters;
    return Fault{kInvalidParams, "no", {{"uri", uri}}};
  }
  Reply get_prompt(const std::string& name, const json& arguments, Call&) override {
    return filled_prompt(name, arguments);
  }
  Reply complete(const json& ref, const json& argument, Call&) override {
    (void)completion_of(ref, text_of(argument, "name"));
    return json::object();
  }
};

void check_line(const json& message, std::string_view given) {
  const std::string line = line_of(message);
  require(line.find('\n') == std::string::npos, "a message is one line", given);
  require(!json::parse(line, nullptr, false).is_discarded(), "a message is JSON", given);
}

/// Of a client that answers no questions.
Core& core_alone() {
  static Core core;
  core.end();
  return core;
}

void check_answer(const Messages& messages, const Arrival& arrival, std::string_view given) {
  static Core& core = core_alone();
  static EchoProvider provider;
  const Answer answer = core.answer_all(messages, arrival, provider);
  if (answer.body.is_null()) return;
  check_line(answer.body, given);
  if (messages.is_batch) return;
  const auto* const message = std::get_if<Message>(&messages.all.front());
  if (message != nullptr && message->kind == Kind::kRequest)
    require(answer.body.value("id", json()) == message->id, "an answer has the id of its request", given);
}

void check_message(std::string_view given) {
  const Messages messages = read_messages(given);
  require(!messages.all.empty(), "a text has at least one message", given);
  for (const char* version : {"", "2025-03-26", "2025-11-25"}) {
    Arrival arrival;
    arrival.session.version = version;
    arrival.say = [&](const json& said) { check_line(said, given); };
    check_answer(messages, arrival, given);
  }
  // Over HTTP, with headers that say what the body says: else nothing would get past them.
  const auto* const message = std::get_if<Message>(&messages.all.front());
  Arrival posted;
  posted.header = [&](std::string_view name) -> std::string_view {
    if (name == "mcp-protocol-version") return kModernVersion;
    if (message == nullptr) return {};
    if (name == "mcp-method") return message->method;
    const auto it = message->params.find("name");
    return it != message->params.end() && it->is_string()
               ? std::string_view(it->get_ref<const std::string&>())
               : std::string_view();
  };
  check_answer(messages, posted, given);
}

void check_texts(std::string_view given) {
  (void)meant_by(given);
  (void)offset_of(std::string(given));
  static const RequestState state;
  require(!state.opened("call", given), "only we give a state", given);
  require(state.opened("call", state.sealed("call", given)) == given, "a state comes back whole", given);
  const auto question = resource_of(given);
  if (!question || !question->parameters.contains("run")) return;
  const std::string run = question->parameters["run"];
  require(run.find('/') == std::string::npos, "an address names no path", given);
}

}  // namespace
}  // namespace nl::mcp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  nl::mcp::check_message(given);
  nl::mcp::check_texts(given);
  return 0;
}
