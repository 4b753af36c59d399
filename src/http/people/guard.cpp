#include "http/people/guard.h"

#include <algorithm>
#include <chrono>

#include "base/files.h"
#include "base/text.h"
#include "http/answers.h"
#include "http/target.h"
#include "store/ledger.h"
#include "store/projects.h"

namespace nl::http {
namespace {

constexpr std::string_view kBearer = "bearer ";

std::string_view host_of_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

Response token_missing(const Request& request) {
  if (has_part(request.header("accept"), "text/html")) {
    Response page{.status = 401, .type = "text/plain; charset=utf-8"};
    page.body =
        "A token is needed. Open the address that the server printed when it was started: it ends with "
        "?token=...\n";
    return page;
  }
  auto response = refused(401, "permission", "a token is needed",
                          "open the address that the server printed, or send Authorization: Bearer TOKEN");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The project that a token is good for, and that the request may choose if it is good for all.
std::optional<std::string> project_of(const store::Token& token, std::string_view asked) {
  if (token.project != store::kAllProjects) {
    if (asked.empty() || asked == token.project) return token.project;
    return std::nullopt;
  }
  if (asked.empty()) return std::string(store::kMainProject);
  return store::check_project_name(asked) ? std::optional<std::string>(asked) : std::nullopt;
}

/// One slash at its beginning: two would name another server.
std::string address_without_token(const Request& request) {
  std::string address = escaped_path(request.path);
  address.erase(0, address.find_first_not_of('/'));
  address = "/" + address;
  char mark = '?';
  for (const auto& [name, value] : request.query) {
    if (name == "token") continue;
    address += mark + escaped_path(name) + "=" + escaped_path(value);
    mark = '&';
  }
  return address;
}

}  // namespace

bool is_probe(const Request& request) {
  return request.path == "/healthz" || request.path == "/readyz";
}

bool needs_no_token(const Request& request) {
  return is_probe(request) || (request.is_near && request.path == "/metrics");
}

/// Who decides about tokens decides about all projects, so the token must be good for all.
ops::Effect right_of(const store::Token& token) {
  if (token.role == store::Role::kRead) return ops::Effect::kRead;
  const bool manages = token.role == store::Role::kAdmin && token.project == store::kAllProjects;
  return manages ? ops::Effect::kManage : ops::Effect::kWrite;
}

Result<Guard> Guard::make(GuardOptions options) {
  NL_TRY(auto access, store::Access::open(options.ledger_folder, store::SqliteAccess::kReadWrite));
  return Guard(std::move(options), std::make_unique<Shared>(std::move(access)));
}

bool Guard::is_known_host(std::string_view host) const {
  return std::find(options_.hosts.begin(), options_.hosts.end(), lower(host)) != options_.hosts.end();
}

std::optional<Response> Guard::refuses_sender(const Request& request) const {
  if (options_.hosts.empty()) return std::nullopt;  // a socket in the file system has no names
  if (!is_known_host(request.header("host")))
    return refused(421, "permission", "this server is not reached by that name",
                   "use the address that it printed, or serve with --name");
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !is_known_host(host_of_origin(origin)))
    return refused(403, "permission", "pages of other sites may not ask here", "");
  return std::nullopt;
}

std::optional<store::Token> Guard::holder(std::string_view secret) {
  if (secret.empty()) return std::nullopt;
  if (!options_.start_token.empty() && store::equal_secrets(secret, options_.start_token)) {
    store::Token token;
    token.name = options_.owner;
    token.project = store::kAllProjects;
    token.role = store::Role::kAdmin;
    return token;
  }
  const std::lock_guard lock(shared_->mutex);
  auto found = shared_->access.holder(secret, store::unix_now_ns());
  return found ? *found : std::nullopt;
}

std::optional<store::Token> Guard::token_of(const Request& request) {
  if (!options_.needs_token) {
    store::Token token;
    token.name = options_.owner;
    token.project = store::kAllProjects;
    token.role = store::Role::kAdmin;
    return token;
  }
  const std::string_view header = request.header("authorization");
  if (lower(header.substr(0, kBearer.size())) == kBearer) return holder(header.substr(kBearer.size()));
  return holder(cookie_of(request.header("cookie"), kCookie));
}

bool Guard::is_too_fast(const std::string& name) {
  const std::lock_guard lock(shared_->mutex);
  Spent& spent = shared_->spent[name];
  const int64_t second = seconds_now();
  if (spent.second != second) spent = {second, 0};
  return ++spent.requests > options_.most_per_second;
}

Admission Guard::admit(const Request& request) {
  const Caller nobody{"", std::string(store::kMainProject), ops::Effect::kRead};
  if (is_probe(request))
    return {{}, nobody};  // whoever watches the server comes by its number, not by its name
  if (auto refusal = refuses_sender(request)) return {std::move(refusal), {}};
  if (needs_no_token(request)) return {{}, nobody};
  const auto token = token_of(request);
  if (!token) return {token_missing(request), {}};
  if (is_too_fast(token->name)) {
    auto response = refused(429, "limit", "too many requests in this second", "wait a second");
    response.headers.emplace_back("Retry-After", "1");
    return {std::move(response), {}};
  }
  const auto project = project_of(*token, request.header(kProjectHeader));
  if (project && !path_exists(store::project_folder(options_.ledger_folder, *project)))
    return {refused(404, "not_found", "there is no such project",
                    "neurolens token add NAME --project PROJECT makes it"),
            {token->name, "", ops::Effect::kRead}};
  if (!project)
    return {refused(403, "permission", "the token is not good for this project",
                    "leave out the header NeuroLens-Project"),
            {token->name, "", ops::Effect::kRead}};
  return {{}, {token->name, *project, right_of(*token)}};
}

std::optional<Response> Guard::exchange(const Request& request) {
  const auto given = request.asked("token");
  if (!given || !options_.needs_token || request.method != Method::kGet || refuses_sender(request))
    return std::nullopt;
  if (!holder(*given)) return std::nullopt;
  Response response{.status = 303, .type = "text/plain"};
  response.headers.emplace_back("Location", options_.base_path + address_without_token(request));
  response.headers.emplace_back("Set-Cookie",
                                std::string(kCookie) + "=" + *given + "; Path=" + options_.base_path +
                                    "/; HttpOnly; SameSite=Strict" +
                                    (options_.behind_proxy || request.is_secure ? "; Secure" : ""));
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace nl::http
