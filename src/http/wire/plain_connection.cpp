#include <fmt/core.h>

#include <boost/asio/generic/stream_protocol.hpp>

#include "http/wire/connection.h"
#include "ops/envelope.h"
#include "store/ledger.h"

namespace nl::http {

Method method_of(wire::verb verb) {
  switch (verb) {
    case wire::verb::get:
      return Method::kGet;
    case wire::verb::head:
      return Method::kHead;
    case wire::verb::post:
      return Method::kPost;
    case wire::verb::put:
      return Method::kPut;
    case wire::verb::delete_:
      return Method::kDelete;
    default:
      return Method::kOther;
  }
}

Result<Request> request_of(const wire::fields& fields, wire::verb method, std::string_view target,
                           const ServerOptions& options) {
  NL_TRY(Target parsed, parse_target(target));
  Request request;
  request.method = method_of(method);
  request.path = std::move(parsed.path);
  const std::string& base = options.base_path;
  if (!base.empty() && request.path.starts_with(base) &&
      (request.path.size() == base.size() || request.path[base.size()] == '/'))
    request.path.erase(0, base.size());
  if (request.path.empty()) request.path = "/";
  request.query = std::move(parsed.query);
  for (const auto& field : fields) {
    std::string name = lower({field.name_string().data(), field.name_string().size()});
    if (request.headers.contains(name) && name != "accept" && name != "accept-encoding" && name != "cookie" &&
        name != "via" && name != "x-forwarded-for")
      return Error{ErrorCode::kBadInput, "a header comes twice"};
    request.headers[std::move(name)] = std::string(field.value().data(), field.value().size());
  }
  return request;
}

void write_access_log(const ServerOptions& options, const Peer& peer, std::string_view route,
                      const Request& request, int status, const std::string& who, int64_t microseconds) {
  if (!options.access_log) return;
  static constexpr const char* kMethods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "other"};
  options.access_log(ops::compact_json({{"at_ns", store::unix_now_ns()},
                                        {"address", peer.address},
                                        {"who", who},
                                        {"method", kMethods[static_cast<int>(request.method)]},
                                        {"route", route},
                                        {"status", status},
                                        {"us", microseconds}}));
}

asio::awaitable<void> run_plain(Socket socket, Peer peer, ServerParts& parts) {
  Connection<Socket> connection(std::move(socket), std::move(peer), parts);
  co_await connection.run();
  beast::error_code ignored;
  (void)connection.stream().socket().shutdown(asio::socket_base::shutdown_send, ignored);
}

}  // namespace nl::http
