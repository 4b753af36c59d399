// The Model Context Protocol without a transport: both eras, versions, headers, input of the client, and what
// hostile messages get.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "mcp/core.h"
#include "mcp/era.h"
#include "mcp/message.h"
#include "mcp/request_state.h"
#include "mcp/suite_provider.h"

namespace nl::mcp {
namespace {

using nlohmann::json;
using Headers = std::map<std::string, std::string, std::less<>>;

json modern_meta(json capabilities = json::object()) {
  return {{kMetaVersion, kModernVersion}, {kMetaCapabilities, std::move(capabilities)}};
}

json asking(const std::string& method, json params = json::object()) {
  return {{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}};
}

json asking_modern(const std::string& method, json params = json::object(),
                   json capabilities = json::object()) {
  params["_meta"] = modern_meta(std::move(capabilities));
  return asking(method, std::move(params));
}

/// A client of the suite's tools.
class Mcp : public testing::Test {
 protected:
  Answer send(const std::string& text, Arrival arrival = {}) {
    return core_.answer_all(read_messages(text), arrival, provider_);
  }
  /// Without HTTP.
  Answer send(const json& message) {
    Arrival arrival;
    arrival.session = session_;
    arrival.opened = &session_;
    arrival.say = [this](const json& said) { said_.push_back(said); };
    return send(message.dump(), arrival);
  }
  Answer post(const json& message, Headers headers) {
    Arrival arrival;
    arrival.header = [headers](std::string_view name) -> std::string_view {
      const auto it = headers.find(name);
      return it == headers.end() ? std::string_view() : std::string_view(it->second);
    };
    return send(message.dump(), arrival);
  }
  Answer post_modern(const json& message) {
    Headers headers = {{"mcp-protocol-version", std::string(kModernVersion)},
                       {"mcp-method", message["method"].get<std::string>()}};
    const json& params = message["params"];
    for (const char* name : {"name", "uri"}) {
      if (params.contains(name)) headers["mcp-name"] = params[name].get<std::string>();
    }
    return post(message, headers);
  }
  json call(const std::string& tool, json more = json::object(),
            json capabilities = {{"elicitation", {}}, {"sampling", {}}, {"roots", {}}}) {
    more["name"] = tool;
    return send(asking_modern("tools/call", std::move(more), std::move(capabilities))).body;
  }
  void initialize(const std::string& version) {
    send(asking("initialize", {{"protocolVersion", version}, {"capabilities", json::object()}}));
  }

  static void expect_fault(const Answer& answer, int code, int status) {
    ASSERT_TRUE(answer.body.contains("error")) << answer.body;
    EXPECT_EQ(answer.body["error"]["code"], code) << answer.body;
    EXPECT_EQ(answer.status, status) << answer.body;
  }

