#pragma once
// Provider: what a server of the protocol offers. The core (mcp/core.h) knows the protocol and no tool, a
// provider knows its tools and no protocol. The product's is made from the operations
// (mcp/operations/operation_provider.h); tests have one of their own. Called from several threads at once.

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "mcp/message.h"

namespace nl::mcp {

/// The client must answer these before the call can go on. In revision 2026-07-28 it gets them as the result
/// and calls again; before, the core asks one by one while the call waits. A provider does not see the
/// difference: it is called again with Call::input.
struct InputRequired {
  nlohmann::json requests = nlohmann::json::object();  ///< by key: {"method": …, "params": …}
  std::string state = {};  ///< comes back in Call::state; the client can read it and cannot change it
};

using Reply = std::variant<nlohmann::json, InputRequired, Fault>;

/// One request, besides its own parameters.
struct Call {
  bool is_modern = false;                           ///< of 2026-07-28
  nlohmann::json capabilities = nullptr;            ///< of the client; null: not known
  nlohmann::json input = nlohmann::json::object();  ///< answers to InputRequired::requests, by key
  std::string state = {};                           ///< of the InputRequired before; empty: none
  /// How far it has come; goes to the client if it asked for that. Any thread.
  std::function<void(double done, double total, const std::string& what)> progress =
      [](double, double, const std::string&) {};
  std::function<void(std::string_view level, const nlohmann::json& data)> log = [](std::string_view,
                                                                                   const nlohmann::json&) {};
  std::function<bool()> cancelled = [] { return false; };

  bool client_has(const char* capability) const {
    return capabilities.is_null() || capabilities.contains(capability);
  }
};

struct ServerInfo {
  std::string name;
  std::string version;
  std::string instructions = {};  ///< for whoever uses the tools; empty: none
};

/// Whether a call may go on as a task (mcp/tasks.h), if its client knows tasks.
enum class TaskSupport { kNone, kOptional, kRequired };

enum class Listed { kTools, kResources, kTemplates, kPrompts };

class Provider {
 public:
  virtual ~Provider() = default;

  virtual ServerInfo info() const = 0;
  /// As the protocol writes them, e.g. {"tools": {}}. Methods of what is not named do not exist.
  virtual nlohmann::json capabilities(bool is_modern) const = 0;
  /// The result of the list method: {"tools": […]}, with `nextCursor` if there is more.
  virtual Reply list(Listed what, const std::string& cursor, Call& call) = 0;
  virtual Reply call_tool(const std::string& name, const nlohmann::json& arguments, Call& call) = 0;
  /// Of a call that is about to be made. For providers whose capabilities name the extension.
  virtual TaskSupport task_support(const std::string& tool, const Call& call) const;
  virtual Reply read_resource(const std::string& uri, Call& call);
  virtual Reply get_prompt(const std::string& name, const nlohmann::json& arguments, Call& call);
  /// Values for an argument of a prompt or of a template of resources.
  virtual Reply complete(const nlohmann::json& ref, const nlohmann::json& argument, Call& call);
  /// Of revisions before 2026-07-28; for providers whose capability `resources` has `subscribe`.
  virtual Reply subscribe(const std::string& uri, bool is_wanted, Call& call);
  /// How long a client may keep the answer of this method.
  virtual int64_t fresh_ms(std::string_view method) const;
};

}  // namespace nl::mcp
