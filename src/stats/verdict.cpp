#include "stats/verdict.h"

namespace nl::stats {

std::string_view verdict_name(Verdict verdict) {
  static constexpr std::string_view kNames[kVerdicts] = {"regression",   "improvement", "no_change",
                                                         "inconclusive", "not_tested",  "incomparable"};
  return kNames[static_cast<size_t>(verdict)];
}

}  // namespace nl::stats
