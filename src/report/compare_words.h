#pragma once
// The sentences of a comparison, the same in every report of it. Made from the data of `compare` alone; texts
// are not escaped.

#include <string>
#include <vector>

#include "base/json.h"

namespace nl::report {

/// What a report says of itself besides the comparison.
struct CompareProvenance {
  std::string tool_version;
  std::string command;  ///< that gives the comparison again
};

/// no_change -> No change
std::string verdict_title(const std::string& verdict);
/// With a capital letter at its begin.
std::string sentence(std::string text);
/// Regression: step 10.204 ms → 11.003 ms, +799.000 us (+7.8 %)
std::string headline(const nlohmann::json& comparison);
/// 10.204 ms → 11.003 ms, +799.000 us (+7.8 %)
std::string change_words(const nlohmann::json& comparison);
/// 5 and 5 runs, ratio 1.0783 [1.0711, 1.0862] at 99.2 %, p 0.0079
std::string tested_words(const nlohmann::json& statistics);
/// step, of 6 and 6; what a figure of the comparison is given for.
std::string unit_words(const nlohmann::json& comparison);
/// idle: host other
std::string part_title(const nlohmann::json& part);
/// The adjusted p of a judged row; "-" if there is none.
std::string p_text(const nlohmann::json& row);
/// The verdict of a judged row; "-" if it was not judged.
std::string judged_text(const nlohmann::json& row);
/// As 1.0783; "-" if it is absent or not finite.
std::string ratio_text(const nlohmann::json& ratio, int digits = 4);
/// part idle host_data: at most 5%
std::string limit_title(const nlohmann::json& limit);
/// What it is: 7.031 ms, 7.2 % of the window; or that there is nothing of that name.
std::string limit_value(const nlohmann::json& limit);
/// Names of the changes, in their order: the short one where no other change has it, else the full ones.
std::vector<std::string> change_names(const nlohmann::json& comparison);
/// Factors that take the score down, the heaviest first.
std::vector<nlohmann::json> unlike_factors(const nlohmann::json& comparison);
/// The first 12 characters of the id of the run that stands for a side.
std::string short_run(const nlohmann::json& side);
/// Has a side more than one run?
bool has_repeats(const nlohmann::json& comparison);
/// How the verdict, the parts and the changes are to be read.
std::vector<std::pair<std::string, std::string>> compare_definitions(const nlohmann::json& comparison);

}  // namespace nl::report
