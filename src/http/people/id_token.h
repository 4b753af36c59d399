#pragma once
// ID tokens of OpenID Connect: is it signed by the provider, for us, now, and for this sign-in? Everything in
// a token is untrusted until its signature is checked. Pure functions, any thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace nl::http {

/// What a token must say besides being signed.
struct ExpectedToken {
  std::string issuer;
  std::string client;
  std::string nonce;
  int64_t now_s = 0;
};

/// The claims of a token (JWS compact form, RS256 or ES256). `keys` is the key set of the provider (RFC
/// 7517). not_found: no key has its name, so the provider may have new ones. bad_input says what else is
/// wrong.
Result<nlohmann::json> checked_claims(std::string_view token, const nlohmann::json& keys,
                                      const ExpectedToken& expected);

}  // namespace nl::http