  Core core_;
  SuiteProvider provider_;
  Session session_;
  std::vector<json> said_;
};

// ---- Eras and versions

TEST_F(Mcp, DiscoversInTheModernEra) {
  const Answer answer = post_modern(asking_modern("server/discover"));
  EXPECT_EQ(answer.status, 200);
  const json& result = answer.body["result"];
  EXPECT_EQ(result["supportedVersions"], supported_versions());
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_EQ(result["cacheScope"], "private");
  EXPECT_TRUE(result["ttlMs"].is_number_integer());
  EXPECT_TRUE(result["capabilities"].contains("tools"));
  EXPECT_EQ(result["_meta"][kMetaServer]["name"], "conformance");
}

TEST_F(Mcp, AgreesOnAVersionOf2025) {
  for (const std::string version : {"2025-03-26", "2025-06-18", "2025-11-25"}) {
    const Answer answer = send(asking("initialize", {{"protocolVersion", version}}));
    EXPECT_EQ(answer.body["result"]["protocolVersion"], version);
    EXPECT_EQ(session_.version, version);
    EXPECT_FALSE(answer.body["result"].contains("resultType"));
  }
  const Answer unknown = send(asking("initialize", {{"protocolVersion", "1999-01-01"}}));
  EXPECT_EQ(unknown.body["result"]["protocolVersion"], kNewestLegacy);
  expect_fault(send(asking("initialize")), kInvalidParams, 200);
}

TEST_F(Mcp, WantsMetadataOrASession) {
  expect_fault(send(asking("tools/list")), kInvalidParams, 400);
  expect_fault(send(asking("server/discover")), kInvalidParams, 400);
  EXPECT_TRUE(send(asking("ping")).body.contains("result"));
  initialize("2025-11-25");
  const Answer listed = send(asking("tools/list"));
  EXPECT_FALSE(listed.body["result"]["tools"].empty());
  EXPECT_FALSE(listed.body["result"].contains("ttlMs"));
  EXPECT_TRUE(send(asking_modern("tools/list")).body["result"].contains("ttlMs"));  // side by side
}

TEST_F(Mcp, RefusesMetadataThatIsNotWhole) {
  const Headers headers = {{"mcp-protocol-version", std::string(kModernVersion)},
                           {"mcp-method", "server/discover"}};
  expect_fault(post(asking("server/discover"), headers), kInvalidParams, 400);
  const json no_version = {{"_meta", {{kMetaCapabilities, json::object()}}}};
  expect_fault(post(asking("server/discover", no_version), headers), kInvalidParams, 400);
  const json no_capabilities = {{"_meta", {{kMetaVersion, kModernVersion}}}};
  expect_fault(post(asking("server/discover", no_capabilities), headers), kInvalidParams, 400);
  expect_fault(send(asking("server/discover", no_capabilities)), kInvalidParams, 400);
}

TEST_F(Mcp, NamesTheVersionsThatItHas) {
  json message = asking_modern("server/discover");
  message["params"]["_meta"][kMetaVersion] = "v999";
  const Answer answer = post(message, {{"mcp-protocol-version", "v999"}, {"mcp-method", "server/discover"}});
  expect_fault(answer, kUnsupportedVersion, 400);
  EXPECT_EQ(answer.body["error"]["data"]["supported"], supported_versions());
  EXPECT_EQ(answer.body["error"]["data"]["requested"], "v999");
  expect_fault(post(asking("tools/list"), {{"mcp-protocol-version", "2024-01-01"}}), kUnsupportedVersion,
               400);
}

TEST_F(Mcp, HasNoMethodOfAnotherEra) {
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                             "resources/unsubscribe", "unknown/method", "subscriptions/listen"})
    expect_fault(post_modern(asking_modern(method)), kMethodNotFound, 404);
  initialize("2025-11-25");
  expect_fault(send(asking("server/discover")), kMethodNotFound, 200);
}

TEST_F(Mcp, TakesAClientWithoutHeadersForTheOldest) {
  EXPECT_TRUE(post(asking("tools/list"), {}).body.contains("result"));
  EXPECT_TRUE(post(asking("ping"), {{"mcp-protocol-version", "2025-06-18"}}).body.contains("result"));
}

TEST_F(Mcp, HoldsHeadersAgainstTheBody) {
  const json call = asking_modern("tools/call", {{"name", "test_simple_text"}});
  const Headers right = {{"mcp-protocol-version", std::string(kModernVersion)},
                         {"mcp-method", "tools/call"},
                         {"mcp-name", "test_simple_text"}};
  EXPECT_EQ(post(call, right).status, 200);
  for (const auto& [name, value] : right) {
    Headers wrong = right;
    wrong[name] = value + "x";
    expect_fault(post(call, wrong), kHeaderMismatch, 400);
    wrong.erase(name);
    expect_fault(post(call, wrong), kHeaderMismatch, 400);
  }
  Headers blanks = right;
  blanks["mcp-name"] = "  test_simple_text  ";
  EXPECT_EQ(post(call, blanks).status, 200);
  blanks["mcp-name"] = "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?=";
  EXPECT_EQ(post(call, blanks).status, 200);
}

