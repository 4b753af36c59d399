#pragma once
// Removes secrets from text that is kept: command lines, settings, descriptions of a machine. What looks like
// a secret is replaced by "[removed]"; the words around it stay. Removed are
//
//   values of options, settings and parameters whose names speak of a secret: --api-key X, TOKEN=X, ?sig=X
//   what stands before the host in a URL: https://[removed]@host/
//   what stands behind Authorization:, Bearer and Basic
//   keys that their makers gave a form: hf_..., sk-..., ghp_..., AKIA..., eyJ... and the like
//
// A name says more than a form: a secret that looks like any word and stands alone is not found. For text
// about a run, never for what a profile's events say.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace nl {

inline constexpr std::string_view kRemoved = "[removed]";

/// "api_key", "--auth-token", "clientSecret"; not "tokens", "eos_token" or "key_frames".
bool names_a_secret(std::string_view name);

std::string without_secrets(std::string_view text);
/// The words of a command line; here a value may be the word behind its option.
std::vector<std::string> without_secrets(std::vector<std::string> words);
/// All texts in it. A member whose name speaks of a secret loses its value, and a list of texts is taken for
/// a command line.
nlohmann::json without_secrets(const nlohmann::json& tree);

}  // namespace nl
