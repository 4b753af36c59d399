// Operations as tools of an agent: what is offered to whom, and how it is described.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/json_schema.h"
#include "base/text.h"
#include "mcp/operations/operation_provider.h"
#include "mcp/operations/prompts.h"
#include "mcp/operations/resources.h"
#include "mcp/operations/tool_answer.h"
#include "mcp/operations/tools.h"

namespace nl::mcp {
namespace {

using nlohmann::json;
using ops::Effect;

constexpr Rights kReader{Effect::kRead, false}, kWriter{Effect::kWrite, false}, kAtHome{Effect::kWrite, true},
    kWithExec{Effect::kExec, true};

std::set<std::string> names_of(const json& tools) {
  std::set<std::string> names;
  for (const json& tool : tools) names.insert(tool["name"].get<std::string>());
  return names;
}

const json& tool_named(const json& tools, const std::string& name) {
  for (const json& tool : tools) {
    if (tool["name"] == name) return tool;
  }
  static const json none;
  return none;
}

bool has_mark(const json& value) {
  if (value.is_object()) {
    for (const auto& [key, one] : value.items()) {
      if (key.starts_with("x-") || has_mark(one)) return true;
    }
  }
  if (value.is_array()) {
    for (const json& one : value) {
      if (has_mark(one)) return true;
    }
  }
  return false;
}

/// References that lead nowhere, which some clients take for a reason to refuse all tools.
std::vector<std::string> lost_references(const json& node, const json& root) {
  std::vector<std::string> lost;
  if (node.is_object() && node.contains("$ref") && node["$ref"].is_string()) {
    const std::string reference = node["$ref"];
    if (!reference.starts_with("#/") || !root.contains(json::json_pointer(reference.substr(1))))
      lost.push_back(reference);
  }
  if (!node.is_structured()) return lost;
  for (const json& part : node) {
    for (std::string& one : lost_references(part, root)) lost.push_back(std::move(one));
  }
  return lost;
}

TEST(McpTools, RunNoProgramUnlessThatIsAllowed) {
  for (const Rights& rights : {kReader, kWriter, kAtHome}) {
    const auto names = names_of(tools_for(rights));
    for (const char* name : {"profile", "record", "deep"}) EXPECT_FALSE(names.contains(name)) << name;
  }
  const auto names = names_of(tools_for(kWithExec));
  for (const char* name : {"profile", "record", "deep"}) EXPECT_TRUE(names.contains(name)) << name;
  for (const char* name : {"view", "push", "token", "delete", "export"})
    EXPECT_FALSE(names.contains(name)) << name;
}

TEST(McpTools, NameFilesOnlyWhereTheCallerIs) {
  EXPECT_FALSE(names_of(tools_for(kWriter)).contains("import"));
  EXPECT_TRUE(names_of(tools_for(kAtHome)).contains("import"));
  const ops::Operation& compare = *ops::find_operation("compare");
  EXPECT_FALSE(input_schema(compare, kWriter)["properties"].contains("expect"));
  EXPECT_TRUE(input_schema(compare, kAtHome)["properties"].contains("expect"));
}

TEST(McpTools, TakeArgumentsThatTheyDoNotList) {
  const ops::Operation& analyze = *ops::find_operation("analyze");
  EXPECT_FALSE(input_schema(analyze, kAtHome)["properties"].contains("peaks"));  // rare: the list stays short
  EXPECT_TRUE(takes(analyze, "peaks", kAtHome));
  EXPECT_FALSE(takes(analyze, "peaks", kWriter));
}

TEST(McpTools, ThatReadWriteNoFiles) {
  const json compare = tool_named(tools_for(kAtHome), "compare");
  EXPECT_FALSE(compare["inputSchema"]["properties"].contains("html"));
  EXPECT_EQ(compare["annotations"]["readOnlyHint"], true);
  EXPECT_EQ(tool_named(tools_for(kAtHome), "note")["annotations"]["readOnlyHint"], false);
  EXPECT_EQ(tool_named(tools_for(kReader), "note")["annotations"]["readOnlyHint"], true);
  EXPECT_FALSE(tool_named(tools_for(kReader), "note")["inputSchema"]["properties"].contains("text"));
  EXPECT_TRUE(tool_named(tools_for(kReader), "label").is_null());
}

TEST(McpTools, AreDescribedWhole) {
  for (const Rights& rights : {kReader, kWithExec}) {
    for (const json& tool : tools_for(rights)) {
      const std::string name = tool["name"];
      EXPECT_NE(tool["description"].get<std::string>().find("Use when"), std::string::npos) << name;
      EXPECT_EQ(tool["inputSchema"]["type"], "object") << name;
      EXPECT_EQ(tool["outputSchema"]["type"], "object") << name;
      EXPECT_TRUE(tool["annotations"]["readOnlyHint"].is_boolean()) << name;
      EXPECT_FALSE(has_mark(tool["inputSchema"])) << name;
      for (const char* schema : {"inputSchema", "outputSchema"})
        EXPECT_EQ(lost_references(tool[schema], tool[schema]), std::vector<std::string>()) << name;
      for (const json& required : tool["inputSchema"].value("required", json::array()))
        EXPECT_TRUE(tool["inputSchema"]["properties"].contains(required.get<std::string>())) << name;
    }
  }
  EXPECT_EQ(tools_for(kAtHome).dump(), tools_for(kAtHome).dump());
}

TEST(McpTools, TakeABudget) {
  const ops::Operation& runs = *ops::find_operation("runs");
  EXPECT_EQ(input_schema(runs, kReader)["properties"]["budget"]["type"], "integer");
  json none = json::object(), some = {{"budget", 300}}, wrong = {{"budget", 5}}, text = {{"budget", "a"}};
  EXPECT_EQ(take_budget(runs, none, kDefaultTokens), kDefaultTokens);
  EXPECT_EQ(take_budget(runs, some, kDefaultTokens), 300);
  EXPECT_FALSE(some.contains("budget"));
  EXPECT_EQ(take_budget(runs, wrong, kDefaultTokens), 0);
  EXPECT_TRUE(wrong.contains("budget"));  // the door says what is wrong
  EXPECT_EQ(take_budget(runs, text, kDefaultTokens), 0);
}

TEST(McpTools, AreSuggestedOnlyIfTheyAreThere) {
  const std::vector<SuggestedCall> calls = {{"analyze", R"({"run":"a"})"}, {"view", R"({"runs":["a"]})"}};
  const auto kept = calls_of_tools(calls, kReader);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(spelled_for(kept[0], kReader), R"(analyze {"run":"a"})");
  EXPECT_NE(spelled_for(calls[1], kReader).find("command line"), std::string::npos);
}

TEST(McpTools, FailAsTypedResults) {
  Error error{ErrorCode::kNotFound, "there is no run\x1b[31m", "look at {}", {{"runs", "{}"}}};
  const json result = error_result("show", error, kReader);
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["structuredContent"]["error"]["code"], "not_found");
  EXPECT_EQ(result["structuredContent"]["next"][0], "runs {}");
  const std::string text = result["content"][0]["text"];
  EXPECT_TRUE(text.starts_with("not_found: "));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  // A message may have a name of somebody else in it, as an answer may.
  const ops::Operation& runs = *ops::find_operation("runs");
  const json answer = answer_result(runs, {.data = {{"runs", json::array()}}}, "none", kReader);
  EXPECT_EQ(result["_meta"], answer["_meta"]);
  EXPECT_TRUE(has_part(text, answer["content"][0]["text"].get<std::string>().substr(sizeof("none"))));
}

// ---- Without a ledger

OperationProvider provider_of(const std::string& ledger_folder) {
  Offer offer;
  offer.context = [ledger_folder](const ops::Operation&) {
    ops::Context context;
    context.ledger_folder = ledger_folder;
    return context;
  };
  return OperationProvider(std::move(offer));
}

class McpProvider : public testing::Test {
 protected:
  OperationProvider provider_ = provider_of("/proc/nonexistent/ledger");
  Call call_;
};

TEST_F(McpProvider, KnowsNoOtherTool) {
  for (const char* name : {"no_such_tool", "export", "token", "view", "", "../runs"})
    EXPECT_EQ(std::get<Fault>(provider_.call_tool(name, json::object(), call_)).code, kInvalidParams) << name;
}

TEST_F(McpProvider, RefusesWhatItDoesNotOfferByType) {
  for (const char* name : {"profile", "record", "import", "label", "tag"}) {
    const json parameters = json::parse(ops::find_operation(name)->example);
    const json result = std::get<json>(provider_.call_tool(name, parameters, call_));
    EXPECT_EQ(result["isError"], true) << name;
    EXPECT_EQ(result["structuredContent"]["error"]["code"], "permission") << name << result;
  }
}

TEST_F(McpProvider, RefusesArgumentsThatItDoesNotShow) {
  for (const json& arguments : {json{{"runs", {"a", "b"}}, {"html", "/tmp/x"}}, json{{"nonsense", 1}}}) {
    const json result = std::get<json>(provider_.call_tool("compare", arguments, call_));
    EXPECT_EQ(result["structuredContent"]["error"]["code"], "bad_input") << result;
  }
}

TEST_F(McpProvider, AnswersWhatNeedsNoLedger) {
  const json result = std::get<json>(provider_.call_tool("rules", json::object(), call_));
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result["structuredContent"]["schema"], "neurolens.rules/1");
  EXPECT_FALSE(result["content"][0]["text"].get<std::string>().empty());
  const json read = std::get<json>(provider_.read_resource("neurolens://metric/total_time", call_));
  EXPECT_EQ(read["contents"][0]["mimeType"], "application/json");
  const json rules = std::get<json>(provider_.read_resource("neurolens://rules", call_));
  EXPECT_FALSE(json::parse(rules["contents"][0]["text"].get<std::string>())["data"]["rules"].empty());
}

