#pragma once
// The operations over HTTP: /api/v1/<operation>, and what only a server has: uploads and jobs. Made from the
// registry: what an operation declares is what is offered. Any thread may ask.

#include <memory>
#include <string>
#include <string_view>

#include "http/api/mcp_endpoint.h"
#include "http/jobs/jobs.h"
#include "http/jobs/uploads.h"
#include "http/message.h"
#include "http/people/audit_log.h"
#include "http/people/guard.h"
#include "ops/operation.h"

namespace nl::http {

inline constexpr std::string_view kApi = "/api/v1/";
inline constexpr std::string_view kOpenApi = "/api/v1/openapi.json";

/// What the parts of a server share.
struct Shop {
  std::string ledger_folder;
  store::SqlWorkers* sql_workers = nullptr;
  AuditLog* audit = nullptr;
  Jobs* jobs = nullptr;
  Uploads* uploads = nullptr;
  std::string base_path = {};       ///< "/lens" behind a proxy; empty: none
  bool has_sign_in = false;         ///< people come by a provider
  McpProviders mcp_providers = {};  ///< none: the operations are offered to agents
};

class Api {
 public:
  explicit Api(Shop shop) : shop_(std::move(shop)) {}

  /// `name`: what stands behind /api/v1/.
  Response answer(const Request& request, const Caller& caller, std::string_view name) const;
  /// Takes the bytes of a file; null if the request is not about one.
  Result<std::unique_ptr<BodySink>> sink(const Request& request, const Caller& caller) const;
  /// Goes on with what an earlier start of the server has promised.
  void keep_promises() const;

 private:
  Response call(const ops::Operation& operation, const Request& request, const Caller& caller) const;
  Response call_now(const ops::Operation& operation, const nlohmann::json& parameters, const Request& request,
                    const Caller& caller) const;
  Response call_later(const ops::Operation& operation, const nlohmann::json& parameters,
                      const Request& request, const Caller& caller) const;
  Response import_later(const ops::Operation& operation, nlohmann::json parameters,
                        const Caller& caller) const;
  ops::Context import_context(const ops::Operation& operation, const Caller& caller,
                              const std::string& upload) const;
  void share_runs(const nlohmann::json& data, const std::string& project) const;
  JobWork import_work(const ops::Operation& operation, nlohmann::json parameters, const Caller& caller,
                      const std::string& upload) const;
  ops::Context context_of(const ops::Operation& operation, const Caller& caller) const;
  Response on_jobs(const Request& request, const Caller& caller, std::string_view rest) const;
  Response run_document(const Request& request, const Caller& caller, const std::string& run_id) const;
  Response caller_told(const Request& request, const Caller& caller) const;
  Response on_uploads(const Request& request, const Caller& caller, std::string_view rest) const;
  Response accepted(const std::string& job) const;
  void note(std::string_view event, const Caller& caller, const Request& request, std::string_view operation,
            const nlohmann::json& parameters, int status) const;

  Shop shop_;
};

/// Is the method right for the operation? Reads may be asked by GET, but statements of SQL do not belong into
/// logs.
bool allows(const ops::Operation& operation, Method method);
/// Parameters as they are over HTTP: none that names a file of this machine; what may be uploaded is
/// `upload`.
nlohmann::json http_schema(const ops::Operation& operation);
/// The parameter whose files may be uploaded; empty if there is none.
std::string upload_parameter(const ops::Operation& operation);

/// OpenAPI 3.1 of all that is offered; `base` is the address before /api.
std::string openapi_text(const std::string& base);

}  // namespace nl::http
