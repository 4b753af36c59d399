#include "mcp/suite_provider.h"

#include <chrono>
#include <map>
#include <thread>

#include "mcp/tasks.h"

namespace nl::mcp {
namespace {

using nlohmann::json;
using Tool = Reply (*)(const json& arguments, Call& call);

constexpr char kPng[] =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
constexpr char kWav[] = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";
constexpr auto kPause = std::chrono::milliseconds(50);

// ---- Pieces of answers

json text(const std::string& words) {
  return {{"type", "text"}, {"text", words}};
}

json image() {
  return {{"type", "image"}, {"data", kPng}, {"mimeType", "image/png"}};
}

json resource(const std::string& uri, const char* type, const std::string& words) {
  return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", type}, {"text", words}}}};
}

Reply answer(std::initializer_list<json> content) {
  json list = json::array();
  for (const json& one : content) list.push_back(one);
  return json{{"content", std::move(list)}};
}

Reply said(const std::string& words) {
  return answer({text(words)});
}

json member(const char* name, const char* type) {
  return {{"type", "object"}, {"properties", {{name, {{"type", type}}}}}, {"required", json::array({name})}};
}

json elicitation(const std::string& message, json schema) {
  return {{"method", "elicitation/create"},
          {"params", {{"message", message}, {"requestedSchema", std::move(schema)}}}};
}

json sampling(const std::string& words, int tokens) {
  return {{"method", "sampling/createMessage"},
          {"params",
           {{"messages", json::array({json{{"role", "user"}, {"content", text(words)}}})},
            {"maxTokens", tokens}}}};
}

json roots() {
  return {{"method", "roots/list"}, {"params", json::object()}};
}

std::string content_text(const json& response) {
  const json content = response.value("content", json::object());
  return content.is_object() ? content.value("text", content.dump()) : content.dump();
}

/// A question with one key, and what is said once it is answered.
Reply once(const Call& call, const char* key, json request, const std::string& begin) {
  if (!call.input.contains(key)) return InputRequired{{{key, std::move(request)}}, ""};
  return said(begin + call.input[key].dump());
}

// ---- Tools

Reply with_logging(const json&, Call& call) {
  call.log("info", "Tool execution started");
  std::this_thread::sleep_for(kPause);
  call.log("info", "Tool processing data");
  std::this_thread::sleep_for(kPause);
  call.log("info", "Tool execution completed");
  return said("Tool with logging executed");
}

Reply with_progress(const json&, Call& call) {
  for (const double done : {0.0, 50.0, 100.0}) {
    call.progress(done, 100, "");
    std::this_thread::sleep_for(kPause);
  }
  return said("Tool with progress executed");
}

Reply with_error(const json&, Call&) {
  return json{{"isError", true},
              {"content", json::array({text("This tool intentionally returns an error for testing")})}};
}

Reply ask_model(const json& arguments, Call& call) {
  if (!call.input.contains("answer"))
    return InputRequired{{{"answer", sampling(arguments.value("prompt", "a prompt"), 100)}}, ""};
  return said("LLM response: " + content_text(call.input["answer"]));
}

Reply ask_user(const json& arguments, Call& call) {
  const json schema = {{"type", "object"},
                       {"properties",
                        {{"username", {{"type", "string"}, {"description", "User's response"}}},
                         {"email", {{"type", "string"}, {"description", "User's email address"}}}}},
                       {"required", {"username", "email"}}};
  return once(call, "user", elicitation(arguments.value("message", "a message"), schema), "User response: ");
}

Reply ask_with_defaults(const json&, Call& call) {
  const json schema = json::parse(R"({"type": "object", "properties": {
    "name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": true}}})");
  return once(call, "user", elicitation("Please check these values", schema), "Elicitation completed: ");
}

Reply ask_with_enums(const json&, Call& call) {
  const json schema = json::parse(R"({"type": "object", "properties": {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
      {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
      "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"},
      {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}}})");
  return once(call, "user", elicitation("Please choose", schema), "Elicitation completed: ");
}

