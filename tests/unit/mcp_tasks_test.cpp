// Calls that go on as tasks: their states, whose they are, their questions, how they are cancelled.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "mcp/tasks.h"

namespace nl::mcp {
namespace {

using nlohmann::json;

class McpTasks : public testing::Test {
 protected:
  json begin(Tasks::Work work) { return tasks_.begin("me", Call(), std::move(work)).value_or(json()); }
  json state(const json& handle) { return std::get<json>(tasks_.get("me", id_of(handle))); }
  /// Asks until it is no longer in this state.
  json after(const json& handle, const std::string& status) {
    json now = state(handle);
    for (; now["status"] == status; now = state(handle)) std::this_thread::yield();
    return now;
  }
  static std::string id_of(const json& handle) { return handle.at("taskId").get<std::string>(); }
  static int code_of(const Reply& reply) { return std::get<Fault>(reply).code; }

  std::atomic<bool> may_end_ = false;  ///< of works that wait for it
  Tasks tasks_;
};

Reply ended_by_cancel(Call& call) {
  while (!call.cancelled()) std::this_thread::yield();
  return Fault{kInternalError, "cancelled"};
}

TEST_F(McpTasks, GoOnUntilTheyHaveAResult) {
  const json handle = begin([this](Call& call) -> Reply {
    call.progress(1, 2, "half-way");
    while (!may_end_) std::this_thread::yield();
    return json{{"content", 5}};
  });
  EXPECT_EQ(handle["resultType"], "task");
  EXPECT_EQ(handle["status"], "working");
  EXPECT_FALSE(state(handle).contains("result"));
  may_end_ = true;
  const json over = after(handle, "working");
  EXPECT_EQ(over["status"], "completed");
  EXPECT_EQ(over["result"], json({{"content", 5}, {"resultType", "complete"}}));
  EXPECT_FALSE(over.contains("statusMessage"));
  EXPECT_EQ(state(handle), over) << "it can be asked again";
}

TEST_F(McpTasks, FailByAFaultOrAnException) {
  const json faulty = begin([](Call&) -> Reply { return Fault{kInvalidParams, "no"}; });
  EXPECT_EQ(after(faulty, "working")["error"]["code"], kInvalidParams);
  const json thrown = begin([](Call&) -> Reply { throw std::runtime_error("broken"); });
  const json over = after(thrown, "working");
  EXPECT_EQ(over["status"], "failed");
  EXPECT_EQ(over["error"]["code"], kInternalError);
}

TEST_F(McpTasks, AreThoseOfTheirOwner) {
  const std::string id = id_of(begin(ended_by_cancel));
  EXPECT_EQ(code_of(tasks_.get("you", id)), kInvalidParams);
  EXPECT_EQ(code_of(tasks_.cancel("you", id)), kInvalidParams);
  EXPECT_EQ(code_of(tasks_.update("you", id, json::object())), kInvalidParams);
  EXPECT_EQ(code_of(tasks_.get("me", "another")), kInvalidParams);
}

TEST_F(McpTasks, EndWhenTheySeeThatTheyAreCancelled) {
  const json handle = begin(ended_by_cancel);
  EXPECT_EQ(std::get<json>(tasks_.cancel("me", id_of(handle))), json::object());
  EXPECT_EQ(after(handle, "working")["status"], "cancelled");
  EXPECT_EQ(std::get<json>(tasks_.cancel("me", id_of(handle))), json::object()) << "again";
}

TEST_F(McpTasks, AreCompletedIfTheyWereDoneInSpiteOfIt) {
  const json handle = begin([](Call& call) -> Reply {
    while (!call.cancelled()) std::this_thread::yield();
    return json{{"content", 5}};
  });
  (void)tasks_.cancel("me", id_of(handle));
  EXPECT_EQ(after(handle, "working")["status"], "completed");
}

TEST_F(McpTasks, KeepTheirStatusOnceTheyAreOver) {
  const Reply ends[] = {json{{"content", 5}}, json{{"isError", true}}, Fault{kInvalidParams, "no"}};
  for (const Reply& end : ends) {
    const json handle = begin([&](Call&) { return end; });
    const json over = after(handle, "working");
    EXPECT_EQ(std::get<json>(tasks_.cancel("me", id_of(handle))), json::object());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    (void)tasks_.update("me", id_of(handle), {{"a", {{"n", 1}}}});
    EXPECT_EQ(state(handle), over);
  }
}

TEST_F(McpTasks, SayWhatTheyAskWheneverTheyAsk) {
  for (int i = 0; i < 30; i++) {
    const json handle = begin([](Call& call) -> Reply {
      const std::string round = std::to_string(call.input.size());
      if (call.input.size() == 15) return json::object();
      return InputRequired{{{round, {{"method", "x"}}}}, round};
    });
    std::atomic<bool> is_over = false;
    std::thread client([&, id = id_of(handle)] {
      json answers = json::object();
      for (int round = 0; round < 15; round++) answers[std::to_string(round)] = json::object();
      while (!is_over) (void)tasks_.update("me", id, answers);
    });
    for (json now = state(handle); !is_over; now = state(handle)) {
      EXPECT_TRUE(now["status"] != "input_required" || !now["inputRequests"].empty());
      is_over = now["status"] == "completed";
    }
    client.join();
  }
}

TEST_F(McpTasks, AskTheirClient) {
  const json handle = begin([](Call& call) -> Reply {
    if (call.input.size() == 2) return json{{"content", call.input}, {"state", call.state}};
    return InputRequired{{{"a", {{"method", "x"}}}, {"b", {{"method", "y"}}}}, "asked"};
  });
  EXPECT_EQ(after(handle, "working")["inputRequests"].size(), 2u);
  const std::string id = id_of(handle);
  (void)tasks_.update("me", id, {{"a", {{"n", 1}}}, {"nobody", {{"n", 3}}}});
  EXPECT_EQ(state(handle)["status"], "input_required");
  EXPECT_EQ(state(handle)["inputRequests"], json({{"b", {{"method", "y"}}}}));
  (void)tasks_.update("me", id, {{"b", {{"n", 2}}}});
  (void)after(handle, "input_required");
  const json over = after(handle, "working");
  EXPECT_EQ(over["result"]["content"], json({{"a", {{"n", 1}}}, {"b", {{"n", 2}}}}));
  EXPECT_EQ(over["result"]["state"], "asked");
}

TEST_F(McpTasks, AreNotTooMany) {
  json last;
  int count = 0;
  for (; count < 1000; count++) {
    auto handle = tasks_.begin("me", Call(), ended_by_cancel);
    if (!handle) break;
    last = *handle;
  }
  EXPECT_EQ(count, 8);
  (void)tasks_.cancel("me", id_of(last));
  (void)after(last, "working");
  EXPECT_TRUE(tasks_.begin("me", Call(), ended_by_cancel)) << "one has ended";
}

TEST_F(McpTasks, EndTogether) {
  (void)begin(ended_by_cancel);
  (void)begin(ended_by_cancel);
  tasks_.end();
  EXPECT_FALSE(tasks_.begin("me", Call(), ended_by_cancel));
}

}  // namespace
}  // namespace nl::mcp
