#pragma once
// The sentences of a comparison, the same in every report about it. They are made from the answer alone. The
// texts are not escaped; the caller must do that.

#include <string>
#include <vector>

#include "compare/answer.h"

namespace nl::report {

/// What a report says of itself besides the comparison.
struct CompareProvenance {
  std::string tool_version;
  std::string command;  ///< that gives the comparison again
};

/// What a side is, for people: "resnet50, nw0.json.gz", as far as that is known.
std::string side_words(const compare::ComparedSide& side);
/// no_change -> No change
std::string verdict_title(stats::Verdict verdict);
/// With a capital letter at its begin.
std::string sentence(std::string text);
/// Regression: step 10.204 ms → 11.003 ms, +799.000 us (+7.8 %)
std::string headline(const compare::Comparison& comparison);
/// 10.204 ms → 11.003 ms, +799.000 us (+7.8 %)
std::string change_words(const compare::Comparison& comparison);
/// 5 and 5 runs, ratio 1.0783 [1.0711, 1.0862] at 99.2 %, p 0.0079
std::string tested_words(const compare::Statistics& statistics);
/// step, of 6 and 6; what a figure of the comparison is given for.
std::string unit_words(const compare::Comparison& comparison);
/// idle: host other
std::string part_title(const compare::PartRow& part);
/// The adjusted p; "-" if there is none.
std::string p_text(const compare::Statistics& statistics);
std::string p_text(const std::optional<compare::Statistics>& statistics);
/// The verdict of a row; "-" if it was not judged.
std::string judged_text(const std::optional<compare::Statistics>& statistics);
/// As 1.0783; "-" if it is absent or not finite.
std::string ratio_text(std::optional<double> ratio, int digits = 4);
/// part idle host_data: at most 5%
std::string limit_title(const compare::LimitCheck& limit);
/// What it is: 7.031 ms, 7.2 % of the window; or that there is nothing of that name.
std::string limit_value(const compare::LimitCheck& limit);
/// Names of the changes, in their order: the short one where no other change has it, else the full ones.
std::vector<std::string> change_names(const compare::Comparison& comparison);
/// Factors that take the score down, the heaviest first.
std::vector<compare::Factor> unlike_factors(const compare::Comparison& comparison);
/// The first 12 characters of the id of the run that stands for a side.
std::string short_run(const compare::ComparedSide& side);
/// Has a side more than one run?
bool has_repeats(const compare::Comparison& comparison);
/// How the verdict, the parts and the changes are to be read.
std::vector<std::pair<std::string, std::string>> compare_definitions(const compare::Comparison& comparison);

}  // namespace nl::report
