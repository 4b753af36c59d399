#include "http/people/id_token.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <array>
#include <memory>
#include <optional>
#include <set>

#include "base/base64.h"
#include "base/small_json.h"
#include "base/text.h"
#include "http/members.h"

namespace nl::http {
namespace {

using nlohmann::json;

constexpr size_t kMostTokenBytes = 256 << 10;
constexpr int kFewestRsaBits = 2048;
constexpr size_t kP256Bytes = 32;
constexpr int64_t kClockSlackSeconds = 60;
constexpr int kMostDepth = 16;

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using HashContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;
using Signature = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;

Error wrong(const std::string& what) {
  return Error{ErrorCode::kBadInput, "the ID token of the provider is wrong: " + what};
}

/// Two members of one name: who reads it otherwise than we do reads something else.
bool has_doubles(const std::string& text) {
  std::vector<std::set<std::string>> names;
  bool found = false;
  const json read = json::parse(text, [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end) names.pop_back();
    if (event == json::parse_event_t::key)
      found = !names.back().insert(value.get<std::string>()).second || found;
    return true;
  });
  return found || read.is_discarded();
}

std::optional<json> object_of(std::string_view part) {
  const auto text = bytes_of_base64url(part);
  json object = text ? parse_small_json(*text, kMostDepth) : json();
  if (object.is_object() && has_doubles(*text)) return std::nullopt;
  if (!object.is_object()) return std::nullopt;
  return object;
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                          static_cast<int>(bytes.size()), nullptr));
}

Key key_of(const char* kind, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (!parameters || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return nullptr;
  return Key(key);
}

Key rsa_key(const json& jwk) {
  const auto modulus = bytes_of_base64url(text_member(jwk, "n")),
             exponent = bytes_of_base64url(text_member(jwk, "e"));
  if (!modulus || !exponent || modulus->empty() || exponent->empty()) return nullptr;
  const Number n = number_of(*modulus), e = number_of(*exponent);
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!n || !e || !builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  Key key = key_of("RSA", builder.get());
  return key && EVP_PKEY_get_bits(key.get()) >= kFewestRsaBits ? std::move(key) : nullptr;
}

Key p256_key(const json& jwk) {
  const auto x = bytes_of_base64url(text_member(jwk, "x")), y = bytes_of_base64url(text_member(jwk, "y"));
  if (text_member(jwk, "crv") != "P-256" || !x || !y || x->size() != kP256Bytes || y->size() != kP256Bytes)
    return nullptr;
  const std::string point = "\x04" + *x + *y;
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) !=
          1)
    return nullptr;
  return key_of("EC", builder.get());
}

/// Tokens have the two numbers side by side, the library wants them as DER.
std::string der_of(std::string_view signature) {
  if (signature.size() != 2 * kP256Bytes) return {};
  const Signature pair(ECDSA_SIG_new());
  Number r = number_of(signature.substr(0, kP256Bytes)), s = number_of(signature.substr(kP256Bytes));
  if (!pair || !r || !s) return {};
  if (ECDSA_SIG_set0(pair.get(), r.release(), s.release()) != 1) return {};  // they are the pair's now
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &der);
  std::string out(reinterpret_cast<const char*>(der), size > 0 ? static_cast<size_t>(size) : 0);
  OPENSSL_free(der);
  return out;
}

bool is_signed(std::string_view text, std::string_view signature, EVP_PKEY* key) {
  const HashContext context(EVP_MD_CTX_new());
  return context && EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()),
                          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
                          text.size()) == 1;
}

/// Its kind follows from the algorithm, never the other way round: a public key is no secret of HMAC.
bool fits(const json& jwk, const std::string& algorithm) {
  if (!jwk.is_object() || text_member(jwk, "kty") != (algorithm == "RS256" ? "RSA" : "EC")) return false;
  const std::string use = text_member(jwk, "use"), own = text_member(jwk, "alg");
  return (use.empty() || use == "sig") && (own.empty() || own == algorithm);
}