TEST_F(McpProvider, KeepsTheSchemasOfItsTools) {
  const std::pair<std::string, json> calls[] = {{"rules", json::object()},
                                                {"schema", json{{"what", "kernels"}}},
                                                {"show", json{{"run", "nosuchrun"}}},
                                                {"analyze", json{{"run", 5}}}};
  for (const auto& [name, arguments] : calls) {
    const json tool = tool_of(*ops::find_operation(name), kReader);
    const JsonSchema schema(tool["outputSchema"].dump(), name);
    const json result = std::get<json>(provider_.call_tool(name, arguments, call_));
    const auto valid = schema.validate(result["structuredContent"]);
    EXPECT_TRUE(valid) << name << ": " << (valid ? "" : valid.error().message);
  }
}

TEST_F(McpProvider, CompletesNamesOfMetrics) {
  const json ref = {{"type", "ref/resource"}, {"uri", "neurolens://metric/{metric}"}};
  const json done = std::get<json>(provider_.complete(ref, {{"name", "metric"}, {"value", "total_"}}, call_));
  EXPECT_FALSE(done["completion"]["values"].empty());
  const json nothing = std::get<json>(provider_.complete({{"type", 5}}, {{"name", 7}}, call_));
  EXPECT_TRUE(nothing["completion"]["values"].empty());
}

