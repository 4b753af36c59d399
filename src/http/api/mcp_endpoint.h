#pragma once
// POST /mcp: the Model Context Protocol over HTTP (mcp/core.h), for agents. Who asks and from where is the
// guard's business, before anything comes here. An answer is JSON, or events if something is said ahead of
// it. Any thread may ask.

#include <functional>
#include <memory>
#include <string_view>

#include "http/message.h"
#include "http/people/audit_log.h"
#include "http/people/guard.h"
#include "mcp/core.h"
#include "mcp/operations/operation_provider.h"
#include "ops/operation.h"

namespace nl::store {
class SqlWorkers;
}

namespace nl::http {

inline constexpr std::string_view kMcp = "/mcp";

/// Makes what is offered to a caller; tests offer something else than the operations.
using McpProviders =
    std::function<std::unique_ptr<mcp::Provider>(const Request& request, const Caller& caller)>;

/// The operations, with the rights of the caller: nothing that runs programs, and no file of this machine.
McpProviders providers_of_operations(const std::string& ledger_folder, store::SqlWorkers* sql_workers,
                                     AuditLog* audit);

class McpEndpoint {
 public:
  explicit McpEndpoint(McpProviders providers)
      : providers_(std::move(providers)), core_(std::make_shared<mcp::Core>()) {}

  Response answer(const Request& request, const Caller& caller) const;
  /// Told by the headers in the revision that holds them against the body, else by the text of the body. What
  /// is not sure is heavy.
  ops::Cost cost_of(const Request& request) const;

 private:
  McpProviders providers_;
  std::shared_ptr<mcp::Core> core_;
};

}  // namespace nl::http