/// A token without a name of a key is right if there is only one key that it can mean.
Result<json> jwk_of(const json& header, const json& keys, const std::string& algorithm) {
  const std::string name = text_member(header, "kid");
  std::vector<json> found;
  for (const json& jwk : keys.is_object() && keys.contains("keys") ? keys["keys"] : json::array()) {
    if (fits(jwk, algorithm) && (name.empty() || text_member(jwk, "kid") == name)) found.push_back(jwk);
  }
  if (found.size() == 1) return found[0];
  return Error{ErrorCode::kNotFound, "the ID token of the provider is wrong: the provider has no such key"};
}

Result<void> check_signature(std::string_view text, std::string_view signature, const json& header,
                             const json& keys) {
  const std::string algorithm = text_member(header, "alg");
  if (algorithm != "RS256" && algorithm != "ES256") return wrong("it is signed by neither RS256 nor ES256");
  if (header.contains("kid") && !header["kid"].is_string()) return wrong("it names its key by no text");
  if (header.contains("crit")) return wrong("it wants something that is not known here");
  NL_TRY(const json jwk, jwk_of(header, keys, algorithm));
  const bool is_rsa = algorithm == "RS256";
  const Key key = is_rsa ? rsa_key(jwk) : p256_key(jwk);
  if (!key) return wrong("the key of the provider is weak or damaged");
  const auto bytes = bytes_of_base64url(signature);
  if (!bytes || !is_signed(text, is_rsa ? *bytes : der_of(*bytes), key.get()))
    return wrong("its signature is wrong");
  return {};
}

bool is_for(const json& claims, const std::string& client) {
  const json audience = claims.value("aud", json());
  if (audience.is_string()) return audience.get_ref<const std::string&>() == client;
  bool named = false;
  for (const json& one : audience.is_array() ? audience : json::array())
    named = named || (one.is_string() && one.get_ref<const std::string&>() == client);
  return named && (audience.size() == 1 || text_member(claims, "azp") == client);
}

/// Seconds; some providers write fractions.
std::optional<double> moment(const json& claims, const char* name) {
  const auto it = claims.find(name);
  return it != claims.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

Result<void> check_time(const json& claims, int64_t now_s) {
  const auto now = static_cast<double>(now_s), slack = static_cast<double>(kClockSlackSeconds);
  const auto ends = moment(claims, "exp"), made = moment(claims, "iat"), begins = moment(claims, "nbf");
  if (!ends || !made) return wrong("it does not say when it was made and when it ends");
  if (!(*ends + slack > now)) return wrong("it has expired");
  if (!(*made - slack <= now) || (begins && !(*begins - slack <= now)))
    return wrong("it is from the future: compare the clocks");
  return {};
}

Result<void> check_claims(const json& claims, const ExpectedToken& expected) {
  if (text_member(claims, "iss") != expected.issuer) return wrong("it is of another issuer");
  if (!is_for(claims, expected.client)) return wrong("it is for another client");
  if (expected.nonce.empty() || text_member(claims, "nonce") != expected.nonce)
    return wrong("it is of another sign-in");
  if (text_member(claims, "sub").empty()) return wrong("it names nobody");
  return check_time(claims, expected.now_s);
}

}  // namespace

Result<json> checked_claims(std::string_view token, const json& keys, const ExpectedToken& expected) {
  if (token.size() > kMostTokenBytes) return wrong("it is too long");
  const std::vector<std::string> parts = split(token, '.');
  const auto header = parts.size() == 3 ? object_of(parts[0]) : std::nullopt;
  if (!header) return wrong("it has not the form of a token");
  const std::string_view text = token.substr(0, parts[0].size() + 1 + parts[1].size());
  NL_CHECK(check_signature(text, parts[2], *header, keys));
  auto claims = object_of(parts[1]);
  if (!claims) return wrong("it has not the form of a token");
  NL_CHECK(check_claims(*claims, expected));
  return *std::move(claims);
}

}  // namespace nl::http