TEST_F(McpProvider, NamesToolsThatAReaderHas) {
  const auto names = names_of(tools_for(kReader));
  const auto parts = split(provider_.info().instructions, '`');
  for (size_t i = 1; i < parts.size(); i += 2)
    EXPECT_TRUE(names.contains(parts[i]) || parts[i] == "next") << parts[i];
}

TEST_F(McpProvider, SaysIfThereAreMoreCompletions) {
  const json ref = {{"type", "ref/resource"}, {"uri", "neurolens://metric/{metric}"}};
  const auto completion = [&](const char* begin) {
    const json argument = {{"name", "metric"}, {"value", begin}};
    return std::get<json>(provider_.complete(ref, argument, call_))["completion"];
  };
  EXPECT_EQ(completion("")["values"].size(), 100u);
  EXPECT_EQ(completion("")["hasMore"], true);
  EXPECT_EQ(completion("total_")["hasMore"], false);
}

TEST(McpLedger, ThatCannotBeReadIsNoEmptyOne) {
  const std::string ledger = testing::TempDir() + "mcp_unreadable";
  std::filesystem::create_directories(ledger + "/state.sqlite");  // no file that could be opened
  OperationProvider provider = provider_of(ledger);
  Call call;
  const auto code_of = [](const Reply& reply) { return std::get<Fault>(reply).code; };
  EXPECT_EQ(code_of(provider.list(Listed::kResources, "", call)), kInternalError);
  EXPECT_EQ(code_of(provider.read_resource("neurolens://run/abc", call)), kInternalError);
  EXPECT_EQ(code_of(provider.read_resource("neurolens://run/abc/report", call)), kInternalError);
  EXPECT_EQ(code_of(provider.read_resource("neurolens://other/abc", call)), kResourceNotFound);
  const json ref = {{"type", "ref/prompt"}, {"name", "why_is_this_run_slow"}};
  EXPECT_EQ(code_of(provider.complete(ref, {{"name", "run"}, {"value", ""}}, call)), kInternalError);
  std::filesystem::remove_all(ledger);
}

