#include "mcp/message.h"

#include "base/safe_text.h"
#include "base/small_json.h"

namespace nl::mcp {
namespace {

using nlohmann::json;

Refusal refusal(json id, int code, std::string message) {
  return {std::move(id), {code, std::move(message)}};
}

Messages only(ReadMessage message) {
  Messages messages;
  messages.all.push_back(std::move(message));
  return messages;
}

bool has_one_outcome(const json& object) {
  return object.contains("result") != object.contains("error");
}

ReadMessage read_response(const json& object, json id) {
  if (id.is_null() || !has_one_outcome(object))
    return refusal(std::move(id), kInvalidRequest, "this is neither a request nor a response");
  const char* const outcome = object.contains("result") ? "result" : "error";
  Message message{.kind = Kind::kResponse, .id = std::move(id)};
  message.outcome = json{{outcome, object[outcome]}};
  return message;
}

ReadMessage read_call(const json& object, json id) {
  const bool is_request = object.contains("id");
  const json& method = object["method"];
  if (!method.is_string() || method.get_ref<const std::string&>().empty() ||
      method.get_ref<const std::string&>().size() > kMostMethodBytes)
    return refusal(std::move(id), kInvalidRequest, "method must be a short text");
  if (is_request && id.is_null())
    return refusal(nullptr, kInvalidRequest, "id must be a text of at most 256 bytes or a whole number");
  const json params = object.value("params", json::object());
  if (!params.is_object()) return refusal(std::move(id), kInvalidParams, "params must be an object");
  if (params.contains("_meta") && !params["_meta"].is_object())
    return refusal(std::move(id), kInvalidParams, "_meta must be an object");
  return Message{.kind = is_request ? Kind::kRequest : Kind::kNotification,
                 .id = std::move(id),
                 .method = method.get<std::string>(),
                 .params = params};
}

ReadMessage read_one(const json& object) {
  if (!object.is_object()) return refusal(nullptr, kInvalidRequest, "a message is a JSON object");
  json id = object.contains("id") && is_id(object["id"]) ? object["id"] : json();
  if (text_of(object, "jsonrpc") != "2.0")
    return refusal(std::move(id), kInvalidRequest, "jsonrpc must be \"2.0\"");
  return object.contains("method") ? read_call(object, std::move(id)) : read_response(object, std::move(id));
}

}  // namespace

bool is_id(const json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() <= kMostIdBytes;
  return value.is_number_integer();
}

std::string text_of(const json& object, const char* member) {
  const auto it = object.find(member);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

Messages read_messages(std::string_view text) {
  if (text.size() > kMostMessageBytes)
    return only(refusal(nullptr, kInvalidRequest, "the message has more than 4 MiB"));
  const json parsed = parse_small_json(text, kMostDepth);
  if (parsed.is_discarded())
    return only(refusal(nullptr, kParseError, "this is no JSON, or it nests deeper than 64"));
  if (!parsed.is_array()) return only(read_one(parsed));
  if (parsed.empty() || parsed.size() > kMostInBatch)
    return only(refusal(nullptr, kInvalidRequest, "a batch has 1 to 32 messages"));
  Messages batch{.is_batch = true};
  for (const json& one : parsed) batch.all.push_back(read_one(one));
  return batch;
}

json result_message(const json& id, json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

json fault_message(const json& id, const Fault& fault) {
  json error = {{"code", fault.code}, {"message", fault.message}};
  if (!fault.data.is_null()) error["data"] = fault.data;
  json message = {{"jsonrpc", "2.0"}, {"error", std::move(error)}};
  if (!id.is_null()) message["id"] = id;
  return message;
}

json notification(std::string_view method, json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

std::string line_of(const json& message) {
  return json_for_terminals(message.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace nl::mcp
