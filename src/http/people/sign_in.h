#pragma once
// SignIn: people come in by OpenID Connect (authorisation code with PKCE). Nothing is kept here between the
// way out and the way back: a cookie of the browser has the one secret of it. Groups decide what somebody may
// do. Any thread.

#include <map>
#include <string>
#include <vector>

#include "http/message.h"
#include "http/people/provider.h"
#include "store/access.h"

namespace nl::http {

struct SignInOptions {
  ProviderOptions provider = {};
  std::string groups_claim = "groups";
  std::map<std::string, std::vector<store::Grant>> groups = {};  ///< what each lets its people do
  int hours = 12;                                                ///< then they sign in again
  std::string base_path = {};
  bool behind_proxy = false;
};

/// Who has signed in, and where they wanted to go.
struct Person {
  std::string name;
  std::vector<store::Grant> grants;
  std::string to;
};

class SignIn {
 public:
  explicit SignIn(SignInOptions options) : options_(std::move(options)), provider_(options_.provider) {}

  int hours() const { return options_.hours; }
  Provider& provider() { return provider_; }
  /// Sends the browser to the provider.
  Response begin(const Request& request);
  /// The browser is back. bad_input: the sign-in is not proved; permission: no group lets the person in;
  /// unavailable: the provider cannot be reached.
  Result<Person> finish(const Request& request);

 private:
  std::string back_address(const Request& request) const;

  const SignInOptions options_;
  Provider provider_;
};

/// "perf=write:main" is added to `groups`.
Result<void> add_group(std::string_view text, std::map<std::string, std::vector<store::Grant>>& groups);

/// A path of this server, whatever was asked for.
std::string own_path(std::string_view path);

/// A page that goes on to `to` by itself. A redirect would not do: the browser came from another site, and a
/// strict cookie is not sent along then.
Response signed_in_page(const std::string& to);
Response not_signed_in(const Error& error);

}  // namespace nl::http