TEST(McpResources, AreNamedByAddresses) {
  EXPECT_EQ(resource_of("neurolens://run/abc")->operation, "show");
  EXPECT_EQ(resource_of("neurolens://run/@latest~1/report")->operation, "analyze");
  EXPECT_TRUE(resource_of("neurolens://run/abc/report")->as_text);
  EXPECT_EQ(resource_of("neurolens://rule/launch_bound")->parameters["targets"][0], "launch_bound");
  for (const char* wrong : {"", "neurolens://", "neurolens://run", "neurolens://run/", "neurolens://run/a/b",
                            "neurolens://run/..%2f", "neurolens://run/a b", "neurolens://run/a/report/x",
                            "neurolens://other/a", "file:///etc/passwd", "neurolens://run//etc/passwd"})
    EXPECT_FALSE(resource_of(wrong)) << wrong;
  EXPECT_FALSE(resource_of("neurolens://run/" + std::string(1000, 'a')));
}

TEST(McpResources, AreListedByPages) {
  EXPECT_EQ(offset_of(""), 0);
  EXPECT_EQ(offset_of(cursor_for(100)), 100);
  for (const char* wrong : {"0", "-1", "a", "1a", "99999999999999999999"})
    EXPECT_EQ(offset_of(wrong), std::nullopt) << wrong;
}

TEST(McpPrompts, NameOnlyToolsThatThereAre) {
  const auto names = names_of(tools_for(kReader));
  for (const json& prompt : prompts()) {
    json arguments = json::object();
    for (const json& one : prompt["arguments"]) arguments[one["name"].get<std::string>()] = "@latest";
    const json filled = std::get<json>(filled_prompt(prompt["name"], arguments));
    const std::string text = filled["messages"][0]["content"]["text"];
    EXPECT_EQ(text.find('{'), std::string::npos) << text;
    for (size_t at = text.find("Call `"); at != std::string::npos; at = text.find("Call `", at + 1)) {
      const std::string tool = text.substr(at + 6, text.find('`', at + 6) - at - 6);
      EXPECT_TRUE(names.contains(tool) || tool == "findings") << tool;
    }
    EXPECT_EQ(std::get<Fault>(filled_prompt(prompt["name"], json::object())).code, kInvalidParams);
  }
  EXPECT_EQ(std::get<Fault>(filled_prompt("no_such_prompt", json::object())).code, kInvalidParams);
}

}  // namespace
}  // namespace nl::mcp
