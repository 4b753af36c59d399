#pragma once
// What pages without a server are told: the answers of operations, asked beforehand. The pages themselves say
// what they ask (web/src/offline/asks.ts); here their list is gone through for the runs, and answers are kept
// by a key that the pages make, too.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/door.h"
#include "ops/runs/run_names.h"

namespace nl::ops {

/// Envelopes by their keys. Equal ones are kept once: a page asks some things in two ways.
class AnswerPart {
 public:
  void add(const std::string& operation, const nlohmann::json& parameters, const nlohmann::json& envelope);
  /// {"keys": {key: place}, "envelopes": [...]}
  std::string text() const;

 private:
  std::map<std::string, size_t> keys_;
  std::map<std::string, size_t> places_;
  std::vector<std::string> envelopes_;
};

struct SiteRuns {
  std::vector<NamedRun> runs;
  std::vector<std::string> windows;  ///< that runs are analysed for
  std::string page = "overview";     ///< of a single run, opened first
};

/// The runs that these names stand for, each once; windows likewise.
Result<SiteRuns> site_runs(Context& context, const nlohmann::json& names, std::vector<std::string> windows);

/// Up to so many runs are compared, each with those after it.
inline constexpr size_t kMostCompared = 4;

/// The parts by name: "all", "pairs", and one for each run under its id. `asks`: the list of the pages.
/// Answers that are errors are recorded, too. `take` gets each part when it is complete.
Result<void> record_answers(
    std::string_view asks, const SiteRuns& site, const AskOperation& ask, const Context& context,
    const std::function<Result<void>(const std::string& name, std::string text)>& take);

/// Each line without the frames, which end in ";", that it shares with the line before, and their number
/// before it. Stacks become a tenth and less.
std::string without_shared_frames(std::string_view text);

}  // namespace nl::ops
