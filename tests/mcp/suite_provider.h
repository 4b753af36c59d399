#pragma once
// What the official conformance suite of the protocol wants a server to offer: tools, resources and prompts
// with fixed names and fixed answers. It shows that the core keeps the protocol; no user ever sees it.

#include "mcp/provider.h"

namespace nl::mcp {

class SuiteProvider : public Provider {
 public:
  ServerInfo info() const override { return {"conformance", "1", ""}; }
  nlohmann::json capabilities(bool is_modern) const override;
  Reply list(Listed what, const std::string& cursor, Call& call) override;
  Reply call_tool(const std::string& name, const nlohmann::json& arguments, Call& call) override;
  TaskSupport task_support(const std::string& tool, const Call& call) const override;
  Reply read_resource(const std::string& uri, Call& call) override;
  Reply get_prompt(const std::string& name, const nlohmann::json& arguments, Call& call) override;
  Reply complete(const nlohmann::json& ref, const nlohmann::json& argument, Call& call) override;
  Reply subscribe(const std::string& uri, bool is_wanted, Call& call) override;
};

}  // namespace nl::mcp