Reply ask_name(const json&, Call& call) {
  const json given = call.input.value("user_name", json::object()).value("content", json::object());
  if (!given.contains("name") || !given["name"].is_string())
    return InputRequired{{{"user_name", elicitation("What is your name?", member("name", "string"))}}, ""};
  return said("Hello, " + given["name"].get<std::string>() + "!");
}

Reply ask_capital(const json&, Call& call) {
  return once(call, "capital_question", sampling("What is the capital of France?", 100), "The model says: ");
}

Reply ask_roots(const json&, Call& call) {
  return once(call, "client_roots", roots(), "The client has: ");
}

Reply ask_with_state(const json&, Call& call) {
  if (!call.input.contains("confirm") || call.state != "confirming")
    return InputRequired{{{"confirm", elicitation("Please confirm", member("ok", "boolean"))}}, "confirming"};
  return said("state-ok");
}

Reply ask_many(const json&, Call& call) {
  if (call.input.contains("user_name") && call.input.contains("greeting") &&
      call.input.contains("client_roots"))
    return said("All answers are there");
  return InputRequired{{{"user_name", elicitation("What is your name?", member("name", "string"))},
                        {"greeting", sampling("Generate a greeting", 50)},
                        {"client_roots", roots()}},
                       "asked for three"};
}

Reply ask_twice(const json&, Call& call) {
  if (call.state == "round 2" && call.input.contains("step2")) return said("Both rounds are done");
  if (call.state == "round 1" && call.input.contains("step1"))
    return InputRequired{
        {{"step2", elicitation("Step 2: What is your favorite color?", member("color", "string"))}},
        "round 2"};
  return InputRequired{{{"step1", elicitation("Step 1: What is your name?", member("name", "string"))}},
                       "round 1"};
}

Reply ask_what_is_possible(const json&, Call& call) {
  if (!call.input.empty()) return said("Thank you");
  json requests = json::object();
  if (call.client_has("sampling")) requests["model"] = sampling("Say something", 20);
  if (call.client_has("elicitation"))
    requests["user"] = elicitation("Say something", member("word", "string"));
  return InputRequired{std::move(requests), ""};
}

// ---- Tools that go on as tasks

Reply slow_compute(const json& arguments, Call& call) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.value("seconds", 0));
  while (std::chrono::steady_clock::now() < end) {
    if (call.cancelled()) return Fault{kInternalError, "cancelled"};
    std::this_thread::sleep_for(kPause);
  }
  return said("computed " + text_of(arguments, "label"));
}

Reply confirm_delete(const json& arguments, Call& call) {
  const std::string message = "Delete " + text_of(arguments, "filename") + "?";
  return once(call, "confirm", elicitation(message, member("confirm", "boolean")), "Confirmed: ");
}

Reply ask_for_two(const json&, Call& call) {
  if (call.input.contains("first") && call.input.contains("second")) return said("Both are there");
  return InputRequired{{{"first", elicitation("The first?", member("name", "string"))},
                        {"second", elicitation("The second?", member("name", "string"))}},
                       ""};
}

Reply greet(const json& arguments, Call&) {
  return said("Hello, " + text_of(arguments, "name") + "!");
}

Reply need_sampling(const json&, Call& call) {
  return once(call, "model", sampling("Say something", 20), "The model says: ");
}

