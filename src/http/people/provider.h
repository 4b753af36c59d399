#pragma once
// Provider: the server of OpenID Connect that knows the people. What it says about itself is fetched when it
// is first needed and kept for an hour; its keys again when a token names one that is not known. Any thread.

#include <cstdint>
#include <mutex>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace nl::http {

struct ProviderOptions {
  std::string issuer = {};
  std::string client = {};
  std::string secret = {};  ///< empty: a public client, which PKCE alone protects
};

/// One sign-in: what only the browser that began it can know.
struct SignInSecrets {
  std::string state;
  std::string nonce;
  std::string verifier;  ///< of PKCE

  /// All of them from one secret, so that a cookie is all that must be kept.
  static SignInSecrets of(std::string_view seed);
};

class Provider {
 public:
  explicit Provider(ProviderOptions options) : options_(std::move(options)) {}

  const std::string& issuer() const { return options_.issuer; }
  /// unavailable: it cannot be reached; bad_input: it is not what it should be.
  Result<void> check();
  /// Where the browser goes to sign in.
  Result<std::string> address(const SignInSecrets& secrets, const std::string& back);
  /// What the provider says about whoever came back with the code.
  Result<nlohmann::json> claims(const std::string& code, const SignInSecrets& secrets,
                                const std::string& back);

 private:
  Result<nlohmann::json> about();
  Result<nlohmann::json> keys(const nlohmann::json& about, bool fresh);
  Result<std::string> redeem(const nlohmann::json& about, const std::string& code,
                             const SignInSecrets& secrets, const std::string& back) const;

  const ProviderOptions options_;
  std::mutex mutex_;
  nlohmann::json about_, keys_;
  int64_t about_at_s_ = 0, keys_at_s_ = 0;
};

/// https, or http on this machine; nothing but an address.
Result<void> check_issuer(const std::string& issuer);

}  // namespace nl::http
