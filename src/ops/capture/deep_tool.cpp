#include "ops/capture/deep_tool.h"

#include <fmt/core.h>

namespace nl::ops {

std::string how_it_ended(const capture::PassEnd& pass, const std::string& folder) {
  const std::string said = capture::last_words(folder);
  return fmt::format("exit code {}{}{}", pass.end.process.exit_code, said.empty() ? "" : ": ", said);
}

Verdict judge_trace(const capture::PassEnd& pass, const std::string& folder, bool has_records,
                    const std::string& what) {
  Verdict verdict{"done"};
  if (pass.end.process.cut_short) {
    verdict = {"cut_short", "the pass was stopped: " + pass.end.process.cut_short->message,
               "--time-limit, --silence-limit, --max-slowdown and --max-mb are its budget"};
    if (!has_records) verdict.reason += ", and left no " + what;
  } else if (!has_records && pass.end.process.exit_code != 0) {
    verdict = {"failed", "no " + what + ": " + how_it_ended(pass, folder)};
  } else if (!has_records) {
    verdict = {"nothing_profiled",
               "nothing was profiled: the tool ended without an error but wrote no " + what};
  } else if (pass.time && pass.time->exit_code != 0) {
    verdict = {"failed",
               fmt::format("the workload ended with exit code {} under the tool; what was recorded is kept",
                           pass.time->exit_code)};
  }
  verdict.has_records = has_records;
  return verdict;
}

Verdict judge_counters(const capture::PassEnd& pass, const std::string& folder, bool has_records) {
  Verdict verdict{"done"};
  if (pass.end.process.cut_short) {
    verdict = {"cut_short", "the pass was stopped: " + pass.end.process.cut_short->message,
               "--top and --launches make it shorter"};
  } else if (pass.end.process.exit_code != 0) {
    verdict = {"failed", how_it_ended(pass, folder)};
  } else if (!has_records) {
    verdict = {"nothing_profiled",
               "nothing was profiled: the tool ended without an error but wrote no counters"};
  }
  verdict.has_records = has_records;
  return verdict;
}

}  // namespace nl::ops
