#include "http/people/sign_in.h"

#include <algorithm>

#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "http/members.h"
#include "http/people/cookies.h"
#include "http/target.h"
#include "report/escape.h"
#include "store/projects.h"

namespace nl::http {
namespace {

using nlohmann::json;

constexpr char kSignInCookie[] = "neurolens_sign_in";
constexpr size_t kSeedBytes = 32;
constexpr int64_t kSecondsToSignIn = 600;
constexpr size_t kMostPath = 1000;
constexpr size_t kMostNameLetters = 200;

Error not_proved(const std::string& why) {
  return Error{ErrorCode::kBadInput, why};
}

/// An address that nobody has verified could be anybody's.
std::string name_of(const json& claims) {
  const std::string email = text_member(claims, "email");
  const auto verified = claims.find("email_verified");
  const bool is_doubtful = verified != claims.end() && *verified != true;
  return (email.empty() || is_doubtful ? text_member(claims, "sub") : email).substr(0, kMostNameLetters);
}

std::vector<std::string> groups_of(const json& claims, const std::string& claim) {
  std::vector<std::string> groups;
  const auto it = claims.find(claim);
  if (it == claims.end()) return groups;
  for (const json& one : it->is_array() ? *it : json::array({*it})) {
    if (one.is_string()) groups.push_back(one);
  }
  return groups;
}

/// Per project the highest role, by name of the project.
std::vector<store::Grant> together(const std::vector<store::Grant>& grants) {
  std::map<std::string, store::Role> highest;
  for (const store::Grant& grant : grants) {
    const auto [it, is_new] = highest.emplace(grant.project, grant.role);
    if (!is_new) it->second = std::max(it->second, grant.role);
  }
  std::vector<store::Grant> out;
  out.reserve(highest.size());
  for (const auto& [project, role] : highest) out.push_back({project, role});
  return out;
}

}  // namespace

Result<void> add_group(std::string_view text, std::map<std::string, std::vector<store::Grant>>& groups) {
  const Error wrong{ErrorCode::kBadInput, "not a group and what it may do: " + std::string(text),
                    "e.g. perf=write:main, leads=admin:*"};
  const size_t equals = text.rfind('=');
  if (equals == 0 || equals == std::string_view::npos) return wrong;
  const std::string_view right = text.substr(equals + 1);
  const size_t colon = right.find(':');
  const auto role = store::role_of_name(right.substr(0, colon));
  const std::string project(colon == std::string_view::npos ? "" : right.substr(colon + 1));
  if (!role || (project != store::kAllProjects && !store::check_project_name(project))) return wrong;
  groups[std::string(text.substr(0, equals))].push_back({project, *role});
  return {};
}

std::string own_path(std::string_view path) {
  const bool may_be_own = path.starts_with('/') && !path.starts_with("//") && path.size() <= kMostPath;
  const auto target = may_be_own ? parse_target(path) : Result<Target>(Error{});
  return target && target->path.find('\\') == std::string::npos ? written(*target) : "/";
}

std::string SignIn::back_address(const Request& request) const {
  const bool is_secure = options_.behind_proxy || request.is_secure;
  return std::string(is_secure ? "https://" : "http://") + std::string(request.header("host")) +
         options_.base_path + "/sign-in/back";
}

Response SignIn::begin(const Request& request) {
  const std::string seed = hex_of(random_bytes(kSeedBytes));
  const auto address = provider_.address(SignInSecrets::of(seed), back_address(request));
  if (!address) return not_signed_in(address.error());
  Response response{.status = 303, .type = "text/plain"};
  response.headers.emplace_back("Location", *address);
  // The browser comes back from another site: a strict cookie would not come along.
  response.headers.emplace_back("Set-Cookie",
                                cookie({.name = kSignInCookie,
                                        .value = seed + own_path(request.asked("to").value_or("/")),
                                        .path = options_.base_path + "/sign-in",
                                        .same_site = "Lax",
                                        .seconds = kSecondsToSignIn,
                                        .is_secure = options_.behind_proxy || request.is_secure}));
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

Result<Person> SignIn::finish(const Request& request) {
  const std::string_view kept = cookie_of(request.header("cookie"), kSignInCookie);
  if (kept.size() <= 2 * kSeedBytes)
    return not_proved("this browser has not begun to sign in, or too long ago");
  const SignInSecrets secrets = SignInSecrets::of(kept.substr(0, 2 * kSeedBytes));
  if (!store::equal_secrets(request.asked("state").value_or(""), secrets.state))
    return not_proved("the provider answered to another sign-in");
  if (request.asked("error")) return not_proved("the provider did not let you in");
  const std::string code = request.asked("code").value_or("");
  if (code.empty()) return not_proved("the provider sent no code");
  NL_TRY(const json claims, provider_.claims(code, secrets, back_address(request)));
  Person person{name_of(claims), {}, options_.base_path + own_path(kept.substr(2 * kSeedBytes))};
  std::vector<store::Grant> grants;
  for (const std::string& group : groups_of(claims, options_.groups_claim)) {
    const auto it = options_.groups.find(group);
    if (it != options_.groups.end()) grants.insert(grants.end(), it->second.begin(), it->second.end());
  }
  person.grants = together(grants);
  if (person.grants.empty())
    return Error{ErrorCode::kPermission, "none of your groups may use this server",
                 "ask whoever runs it, with the name of one of your groups"};
  return person;
}

Response signed_in_page(const std::string& to) {
  Response response{.type = "text/html; charset=utf-8"};
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cache-Control", "no-store");
  const std::string address = report::html(to);
  response.body =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>NeuroLens</title>"
      "<meta http-equiv=\"refresh\" content=\"0;url=" +
      address + "\"></head>\n<body><p>You are signed in. <a href=\"" + address +
      "\">Go on</a></p></body></html>\n";
  return response;
}

Response not_signed_in(const Error& error) {
  Response response{.status = error.code == ErrorCode::kUnavailable  ? 503
                              : error.code == ErrorCode::kPermission ? 403
                                                                     : 401,
                    .type = "text/plain; charset=utf-8"};
  response.headers.emplace_back("Cache-Control", "no-store");
  response.body = "The sign-in did not work: " + error.message + ".\n";
  if (!error.hint.empty()) response.body += error.hint + "\n";
  return response;
}

}  // namespace nl::http