TEST(McpHeader, IsDecodedOnlyIfItIsEncoded) {
  EXPECT_EQ(meant_by("=?base64?SGVsbG8=?="), "Hello");
  EXPECT_EQ(meant_by("SGVsbG8="), "SGVsbG8=");
  EXPECT_EQ(meant_by("=?base64?SGVsbG8="), "=?base64?SGVsbG8=");
  EXPECT_EQ(meant_by("=?base64?SGVsbG8?="), std::nullopt);
  EXPECT_EQ(meant_by("=?base64?SGVs!!!bG8=?="), std::nullopt);
  EXPECT_EQ(meant_by("=?base64?=").value_or(""), "=?base64?=");
}

// ---- Hostile messages

TEST(McpMessage, IsRefusedWithTheIdIfItHasOne) {
  const std::string deep = std::string(70, '[') + std::string(70, ']');
  const std::pair<std::string, int> cases[] = {
      {"", kParseError},
      {"{", kParseError},
      {"\xff", kParseError},
      {"null", kInvalidRequest},
      {"1", kInvalidRequest},
      {"\"text\"", kInvalidRequest},
      {"[]", kInvalidRequest},
      {"{}", kInvalidRequest},
      {deep, kParseError},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "a", "params": )" + deep + "}", kParseError},
      {std::string("{\0}", 3), kParseError},
      {R"({"jsonrpc": "1.0", "id": 1, "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": 2.0, "id": 1, "method": "a"})", kInvalidRequest},
      {R"({"id": 1, "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "method": ""})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "method": 5})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "method": ")" + std::string(200, 'a') + "\"}", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": null, "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1.5, "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1e400, "method": "a"})", kParseError},
      {R"({"jsonrpc": "2.0", "id": 123456789012345678901234567890, "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": {}, "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": [1], "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": ")" + std::string(300, 'a') + R"(", "method": "a"})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "a", "params": []})", kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "a", "params": null})", kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1, "method": "a", "params": {"_meta": 5}})", kInvalidParams},
      {R"({"jsonrpc": "2.0", "id": 1})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "result": {}})", kInvalidRequest},
      {R"({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}})", kInvalidRequest},
  };
  for (const auto& [text, code] : cases) {
    const Messages read = read_messages(text);
    ASSERT_EQ(read.all.size(), 1u) << text;
    const auto* const refusal = std::get_if<Refusal>(&read.all.front());
    ASSERT_NE(refusal, nullptr) << text;
    EXPECT_EQ(refusal->fault.code, code) << text;
  }
  const Messages with_id = read_messages(R"({"jsonrpc": "2.0", "id": 7, "method": 5})");
  EXPECT_EQ(std::get<Refusal>(with_id.all.front()).id, 7);
}

TEST(McpMessage, HasALargestSize) {
  const std::string large(kMostMessageBytes + 1, ' ');
  EXPECT_TRUE(std::holds_alternative<Refusal>(read_messages(large).all.front()));
}

TEST(McpMessage, IsWrittenOnOneLine) {
  const std::string line = line_of(result_message("a\nb", {{"text", "\xff\x1b[31m\n"}}));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_FALSE(json::parse(line, nullptr, false).is_discarded());
  EXPECT_FALSE(fault_message(nullptr, {kParseError, "a"}).contains("id"));
}

TEST_F(Mcp, RefusesParametersOfTheWrongKind) {
  for (const char* text :
       {R"({"name": 5})", R"({})", R"({"name": "test_simple_text", "arguments": []})",
        R"({"name": "test_simple_text", "arguments": null})", R"({"name": "no_such_tool"})"})
    expect_fault(send(asking_modern("tools/call", json::parse(text))), kInvalidParams, 200);
  expect_fault(send(asking_modern("tools/list", {{"cursor", 5}})), kInvalidParams, 200);
  expect_fault(send(asking_modern("resources/read", {{"uri", json::array()}})), kInvalidParams, 200);
  expect_fault(send(asking_modern("prompts/get", json::object())), kInvalidParams, 200);
  expect_fault(send(asking_modern("completion/complete", {{"ref", 1}})), kInvalidParams, 200);
  EXPECT_TRUE(send(asking_modern("tools/call", {{"name", "test_simple_text"}})).body.contains("result"));
}

