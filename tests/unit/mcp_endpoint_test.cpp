// POST /mcp without a socket: methods, types, plain answers, events, and on which lane a message waits.
#include "http/api/mcp_endpoint.h"

#include <gtest/gtest.h>

#include "mcp/suite_provider.h"

namespace nl::http {
namespace {

using nlohmann::json;

json suite_call(const std::string& tool, json more = json::object()) {
  more["name"] = tool;
  more["_meta"][mcp::kMetaVersion] = mcp::kModernVersion;
  more["_meta"][mcp::kMetaCapabilities] = json::object();
  return {{"jsonrpc", "2.0"}, {"id", 1}, {"method", "tools/call"}, {"params", std::move(more)}};
}

Request posted(const json& message) {
  Request request{.method = Method::kPost, .path = std::string(kMcp)};
  request.headers = {{"content-type", "application/json"},
                     {"accept", "application/json, text/event-stream"},
                     {"mcp-protocol-version", std::string(mcp::kModernVersion)}};
  if (message.contains("method")) request.headers["mcp-method"] = message["method"].get<std::string>();
  if (message.contains("params") && message["params"].contains("name"))
    request.headers["mcp-name"] = message["params"]["name"].get<std::string>();
  request.body = message.dump();
  return request;
}

class McpOverHttp : public testing::Test {
 protected:
  /// What a connection would write: events, or a whole answer.
  Response answer(const Request& request) {
    Response response = endpoint_.answer(request, {"somebody", "main", ops::Effect::kRead});
    if (!response.talk) return response;
    auto whole = response.talk([this](std::string_view piece) {
      events_.emplace_back(piece);
      return Result<void>();
    });
    return whole ? *std::move(whole) : response;
  }

  McpEndpoint endpoint_{[](const Request&, const Caller&) { return std::make_unique<mcp::SuiteProvider>(); }};
  std::vector<std::string> events_;
};

TEST_F(McpOverHttp, TakesPostsOfJsonAlone) {
  Request request = posted(suite_call("test_simple_text"));
  for (const Method method : {Method::kGet, Method::kHead, Method::kDelete, Method::kPut, Method::kOther}) {
    request.method = method;
    EXPECT_EQ(answer(request).status, 405);
  }
  request.method = Method::kPost;
  request.headers["content-type"] = "text/plain";
  EXPECT_EQ(answer(request).status, 415);
  request.headers["content-type"] = "application/json; charset=utf-8";
  request.headers["accept"] = "image/png";
  EXPECT_EQ(answer(request).status, 406);
  for (const char* accepted : {"", "*/*", "application/json", "text/event-stream, application/json"}) {
    request.headers["accept"] = accepted;
    EXPECT_EQ(answer(request).status, 200) << accepted;
  }
}

TEST_F(McpOverHttp, AnswersInOnePieceUnlessSomethingIsSaidBefore) {
  const Response plain = answer(posted(suite_call("test_simple_text")));
  EXPECT_EQ(plain.type, "application/json");
  EXPECT_TRUE(json::parse(plain.body).contains("result"));
  EXPECT_TRUE(events_.empty());
  const json with_progress = suite_call("test_tool_with_progress", {{"_meta", {{"progressToken", 5}}}});
  const Response stream = answer(posted(with_progress));
  EXPECT_EQ(stream.type, "text/event-stream");
  ASSERT_EQ(events_.size(), 4u);
  for (const std::string& event : events_) {
    EXPECT_TRUE(event.starts_with("event: message\ndata: {"));
    EXPECT_TRUE(event.ends_with("}\n\n"));
  }
  EXPECT_NE(events_.back().find("\"result\""), std::string::npos);
}

TEST_F(McpOverHttp, SaysNothingToAClientThatTakesNoEvents) {
  Request request = posted(suite_call("test_tool_with_progress", {{"_meta", {{"progressToken", 5}}}}));
  request.headers["accept"] = "application/json";
  EXPECT_TRUE(json::parse(answer(request).body).contains("result"));
  EXPECT_TRUE(events_.empty());
}

TEST_F(McpOverHttp, HasAStatusForEveryRefusal) {
  Request request = posted(suite_call("test_simple_text"));
  request.headers["mcp-name"] = "another";
  EXPECT_EQ(answer(request).status, 400);
  EXPECT_EQ(answer(posted(suite_call("test_missing_capability"))).status, 400);
  request.body = "{";
  EXPECT_EQ(answer(request).status, 400);
  json unknown = suite_call("x");
  unknown["method"] = "no/method";
  EXPECT_EQ(answer(posted(unknown)).status, 404);
  const Response noted = answer(posted({{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}));
  EXPECT_EQ(noted.status, 202);
  EXPECT_TRUE(noted.body.empty() && noted.type.empty());
}

TEST_F(McpOverHttp, WaitsWithItsLikes) {
  EXPECT_EQ(endpoint_.cost_of(posted(suite_call("runs"))), ops::Cost::kLight);
  for (const char* name : {"analyze", "=?base64?YW5hbHl6ZQ==?=", "=?base64?", "no_such_tool"})
    EXPECT_EQ(endpoint_.cost_of(posted(suite_call(name))), ops::Cost::kHeavy) << name;
  Request old;
  old.body = R"({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "runs"}})";
  EXPECT_EQ(endpoint_.cost_of(old), ops::Cost::kHeavy);
  old.body = R"({"jsonrpc": "2.0", "id": 1, "method": "tools\/call", "params": {"name": "analyze"}})";
  EXPECT_EQ(endpoint_.cost_of(old), ops::Cost::kHeavy);
  old.body = R"({"jsonrpc": "2.0", "id": 1, "result": {}})";
  EXPECT_EQ(endpoint_.cost_of(old), ops::Cost::kLight);
}

TEST_F(McpOverHttp, TrustsHeadersOnlyIfTheyAreHeldAgainstTheBody) {
  Request request = posted(suite_call("runs"));
  request.body = suite_call("analyze").dump();
  for (const char* version : {"", "2025-03-26", "2025-11-25", "2031-01-01"}) {
    request.headers["mcp-protocol-version"] = version;
    EXPECT_EQ(endpoint_.cost_of(request), ops::Cost::kHeavy) << version;
  }
  request.headers["mcp-protocol-version"] = mcp::kModernVersion;
  EXPECT_EQ(endpoint_.cost_of(request), ops::Cost::kLight);
  EXPECT_EQ(answer(request).status, 400);
}

}  // namespace
}  // namespace nl::http