const std::map<std::string, Tool>& tools() {
  static const std::map<std::string, Tool> all = {
      {"confirm_delete", confirm_delete},
      {"failing_job", with_error},
      {"greet", greet},
      {"json_schema_2020_12_tool", [](const json&, Call&) { return said("fine"); }},
      {"multi_input", ask_for_two},
      {"protocol_error_job", [](const json&, Call&) -> Reply { return Fault{kInternalError, "it broke"}; }},
      {"slow_compute", slow_compute},
      {"test_audio_content",
       [](const json&, Call&) {
         return answer({json{{"type", "audio"}, {"data", kWav}, {"mimeType", "audio/wav"}}});
       }},
      {"test_elicitation", ask_user},
      {"test_elicitation_sep1034_defaults", ask_with_defaults},
      {"test_elicitation_sep1330_enums", ask_with_enums},
      {"test_embedded_resource",
       [](const json&, Call&) {
         return answer(
             {resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")});
       }},
      {"test_error_handling", with_error},
      {"test_image_content", [](const json&, Call&) { return answer({image()}); }},
      {"test_input_required_result_capabilities", ask_what_is_possible},
      {"test_input_required_result_elicitation", ask_name},
      {"test_input_required_result_list_roots", ask_roots},
      {"test_input_required_result_multi_round", ask_twice},
      {"test_input_required_result_multiple_inputs", ask_many},
      {"test_input_required_result_request_state", ask_with_state},
      {"test_input_required_result_sampling", ask_capital},
      {"test_input_required_result_tampered_state", ask_with_state},
      {"test_logging_tool", with_logging},
      {"test_missing_capability", need_sampling},
      {"test_multiple_content_types",
       [](const json&, Call&) {
         return answer({text("Multiple content types test:"), image(),
                        resource("test://mixed-content-resource", "application/json",
                                 R"({"test":"data","value":123})")});
       }},
      {"test_sampling", ask_model},
      {"test_simple_text",
       [](const json&, Call&) { return said("This is a simple text response for testing."); }},
      {"test_streaming_elicitation", ask_name},
      {"test_tool_with_logging", with_logging},
      {"test_tool_with_task", ask_name},
      {"test_tool_with_progress", with_progress},
  };
  return all;
}

json schema_of(const std::string& tool) {
  if (tool == "json_schema_2020_12_tool")
    return json::parse(R"({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
      "$defs": {"address": {"$anchor": "addressDef", "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
      "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"}, "email": {"type": "string"}},
      "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
      "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
      "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false})");
  if (tool == "test_sampling") return member("prompt", "string");
  if (tool == "test_elicitation") return member("message", "string");
  return {{"type", "object"}};
}

json tool_list() {
  json list = json::array();
  for (const auto& [name, tool] : tools())
    list.push_back({{"name", name}, {"description", "For the suite"}, {"inputSchema", schema_of(name)}});
  return list;
}

// ---- Resources and prompts

json resource_list() {
  const auto one = [](const char* uri, const char* name, const char* type) {
    return json{{"uri", uri}, {"name", name}, {"description", "For the suite"}, {"mimeType", type}};
  };
  return json::array({one("test://static-text", "text", "text/plain"),
                      one("test://static-binary", "binary", "image/png"),
                      one("test://watched-resource", "watched", "text/plain")});
}

json prompt_list() {
  const auto argument = [](const char* name) {
    return json{{"name", name}, {"description", "For the suite"}, {"required", true}};
  };
  const auto one = [](const char* name, json arguments) {
    return json{{"name", name}, {"description", "For the suite"}, {"arguments", std::move(arguments)}};
  };
  return json::array({one("test_simple_prompt", json::array()),
                      one("test_prompt_with_arguments", json::array({argument("arg1"), argument("arg2")})),
                      one("test_prompt_with_embedded_resource", json::array({argument("resourceUri")})),
                      one("test_prompt_with_image", json::array()),
                      one("test_input_required_result_prompt", json::array())});
}

json by_user(json content) {
  return {{"role", "user"}, {"content", std::move(content)}};
}

Reply messages(std::initializer_list<json> contents) {
  json list = json::array();
  for (const json& one : contents) list.push_back(by_user(one));
  return json{{"messages", std::move(list)}};
}

}  // namespace

json SuiteProvider::capabilities(bool is_modern) const {
  const json plain = json::object();
  json all = {
      {"tools", plain}, {"resources", plain}, {"prompts", plain}, {"completions", plain}, {"logging", plain}};
  if (!is_modern) all["resources"]["subscribe"] = true;
  if (is_modern) all["extensions"][kTasksExtension] = plain;
  return all;
}

Reply SuiteProvider::list(Listed what, const std::string&, Call&) {
  switch (what) {
    case Listed::kTools:
      return json{{"tools", tool_list()}};
    case Listed::kResources:
      return json{{"resources", resource_list()}};
    case Listed::kTemplates:
      return json{{"resourceTemplates", json::array({json{{"uriTemplate", "test://template/{id}/data"},
                                                          {"name", "template"},
                                                          {"mimeType", "application/json"}}})}};
    case Listed::kPrompts:
      break;
  }
  return json{{"prompts", prompt_list()}};
}

Reply SuiteProvider::call_tool(const std::string& name, const json& arguments, Call& call) {
  const auto it = tools().find(name);
  if (it == tools().end()) return Fault{kInvalidParams, "there is no such tool"};
  return it->second(arguments, call);
}

TaskSupport SuiteProvider::task_support(const std::string& tool, const Call& call) const {
  if (tool == "failing_job") return TaskSupport::kRequired;
  // It asks first, and goes on as a task with the answer.
  if (tool == "test_tool_with_task") return call.input.empty() ? TaskSupport::kNone : TaskSupport::kRequired;
  const bool has_tasks = tool == "slow_compute" || tool == "protocol_error_job" || tool == "confirm_delete" ||
                         tool == "multi_input";
  return has_tasks ? TaskSupport::kOptional : TaskSupport::kNone;
}

Reply SuiteProvider::read_resource(const std::string& uri, Call& call) {
  json content = {{"uri", uri}, {"mimeType", "text/plain"}};
  static constexpr std::string_view kBegin = "test://template/", kEnd = "/data";
  if (uri == "test://static-text") {
    content["text"] = "This is the content of the static text resource.";
  } else if (uri == "test://watched-resource") {
    content["text"] = "This is watched.";
  } else if (uri == "test://static-binary") {
    content["mimeType"] = "image/png";
    content["blob"] = kPng;
  } else if (uri.starts_with(kBegin) && uri.ends_with(kEnd) && uri.size() > kBegin.size() + kEnd.size()) {
    const std::string id = uri.substr(kBegin.size(), uri.size() - kBegin.size() - kEnd.size());
    content["mimeType"] = "application/json";
    content["text"] = json{{"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}}.dump();
  } else {
    return Fault{
        call.is_modern ? kInvalidParams : kResourceNotFound, "there is no such resource", {{"uri", uri}}};
  }
  return json{{"contents", json::array({content})}};
}

Reply SuiteProvider::get_prompt(const std::string& name, const json& arguments, Call& call) {
  if (name == "test_simple_prompt") return messages({text("This is a simple prompt for testing.")});
  if (name == "test_prompt_with_arguments")
    return messages({text("Prompt with arguments: arg1='" + text_of(arguments, "arg1") + "', arg2='" +
                          text_of(arguments, "arg2") + "'")});
  if (name == "test_prompt_with_embedded_resource")
    return messages(
        {resource(text_of(arguments, "resourceUri"), "text/plain", "Embedded resource content for testing."),
         text("Please process the embedded resource above.")});
  if (name == "test_prompt_with_image") return messages({image(), text("Please analyze the image above.")});
  if (name != "test_input_required_result_prompt") return Fault{kInvalidParams, "there is no such prompt"};
  if (!call.input.contains("user_context"))
    return InputRequired{
        {{"user_context", elicitation("What context should the prompt use?", member("context", "string"))}},
        ""};
  return messages({text("Use this context: " + call.input["user_context"].dump())});
}

Reply SuiteProvider::complete(const json&, const json&, Call&) {
  return json{{"completion", {{"values", json::array()}, {"total", 0}, {"hasMore", false}}}};
}

Reply SuiteProvider::subscribe(const std::string&, bool, Call&) {
  return json::object();
}

}  // namespace nl::mcp
