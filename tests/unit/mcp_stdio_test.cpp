// The protocol by lines: several requests at once, cancelling, lines that are too long, the end of the input.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "mcp/stdio/line_reader.h"
#include "mcp/stdio/stdio_server.h"
#include "mcp/suite_provider.h"

namespace nl::mcp {
namespace {

using nlohmann::json;

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  void write(const std::string& text) const {
    ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::array<int, 2> ends{-1, -1};
};

const auto kNever = [] { return false; };

TEST(McpLines, AreReadUpToALimit) {
  Pipe pipe;
  pipe.write("one\n\n" + std::string(50, 'x') + "\nlast");
  pipe.close_end(1);
  LineReader reader(pipe.ends[0], 10);
  EXPECT_EQ(reader.next(kNever).value()->text, "one");
  EXPECT_EQ(reader.next(kNever).value()->text, "");
  EXPECT_TRUE(reader.next(kNever).value()->is_too_long);
  EXPECT_EQ(reader.next(kNever).value()->text, "last");
  EXPECT_FALSE(reader.next(kNever).value());
}

TEST(McpLines, StopWhenTheyMust) {
  Pipe pipe;
  LineReader reader(pipe.ends[0], 10);
  EXPECT_FALSE(reader.next([] { return true; }).value());
}

/// A tool that runs until it is cancelled, besides those of the suite.
class SlowProvider : public SuiteProvider {
 public:
  Reply call_tool(const std::string& name, const json& arguments, Call& call) override {
    if (name != "wait") return SuiteProvider::call_tool(name, arguments, call);
    while (!call.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return json{{"content", json::array()}};
  }
};

std::string request(const json& id, const std::string& method, json params = json::object()) {
  params["_meta"] = {{kMetaVersion, kModernVersion}, {kMetaCapabilities, json::object()}};
  return json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}.dump() +
         "\n";
}

/// All answers to an input that ends.
std::vector<json> answers_to(const std::string& input) {
  Pipe in, out;
  std::thread writer([&] {
    in.write(input);
    in.close_end(1);
  });
  std::string got;
  std::thread reader([&] {
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = ::read(out.ends[0], piece.data(), piece.size())) > 0;)
      got.append(piece.data(), static_cast<size_t>(size));
  });
  Core core;
  SlowProvider provider;
  EXPECT_TRUE(serve_stdio(core, provider, {.in = in.ends[0], .out = out.ends[1]}));
  out.close_end(1);
  writer.join();
  reader.join();
  std::vector<json> answers;
  for (size_t at = 0; at < got.size();) {
    const size_t end = got.find('\n', at);
    answers.push_back(json::parse(got.substr(at, end - at)));
    at = end + 1;
  }
  return answers;
}

TEST(McpStdio, AnswersAllThatWasAskedBeforeTheEnd) {
  std::string input;
  for (int i = 0; i < 50; i++) input += request(i, "tools/call", {{"name", "test_simple_text"}});
  std::map<int, int> seen;
  for (const json& answer : answers_to(input)) {
    EXPECT_TRUE(answer.contains("result")) << answer;
    seen[answer["id"].get<int>()]++;
  }
  EXPECT_EQ(seen.size(), 50u);
}

/// More than a pipe holds.
std::string many_requests() {
  std::string input;
  for (int i = 0; i < 100; i++) input += request(i, "tools/list");
  return input;
}

TEST(McpStdio, WaitsForAReaderOfAnOutputThatDoesNotWait) {
  Pipe in, out;
  ASSERT_EQ(::fcntl(out.ends[1], F_SETFL, O_NONBLOCK), 0);
  in.write(many_requests());
  in.close_end(1);
  size_t lines = 0;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // until it is full
    std::array<char, 4096> piece{};
    for (ssize_t size = 0; (size = ::read(out.ends[0], piece.data(), piece.size())) > 0;)
      lines += static_cast<size_t>(std::count(piece.begin(), piece.begin() + size, '\n'));
  });
  Core core;
  SlowProvider provider;
  EXPECT_TRUE(serve_stdio(core, provider, {.in = in.ends[0], .out = out.ends[1]}));
  out.close_end(1);
  reader.join();
  EXPECT_EQ(lines, 100u);
}

TEST(McpStdio, StopsThoughNobodyReads) {
  Pipe in, out;
  in.write(many_requests());
  const auto begin = std::chrono::steady_clock::now();
  const auto must_stop = [&] { return std::chrono::steady_clock::now() - begin > std::chrono::seconds(1); };
  Core core;
  SlowProvider provider;
  const auto served =
      serve_stdio(core, provider, {.in = in.ends[0], .out = out.ends[1], .must_stop = must_stop});
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, ErrorCode::kIo);
}

TEST(McpStdio, EndsWhatAClientAskedForThatHasGone) {
  for (const bool ends_input : {true, false}) {
    Pipe in, out;
    in.write(request(1, "tools/call", {{"name", "wait"}}));
    if (ends_input) in.close_end(1);
    out.close_end(0);
    Core core;
    SlowProvider provider;
    const auto served = serve_stdio(core, provider, {.in = in.ends[0], .out = out.ends[1]});
    ASSERT_FALSE(served);
    EXPECT_EQ(served.error().code, ErrorCode::kIo);
  }
}

TEST(McpStdio, NeedsAThread) {
  Pipe in, out;
  in.write(request(1, "tools/list"));
  in.close_end(1);
  Core core;
  SlowProvider provider;
  const auto served = serve_stdio(core, provider, {.in = in.ends[0], .out = out.ends[1], .workers = 0});
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().code, ErrorCode::kUnavailable);
}

TEST(McpStdio, SaysNothingMoreOfACancelledRequest) {
  const std::string cancel =
      R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "slow"}})";
  const auto answers = answers_to(request("slow", "tools/call", {{"name", "wait"}}) + cancel + "\n" +
                                  request(2, "tools/list"));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]["id"], 2);
}

TEST(McpStdio, RefusesWhatItCannotTake) {
  const auto answers = answers_to("no json\n  \n" + request("a", "no/method") +
                                  R"({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})" + "\n");
  std::map<std::string, int> codes;
  for (const json& answer : answers) codes[answer.value("id", json("none")).dump()] = answer["error"]["code"];
  const std::map<std::string, int> expected = {
      {"\"none\"", kParseError}, {"\"a\"", kMethodNotFound}, {"1", kInvalidParams}};
  EXPECT_EQ(codes, expected);
}

TEST(McpStdio, RemembersWhatInitializeAgreedOn) {
  const auto answers = answers_to(
      R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})"
      "\n"
      R"({"jsonrpc": "2.0", "method": "notifications/initialized"})"
      "\n"
      R"({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})"
      "\n");
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["result"]["protocolVersion"], "2025-06-18");
  EXPECT_TRUE(answers[1]["result"].contains("tools"));
}

TEST(McpStdio, RunsNoTwoRequestsOfOneId) {
  const std::string slow = request(1, "tools/call", {{"name", "wait"}});
  const std::string cancel =
      R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})";
  const auto answers = answers_to(slow + slow + cancel + "\n");
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]["error"]["code"], kInvalidRequest);
}

}  // namespace
}  // namespace nl::mcp
