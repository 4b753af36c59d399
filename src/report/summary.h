#pragma once
// The executive summary: sentences in plain words, each with the figure that proves it.

#include <string>
#include <vector>

#include "analyze/answer/analysis.h"

namespace nl::report {

struct Sentence {
  std::string text = {};
  std::string figure = {};  ///< its id

  static constexpr auto fields() {
    return std::tuple{field("text", &Sentence::text),
                      field("figure", &Sentence::figure, "id of the figure that proves it")};
  }
};

std::vector<Sentence> summary_of(const analyze::Analysis& analysis);

}  // namespace nl::report
