#pragma once
// What pages and screens say of a claim of a bench file. Claims are the JSON of bench run and bench report.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace nl::report {

/// Empty if the member is no text.
std::string text_of(const nlohmann::json& object, const char* key);
std::optional<double> number_of(const nlohmann::json& object, const char* key);
/// "-" if there is no time.
std::string time_of(const nlohmann::json& object, const char* key);

/// met, not met, inconclusive, refused.
std::string verdict_words(const std::string& verdict);
/// The colour of a verdict, as a class of the pages.
const char* verdict_class(const std::string& verdict);
/// 1.247 × (1.226 to 1.261); empty without runs.
std::string speedup_words(const nlohmann::json& claim);

}  // namespace nl::report
