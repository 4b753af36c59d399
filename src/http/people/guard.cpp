#include "http/people/guard.h"

#include <algorithm>
#include <chrono>

#include "base/files.h"
#include "base/text.h"
#include "http/answers.h"
#include "http/people/cookies.h"
#include "http/target.h"
#include "report/escape.h"
#include "store/ledger.h"
#include "store/projects.h"

namespace nl::http {
namespace {

constexpr std::string_view kBearer = "bearer ";
constexpr int64_t kKeptNs = int64_t{30} * 24 * 3600 * 1'000'000'000;  // of tokens that have ended

std::string_view host_of_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

/// A token in an address must not be seen again.
Target without_token(const Request& request) {
  Target target{request.path, {}};
  for (const auto& parameter : request.query) {
    if (parameter.first != "token") target.query.push_back(parameter);
  }
  return target;
}

/// Where somebody signs in who has no token.
Response sign_in_page(const Request& request, const std::string& base_path) {
  Response page{.status = 401, .type = "text/html; charset=utf-8"};
  page.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  page.headers.emplace_back("Cache-Control", "no-store");
  const std::string address =
      base_path + "/sign-in?" + written({"", {{"to", written(without_token(request))}}}).substr(2);
  page.body =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>NeuroLens</title></head>\n"
      "<body><h1>NeuroLens</h1><p><a href=\"" +
      report::html(address) + "\">Sign in</a></p></body></html>\n";
  return page;
}

Response token_missing(const Request& request, const GuardOptions& options) {
  if (has_part(request.header("accept"), "text/html")) {
    if (options.has_sign_in) return sign_in_page(request, options.base_path);
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

/// The project that the request chooses, or the one that its token is made for.
std::optional<std::string> project_of(const store::Token& token, std::string_view asked) {
  if (!asked.empty() && !store::check_project_name(asked)) return std::nullopt;
  if (!asked.empty() && token.role_in(asked)) return std::string(asked);
  if (!asked.empty() || token.grants.empty()) return std::nullopt;
  return token.role_in(store::kMainProject) ? std::string(store::kMainProject) : token.grants[0].project;
}

bool is_secure(const GuardOptions& options, const Request& request) {
  return options.behind_proxy || request.is_secure;
}

std::string token_cookie(const GuardOptions& options, const Request& request, const std::string& secret,
                         std::optional<int64_t> seconds) {
  return cookie({.name = kCookie,
                 .value = secret,
                 .path = options.base_path + "/",
                 .seconds = seconds,
                 .is_secure = is_secure(options, request)});
}

/// Of whoever started the server.
store::Token token_of_owner(const GuardOptions& options) {
  store::Token token;
  token.name = options.owner;
  token.grants = {{std::string(store::kAllProjects), store::Role::kAdmin}};
  return token;
}

}  // namespace

bool is_probe(const Request& request) {
  return request.path == "/healthz" || request.path == "/readyz";
}

bool needs_no_token(const Request& request) {
  return is_probe(request) || (request.is_near && request.path == "/metrics");
}

/// Who decides about tokens decides about all projects, so the token must be good for all.
ops::Effect right_of(const store::Token& token, std::string_view project) {
  if (token.role_in(store::kAllProjects) == store::Role::kAdmin) return ops::Effect::kManage;
  return token.role_in(project).value_or(store::Role::kRead) == store::Role::kRead ? ops::Effect::kRead
                                                                                   : ops::Effect::kWrite;
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
  if (!options_.start_token.empty() && store::equal_secrets(secret, options_.start_token))
    return token_of_owner(options_);
  const std::lock_guard lock(shared_->mutex);
  auto found = shared_->access.holder(secret, store::unix_now_ns());
  return found ? *found : std::nullopt;
}

std::optional<store::Token> Guard::token_of(const Request& request) {
  if (!options_.needs_token) return token_of_owner(options_);
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
  if (!token) return {token_missing(request, options_), {}};
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
  return {{}, {token->name, *project, right_of(*token, *project)}};
}

std::optional<Response> Guard::exchange(const Request& request) {
  const auto given = request.asked("token");
  if (!given || !options_.needs_token || request.method != Method::kGet || refuses_sender(request))
    return std::nullopt;
  if (!holder(*given)) return std::nullopt;
  Response response{.status = 303, .type = "text/plain"};
  response.headers.emplace_back("Location", options_.base_path + written(without_token(request)));
  response.headers.emplace_back("Set-Cookie", token_cookie(options_, request, *given, std::nullopt));
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Result<std::string> Guard::open_session(const Request& request, store::Token session, int hours) {
  const int64_t seconds = int64_t{hours} * 3600;
  session.made_at_ns = store::unix_now_ns();
  session.expires_at_ns = session.made_at_ns + seconds * 1'000'000'000;
  const std::lock_guard lock(shared_->mutex);
  NL_CHECK(shared_->access.forget_before(session.made_at_ns - kKeptNs));
  NL_TRY(const std::string secret, shared_->access.add(session));
  return token_cookie(options_, request, secret, seconds);
}

Result<Response> Guard::sign_out(const Request& request) {
  const auto token = holder(cookie_of(request.header("cookie"), kCookie));
  if (token && !token->id.empty()) {
    const std::lock_guard lock(shared_->mutex);
    NL_CHECK(shared_->access.revoke(token->id, store::unix_now_ns()));
  }
  Response response{.status = 303, .type = "text/plain"};
  response.headers.emplace_back("Location", options_.base_path + "/");
  response.headers.emplace_back("Set-Cookie", token_cookie(options_, request, "", 0));
  return response;
}

}  // namespace nl::http