TEST_F(Mcp, TellsWhichResourceIsMissing) {
  const Answer answer = send(asking_modern("resources/read", {{"uri", "test://nothing"}}));
  expect_fault(answer, kInvalidParams, 200);
  EXPECT_EQ(answer.body["error"]["data"]["uri"], "test://nothing");
}

TEST_F(Mcp, TakesBatchesOnlyWhereTheVersionHasThem) {
  const json batch = json::array({asking("ping"), asking("tools/list"),
                                  json{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}});
  expect_fault(send(batch), kInvalidRequest, 400);
  initialize("2025-11-25");
  expect_fault(send(batch), kInvalidRequest, 400);
  initialize("2025-03-26");
  EXPECT_EQ(send(batch).body.size(), 2u);
  EXPECT_EQ(post(batch, {}).body.size(), 2u);
  expect_fault(post(batch, {{"mcp-protocol-version", std::string(kModernVersion)}}), kInvalidRequest, 400);
  const json only_notifications =
      json::array({json{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}});
  EXPECT_EQ(send(only_notifications).status, 202);
}

TEST_F(Mcp, AnswersNoNotificationAndNoResponse) {
  for (const char* text : {R"({"jsonrpc": "2.0", "method": "notifications/cancelled"})",
                           R"({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "x"}})",
                           R"({"jsonrpc": "2.0", "id": "nobody asked", "result": {}})",
                           R"({"jsonrpc": "2.0", "id": 5, "error": {"code": 1}})"}) {
    const Answer answer = send(std::string(text));
    EXPECT_EQ(answer.status, 202);
    EXPECT_TRUE(answer.body.is_null());
  }
}

// ---- Input of the client

TEST_F(Mcp, AsksTheModernClientByItsResult) {
  const json first = call("test_input_required_result_multi_round")["result"];
  EXPECT_EQ(first["resultType"], "input_required");
  EXPECT_FALSE(first.contains("ttlMs"));
  const json answered = {{"step1", {{"action", "accept"}}}};
  const json second = call("test_input_required_result_multi_round",
                           {{"inputResponses", answered}, {"requestState", first["requestState"]}})["result"];
  EXPECT_EQ(second["resultType"], "input_required");
  EXPECT_NE(second["requestState"], first["requestState"]);
  const json last =
      call("test_input_required_result_multi_round",
           {{"inputResponses", {{"step2", json::object()}}}, {"requestState", second["requestState"]}});
  EXPECT_EQ(last["result"]["resultType"], "complete");
}

TEST_F(Mcp, BelievesNoStateThatItDidNotGive) {
  const json state = call("test_input_required_result_request_state")["result"]["requestState"];
  const json confirmed = {{"confirm", json::object()}};
  const auto with_state = [&](const char* tool, const json& given) {
    return call(tool, {{"inputResponses", confirmed}, {"requestState", given}});
  };
  EXPECT_TRUE(with_state("test_input_required_result_request_state", state).contains("result"));
  for (const json& wrong : {json(state.get<std::string>() + "x"), json(""), json("."), json(5),
                            json("x" + state.get<std::string>()), json::object()})
    EXPECT_EQ(with_state("test_input_required_result_request_state", wrong)["error"]["code"], kInvalidParams);
  // It belongs to one tool and to its arguments.
  EXPECT_EQ(
      call("test_input_required_result_request_state", {{"inputResponses", confirmed},
                                                        {"requestState", state},
                                                        {"arguments", {{"other", 1}}}})["error"]["code"],
      kInvalidParams);
  EXPECT_EQ(with_state("test_input_required_result_tampered_state", state)["error"]["code"], kInvalidParams);
}

TEST_F(Mcp, RefusesInputOfTheWrongKind) {
  for (const json& wrong : {json(), json(5), json::array(), json{{"user_name", 12345}}})
    EXPECT_EQ(call("test_input_required_result_elicitation", {{"inputResponses", wrong}})["error"]["code"],
              kInvalidParams);
}

