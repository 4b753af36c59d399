#include "mcp/request_state.h"

#include "base/base64.h"
#include "base/random.h"
#include "base/sha256.h"

namespace nl::mcp {
namespace {

constexpr size_t kKeyBytes = 32;

/// In a time that does not depend on where they differ.
bool same_bytes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); i++)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned>(static_cast<unsigned char>(b[i]));
  return difference == 0;
}

}  // namespace

RequestState::RequestState() : key_(random_bytes(kKeyBytes)) {}

std::string RequestState::seal(std::string_view of, std::string_view state) const {
  return hmac_sha256(key_, std::to_string(of.size()) + ":" + std::string(of) + std::string(state));
}

std::string RequestState::sealed(std::string_view of, std::string_view state) const {
  return base64url(state) + "." + base64url(seal(of, state));
}

std::optional<std::string> RequestState::opened(std::string_view of, std::string_view text) const {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  auto state = bytes_of_base64url(text.substr(0, dot));
  const auto found = bytes_of_base64url(text.substr(dot + 1));
  if (!state || !found || !same_bytes(*found, seal(of, *state))) return std::nullopt;
  return state;
}

}  // namespace nl::mcp
