#include "http/people/provider.h"

#include <algorithm>
#include <chrono>

#include "base/base64.h"
#include "base/call_control.h"
#include "base/host_name.h"
#include "base/sha256.h"
#include "base/small_json.h"
#include "http/members.h"
#include "http/people/id_token.h"
#include "http/target.h"
#include "remote/http_client.h"
#include "store/ledger.h"

namespace nl::http {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kConnectSeconds = 8;
constexpr std::chrono::seconds kMostTime{12};
constexpr int64_t kMostAnswerBytes = 1 << 20;
constexpr int64_t kKeptSeconds = 3600;
constexpr int64_t kFreshSeconds = 5;  // nobody can make us ask for keys again and again

int64_t seconds_of_steady_clock() {
  return std::chrono::duration_cast<std::chrono::seconds>(Clock::now().time_since_epoch()).count();
}

Error unusable(const std::string& what) {
  return Error{ErrorCode::kBadInput, "the provider of the sign-in does not answer as it should: " + what};
}

/// As forms and queries have it: no letter of a value can end it.
std::string escaped_value(std::string_view value) {
  std::string out;
  for (const char c : value) out += c == '/' ? "%2F" : escaped_path(std::string_view(&c, 1));
  return out;
}

std::string form(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields)
    out += (out.empty() ? "" : "&") + name + "=" + escaped_value(value);
  return out;
}

bool lists(const json& object, const char* name, std::string_view wanted) {
  const auto it = object.find(name);
  return it != object.end() && it->is_array() && std::any_of(it->begin(), it->end(), [&](const json& one) {
           return one.is_string() && one.get_ref<const std::string&>() == wanted;
         });
}

/// https, or http on this machine.
Result<void> check_safe(const std::string& url) {
  NL_TRY(const remote::Address address, remote::parse_address(url));
  const bool is_plain = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 127; });
  if (!is_plain)
    return Error{ErrorCode::kBadInput, "an address of the provider has characters that it must not have"};
  const bool is_near = is_this_machine(address.host) && address.socket.empty();
  if (address.is_secure || is_near) return {};
  return Error{ErrorCode::kBadInput, "the provider of the sign-in must be reached by https"};
}

/// One question, within seconds: a person waits, and a thread.
Result<json> ask(const std::string& url, remote::Question question) {
  NL_CHECK(check_safe(url));
  NL_TRY(remote::Address address, remote::parse_address(url));
  question.path = address.base_path;
  const size_t mark = url.find('?');
  if (mark != std::string::npos) question.path += url.substr(mark);
  address.base_path.clear();
  address.token.clear();
  question.headers.emplace_back("Accept", "application/json");
  question.connect_seconds = kConnectSeconds;
  question.most_bytes = kMostAnswerBytes;
  const auto until = Clock::now() + kMostTime;
  const CallScope within_seconds({.cancelled = [until] { return Clock::now() > until; }});
  const auto answer = remote::HttpClient(address, "", Environment::of_process()).ask(question);
  if (!answer)
    return Error{ErrorCode::kUnavailable, "the provider of the sign-in cannot be reached", "try again later"};
  if (answer->status >= 500)
    return Error{ErrorCode::kUnavailable, "the provider of the sign-in has a fault", "try again later"};
  if (answer->status != 200) return unusable("it refused the question");
  json body = parse_small_json(answer->body);
  if (!body.is_object()) return unusable("its answer is no JSON object");
  return body;
}

}  // namespace

Result<void> check_issuer(const std::string& issuer) {
  if (issuer.find_first_of("?#") == std::string::npos) return check_safe(issuer);
  return Error{ErrorCode::kBadInput, "the address of an issuer has neither ? nor #: " + issuer};
}

SignInSecrets SignInSecrets::of(std::string_view seed) {
  return {base64url(hmac_sha256(seed, "state")), base64url(hmac_sha256(seed, "nonce")),
          base64url(hmac_sha256(seed, "verifier"))};
}