TEST_F(Mcp, AsksOnlyWhatTheClientCanAnswer) {
  const Answer answer = post_modern(asking_modern("tools/call", {{"name", "test_missing_capability"}}));
  expect_fault(answer, kMissingCapability, 400);
  EXPECT_TRUE(answer.body["error"]["data"]["requiredCapabilities"]["sampling"].is_object());
  const json some =
      call("test_input_required_result_capabilities", json::object(), {{"sampling", json::object()}});
  EXPECT_EQ(some["result"]["inputRequests"].size(), 1u);
}

TEST_F(Mcp, AsksTheClientOf2025InBetween) {
  Arrival arrival;
  arrival.session = {"2025-11-25", {{"sampling", json::object()}}, ""};
  std::thread client;
  arrival.say = [&](const json& question) {
    EXPECT_EQ(question["method"], "sampling/createMessage");
    client = std::thread([this, id = question["id"]] {
      const json response = {
          {"jsonrpc", "2.0"}, {"id", id}, {"result", {{"content", {{"type", "text"}, {"text", "Paris"}}}}}};
      send(response.dump());
    });
  };
  const Answer answer = send(
      asking("tools/call", {{"name", "test_sampling"}, {"arguments", {{"prompt", "?"}}}}).dump(), arrival);
  client.join();
  EXPECT_EQ(answer.body["result"]["content"][0]["text"], "LLM response: Paris");
  arrival.say = {};  // no stream: nobody can be asked
  const Answer alone = send(asking("tools/call", {{"name", "test_sampling"}}).dump(), arrival);
  EXPECT_TRUE(alone.body.contains("error"));
}

TEST_F(Mcp, WaitsForNoAnswerOfAClientThatHasLeft) {
  Arrival arrival;
  arrival.session = {"2025-11-25", {{"elicitation", json::object()}}, ""};
  arrival.say = [](const json&) {};
  arrival.cancelled = [] { return true; };
  const Answer answer = send(asking("tools/call", {{"name", "test_elicitation"}}).dump(), arrival);
  EXPECT_TRUE(answer.body.contains("error"));
}

// ---- Ahead of the answer

TEST_F(Mcp, TellsProgressOnlyIfItIsWanted) {
  send(asking_modern("tools/call", {{"name", "test_tool_with_progress"}}));
  EXPECT_TRUE(said_.empty());
  json message = asking_modern("tools/call", {{"name", "test_tool_with_progress"}});
  message["params"]["_meta"]["progressToken"] = "token";
  send(message);
  ASSERT_EQ(said_.size(), 3u);
  EXPECT_EQ(said_[1]["method"], "notifications/progress");
  EXPECT_EQ(said_[1]["params"]["progressToken"], "token");
  EXPECT_EQ(said_[1]["params"]["progress"], 50);
}

TEST_F(Mcp, LogsOnlyIfItIsWanted) {
  send(asking_modern("tools/call", {{"name", "test_logging_tool"}}));
  EXPECT_TRUE(said_.empty());
  json message = asking_modern("tools/call", {{"name", "test_logging_tool"}});
  message["params"]["_meta"][kMetaLogLevel] = "error";
  send(message);
  EXPECT_TRUE(said_.empty());
  message["params"]["_meta"][kMetaLogLevel] = "debug";
  send(message);
  EXPECT_EQ(said_.size(), 3u);
  said_.clear();
  initialize("2025-06-18");
  EXPECT_EQ(send(asking("logging/setLevel", {{"level", "warning"}})).body["result"], json::object());
  send(asking("tools/call", {{"name", "test_logging_tool"}}));
  EXPECT_TRUE(said_.empty());
  expect_fault(send(asking("logging/setLevel", {{"level", "loud"}})), kInvalidParams, 200);
}

TEST(McpState, BelongsToItsCallAndItsProcess) {
  const RequestState one, other;
  const std::string sealed = one.sealed("tools/call a", "state \x01");
  EXPECT_EQ(one.opened("tools/call a", sealed), "state \x01");
  EXPECT_EQ(one.opened("tools/call b", sealed), std::nullopt);
  EXPECT_EQ(other.opened("tools/call a", sealed), std::nullopt);
  EXPECT_EQ(one.opened("tools/call a", ""), std::nullopt);
}

}  // namespace
}  // namespace nl::mcp
