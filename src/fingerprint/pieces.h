#pragma once
// The work of a run grouped by op type, over all of its devices. The shares in a fingerprint are computed
// from this.

#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyze/names/op_class.h"
#include "analyze/work_pattern.h"
#include "base/json.h"

namespace nl::fingerprint {

struct PieceRow {
  std::string token;  ///< op type, or a class where no op is known
  analyze::OpClass op_class = analyze::OpClass::k_other;
  int64_t calls = 0;
  int64_t total_ns = 0;
  std::array<double, analyze::kSizeSteps> sizes{};  ///< share of the row's time; all 0 where not known
  double p90_ratio = 0, p99_ratio = 0;              ///< against the median; 0 where not known
};

struct Pieces {
  std::vector<PieceRow> rows;  ///< by token, each once
  int64_t total_ns = 0;
  std::map<std::string, int64_t> shapes;  ///< time by shape, of the ops that have one
};

/// From the measures of a run: patterns of work or, where the source shows whole inferences, the layers.
Pieces pieces_of(const nlohmann::json& measures);

}  // namespace nl::fingerprint