Result<json> Provider::about() {
  {
    const std::lock_guard lock(mutex_);
    if (!about_.is_null() && seconds_of_steady_clock() - about_at_s_ < kKeptSeconds) return about_;
  }
  std::string base = options_.issuer;
  if (base.ends_with('/')) base.pop_back();
  NL_TRY(json about, ask(base + "/.well-known/openid-configuration", {}));
  if (text_member(about, "issuer") != options_.issuer) return unusable("it says that it is another issuer");
  for (const char* address : {"authorization_endpoint", "token_endpoint", "jwks_uri"})
    if (!check_safe(text_member(about, address))) return unusable(std::string("it has no safe ") + address);
  const std::lock_guard lock(mutex_);
  about_ = about;
  about_at_s_ = seconds_of_steady_clock();
  return about;
}

Result<json> Provider::keys(const json& about, bool fresh) {
  {
    const std::lock_guard lock(mutex_);
    const int64_t age = seconds_of_steady_clock() - keys_at_s_;
    if (!keys_.is_null() && age < (fresh ? kFreshSeconds : kKeptSeconds)) return keys_;
  }
  NL_TRY(json keys, ask(text_member(about, "jwks_uri"), {}));
  const std::lock_guard lock(mutex_);
  keys_ = keys;
  keys_at_s_ = seconds_of_steady_clock();
  return keys;
}

Result<void> Provider::check() {
  NL_TRY(const json about, this->about());
  NL_CHECK(keys(about, false));
  return {};
}

Result<std::string> Provider::address(const SignInSecrets& secrets, const std::string& back) {
  NL_TRY(const json about, this->about());
  std::string scope = "openid";
  for (const char* more : {"profile", "email", "groups"}) {
    if (!about.contains("scopes_supported") || lists(about, "scopes_supported", more))
      scope += std::string(" ") + more;
  }
  const std::string endpoint = text_member(about, "authorization_endpoint");
  return endpoint + (endpoint.find('?') == std::string::npos ? "?" : "&") +
         form({{"response_type", "code"},
               {"client_id", options_.client},
               {"redirect_uri", back},
               {"scope", scope},
               {"state", secrets.state},
               {"nonce", secrets.nonce},
               {"code_challenge", base64url(sha256_bytes(secrets.verifier))},
               {"code_challenge_method", "S256"}});
}

Result<std::string> Provider::redeem(const json& about, const std::string& code, const SignInSecrets& secrets,
                                     const std::string& back) const {
  remote::Question question{.method = "POST", .path = {}};
  std::vector<std::pair<std::string, std::string>> fields = {{"grant_type", "authorization_code"},
                                                             {"code", code},
                                                             {"redirect_uri", back},
                                                             {"code_verifier", secrets.verifier}};
  const char* const methods = "token_endpoint_auth_methods_supported";
  const bool in_body =
      lists(about, methods, "client_secret_post") && !lists(about, methods, "client_secret_basic");
  if (options_.secret.empty() || in_body) fields.emplace_back("client_id", options_.client);
  if (!options_.secret.empty() && in_body) fields.emplace_back("client_secret", options_.secret);
  if (!options_.secret.empty() && !in_body)
    question.headers.emplace_back("Authorization", "Basic " + base64(escaped_value(options_.client) + ":" +
                                                                     escaped_value(options_.secret)));
  question.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  question.body = form(fields);
  NL_TRY(const json answer, ask(text_member(about, "token_endpoint"), question));
  return text_member(answer, "id_token");
}

Result<json> Provider::claims(const std::string& code, const SignInSecrets& secrets,
                              const std::string& back) {
  NL_TRY(const json about, this->about());
  NL_TRY(const std::string token, redeem(about, code, secrets, back));
  const ExpectedToken expected{options_.issuer, options_.client, secrets.nonce,
                               store::unix_now_ns() / 1'000'000'000};
  NL_TRY(const json known, keys(about, false));
  auto claims = checked_claims(token, known, expected);
  if (claims || claims.error().code != ErrorCode::kNotFound) return claims;
  NL_TRY(const json fresh, keys(about, true));  // it may have changed them
  return checked_claims(token, fresh, expected);
}

}  // namespace nl::http
