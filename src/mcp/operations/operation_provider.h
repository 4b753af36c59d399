#pragma once
// OperationProvider: the operations as tools, runs, reports, rules and metrics as resources, and prompts for
// common investigations. Everything is asked at the door (ops/door.h), with the rights that the face gives.
// Any thread.

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "mcp/operations/tools.h"
#include "mcp/provider.h"
#include "ops/operation.h"

namespace nl::mcp {

/// How a face lets operations be called.
struct Offer {
  Rights rights = {};
  /// Ledger, principal and the like; the rest is filled in here. Called for each call.
  std::function<ops::Context(const ops::Operation& operation)> context = {};
  /// Told when a call has ended; null: without an error.
  std::function<void(const ops::Operation& operation, const nlohmann::json& arguments, const Error* error)>
      ended = [](const ops::Operation&, const nlohmann::json&, const Error*) {};
};

class OperationProvider : public Provider {
 public:
  explicit OperationProvider(Offer offer) : offer_(std::move(offer)) {}

  ServerInfo info() const override;
  nlohmann::json capabilities(bool is_modern) const override;
  Reply list(Listed what, const std::string& cursor, Call& call) override;
  Reply call_tool(const std::string& name, const nlohmann::json& arguments, Call& call) override;
  TaskSupport task_support(const std::string& tool, const Call& call) const override;
  Reply read_resource(const std::string& uri, Call& call) override;
  Reply get_prompt(const std::string& name, const nlohmann::json& arguments, Call& call) override;
  Reply complete(const nlohmann::json& ref, const nlohmann::json& argument, Call& call) override;

 private:
  ops::Context context_of(const ops::Operation& operation, Call& call) const;
  Reply run_tool(const ops::Operation& operation, nlohmann::json arguments, Call& call) const;
  /// Of what reads and names no file, whoever asks.
  Result<ops::Outcome> asked(std::string_view operation, const nlohmann::json& parameters, Call& call) const;
  Reply resource_text(const std::string& uri, std::string_view operation, const nlohmann::json& parameters,
                      bool as_text, Call& call) const;
  Reply runs_as_resources(const std::string& cursor, Call& call) const;

  Offer offer_;
};

}  // namespace nl::mcp
