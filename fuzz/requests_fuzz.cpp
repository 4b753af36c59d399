// Fuzz harness over what a server makes of bytes that clients send, and a client of addresses that people
// type. Whatever the bytes are, a path has no control characters and can be written again, a file gets a name
// that stays in its folder, and a stranger's call never gets past the door with a path of this machine. A
// broken promise is printed and traps.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/small_json.h"
#include "http/api/api.h"
#include "http/encoding.h"
#include "http/jobs/uploads.h"
#include "http/parameters.h"
#include "http/people/id_token.h"
#include "http/people/sign_in.h"
#include "http/target.h"
#include "ops/door.h"
#include "promise.h"
#include "remote/address.h"

namespace nl {
namespace {

void check_target(std::string_view given) {
  const auto target = http::parse_target(given);
  if (!target) return;
  for (const char c : target->path)
    require(static_cast<unsigned char>(c) >= ' ', "a path has no control characters", given);
  const auto again = http::parse_target(http::escaped_path(target->path));
  require(again && again->path == target->path, "a path can be written again", given);
}

void check_names(std::string_view given) {
  const std::string name = http::safe_file_name(given);
  const bool stays =
      !name.empty() && name.find('/') == std::string::npos && !name.starts_with('.') && name.size() <= 160;
  require(stays, "a file stays in its folder", given);
  const std::string_view cookie = http::cookie_of(given, http::kCookie);
  require(cookie.find(';') == std::string_view::npos, "a cookie ends at its end", given);
  (void)remote::parse_address(given);
}

struct Offered {
  const ops::Operation* operation;
  std::vector<std::string> host_paths;  ///< parameters
};

std::vector<Offered> offered_operations() {
  std::vector<Offered> list;
  for (const ops::Operation* operation : ops::all_operations()) {
    if (!operation->reach.http) continue;
    Offered one{operation, {}};
    for (const auto& [name, property] : ops::parameters_schema(*operation)["properties"].items()) {
      if (property.contains("x-host-path") && property["x-host-path"] == true) one.host_paths.push_back(name);
    }
    list.push_back(std::move(one));
  }
  return list;
}

/// As a body, and as the query of an address, of the operation that the first byte chooses.
void check_parameters(std::string_view given) {
  static const std::vector<Offered> kOffered = offered_operations();
  if (given.empty()) return;
  const Offered& chosen = kOffered[static_cast<unsigned char>(given.front()) % kOffered.size()];
  given.remove_prefix(1);
  const auto target = http::parse_target("/?" + std::string(given));
  http::Request post{.method = http::Method::kPost,
                     .headers = {{"content-type", "application/json"}},
                     .body = std::string(given)};
  http::Request get{.method = http::Method::kGet};
  if (target) get.query = target->query;
  for (const http::Request* request : {&post, &get}) {
    const auto parameters = http::parameters_of(*chosen.operation, *request);
    if (!parameters) continue;
    ops::Context stranger;
    if (!ops::check_call(chosen.operation->name, *parameters, stranger)) continue;
    for (const std::string& name : chosen.host_paths)
      require(!parameters->contains(name), "no path of this machine gets past the door", given);
  }
}

void check_encodings(std::string_view given) {
  http::Request request;
  request.headers["accept-encoding"] = std::string(given.substr(0, given.find('\0')));
  http::Response response;
  response.body = std::string(given) + std::string(2000, 'a');
  (void)http::encoded(response, request);
}

/// Nobody but the provider can make a token that is believed. Keys: one that the provider has, and any text.
void check_id_tokens(std::string_view given) {
  static const nlohmann::json kKeys =
      nlohmann::json::parse(R"({"keys": [{"kty": "EC", "crv": "P-256", "kid": "a",
    "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]})");
  const http::ExpectedToken expected{"https://id.example.com", "lens", "nonce", 1'700'000'000};
  require(!http::checked_claims(given, kKeys, expected), "only the provider makes tokens", given);
  const size_t half = given.find('\0');
  const nlohmann::json keys =
      half == std::string_view::npos ? nlohmann::json() : parse_small_json(given.substr(half + 1));
  (void)http::checked_claims(given.substr(0, half), keys, expected);
  for (const std::string_view header :
       {R"({"alg":"ES256","kid":"a"})", R"({"alg":"none"})", R"({"alg":"RS256"})"})
    require(!http::checked_claims(
                base64url(header) + "." + base64url(given) + "." + base64url(given.substr(0, 64)), kKeys,
                expected),
            "only the provider makes tokens", given);
  const std::string path = http::own_path(given);
  const bool is_own =
      path.starts_with('/') && !path.starts_with("//") && path.find('\\') == std::string::npos;
  require(is_own && http::own_path(path) == path, "nobody is sent to another site", given);
  const auto bytes = bytes_of_base64url(given);
  require(!bytes || base64url(*bytes) == given, "base64url has one way to write bytes", given);
  if (const auto grants = store::grants_of_text(given))
    require(store::grants_text(*grants) == given, "grants are written as they are read", given);
}

}  // namespace
}  // namespace nl

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The first byte chooses what the rest is: an input is read as one thing, not as all of them.
  static constexpr std::array kChecks = {nl::check_target, nl::check_names, nl::check_parameters,
                                         nl::check_encodings, nl::check_id_tokens};
  if (size == 0) return 0;
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  kChecks[data[0] % kChecks.size()](given.substr(1));
  return 0;
}
