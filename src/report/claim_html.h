#pragma once
// The page of one claim: its verdict, what was expected, and every process run of both sides in the order in
// which they were measured, with what disturbed it.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace nl::report {

/// `samples`: those of the claim's target, in their order. `back` is the page of the session.
std::string claim_html(const nlohmann::json& session, const nlohmann::json& claim,
                       const nlohmann::json& samples, const std::string& back);

}  // namespace nl::report
